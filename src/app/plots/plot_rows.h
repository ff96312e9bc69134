/* app/plots/plot_rows.h -- every plot by name: a table of rows as for commands. */
#ifndef GPDESK_PLOT_ROWS_H
#define GPDESK_PLOT_ROWS_H

#include "app/core/workspace.h"
#include "app/shell/words.h"
#include "figure/figure.h"

struct plot_work;
/* make: run NULL: the last that fits; args NULL (the live panes of the screen): every key at its
 * default. */
struct plot_ops { const char *name, *title, *axes, *help;
                  struct figure *(*make)(struct workspace *, struct run *, const struct args *,
                                         struct err *);
                  bool
                      columns; /* the words after its name are columns (runs among them are runs) */
                  /* Computed by a job (plots.h): what it needs, taken on the main thread; make then
                   * gives a copy of the last one made.  NULL: make does all. */
                  enum status (*prepare)(struct workspace *, struct run *, const struct args *,
                                         struct plot_work *, struct err *); };
const struct plot_ops *plot_at(size_t i);
const struct plot_ops *plot_find(const char *name, struct err *err);
/* What the shell asks of them: names, titles, pages of help (shell/words.h). */
extern const struct words_row plot_words;

#endif
