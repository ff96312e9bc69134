/* tests/store_support.h -- a workspace for tests of sessions: quiet, small, with its messages
 * kept. */
#ifndef GPDESK_TESTS_STORE_SUPPORT_H
#define GPDESK_TESTS_STORE_SUPPORT_H

#include "app/core/workspace.h"
#include "base/buf.h"

struct desk {
    struct workspace *ws;
    struct sink sink;
    struct buf said; /* "warning[session-damage]: ...\n", results left out */
};
/* session NULL: none.  Returns store_open's status; the workspace exists in any case. */
enum status desk_open(struct desk *, const char *session, struct err *err);
void desk_close(struct desk *);
/* Runs a line to its end; true when nothing failed. */
bool desk_run(struct desk *, const char *line);

#endif
