/* data/cache.h -- tables kept in the cache directory ($XDG_CACHE_HOME/gpdesk), so that a large file
 * is parsed only once. An entry is a directory of NPY files, one for each column, each with a
 * checksum.
 *
 * An entry is found by the file's path, size, time and first and last bytes, and by the options
 * with which it was read. If anything differs it is a miss, never an error. */
#ifndef GPDESK_CACHE_H
#define GPDESK_CACHE_H

#include "data/table.h"

struct source_file; /* compute/features/source.h */

/* The directory, which is created if necessary; "" if there cannot be one. The string is valid
 * until the program ends. */
const char *cache_dir(void);
/* The total size of all entries is limited by the job (base/limits.h): under a limit of 0 nothing
 * is kept or found. cache_trim removes the least recently used entries until at most `bytes`
 * remain. */
void cache_trim(uint64_t bytes);
/* A table that was read before; NULL if there is none. The caller owns the reference. path:
 * absolute. */
struct table *cache_find(const char *path, const struct import_opts *, const struct ctl *);
/* Keeps a table that has just been read, if its file is large enough. The least recently used
 * entries make room. If it cannot be kept (no directory, a full disk, a table above the limit), the
 * reason is appended to *why, and the file is read again the next time. */
void cache_keep(struct table *, const struct import_opts *, const struct ctl *, struct buf *why);
/* Where the entry of a table (table.kept) has the numbers or codes of column j, one behind the
 * other, as a file of `rows` rows; the path is written to `path`.  False for other columns. */
bool cache_file(const char *kept, size_t j, const struct column *, size_t rows, struct buf *path,
                struct source_file *);
/* Bytes under a name that says all that they depend on, such as what was found out about molecules:
 * a copy that the caller frees, or NULL.  The name has letters and digits alone. */
void *cache_find_bytes(const char *name, size_t *bytes);
/* Keeps them, if it can; the least recently used entries make room. */
void cache_keep_bytes(const char *name, const void *p, size_t bytes);
/* The present number of entries and their total size in bytes. */
void cache_size(size_t *entries, uint64_t *bytes);

#endif
