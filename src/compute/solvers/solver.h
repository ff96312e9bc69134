/* compute/solvers/solver.h -- the registry of solvers: what `fit solver=` offers. */
#ifndef GPDESK_SOLVER_H
#define GPDESK_SOLVER_H

#include "compute/solvers/solve.h"

/* The registry: a row for each, in the order in which help lists them. */
#define SOLVER_ROWS(row) \
    row(pcg_solver)      \
    row(cg_solver)       \
    row(direct_solver)   \
    row(lbfgs_solver)    \
    row(svrg_solver)     \
    row(psvrg_solver)    \
    row(amsgrad_solver)  \
    row(adam_solver)     \
    row(blocks_solver)   \
    row(sdd_solver)      \
    row(gd_solver)       \
    row(sgd_solver)

#define SOLVER_DECLARED(name) extern const struct solver_ops name;
SOLVER_ROWS(SOLVER_DECLARED)
#undef SOLVER_DECLARED
const struct solver_ops *solver_at(size_t i); /* NULL past the end */
const struct solver_ops *solver_find(const char *name, struct err *err);
/* The iterative solver that is used when the choice is free. */
const struct solver_ops *solver_usual(void);
/* True for NULL and "auto": the fit chooses by predicted time. */
bool solver_is_free(const char *name);
/* Writes the names of the solvers that have a trait, as "pcg, lbfgs and cg". */
void solver_names(bool (*has)(const struct solver_ops *), char *out, size_t len);
bool solver_corrects(const struct solver_ops *);
/* True of a solver by name (NULL: none) whose residuals between two checks are estimates from its
 * random batches: only the true ones tell how far it is. */
bool solver_estimates(const char *name);
/* What a parameter can be, as "1 to 100" or its words; a value of it as text; whether a kept value
 * (0: its default) is one of them. */
void solver_param_range(const struct solver_param *, char *out, size_t len);
void solver_param_value(const struct solver_param *, double value, char *out, size_t len);
bool solver_param_holds(const struct solver_param *, double value);
/* Parses "svrg(batch=256,step=0.5)": the solver and its parameters (0 where not given). */
enum status solver_parse(const char *text, const struct solver_ops **,
                         double params[SOLVER_MAX_PARAMS], struct err *);
/* The parameters in brackets behind the name of a `what` ("solver"), or "" where there are none. */
enum status solver_params_parse(const char *what, const char *name, const struct solver_param *,
                                const char *text, double params[SOLVER_MAX_PARAMS], struct err *);

#endif
