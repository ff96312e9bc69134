/* data/checksum.c -- see checksum.h. */
#include "data/checksum.h"

#include <zlib.h>

uint32_t checksum_add(uint32_t sum, const void *bytes, size_t n)
{
    return (uint32_t)crc32_z(sum, bytes, n);
}

uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t n)
{
    return (uint32_t)adler32_z(sum, bytes, n);
}
