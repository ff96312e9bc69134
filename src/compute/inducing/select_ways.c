/* compute/inducing/select_ways.c -- the list of ways to choose inducing points, as text and by
 * name. */
#include "compute/inducing/select.h"

#include "compute/solvers/solver.h"

#include <stdio.h>
#include <string.h>

#define SELECT_ADDRESS(name) &name,
static const struct select_ops *const ways[] = { SELECT_ROWS(SELECT_ADDRESS) };
#undef SELECT_ADDRESS
enum { NWAYS = sizeof ways / sizeof *ways };

const struct select_ops *select_at(size_t i)
{
    return i < NWAYS ? ways[i] : NULL;
}

enum status select_parse(const char *text, struct select_opts *o, struct err *err)
{
    const size_t n = strcspn(text, "(");
    char all[120] = "fit solver=sparse select=";

    o->ops = NULL;
    for (size_t i = 0; i < NWAYS; i++) {
        if (strlen(ways[i]->name) == n && strncmp(ways[i]->name, text, n) == 0)
            o->ops = ways[i];
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i == 0 ? "" : i + 1 < NWAYS ? ", " : " or ", ways[i]->name);
    }
    if (o->ops)
        return solver_params_parse("select", o->ops->name, o->ops->params, text + n, o->params,
                                   err);
    err_set(err, ST_NOT_FOUND, "no way to select inducing points is called \"%.60s\"", text);
    err_hint(err, "%s", all);
    return ST_NOT_FOUND;
}

void select_print(const struct select_opts *o, char *out, size_t len)
{
    const struct select_ops *ops = o->ops ? o->ops : ways[0];
    const char *before = "(";

    snprintf(out, len, "%s", ops->name);
    for (size_t i = 0; ops->params && ops->params[i].name; i++) {
        char value[24];
        if (o->params[i] == 0.0)
            continue;
        solver_param_value(&ops->params[i], o->params[i], value, sizeof value);
        snprintf(out + strlen(out), len - strlen(out), "%s%s=%s", before, ops->params[i].name,
                 value);
        before = ",";
    }
    if (*before == ',')
        snprintf(out + strlen(out), len - strlen(out), ")");
}

enum status select_points(struct select_job *job, struct err *err)
{
    const struct select_opts *asked = job->o;
    struct select_opts o = *asked;

    if (o.ops == NULL)
        o.ops = ways[0];
    job->o = &o;
    enum status rc = select_points_new(select_count(&o, job->rows->n), job->rows->d, job->out, err);
    if (rc == ST_OK)
        rc = o.ops->choose(job, err);
    job->o = asked;
    if (rc != ST_OK)
        select_points_free(job->out);
    return rc;
}
