/* app/core/workspace.c -- what is loaded, chosen and finished: creating and freeing it, finding
 * things in it, and the jobs that start from it. See workspace.h. */
#include "app/core/workspace_impl.h"

#include "app/core/default_kernel.h"
#include "app/core/job.h"
#include "app/core/ws_screen.h"
#include "app/core/ws_tell.h"
#include "app/shell/options.h"
#include "base/mem.h"
#include "base/spill.h"
#include "compute/backend_load.h"
#include "compute/ranks/ranks.h"
#include "data/cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Creating and freeing. */

struct workspace *workspace_new(const struct options *opt, const struct owner *const *owners,
                                struct err *err)
{
    struct workspace *ws = mem_calloc(1, sizeof *ws, "the workspace", err);

    if (!ws)
        return NULL;
    ws->opt = *opt;
    ws->cur = SIZE_MAX;
    ws->cache_most = limits_now().cache;
    spill_directory(cache_dir);
    ws->lines = mem_calloc(1, sizeof *ws->lines, "the workspace", err);
    ws->origin = ws->lines ? options_origin_new(err) : NULL;
    ws->backend = backend_cpu();
    if (!ws->origin || owner_make_all(ws, owners, err) != ST_OK ||
        default_kernel_take(ws, err) != ST_OK ||
        !(ws->pool = pool_new(opt->threads ? opt->threads : 1, err)) ||
        !(ws->jobs = jobs_new(err))) {
        workspace_free(ws);
        return NULL;
    }
    return ws;
}

/* Frees everything that was loaded, fitted and remembered. */
static void release(struct workspace *ws)
{
    for (size_t i = 0; i < ws->nrun; i++)
        run_free(ws->run[i]);
    for (size_t i = 0; i < ws->nbin; i++)
        run_free(ws->bin[i]);
    for (size_t i = 0; i < ws->ndata; i++)
        dataset_unref(ws->data[i]);
    for (size_t i = 0; i < ws->nscript; i++)
        free(ws->script[i]);
    free(ws->run);
    free(ws->bin);
    free(ws->data);
    free(ws->script);
}

void workspace_clear(struct workspace *ws)
{
    owner_clear_all(ws); /* the session is closed before its runs are freed */
    release(ws);
    ws->run = ws->bin = NULL;
    ws->data = NULL;
    ws->script = NULL;
    ws->nrun = ws->nbin = ws->runs_made = ws->ndata = ws->nscript = ws->nfit = ws->ntune = 0;
    ws->asked = 0;
    ws->cur = SIZE_MAX;
    *ws->last_fit = '\0';
    memset(ws->hp_bound, 0, sizeof ws->hp_bound);
    memset(&ws->amp_bound, 0, sizeof ws->amp_bound);
    memset(&ws->noise_bound, 0, sizeof ws->noise_bound);
    ws->expected = (struct expect_tally){ 0 };
    ws->hp_tuned = false;
    (void)default_kernel_take(ws, NULL);
    ws->serial++;
}

bool workspace_end(struct workspace *ws, double seconds)
{
    return jobs_end(ws->jobs, seconds);
}

void workspace_free(struct workspace *ws)
{
    if (!ws)
        return;
    jobs_free(ws->jobs);
    workspace_lines_free(ws->lines);
    owner_free_all(ws);
    release(ws);
    pool_free(ws->pool);
    ranks_end(false);
    free(ws->origin);
    free(ws);
}

/* Finding datasets and runs. */

struct dataset *ws_dataset(struct workspace *ws, const char *name, struct err *err)
{
    if (name && !strncmp(name, "dataset:", 8))
        name += 8;
    if (!name || !strcmp(name, ".")) {
        if (ws->cur < ws->ndata)
            return ws->data[ws->cur];
        err_named(err, ST_STATE, "no-data", "no data is loaded yet");
        err_hint(err, "open FILE   |   demo co2");
        return NULL;
    }
    for (size_t i = ws->ndata; i-- > 0;)
        if (!strcmp(ws->data[i]->name, name))
            return ws->data[i];
    if (!strcmp(name, "-1") && ws->ndata > 1)
        return ws->data[ws->cur > 0 ? ws->cur - 1 : ws->ndata - 1];
    err_set(err, ST_NOT_FOUND, "no dataset is called %.80s", name);
    err_hint(err, "data");
    return NULL;
}

