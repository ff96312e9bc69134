/* base/dirs.h -- where gpdesk keeps its files: the XDG base directories; and where its own parts
 * are.
 *
 * Each is $XDG_..._HOME/gpdesk, or its default below $HOME.  By the specification a relative path
 * in the environment counts as none. */
#ifndef GPDESK_DIRS_H
#define GPDESK_DIRS_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>

enum dirs { DIRS_CONFIG, DIRS_DATA, DIRS_STATE, DIRS_CACHE, DIRS_RUNTIME };

/* Appends the path of the directory, or of `name` in it (NULL: itself), without creating anything.
 * False when there is none (neither the variable nor HOME is set; the runtime directory has no
 * default) or memory is short. */
bool dirs_path(enum dirs, const char *name, struct buf *out);
/* Creates `path` with its parents, for the user alone (mode 0700).  ST_IO names the part that
 * failed; ST_NOMEM. */
enum status dirs_make(const char *path, struct err *);
/* Creates the directory that `file` lies in. */
enum status dirs_make_parent(const char *file, struct err *);
/* The path without links and relative parts (realpath), or as it stands where nothing is there; the
 * caller frees it.  NULL: there is no memory for it. */
char *dirs_real(const char *path, struct err *);
/* Where a part of the program is: writes the n-th place to look at; false past the last.  0: beside
 * the executable (a build tree), 1: in `folder` relative to it, 2: in `installed`. */
bool dirs_beside(size_t n, const char *name, const char *folder, const char *installed,
                 struct buf *out);

#endif
