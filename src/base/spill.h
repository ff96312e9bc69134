/* base/spill.h -- large arrays of data that need not fit in memory.
 *
 * An array is ordinary memory as long as all of them together stay below the limit of the job that
 * asks for it (base/limits.h).  Beyond it a new
 * one lies in an unlinked file and is mapped: the same pointer arithmetic, the same bits.  Whoever
 * reads or writes much of such arrays says so (spill_used), and every so often all their pages
 * leave this process; the system's file cache keeps what it has room for.  Thread-safe. */
#ifndef GPDESK_SPILL_H
#define GPDESK_SPILL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Where files go: asked when one is made; NULL, or "": $TMPDIR or /tmp.  One for the process. */
void spill_directory(const char *(*dir)(void));
/* count zeroed items.  NULL and *err: overflow, memory exhausted, or (IO) the file cannot be made,
 * with the directory and the room that is missing.  Release with spill_free. */
void *spill_array(size_t count, size_t size, const char *what, struct err *err);
/* Grows *p (from spill_array, or NULL) as mem_grow does; new items are not zeroed. */
enum status spill_grow(void **p, size_t *cap, size_t need, size_t size, const char *what,
                       struct err *err);
/* The bytes of a file from `at` on, read only; its pages leave with the others.  NULL and *err. */
const void *spill_map(const char *path, size_t at, size_t bytes, struct err *err);
/* How often a mapped file turned out to be shorter than it was: zeros were read instead. */
size_t spill_cut(void);
void spill_free(const void *p);            /* of any of these; NULL is fine */
bool spill_is_out(const void *p);          /* on disk */
bool spill_active(void);                   /* there is a limit */
bool spill_fits(double bytes);             /* would an array of so many bytes stay in memory? */
void spill_used(size_t bytes);             /* of arrays on disk, read or written lately */
size_t spill_out_for_tests(void);          /* bytes on disk now */

#endif