enum status ws_no_keyboard(const struct workspace *ws, const char *path, struct err *err)
{
    if (!ws->interactive || !path || strcmp(path, "-"))
        return ST_OK;
    err_set(err, ST_USAGE, "standard input is the keyboard, so no data can be read from it");
    err_hint(err, "name a file, or paste the lines of a script");
    return ST_USAGE;
}

struct run *ws_run(struct workspace *ws, const char *name, struct err *err)
{
    const char *id = name;
    size_t back = 0, fits = 0;

    if (id && !strncmp(id, "run:", 4))
        id += 4;
    if (!id || !strcmp(id, "."))
        id = ws->last_fit;
    else if (*id == '-')
        back = (size_t)strtoul(id + 1, NULL, 10);
    for (size_t i = ws->nrun; back && i-- > 0;)
        if (ws->run[i]->kind == RUN_FIT && fits++ == back)
            return ws->run[i];
    for (size_t i = 0; i < ws->nrun && *id; i++)
        if (!strcmp(ws->run[i]->id, id))
            return ws->run[i];
    for (size_t i = 0; i < ws->nbin && *id; i++)
        if (!strcmp(ws->bin[i]->id, id)) {
            if (ws->bin[i]->dropped) {
                err_named(err, ST_STATE, "dropped", "%s is in the bin", id);
                err_hint(err, "undo");
            } else {
                err_named(err, ST_STATE, "later", "%s was made later than what is shown", id);
                err_hint(err, "at now");
            }
            return NULL;
        }
    if (!ws->nrun || !name || !strcmp(name, ".")) {
        err_named(err, ST_STATE, "no-run", "nothing has been fitted yet");
        err_hint(err, "fit");
    } else {
        err_set(err, ST_NOT_FOUND, "there is no run %.40s", name);
        err_hint(err, "runs");
    }
    return NULL;
}

const struct run *ws_tuning_of(const struct workspace *ws, const struct run *fit)
{
    const size_t n = kernel_nhp(&fit->fit.kernel);

    for (size_t i = ws->nrun; i-- > 0;) {
        const struct run *t = ws->run[i];
        if (t->kind == RUN_TUNE && t->tune.evaluations && t->tune.nhp == n &&
            t->serial < fit->serial &&
            kernel_learned_same(&t->fit.kernel, &fit->fit.kernel) &&
            memcmp(t->tune.best.hp, fit->fit.hp, n * sizeof(double)) == 0)
            return t;
    }
    return NULL;
}

struct run *ws_run_new(struct workspace *ws, enum run_kind kind, struct err *err)
{
    struct run *r = mem_calloc(1, sizeof *r, "a run", err), **grown;

    if (!r)
        return NULL;
    grown = realloc(ws->run, (ws->nrun + 1) * sizeof *grown);
    if (!grown) {
        free(r);
        err_nomem(err, (ws->nrun + 1) * sizeof *grown, "the list of runs");
        return NULL;
    }
    ws->run = grown;
    ws->run[ws->nrun++] = r;
    r->kind = kind;
    r->serial = ws->runs_made++;
    r->state = RUN_QUEUED;
    r->created = (int64_t)time(NULL);
    r->trace_target = NAN;
    r->last.value = r->last.value2 = r->last.target = NAN;
    snprintf(r->id, sizeof r->id, "%c%zu", kind == RUN_FIT ? 'r' : 't',
             kind == RUN_FIT ? ++ws->nfit : ++ws->ntune);
    owner_named_all(ws, r);
    ws->serial++;
    return r;
}

void ws_run_drop(struct workspace *ws, struct run *r)
{
    --*(r->kind == RUN_FIT ? &ws->nfit : &ws->ntune);
    ws->nrun--;
    ws->runs_made--;
    run_free(r);
    ws->serial++;
}

struct run *ws_newest_running(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0;)
        if (ws->run[i]->state == RUN_RUNNING || ws->run[i]->state == RUN_QUEUED)
            return ws->run[i];
    return NULL;
}

