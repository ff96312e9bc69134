/* cuda/cg.c -- conjugate gradients with vectors and scalars on the device (struct backend_cg), by
 * the recursion of compute/solvers/cg.c. At most two steps are queued beyond those that are done;
 * their results are read once per run. */
#include "cuda/backend_impl.h"

#include "base/mem.h"

#include <stdlib.h>
#include <time.h>

struct cuda_cg {
    struct cuda *c;
    size_t k, L;
    double lam2;
    double *X, *R, *P, *Z, *W;  /* k vectors each, in one allocation */
    double *d, *U, *cU, *T;     /* for the preconditioner */
    float *single;  /* k vectors if the preconditioner is a factor on the device, otherwise NULL */
    struct dev_cg_slot *slots;
    int *step;                  /* for each slot */
    /* a recorded step for this number of slots, with its outputs; NULL: not recorded. */
    struct device_graph *graph;
    size_t graph_slots, graph_moves;
    const void *graph_steps;
    size_t warm_slots,
        /* At the last step launched normally, by which the memory it needs is allocated. */
        warm_moves;
    bool unrecorded;            /* recording has failed once */
    struct dev_cg_step *steps;  /* room for `most` */
    size_t most;
    void *held[6];
    size_t nheld;
};

static const double report_after = 0.04; /* a run ends after so many seconds of steps */

static void cuda_cg_close(void *state)
{
    struct cuda_cg *g = state;

    pthread_mutex_lock(&g->c->lock);
    device_wait(g->c->dev, NULL);
    device_graph_free(g->c->dev, g->graph);
    for (size_t i = 0; i < g->nheld; i++)
        device_free(g->c->dev, g->held[i]);
    device_free(g->c->dev, g->steps);
    pthread_mutex_unlock(&g->c->lock);
    free(g);
}

static double *cg_hold(struct cuda_cg *g, size_t numbers, const double *from, enum status *rc,
                       struct err *err)
{
    void *at = NULL;

    if (*rc != ST_OK || numbers == 0)
        return NULL;
    *rc = device_alloc(g->c->dev, &at, numbers * sizeof(double), "conjugate gradients", err);
    if (*rc == ST_OK)
        g->held[g->nheld++] = at;
    if (*rc == ST_OK && from)
        *rc = device_upload(g->c->dev, STREAM_WORK, at, from, numbers * sizeof(double), err);
    return at;
}

static void *cuda_cg_open(void *state, size_t k, double lam2, const struct backend_inverse *pre,
                          struct err *err)
{
    struct cuda *c = state;
    const size_t kM = k * c->M, slots = (k * sizeof(struct dev_cg_slot) + 7) / 8;
    struct cuda_cg *g = mem_calloc(1, sizeof *g, "conjugate gradients", err);
    enum status rc = ST_OK;

    if (!g)
        return NULL;
    if (pre->factor && !c->factored) {
        err_set(err, ST_UNSUPPORTED, "there is no factor on the device");
        free(g);
        return NULL;
    }
    *g = (struct cuda_cg){ .c = c, .k = k, .lam2 = lam2, .L = pre->L };
    pthread_mutex_lock(&c->lock);
    g->X = cg_hold(g, 5 * kM + slots + (k + 1) / 2, NULL, &rc, err);
    g->d = cg_hold(g, pre->d ? c->M : 0, pre->d, &rc, err);
    g->U = cg_hold(g, pre->L * c->M, pre->U, &rc, err);
    g->cU = cg_hold(g, pre->L, pre->c, &rc, err);
    g->T = cg_hold(g, pre->L * k, NULL, &rc, err);
    g->single = (float *)(void *)cg_hold(g, pre->factor ? (kM + 1) / 2 : 0, NULL, &rc, err);
    if (rc == ST_OK)
        rc = device_wait(c->dev, err); /* the memory that was sent belongs to the caller */
    pthread_mutex_unlock(&c->lock);
    if (rc != ST_OK) {
        cuda_cg_close(g);
        return NULL;
    }
    g->R = g->X + kM;
    g->P = g->R + kM;
    g->Z = g->P + kM;
    g->W = g->Z + kM;
    g->slots = (struct dev_cg_slot *)(void *)(g->W + kM);
    g->step = (int *)(void *)(g->W + kM + slots);
    return g;
}

static enum status cuda_cg_put(void *state, size_t slot, const double *X, const double *R,
                               struct err *err)
{
    struct cuda_cg *g = state;
    struct cuda *c = g->c;
    const size_t bytes = c->M * sizeof *X;
    enum status rc = ST_OK;

