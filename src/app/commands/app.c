/* app/commands/app.c -- the lists of the program: see app.h. */
#include "app/commands/app.h"

#include "app/core/advise_state.h"
#include "app/core/kept.h"
#include "app/commands/commands.h"
#include "app/core/workspace.h"
#include "app/core/ws_words.h"
#include "app/plots/draws.h"
#include "app/plots/plots.h"
#include "app/runs/clustering.h"
#include "app/runs/export.h"
#include "app/runs/race.h"
#include "app/runs/spectrum_run.h"
#include "app/runs/sweep.h"
#include "app/session/expect.h"
#include "app/session/store.h"
#include "app/session/store_gate.h"
#include "app/session/timeline.h"
#include "app/shell/import_args.h"
#include "app/teach/lesson.h"

/* The history stands before the session: the session writes the state that the history has noted.
 * Freed in the reverse order. */
const struct owner *const app_owners[] = {
    &timeline_owner,
    &store_files_owner,
    &store_owner,
    &store_gate_owner,
    &advise_state_owner,
    &clustering_owner,
    &draws_owner,
    &kept_owner,
    &lesson_owner,
    &cmd_plot_shown_owner,
    &race_owner,
    &spectrum_run_owner,
    &sweep_owner,
    NULL,
};

/* The order of groups in `help` and in the manual. */
static const struct command *const tables[] = {
    cmd_open_rows,
    cmd_data_rows,
    cmd_model_rows,
    cmd_sweep_rows,
    cmd_diag_rows,
    cmd_plot_rows,
    cmd_screen_rows,
    cmd_teach_rows,
    cmd_session_rows,
    cmd_time_rows,
    expect_rows,
    export_rows,
    cmd_line_rows,
    cmd_settings_rows,
    cmd_jobs_rows,
    cmd_runs_rows,
    cmd_general_rows,
    NULL,
};

static const struct words_row *const words[] = {
    &ws_words_datasets, &ws_words_runs, &ws_words_jobs, &ws_words_columns, &plot_words, NULL,
};

void app_begin(void)
{
    import_args_expand(cmd_data_rows);
    import_args_expand(cmd_open_rows);
    import_args_expand(cmd_model_rows);
    command_use(tables);
    words_use(words);
}

struct workspace *app_workspace(const struct options *opt, struct err *err)
{
    app_begin();
    return workspace_new(opt, app_owners, err);
}
