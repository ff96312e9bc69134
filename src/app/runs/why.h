/* app/runs/why.h -- finds what is wrong with a fit or tuning: causes, each with evidence and a
 * remedy. */
#ifndef GPDESK_WHY_H
#define GPDESK_WHY_H

#include "app/core/workspace.h"

enum { CAUSES_MOST = 16 };
/* score from 0 to 1: how certain and how direct the evidence is; causes are sorted by it. */
struct cause { const char *name; double score; char evidence[256], try[400]; };
/* Diagnoses a fit or a tuning in any state except queued and running. Queues the job. The causes
 * arrive as a result record, which is empty if no problem was found. */
enum status why_start(struct workspace *, const struct run *, const char *line, struct err *);

#endif
