/* base/outfile.h -- files that are whole or as they were before.
 *
 * What is written goes beside the target and is renamed over it once all of it is on disk: a full
 * disk, a crash or kill -9 leaves the old file.  A link is followed, so that what it points to is
 * replaced and not the link.  A target that is no regular file (/dev/null, /dev/stdout, a named
 * pipe) is written to as it is, never replaced. */
#ifndef GPDESK_OUTFILE_H
#define GPDESK_OUTFILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outfile { int fd; char *path, *part; bool direct; }; /* private; fd -1 when closed */

/* mode: as for open(2) (0666, 0777 for scripts), less the umask; an existing file keeps its own.
 * Errors are ST_IO, named "disk" (no room), "write", or "no-reader" (a pipe nobody reads from). */
enum status outfile_open(struct outfile *, const char *path, mode_t mode, struct err *);
enum status outfile_write(struct outfile *, const void *bytes, size_t n, struct err *);
/* Onto the disk and into place.  Closes, also on failure. */
enum status outfile_commit(struct outfile *, struct err *);
/* Away with it; the target is as it was.  Nothing to do after a commit. */
void outfile_abort(struct outfile *);
/* The four in one. */
enum status outfile_put(const char *path, mode_t mode, const void *bytes, size_t n, struct err *);
/* Moves a finished file of the same file system over the target, by the same rules. */
enum status outfile_publish(const char *made, const char *path, struct err *);

/* Syncs the directory that holds PATH, so that a name made, moved or removed there survives a loss
 * of power.  0, or -1 and errno; a directory that cannot be synced at all counts as synced. */
int outfile_sync_dir(const char *path);

#endif
