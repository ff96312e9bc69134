/* base/outfile.h -- writing files so that they are either complete or unchanged.
 *
 * Output goes to a temporary file beside the target, which is renamed over the target once all of
 * it is on disk.  After a full disk, a crash or kill -9 the old file is still there.  A symbolic
 * link is followed: its target is replaced, not the link.  A target that is not a regular file
 * (/dev/null, /dev/stdout, a named pipe) is written to directly and never replaced. */
#ifndef GPDESK_OUTFILE_H
#define GPDESK_OUTFILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outfile { int fd; char *path, *part; bool direct; }; /* private; fd -1 when closed */

/* mode: as for open(2) (0666, 0777 for scripts), less the umask; an existing file keeps its own.
 * Errors are ST_IO, named "disk" (no room), "write", or "no-reader" (a pipe without a reader). */
enum status outfile_open(struct outfile *, const char *path, mode_t mode, struct err *);
enum status outfile_write(struct outfile *, const void *bytes, size_t n, struct err *);
/* Syncs the file to disk and renames it to the target.  Closes it, after a failure too. */
enum status outfile_commit(struct outfile *, struct err *);
/* Removes the temporary file; the target is unchanged.  Does nothing after a commit. */
void outfile_abort(struct outfile *);
/* Opens, writes n bytes and commits. */
enum status outfile_put(const char *path, mode_t mode, const void *bytes, size_t n, struct err *);
/* Moves a finished file on the same file system over the target, by the same rules. */
enum status outfile_publish(const char *made, const char *path, struct err *);

/* Syncs the directory that holds PATH, so that a name that was made, moved or removed there
 * survives a loss of power.  Returns 0, or -1 with errno; a directory that cannot be synced at all
 * counts as synced. */
int outfile_sync_dir(const char *path);

#endif
