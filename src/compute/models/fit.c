/* compute/models/fit.c -- functions that the kinds of model share: time, warnings, and the results
 * of the solves of several targets. */
#include "compute/models/fit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

double fit_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
        info->lambda1 = in->lambda1;
        info->halved = in->halved > info->halved ? in->halved : info->halved;
    }
    *ft->trace = each[keep];
    each[keep] = (struct solve_info){ .why = OUT_RUNNING };
    info->iterations = ft->trace->iterations;
}