    pthread_mutex_lock(&c->lock);
    if (X)
        rc = device_upload(c->dev, STREAM_WORK, g->X + slot * c->M, X, bytes, err);
    if (rc == ST_OK && R)
        rc = device_upload(c->dev, STREAM_WORK, g->R + slot * c->M, R, bytes, err);
    if (rc == ST_OK)
        rc = device_wait(c->dev, err);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum status cuda_cg_get(void *state, size_t slot, double *X, double *R, struct err *err)
{
    struct cuda_cg *g = state;
    struct cuda *c = g->c;
    const size_t bytes = c->M * sizeof *X;
    enum status rc = ST_OK;

    pthread_mutex_lock(&c->lock);
    if (X)
        rc = device_download(c->dev, X, g->X + slot * c->M, bytes, err);
    if (rc == ST_OK && R)
        rc = device_download(c->dev, R, g->R + slot * c->M, bytes, err);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Swaps through Z, which is unused between two steps. */
static enum status cuda_cg_swap(void *state, size_t i, size_t j, struct err *err)
{
    struct cuda_cg *g = state;
    struct cuda *c = g->c;
    double *const of[] = { g->X, g->R, g->P };
    const size_t bytes = c->M * sizeof **of;
    enum status rc = ST_OK;

    pthread_mutex_lock(&c->lock);
    for (size_t a = 0; rc == ST_OK && i != j && a < 3; a++) {
        rc = device_copy(c->dev, g->Z, of[a] + i * c->M, bytes, err);
        if (rc == ST_OK)
            rc = device_copy(c->dev, of[a] + i * c->M, of[a] + j * c->M, bytes, err);
        if (rc == ST_OK)
            rc = device_copy(c->dev, of[a] + j * c->M, g->Z, bytes, err);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Z = P^-1 R for the active columns. */
static enum status cg_precondition(struct cuda_cg *g, size_t k, struct err *err)
{
    struct cuda *c = g->c;
    if (g->single)
        return factor_apply(c, k, g->R, g->single, g->Z, err);
    enum status rc = device_copy(c->dev, g->Z, g->R, k * c->M * sizeof *g->Z, err);

    if (rc == ST_OK && g->d)
        rc = device_scale_rows(c->dev, c->M, k, g->d, g->Z, err);
    if (rc != ST_OK || !g->U)
        return rc;
    rc = device_dgemm(c->dev, true, false, g->L, k, c->M, g->U, c->M, g->R, c->M, 0.0, g->T, g->L,
                      err);
    if (rc == ST_OK)
        rc = device_scale_rows(c->dev, g->L, k, g->cU, g->T, err);
    return rc == ST_OK ? device_dgemm(c->dev, false, false, c->M, k, g->L, g->U, c->M, g->T, g->L,
                                      1.0, g->Z, c->M, err) : rc;
}

static enum status cg_one(struct cuda_cg *g, size_t active, const struct ctl *ctl, struct err *err)
{
    struct cuda *c = g->c;
    struct sweep s = { .k = active, .up = true, .there = true, .P = g->P, .W = g->W };
    const struct cg_args a = { .M = c->M, .active = (int)active, .step = g->step,
                               .lam2 = g->lam2, .slot = g->slots, .history = g->steps, .X = g->X,
                               .R = g->R, .P = g->P, .Z = g->Z, .W = g->W };
    enum status rc = cg_precondition(g, active, err);

    if (rc == ST_OK)
        rc = device_cg_direction(c->dev, &a, err);
    if (rc == ST_OK)
        rc = tiles_run(c, &s, ctl, err);
    return rc == ST_OK ? device_cg_step(c->dev, &a, err) : rc;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Records a step: one launch instead of ten, which matters if a pass over the rows takes less time
 * than they do. All memory that it needs was allocated by an earlier step. */
static enum status cg_record(struct cuda_cg *g, size_t active, struct err *err)
{
    struct cuda *c = g->c;
    struct err quiet = { 0 };
    enum status rc = device_record(c->dev, err);

    device_graph_free(c->dev, g->graph);
    g->graph = NULL;
    if (rc == ST_OK) {
        c->recording = true;
        rc = cg_one(g, active, NULL, &quiet);
        c->recording = false;
        const enum status done = device_recorded(c->dev, &g->graph, err);
        rc = rc == ST_OK ? done : rc;
    }
    if (rc == ST_OK) {
        g->graph_slots = active;
        g->graph_moves = c->moves;
        g->graph_steps = g->steps;
        return ST_OK;
    }
    device_graph_free(c->dev, g->graph);
    g->graph = NULL;
    g->unrecorded = true;
    err_clear(err);
    return ST_OK;
}

static enum status cg_next(struct cuda_cg *g, size_t active, const struct ctl *ctl, struct err *err)
{
    const struct cuda *c = g->c;
    const bool same = g->graph && g->graph_slots == active && g->graph_steps == g->steps &&
                      g->graph_moves == c->moves;
    const bool warm = g->warm_slots == active && g->warm_moves == c->moves;
    enum status rc = ST_OK;

    if (!same && warm && !g->unrecorded && tiles_plain(c, active)) {
        rc = cg_record(g, active, err);
        if (rc == ST_OK && g->graph)
            return device_replay(c->dev, g->graph, err);
    }
    if (same)
        return device_replay(c->dev, g->graph, err);
    if (rc == ST_OK)
        rc = cg_one(g, active, ctl, err);
    g->warm_slots = active;
    g->warm_moves = c->moves;
    return rc;
}

/* Queues steps one after the other, at most two at a time. */
static enum status cg_queue(struct cuda_cg *g, size_t active, size_t m, size_t *queued,
                            const struct ctl *ctl, struct err *err)
{
    struct cuda *c = g->c;
    const double start = seconds();
    enum status rc = ST_OK;

    while (rc == ST_OK && *queued < m) {
        const int turn = 4 + (int)(c->turn++ & 1);
        rc = device_after(c->dev, turn, -1, err);
        if (rc == ST_OK)
            rc = tiles_stopped(ctl, err);
        if (rc == ST_OK)
            rc = cg_next(g, active, ctl, err);
        if (rc == ST_OK)
            rc = device_mark(c->dev, turn, STREAM_WORK, err);
        *queued += rc == ST_OK;
        if (seconds() - start > report_after)
            break;
    }
    return rc;
}

/* Converts the device's results: the steps before an event, and the one with it. */
static size_t cg_read(const struct dev_cg_step *from, size_t active, size_t queued,
                      struct cg_step *to)
{
    bool over = false;
    size_t done = 0;

    for (; done < queued && !over; done++)
        for (size_t i = done * active; i < (done + 1) * active; i++) {
            to[i] = (struct cg_step){ from[i].rz, from[i].beta, from[i].alpha, from[i].rel,
                                      (enum cg_event)from[i].event };
            over |= from[i].event != 0;
        }
    return done;
}

static enum status cuda_cg_run(void *state, size_t active, size_t m, const struct cg_slot *slots,
                               struct cg_step *steps, size_t *done, const struct ctl *ctl,
                               struct err *err)
{
    struct cuda_cg *g = state;
    struct cuda *c = g->c;
    const size_t bytes = m * active * sizeof *g->steps;
    struct dev_cg_step *temp = mem_calloc(m * active, sizeof *temp, "conjugate gradients", err);
    struct dev_cg_slot *at =
        temp ? mem_calloc(active, sizeof *at, "conjugate gradients", err) : NULL;
    size_t queued = 0;
    enum status rc = at ? ST_OK : ST_NOMEM;

    pthread_mutex_lock(&c->lock);
    if (rc == ST_OK && m * active > g->most) {
        void *room = NULL;
        device_free(c->dev, g->steps);
        g->steps = NULL;
        g->most = 0;
        rc = device_alloc(c->dev, &room, bytes, "conjugate gradients", err);
        g->steps = room;
        g->most = rc == ST_OK ? m * active : 0;
    }
    for (size_t i = 0; rc == ST_OK && i < active; i++)
        at[i] = (struct dev_cg_slot){ slots[i].rz, slots[i].goal, slots[i].fresh };
    if (rc == ST_OK)
        rc = device_upload(c->dev, STREAM_WORK, g->slots, at, active * sizeof *at, err);
    if (rc == ST_OK)
        rc = device_zero(c->dev, g->step, active * sizeof *g->step, err);
    if (rc == ST_OK)
        rc = cg_queue(g, active, m, &queued, ctl, err);
    if ((rc == ST_OK || rc == ST_CANCELLED) && queued) {
        const enum status got = device_download(c->dev, temp, g->steps,
                                                queued * active * sizeof *temp, err);
        rc = got != ST_OK ? got : rc;
        *done = got == ST_OK ? cg_read(temp, active, queued, steps) : 0;
    }
    device_wait(c->dev, NULL);
    pthread_mutex_unlock(&c->lock);
    free(at);
    free(temp);
    return rc;
}

const struct backend_cg cg_ops = {
    .open = cuda_cg_open, .close = cuda_cg_close, .put = cuda_cg_put, .get = cuda_cg_get,
    .swap = cuda_cg_swap, .run = cuda_cg_run,
};
