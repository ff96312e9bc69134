/* data/checksum.h -- checksums of stored bytes (CRC-32 and Adler-32 of zlib). */
#ifndef GPDESK_CHECKSUM_H
#define GPDESK_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues the CRC-32 `sum` (0 at the start) over n bytes. */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t n);
/* Continues an Adler-32: it is weaker, but not a linear function of the CRC-32, so that both
 * together detect more. */
uint32_t checksum_adler(uint32_t sum, const void *bytes, size_t n);

#endif
