/* data/formats/import_npy.h -- the parts of the NPY reader that tables made of several files use
 * (npy_set.c). */
#ifndef GPDESK_IMPORT_NPY_H
#define GPDESK_IMPORT_NPY_H

#include "data/formats/import.h"

/* Reads the header at the start of the window and checks it against the size of the file; the
 * window is then at the items. */
enum status npy_header(struct inbuf *, struct npy *, struct err *);
/* Where items go: they are checked and counted and, if `store`, written to col[..].v from row0
 * on. */
struct npy_taker {
    struct column *col;
    size_t row0;
    bool store, nan_missing, rounded;
};
enum status npy_items(struct inbuf *, const struct npy *, struct npy_taker *, struct err *);
bool npy_nan_is_missing(const struct import_opts *);
enum status npy_check_memory(const char *name, size_t rows, size_t cols, const struct import_opts *,
                             struct err *);
/* True if numbers of a plain file stay on disk: for large files, and for those that do not fit into
 * memory. */
bool npy_in_place(double file_bytes, size_t rows, size_t cols);
/* Sets up columns first.. of a table whose t->n is set: names, and room for the numbers unless they
 * are in `in`. */
enum status npy_columns(struct table *, size_t first, size_t n, const char *name,
                        struct mapped_array *in, struct err *);
/* Writes the decisions and notes of the table. */
enum status npy_words(struct table *, struct buf *decisions, bool rounded, bool in_place,
                      struct err *);

#endif
