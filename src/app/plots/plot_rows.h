/* app/plots/plot_rows.h -- every plot by name: a table of rows, like that of the commands. */
#ifndef GPDESK_PLOT_ROWS_H
#define GPDESK_PLOT_ROWS_H

#include "app/core/workspace.h"
#include "app/shell/words.h"
#include "figure/figure.h"

struct plot_work;
struct plot_ops {
    const char *name, *title, *axes, *help;
    /* run NULL: the last that fits; args NULL (the live panes of the screen): every key at its
     * default. */
    struct figure *(*make)(struct workspace *, struct run *, const struct args *, struct err *);
    bool columns;   /* words after the name are columns; those that name runs are runs */
    bool of_target; /* of several targets it shows one, which target= names */
    bool of_kernel; /* of the current hyperparameters, before any fit: a lesson has sliders by it */
    /* Where no run is named it shows one that is running, of this kind; both: a fit or a tuning;
     * learning: a tuning, or a fit that learns a map anew. */
    enum { PLOT_OF_ENDED, PLOT_OF_FIT, PLOT_OF_TUNING, PLOT_OF_BOTH, PLOT_OF_LEARNING } live;
    /* Computed by a job (plots.h): what it needs, taken on the main thread; make then gives a copy
     * of the last one made.  NULL: make does all. */
    enum status (*prepare)(struct workspace *, struct run *, const struct args *,
                           struct plot_work *, struct err *);
};
/* True if a plot shows this run, which is running, where none is named. */
bool plot_follows(const struct plot_ops *, const struct run *);
const struct plot_ops *plot_at(size_t i);
const struct plot_ops *plot_find(const char *name, struct err *err);
/* The row through which the shell asks for names, titles and help pages of plots
 * (shell/words.h), and that of arguments with several names. */
extern const struct words_row plot_words, plot_words_list;

#endif
