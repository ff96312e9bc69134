/* app/commands/commands.h -- the row arrays that make up the command table; each ends at .name ==
 * NULL.  Their order, which is that of `help` and the manual, is in app.c. */
#ifndef GPDESK_COMMANDS_H
#define GPDESK_COMMANDS_H

#include "app/shell/command.h"
#include "app/shell/help.h"

/* These hold options of reading, or types of columns, which app_begin fills in
 * (import_args_expand). */
extern struct command cmd_data_rows[], cmd_open_rows[], cmd_model_rows[];
extern const struct command cmd_plot_rows[], cmd_session_rows[],
    cmd_general_rows[], cmd_settings_rows[], cmd_jobs_rows[], cmd_runs_rows[], cmd_sweep_rows[],
    cmd_diag_rows[], cmd_screen_rows[], cmd_teach_rows[], cmd_time_rows[], cmd_line_rows[];

struct fit_opts;
struct dataset;
struct figure;
/* What a line of fit says of kernel, hyperparameters, features, tolerance, precision and seed: for
 * commands that look at such a fit without making it (cmd_model.c). */
enum status cmd_model_fit(struct workspace *, const struct args *, struct dataset *,
                         struct fit_opts *, struct err *);
/* The plot last put on the screen, made anew as its line says; NULL and no error when that was
 * another plot than `name`. */
struct figure *cmd_plot_shown(struct workspace *, const char *name, struct err *err);

#endif
