/* app/shell/commands.h -- the row arrays that make up the command table; each ends at .name ==
 * NULL. */
#ifndef GPDESK_COMMANDS_H
#define GPDESK_COMMANDS_H

#include "app/shell/command.h"

extern const struct command cmd_data_rows[], cmd_model_rows[], cmd_plot_rows[], cmd_session_rows[],
    cmd_general_rows[], cmd_sweep_rows[], cmd_diag_rows[], cmd_screen_rows[], cmd_teach_rows[],
    cmd_time_rows[], cmd_expect_rows[], cmd_export_rows[],
    cmd_line_rows[];

/* What a line of fit says of kernel, hyperparameters, features, tolerance, precision and seed: for
 * commands that look at such a fit without making it (cmd_model.c). */
struct fit_opts;
struct dataset;
enum status commands_fit(struct workspace *, const struct args *, struct dataset *,
                         struct fit_opts *, struct err *);

/* Pages of `help` that are no command: "kernels", "grammar", ... false: no such page. */
bool help_topic(const char *name, struct buf *out);
const char *help_topic_at(size_t i);                /* NULL past the end */
bool help_plot(const char *name, struct buf *out);  /* how to read a plot; false: no such plot */
void help_overview(struct buf *out);                /* groups and verbs, one screen */
size_t help_search(const char *word, struct buf *out); /* `help /word`: lines found */

#endif
