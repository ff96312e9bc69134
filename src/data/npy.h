/* data/npy.h -- the header of an NPY file, and reading the items that follow it (import_npy.c). */
#ifndef GPDESK_NPY_H
#define GPDESK_NPY_H

#include "base/item.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct npy {
    char kind;      /* 'f', 'i', 'u' or 'b' */
    size_t size;    /* bytes of an item */
    bool swap;      /* the other byte order */
    bool fortran;
    size_t rows, cols;
    /* The last of three dimensions; cols is then the product of the last two. 0: two dimensions. */
    size_t depth;
    size_t at;      /* offset of the first item */
    bool have_descr, have_order, have_shape;
};

/* The state of a file: device, inode, size, time of its last change. */
struct npy_stamp { uint64_t word[5]; };
/* False if there is no such regular file. */
bool npy_stamp(const char *path, struct npy_stamp *out);

/* The item at p as a double. */
static inline double npy_item(const struct npy *h, const char *p)
{
    if (h->kind == 'f' && !h->swap && h->size == 4) {
        float x;
        memcpy(&x, p, sizeof x);
        return (double)x;
    }
    if (h->kind == 'f' && !h->swap) {
        double x;
        memcpy(&x, p, sizeof x);
        return x;
    }
    return item_read(h->kind, h->size, h->swap, p);
}

#endif
