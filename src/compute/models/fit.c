/* compute/models/fit.c -- functions that the kinds of model share: time, warnings, and the results
 * of the solves of several targets. */
#include "compute/models/fit.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double fit_now(void)
{
    return clock_now();
}

void fit_warn(struct fit_info *info, const char *name, const char *fmt, ...)
{
    va_list ap;

    if (info->warning[0] != '\0')
        return;
    snprintf(info->warning_name, sizeof info->warning_name, "%s", name);
    va_start(ap, fmt);
    vsnprintf(info->warning, sizeof info->warning, fmt, ap);
    va_end(ap);
}

void fit_gather(struct fit *ft, struct solve_info *each)
{
    struct fit_info *info = ft->info;
    size_t keep = 0;

    for (size_t j = 0; j < ft->t; j++) {
        const struct solve_info *in = &each[j];
        if (in->iterations > each[keep].iterations)
            keep = j;
        info->target[j].iterations = (double)in->iterations;
        info->target[j].residual = in->residual;
        info->target[j].true_residual = in->true_residual;
        if (j == 0 || in->why < info->why) /* outcomes below 0 are failures */
            info->why = in->why;
        if (j == 0 || !(in->residual <= info->residual))
            info->residual = in->residual;
        if (j == 0 || !(in->true_residual <= info->true_residual))
            info->true_residual = in->true_residual;
        if (j == 0 || !(in->start <= info->start_residual))
            info->start_residual = in->start;
        info->float_limit |= in->float_limit;
        info->passes = fmax(info->passes, in->passes);
        info->batch = in->batch;
        info->step = in->step;
        info->step_limit = in->step_limit;
        info->momentum = in->momentum;
        info->lambda1 = in->lambda1;
        info->halved = in->halved > info->halved ? in->halved : info->halved;
    }
    *ft->trace = each[keep];
    each[keep] = (struct solve_info){ .why = OUT_RUNNING };
    info->iterations = ft->trace->iterations;
}

enum status fit_block_new(struct fit *ft, const double *b, struct fit_block *k, struct err *err)
{
    const size_t M = ft->m->M;

    *k = (struct fit_block){ .k = ft->t + ft->m->S, .B = b, .X = ft->m->w };
    if (ft->m->S == 0)
        return ST_OK;
    k->own = mem_calloc(2 * k->k, M * sizeof *k->own, "the right-hand sides", err);
    if (k->own == NULL)
        return ST_NOMEM;
    memcpy(k->own, b, ft->t * M * sizeof *k->own);
    k->B = k->own;
    k->X = k->own + k->k * M;
    return ST_OK;
}

double *fit_block_sides(const struct fit *ft, const struct fit_block *k)
{
    return k->own ? k->own + ft->t * ft->m->M : NULL;
}

void fit_block_end(struct fit *ft, struct fit_block *k, const struct solve_info *each,
                   enum status rc)
{
    struct model *m = ft->m;
    double worst = NAN;

    for (size_t j = ft->t; rc == ST_OK && j < k->k; j++) {
        const double own = isnan(each[j].true_residual) ? each[j].residual : each[j].true_residual;
        worst = own <= worst ? worst : own;
    }
    ft->info->samples_residual = worst;
    if (rc == ST_OK && k->own) {
        memcpy(m->w, k->X, ft->t * m->M * sizeof *m->w);
        memcpy(m->a, k->X + ft->t * m->M, m->S * m->M * sizeof *m->a);
    }
    free(k->own);
    k->own = NULL;
}

const double *fit_block_start(const struct fit *ft, const struct fit_block *k, const double *x0,
                              const double *row_scale, double **own, struct err *err)
{
    const struct model *start = ft->o->start, *m = ft->m;
    const size_t M = m->M;

    if (m->S == 0)
        return x0;
    *own = mem_calloc(k->k, M * sizeof **own, "the start", err);
    if (*own == NULL)
        return NULL;
    memcpy(*own, x0, ft->t * M * sizeof **own);
    const bool same = model_start_same(start, m) && start->seed == m->seed && !ft->info->projected;
    const size_t S = !same ? 0 : start->S < m->S ? start->S : m->S;
    for (size_t i = 0; i < S * M; i++) {
        const size_t at = ft->start_from ? ft->start_from[i % M] : i % M;
        if (at != SIZE_MAX)
            (*own)[ft->t * M + i] =
                start->a[i / M * start->M + at] / (row_scale ? row_scale[i % M] : 1.0);
    }
    return *own;
}
