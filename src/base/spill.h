/* base/spill.h -- large arrays of data that need not fit in memory.
 *
 * Arrays are ordinary memory as long as all of them together stay below the limit of the job that
 * asks for one (base/limits.h).  Beyond it a new array is a mapping of an unlinked file, with the
 * same pointer arithmetic and the same bits.  Code that reads or writes much of such arrays reports
 * it (spill_used); from time to time all their pages are then released from this process, and the
 * system's file cache keeps what it has room for.  Thread-safe. */
#ifndef GPDESK_SPILL_H
#define GPDESK_SPILL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The function that names the directory of files, asked when one is made; NULL or "": $TMPDIR or
 * /tmp.  One for the process. */
void spill_directory(const char *(*dir)(void));
/* count zeroed items.  NULL and *err on overflow, when memory is short, or (IO) when the file
 * cannot be made, with the directory and the missing room.  Release with spill_free. */
void *spill_array(size_t count, size_t size, const char *what, struct err *err);
/* Grows *p (from spill_array, or NULL) as mem_grow does; new items are not zeroed. */
enum status spill_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                       struct err *err);
/* The bytes of a file from `at` on, read-only; its pages are released with the others.  NULL and
 * *err on failure. */
const void *spill_map(const char *path, size_t at, size_t bytes, struct err *err);
/* How often a mapped file had become shorter, so that zeros were read instead. */
size_t spill_cut(void);
void spill_free(const void *p);            /* for all of these; NULL is fine */
bool spill_is_out(const void *p);          /* true if the array is on disk */
bool spill_active(void);                   /* true if there is a limit */
bool spill_fits(double bytes);             /* true if an array of that size would stay in memory */
void spill_used(size_t bytes);             /* reports bytes of arrays on disk read or written */
size_t spill_out_for_tests(void);          /* bytes on disk now */

#endif
