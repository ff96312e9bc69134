/* data/npy.c -- the items of NPY files as doubles, and the stamp that shows whether a file has
 * changed. */
#include "data/npy.h"

#include <sys/stat.h>

double npy_other(const struct npy *h, const char *p)
{
    unsigned char b[8];
    for (size_t i = 0; i < h->size; i++)
        b[i] = (unsigned char)p[h->swap ? h->size - 1 - i : i];
#define READ(type)                                                                                 \
    do {                                                                                           \
        type x;                                                                                    \
        memcpy(&x, b, sizeof x);                                                                   \
        return (double)x;                                                                          \
    } while (0)
    switch (h->kind << 4 | (char)h->size) {
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

bool npy_stamp(const char *path, struct npy_stamp *out)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *out = (struct npy_stamp){ { (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                                 (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec } };
    return true;
}
