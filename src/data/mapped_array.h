/* data/mapped_array.h -- an array of numbers that stays on disk, in one NPY file or in several
 * whose rows follow one another. The files are mapped and read cell by cell; nothing is copied.
 *
 * Code that computes with many cells calls mapped_array_check, which reports an error if a file was
 * written to meanwhile. A file that is truncated reads as zeros until then (spill.h); it does not
 * end the program. */
#ifndef GPDESK_MAPPED_ARRAY_H
#define GPDESK_MAPPED_ARRAY_H

#include "data/npy.h"
#include "base/status.h"

struct mapped_array;
struct source_file; /* compute/features/source.h */

/* Makes an array without rows. NULL if memory is exhausted. */
struct mapped_array *mapped_array_new(size_t cols, struct err *err);
struct mapped_array *mapped_array_ref(struct mapped_array *);
void mapped_array_unref(struct mapped_array *);
/* Appends the rows of a file. IO "changed" if the file differs from `seen`. */
enum status mapped_array_add(struct mapped_array *, const char *path, const struct npy *,
                        const struct npy_stamp *seen, struct err *err);
size_t mapped_array_bytes(const struct mapped_array *);   /* size of the files */
/* Distance in bytes from one row to the next. */
size_t mapped_array_stride(const struct mapped_array *);
/* Its file `i`, for readers elsewhere; the path is lent.  False past the last. */
bool mapped_array_file(const struct mapped_array *, size_t i, struct source_file *);
/* An element as a double; NaN if the file has that. row and col must be inside the array. */
double mapped_array_at(const struct mapped_array *, size_t col, size_t row);
/* Checks that the files of rows first..last have not changed. IO "changed" names the one that
 * has. */
enum status mapped_array_check(const struct mapped_array *, size_t first, size_t last,
                               struct err *err);

#endif
