/* app/commands/app.h -- what the folders of app hand to each other from above: the lists that main
 * and the tests pass down, so that no lower folder names a higher one. */
#ifndef GPDESK_APP_H
#define GPDESK_APP_H

#include "app/core/owner.h"

struct options;

/* Everything that is kept in a workspace. */
extern const struct owner *const app_owners[];
/* Hands down the command table and the names that the parser, completion and help ask for: before
 * any line is parsed.  Calling it again does nothing more. */
void app_begin(void);
/* A workspace with all of it; calls app_begin. */
struct workspace *app_workspace(const struct options *, struct err *);

#endif
