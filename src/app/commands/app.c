/* app/commands/app.c -- the lists of the program: see app.h. */
#include "app/commands/app.h"

#include "app/core/advise_state.h"
#include "app/core/kept.h"
#include "app/core/workspace.h"
#include "app/plots/draws.h"
#include "app/plots/plots.h"
#include "app/runs/clustering.h"
#include "app/runs/race.h"
#include "app/runs/spectrum_run.h"
#include "app/runs/sweep.h"
#include "app/session/store.h"
#include "app/session/timeline.h"
#include "app/teach/lesson.h"

/* The history stands before the session: the session writes the state that the history has noted.
 * Freed in the reverse order. */
const struct owner *const app_owners[] = {
    &timeline_owner,
    &store_owner,
    &advise_state_owner,
    &clustering_owner,
    &draws_owner,
    &kept_owner,
    &lesson_owner,
    &plots_shown_owner,
    &race_owner,
    &spectrum_run_owner,
    &sweep_owner,
    NULL,
};

struct workspace *app_workspace(const struct options *opt, struct err *err)
{
    return workspace_new(opt, app_owners, err);
}