void ws_kernel_take(struct workspace *ws, const struct kernel *k, const double *hp)
{
    const size_t n = kernel_nhp(k);

    ws->kernel = *k;
    for (size_t i = 0; i < n; i++) {
        struct hparam h;
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(k, i, name, &h);
        ws->hp[i] = isfinite(hp[i]) ? hp[i] : h.init;
        ws->hp_bound[i] = (struct tune_bound){ h.lo, h.hi, false, 0 };
    }
    ws->hp_tuned = ws->scale_tuned = false;
    ws->kernel_chosen = true;
    ws->serial++;
}

/* Jobs. */

/* A changed number of threads takes effect when no job uses the pool. */
static void fit_pool(struct workspace *ws)
{
    struct pool *pool;

    if (jobs_count(ws->jobs) > 0 || pool_threads(ws->pool) == ws->opt.threads)
        return;
    pool = pool_new(ws->opt.threads, NULL);
    if (!pool)
        return;
    pool_free(ws->pool);
    ws->pool = pool;
}

/* Several processes take the place of the device; each has its part of the threads, and a device of
 * its own. */
static bool fit_ranks(struct workspace *ws)
{
    const char *device = ws->opt.device;
    const bool asked = strncmp(device, "cuda", 4) == 0;
    const uint32_t first = asked && device[4] == ':' ? (uint32_t)strtoul(device + 5, NULL, 10) : 0;
    const size_t n = *ws->opt.hosts ? hosts_count(ws->opt.hosts, NULL) : ws->opt.ranks;
    const size_t each = n > 0 ? ws->opt.threads / n : 0;
    const struct ranks_plan plan = { n, each > 1 ? each : 1, ws->opt.hosts,
                                     strcmp(device, "cpu") == 0 ? 0 : 1 + first, asked };

    if (n < 2 && !*ws->opt.hosts)
        return false;
    ws->backend = ranks_use(&plan);
    *ws->device = '\0'; /* to be chosen again when there are no ranks */
    return true;
}

/* A changed device takes effect when no job uses the old one. If the device is not available, say
 * so once and compute on the CPU. */
static void fit_device(struct workspace *ws)
{
    struct err err = { 0 };

    if (jobs_count(ws->jobs) > 0 || fit_ranks(ws) || strcmp(ws->device, ws->opt.device) == 0)
        return;
    if (ws->backend->spent)
        ranks_end(true);
    snprintf(ws->device, sizeof ws->device, "%s", ws->opt.device);
    if (backend_choose(ws->device, &ws->backend, &err) != ST_OK)
        ws_warn(ws, "device", "%s; the CPU is used instead", err.msg);
}

/* A lower limit of the cache holds from the next job on; 0 leaves its entries to other programs. */
static void fit_cache(struct workspace *ws)
{
    if (ws->opt.cache > 0 && ws->opt.cache < ws->cache_most)
        cache_trim(ws->opt.cache);
    ws->cache_most = ws->opt.cache;
}

struct limits ws_limits(const struct workspace *ws)
{
    struct limits l = limits_of(ws->opt.mem, ws->opt.cache);

    l.molecule = ws->opt.molecule_seconds;
    return l;
}

static struct job *make_job(struct workspace *ws, const struct job_ops *ops, const char *name,
                            void *arg, const char *line, struct err *err)
{
    struct ws_line *l = ws->lines;
    struct job *job = job_make(ops, name, arg, line, err);

    if (!job)
        return NULL;
    fit_pool(ws);
    fit_device(ws);
    fit_cache(ws);
    job->pool = ws->pool;
    job->backend = ws->backend;
    job->limits = ws_limits(ws);
    job->cmd = l->cmd;
    job->args = l->args ? args_ref(l->args) : NULL;
    job->group = l->group;
    snprintf(job->origin, sizeof job->origin, "%s", l->origin);
    return job;
}

enum status ws_submit(struct workspace *ws, const struct job_ops *ops, const char *name, void *arg,
                      const char *line, struct err *err)
{
    struct job *job = make_job(ws, ops, name, arg, line, err);

    if (!job)
        return ST_NOMEM;
    enum status rc = jobs_submit(ws->jobs, job, err);
    ws->lines->submitted |= rc == ST_OK;
    return rc;
}

bool ws_screen_show(struct workspace *ws, const char *name, const char *runs)
{
    return ws->screen && ws->screen->show(ws->screen_ctx, name, runs);
}
