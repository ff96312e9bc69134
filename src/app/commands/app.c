/* app/commands/app.c -- the lists of the program. See app.h. */
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
#include "app/runs/scoring/predict_columns.h"
#include "app/runs/race.h"
#include "app/runs/molecules/molecule_list.h"
#include "app/runs/spectrum_run.h"
#include "app/runs/sweep.h"
#include "app/session/expect.h"
#include "app/session/store.h"
#include "app/session/store_gate.h"
#include "app/session/timeline.h"
#include "app/shell/import_args.h"
#include "app/shell/registry_words.h"
#include "app/teach/lesson.h"

/* The history comes before the session, because the session writes the state that the history
 * noted.  Freed in the reverse order. */
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
    &molecule_list_owner,
    &cmd_plot_shown_owner,
    &race_owner,
    &spectrum_run_owner,
    &sweep_owner,
    NULL,
};

static const struct command *const tables[] = {
#define COMMANDS_ADDRESS(constant, name) name,
    COMMAND_TABLES(COMMANDS_ADDRESS)
#undef COMMANDS_ADDRESS
    NULL,
};

static const struct words_row *const words[] = {
    &ws_words_datasets, &ws_words_runs,         &ws_words_jobs,
    &ws_words_columns,  &ws_words_expressions,  &plot_words,
    &cmd_screen_words_copied, &predict_columns_words, &plot_words_list,
#define WORDS_ADDRESS(name) &name,
    REGISTRY_WORDS(WORDS_ADDRESS)
#undef WORDS_ADDRESS
    NULL,
};

void app_begin(void)
{
    import_args_expand(cmd_data_rows);
    import_args_expand(cmd_open_rows);
    import_args_expand(cmd_predict_rows);
    import_args_expand(cmd_suggest_rows);
    registry_words_expand(cmd_model_rows);
    command_use(tables);
    words_use(words);
}

struct workspace *app_workspace(const struct options *opt, struct err *err)
{
    app_begin();
    return workspace_new(opt, app_owners, err);
}
