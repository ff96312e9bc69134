/* data/cache.h -- tables kept in the cache directory ($XDG_CACHE_HOME/gpdesk), so that a large file
 * is parsed once: an entry is a directory of NPY files, one for each column, with a checksum each.
 * An entry is found by the file's path, size, time and ends and by how it was to be read; whatever
 * does not agree is a miss, never an error. */
#ifndef GPDESK_CACHE_H
#define GPDESK_CACHE_H

#include "data/table.h"

/* The directory (made when it is not there), "" when there can be none.  Valid until the program
 * ends. */
const char *cache_dir(void);
/* How many bytes entries may take together is a limit of the job (base/limits.h): nothing is kept
 * or found under a limit of 0.  Entries beyond `bytes` go now, the least recently used first. */
void cache_trim(uint64_t bytes);
/* A table read before; NULL: none.  path: absolute. */
struct table *cache_find(const char *path, const struct import_opts *, const struct ctl *);
/* Keeps a table just read, if its file is large enough to be worth it; the least recently used
 * entries make room.  Where that fails (no directory, a full disk, a table above the limit) the
 * reason is appended to *why, and the file is read again the next time. */
void cache_keep(const struct table *, const struct import_opts *, const struct ctl *,
                struct buf *why);
/* What there is now. */
void cache_size(size_t *entries, uint64_t *bytes);

#endif
