/* app/numbers.h -- an array of numbers left where it is: in one NPY file, or in several whose rows
 * follow one another.  The files are mapped and read cell by cell; nothing is copied.
 *
 * Whoever computes with many cells asks numbers_check: a file that is written to meanwhile is an
 * error there.  One that is cut short reads as zeros until somebody asks (spill.h); it does not end
 * the program. */
#ifndef GPDESK_NUMBERS_H
#define GPDESK_NUMBERS_H

#include "app/npy.h"
#include "base/status.h"

struct numbers;

/* No rows yet. */
struct numbers *numbers_new(size_t cols, struct err *err);
struct numbers *numbers_ref(struct numbers *);
void numbers_unref(struct numbers *);
/* The file's rows after those before; it is as `seen` tells, or IO "changed". */
enum status numbers_add(struct numbers *, const char *path, const struct npy *,
                        const struct npy_stamp *seen, struct err *err);
size_t numbers_rows(const struct numbers *);
size_t numbers_bytes(const struct numbers *);   /* in the files */
size_t numbers_stride(const struct numbers *);  /* bytes from one row to the next */
/* As a double; NaN where the file has it.  row and col are within the array. */
double numbers_at(const struct numbers *, size_t col, size_t row);
/* Are the files of rows first..last what they were?  IO "changed" names the one that is not. */
enum status numbers_check(const struct numbers *, size_t first, size_t last, struct err *err);

#endif
