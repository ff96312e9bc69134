/* app/runs/why.h -- what is wrong with a fit or tuning: causes, each with evidence and a way out.
 */
#ifndef GPDESK_WHY_H
#define GPDESK_WHY_H

#include "app/core/workspace.h"

enum { CAUSES_MOST = 16 };
/* score 0..1: how sure and how direct the evidence is; the list is sorted by it. */
struct cause { const char *name; double score; char evidence[256], try[400]; };
/* Looks at a run of either kind, in any state but queued and running.  Queues the job; the causes
 * arrive as a result record, none of them when nothing is wrong. */
enum status why_start(struct workspace *, const struct run *, const char *line, struct err *);

#endif
