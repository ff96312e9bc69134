/* data/mapped_array.h -- an array of numbers left where it is: in one NPY file, or in several whose
 * rows follow one another.  The files are mapped and read cell by cell; nothing is copied.
 *
 * Whoever computes with many cells asks mapped_array_check: a file that is written to meanwhile is
 * an error there.  One that is cut short reads as zeros until somebody asks (spill.h); it does not
 * end the program. */
#ifndef GPDESK_MAPPED_ARRAY_H
#define GPDESK_MAPPED_ARRAY_H

#include "data/npy.h"
#include "base/status.h"

struct mapped_array;

/* No rows yet. */
struct mapped_array *mapped_array_new(size_t cols, struct err *err);
struct mapped_array *mapped_array_ref(struct mapped_array *);
void mapped_array_unref(struct mapped_array *);
/* The file's rows after those before; it is as `seen` tells, or IO "changed". */
enum status mapped_array_add(struct mapped_array *, const char *path, const struct npy *,
                        const struct npy_stamp *seen, struct err *err);
size_t mapped_array_bytes(const struct mapped_array *);   /* in the files */
size_t mapped_array_stride(const struct mapped_array *);  /* bytes from one row to the next */
/* As a double; NaN where the file has it.  row and col are within the array. */
double mapped_array_at(const struct mapped_array *, size_t col, size_t row);
/* Are the files of rows first..last what they were?  IO "changed" names the one that is not. */
enum status mapped_array_check(const struct mapped_array *, size_t first, size_t last,
                               struct err *err);

#endif
