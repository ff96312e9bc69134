/* data/checksum.h -- the checksum of stored bytes (CRC-32 of zlib). */
#ifndef GPDESK_CHECKSUM_H
#define GPDESK_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues `sum` (0 at the start) over n bytes. */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t n);
/* Adler-32: weaker, but not related to the other by a linear map, so that both together tell more.
 */
uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t n);

#endif
