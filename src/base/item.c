/* base/item.c -- see item.h. */
#include "base/item.h"

#include <stdint.h>
#include <string.h>

double item_read(char kind, size_t size, bool swap, const char *p)
{
    unsigned char b[8];
    for (size_t i = 0; i < size; i++)
        b[i] = (unsigned char)p[swap ? size - 1 - i : i];
#define READ(type)                                                                                 \
    do {                                                                                           \
        type x;                                                                                    \
        memcpy(&x, b, sizeof x);                                                                   \
        return (double)x;                                                                          \
    } while (0)
    switch (kind << 4 | (char)size) {
    case 'f' << 4 | 4: READ(float);
    case 'f' << 4 | 8: READ(double);
    case 'i' << 4 | 1: READ(int8_t);
    case 'i' << 4 | 2: READ(int16_t);
    case 'i' << 4 | 4: READ(int32_t);
    case 'i' << 4 | 8: READ(int64_t);
    case 'u' << 4 | 1: READ(uint8_t);
    case 'u' << 4 | 2: READ(uint16_t);
    case 'u' << 4 | 4: READ(uint32_t);
    case 'u' << 4 | 8: READ(uint64_t);
    default: return b[0] != 0;
    }
#undef READ
}
