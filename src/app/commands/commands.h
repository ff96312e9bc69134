/* app/commands/commands.h -- the row arrays that make up the command table; each ends at .name ==
 * NULL. */
#ifndef GPDESK_COMMANDS_H
#define GPDESK_COMMANDS_H

#include "app/shell/command.h"
#include "app/shell/help.h"
#include "app/shell/words.h"

/* The registry: the rows of each file, in the order of `help` and of the manual.  Those that
 * are not const have options of reading files or types of columns, which app_begin fills in
 * (import_args_expand). */
#define COMMAND_TABLES(row)         \
    row(, cmd_open_rows)            \
    row(, cmd_data_rows)            \
    row(const, cmd_prepare_rows)    \
    row(, cmd_model_rows)           \
    row(, cmd_predict_rows)         \
    row(const, cmd_calibrate_rows)  \
    row(const, cmd_likelihood_rows) \
    row(, cmd_suggest_rows)         \
    row(const, cmd_sweep_rows)      \
    row(const, cmd_diag_rows)       \
    row(const, cmd_plot_rows)       \
    row(const, cmd_screen_rows)     \
    row(const, cmd_teach_rows)      \
    row(const, cmd_session_rows)    \
    row(const, cmd_time_rows)       \
    row(const, expect_rows)         \
    row(const, export_rows)         \
    row(const, cmd_report_rows)     \
    row(const, cmd_line_rows)       \
    row(const, cmd_settings_rows)   \
    row(const, cmd_jobs_rows)       \
    row(const, cmd_runs_rows)       \
    row(const, cmd_general_rows)

#define COMMANDS_DECLARED(constant, name) extern constant struct command name[];
COMMAND_TABLES(COMMANDS_DECLARED)
#undef COMMANDS_DECLARED

/* What `copy` takes. */
extern const struct words_row cmd_screen_words_copied;

struct fit_opts;
struct dataset;
struct figure;
/* Reads kernel, hyperparameters, features, tolerance, precision and seed as a line of fit does, for
 * commands that look at such a fit without making it (cmd_model.c). */
enum status cmd_model_fit(struct workspace *, const struct args *, struct dataset *,
                         struct fit_opts *, struct err *);
/* Makes the plot that was last put on the screen again; NULL without an error if that was not the
 * plot `name`. */
struct figure *cmd_plot_shown(struct workspace *, const char *name, struct err *err);

#endif
