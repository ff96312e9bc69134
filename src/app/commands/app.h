/* app/commands/app.h -- the lists that main and the tests pass down to the folders of app, so that
 * no lower folder names a higher one. */
#ifndef GPDESK_APP_H
#define GPDESK_APP_H

#include "app/core/owner.h"

struct options;

/* All state that a workspace keeps. */
extern const struct owner *const app_owners[];
/* Hands down the command table and the names that the parser, completion and help need.  Call it
 * before any line is parsed; further calls do nothing. */
void app_begin(void);
/* Makes a workspace with all state; calls app_begin. */
struct workspace *app_workspace(const struct options *, struct err *);

#endif
