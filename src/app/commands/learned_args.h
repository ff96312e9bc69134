/* app/commands/learned_args.h -- what the lines of tune and fit ask of a kernel that learns its
 * features, and what has no meaning there. */
#ifndef GPDESK_LEARNED_ARGS_H
#define GPDESK_LEARNED_ARGS_H

#include "app/core/workspace.h"
#include "app/runs/fitting.h"
#include "app/shell/args.h"

/* For a kernel that learns: steps, rate, subsets, stop and continue; the kernel loses its weights,
 * as it learns anew.  For any other a note on these arguments. */
enum status learned_args_tune(struct workspace *, const struct args *, struct kernel *,
                              struct tune_opts *, struct err *);
/* The features of a kernel that learns are those that it learned, in double precision; STATE where
 * it has learned none. */
enum status learned_args_fit(struct workspace *, const struct args *, struct fit_opts *,
                             struct err *);
/* Two classes with one function take what was learned by dirichlet; STATE where nothing was. */
enum status learned_args_two(const struct kernel *, struct err *);

#endif
