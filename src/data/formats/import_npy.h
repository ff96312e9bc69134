/* data/formats/import_npy.h -- pieces of the NPY reader, for tables made of several files
 * (npy_set.c). */
#ifndef GPDESK_IMPORT_NPY_H
#define GPDESK_IMPORT_NPY_H

#include "data/formats/import.h"

/* The header at the window's start, proven against the size of the file; the window then stands at
 * the items. */
enum status npy_header(struct inbuf *, struct npy *, struct err *);
/* Where items go: checked, counted, and if `store` put into col[..].v from row0 on. */
struct npy_taker {
    struct column *col;
    size_t row0;
    bool store, nan_missing, rounded;
};
enum status npy_items(struct inbuf *, const struct npy *, struct npy_taker *, struct err *);
bool npy_nan_is_missing(const struct import_opts *);
enum status npy_check_memory(const char *name, size_t rows, size_t cols, const struct import_opts *,
                             struct err *);
/* Are numbers of plain files left where they are?  Large ones, and what does not fit in memory. */
bool npy_in_place(double file_bytes, size_t rows, size_t cols);
/* Columns first.. of a table whose t->n is set: names, and room for the numbers unless `in`. */
enum status npy_columns(struct table *, size_t first, size_t n, const char *name,
                        struct mapped_array *in, struct err *);
/* Sets decisions and notes. */
enum status npy_words(struct table *, struct buf *decisions, bool rounded, bool in_place,
                      struct err *);

#endif
