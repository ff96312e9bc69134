/* compute/ranks/answer.c -- the operators of a rank, and requests about them (answer.h). */
#include "compute/ranks/answer.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/tall.h"
#include "compute/ranks/content.h"
#include "compute/ranks/drawn.h"
#include "compute/ranks/parted.h"

#include <stdlib.h>
#include <string.h>

enum { BASIS_MOST = 1 << 26 }; /* rows */

struct answer_state {
    struct answer_state *next;
    uint32_t name;
    void *body; /* of the message that opened it, unless its rows have it */
    struct drawn_there of;
    struct kept *kept; /* its rows */
    struct source_array src;
    struct share share;
    struct fop *f;
    size_t n, M, nhp;
    struct tall basis; /* L 0: none */
    double *U;          /* its rows */
};

void answer_forget(struct answers *a, struct answer_state *s)
{
    if (!s)
        return;
    fop_free(s->f);
    featmap_free(s->of.fm);
    free(s->U);
    kept_give(&a->kept, s->kept);
    free(s->body);
    free(s);
}

static void state_close(struct answers *a, uint32_t name)
{
    for (struct answer_state **at = &a->first; *at; at = &(*at)->next)
        if ((*at)->name == name) {
            struct answer_state *s = *at;
            *at = s->next;
            answer_forget(a, s);
            return;
        }
}

/* The rows of a message that has them: from now on they own its body. */
static const double *rows_sent(struct answers *a, struct answer_state *s, struct kept_key *key)
{
    const struct drawn_head *h = &s->of.head;
    const size_t segments = content_segment(h->n, h->r1) - content_segment(h->n, h->r0);
    uint64_t *sum = mem_calloc(segments, sizeof *sum, "sums of rows", NULL);

    if (sum)
        content_of_rows(a->pool, h->n, h->r0, h->r1, h->inputs, s->of.x, sum);
    if (!sum || memcmp(sum, key->sum, segments * sizeof *sum) != 0)
        key->sum = NULL; /* not what the front end has summed: they serve this operator alone */
    free(sum);
    kept_trim(&a->kept, (h->r1 - h->r0) * h->inputs * sizeof(double));
    s->kept = kept_add(&a->kept, key, s->body, s->of.x);
    s->body = s->kept ? NULL : s->body;
    return s->kept ? s->of.x : NULL;
}

/* The rows from where they lie, if their sums are those of the message. */
static const double *rows_read(struct answers *a, struct answer_state *s,
                               const struct kept_key *key)
{
    const struct drawn_head *h = &s->of.head;
    const size_t rows = h->r1 - h->r0, bytes = rows * h->inputs * sizeof(double),
                 segments = content_segment(h->n, h->r1) - content_segment(h->n, h->r0);

    if (h->places == 0)
        return NULL;
    kept_trim(&a->kept, bytes);
    uint64_t *sum = mem_calloc(segments, sizeof *sum, "sums of rows", NULL);
    double *x = sum ? mem_aligned(bytes, 1, "rows", NULL) : NULL;
    bool good = x && places_read(&s->of.places, a->pool, h->r0 - h->from, rows, x);
    if (good) {
        content_of_rows(a->pool, h->n, h->r0, h->r1, h->inputs, x, sum);
        good = memcmp(sum, key->sum, segments * sizeof *sum) == 0;
    }
    if (good)
        s->kept = kept_add(&a->kept, key, x, x);
    free(sum);
    if (s->kept)
        return x;
    free(x);
    return NULL;
}

struct answer_state *answer_find(struct answers *a, const struct ask_head *ask, void **body,
                                 size_t bytes, bool *there, struct err *err)
{
    const double *x = NULL;

    state_close(a, ask->state); /* after a rank was lost, rows are dealt out anew */
    struct answer_state *s = mem_calloc(1, sizeof *s, "a feature operator", err);
    enum status rc = s ? drawn_read(&s->of, *body, bytes, err) : ST_NOMEM;
    if (rc != ST_OK) {
        free(s);
        return NULL;
    }
    const struct drawn_head *h = &s->of.head;
    struct kept_key key = { h->n, h->inputs, h->r0, h->r1, s->of.sum };
    s->name = ask->state;
    s->body = *body;
    *body = NULL;
    s->kept = kept_find(&a->kept, &key, &x);
    if (!x)
        x = s->of.x ? rows_sent(a, s, &key) : rows_read(a, s, &key);
    *there = x != NULL;
    if (!x && s->of.x)
        rc = err_nomem(err, bytes, "rows");
    else if (x)
        rc = drawn_check(h, x, err);
    if (rc != ST_OK) {
        answer_forget(a, s);
        return NULL;
    }
    source_array_init(&s->src, x, h->r1 - h->r0, h->inputs, h->inputs);
    s->src.base.layout = h->layout;
    return s;
}

enum status answer_open_found(struct answers *a, struct answer_state *s, struct err *err)
{
    const struct drawn_head *h = &s->of.head;

    s->share = a->share;
    s->share.n = h->n, s->share.r0 = h->r0, s->share.r1 = h->r1;
    const struct fop_opts o = { .pool = a->pool, .precision = (enum precision)h->precision,
                                .store = h->store, .half = h->half,
                                .row_scale = s->of.row_scale, .share = &s->share };
    const struct backend_ops *be = h->device ? parted_backend(a->device) : backend_cpu();
    s->f = fop_new(be, s->of.fm, &s->src.base, &o, err);
    if (!s->f) {
        const enum status rc = err->code;
        answer_forget(a, s);
        return rc;
    }
    s->n = s->src.base.n;
    s->M = s->of.fm->M;
    s->nhp = kernel_nhp(&s->of.fm->kernel);
    s->next = a->first;
    a->first = s;
    return ST_OK;
}

enum status answer_open(struct answers *a, const struct ask_head *ask, void **body, size_t bytes,
                        bool *there, struct err *err)
{
    struct answer_state *s = answer_find(a, ask, body, bytes, there, err);

    if (!s)
        return err->code;
    if (*there)
        return answer_open_found(a, s, err);
    answer_forget(a, s);
    return ST_OK;
}

/* A request under way: its numbers for all, its vectors of rows, and both parts of the answer. */
struct work {
    struct answer_state *s;
    const struct ask_head *ask;
    const double *all, *rows;
    double *out, *out_rows;
    struct pool *pool;
    const struct ctl *ctl;
};

static enum status bad(struct err *err)
{
    return err_set(err, ST_FORMAT, "a request that is none");
}

static enum status softmax(const struct work *w, struct err *err)
{
    const size_t C = w->ask->arg[0], M = w->s->M, want = w->ask->arg[4];
    const bool sum = want & ASK_WANT_SUM;
    const struct fop_softmax of = {
        .classes = C, .labels = w->rows, .offset = w->all, .weight = w->all + C,
        .W = w->all + 2 * C, .V = w->ask->arg[1] ? w->all + 2 * C + C * M : NULL,
        .h = want & ASK_WANT_H ? w->out_rows : NULL, .c = w->ask->arg[2],
        .keep = w->ask->arg[3] != 0
    };

    if (C < 2 || of.c >= C)
        return bad(err);
    for (size_t i = 0; i < w->s->n; i++)
        if (!(w->rows[i] >= 0.0 && w->rows[i] < (double)C))
            return bad(err);
    return fop_softmax(w->s->f, &of, sum ? w->out : NULL,
                       want & ASK_WANT_LOSS ? w->out + (sum ? C * M : 0) : NULL, w->ctl, err);
}

static enum status blocks(const struct work *w, struct err *err)
{
    const size_t rows = w->ask->arg[0], per = w->ask->arg[1], k = w->ask->arg[2];
    const double *P = w->all, *told = w->all + k * w->s->M;

    if (rows == 0 || rows > SHARE_ROWS || per == 0 || k == 0)
        return bad(err);
    size_t *at = mem_calloc(per, sizeof *at, "blocks of rows", err);
    struct fop_blocks *b = at ? fop_blocks_new(w->s->f, rows, per, k, err) : NULL;
    enum status rc = b ? ST_OK : err->code;
    for (size_t i = 0; rc == ST_OK && i < per; i++) {
        rc = told[i] >= 0.0 && told[i] * (double)rows < (double)w->s->share.n ? ST_OK : bad(err);
        at[i] = rc == ST_OK ? (size_t)told[i] : 0;
    }
    if (rc == ST_OK)
        rc = fop_blocks_pass(b, at, P, w->out, err);
    fop_blocks_free(b);
    free(at);
    return rc;
}

static enum status back(const struct work *w, struct err *err)
{
    const size_t M = w->s->M;
    const bool S = w->ask->arg[1] != 0;
    const struct fop_slope of = { S ? w->all : NULL, w->rows, w->all + (S ? M * M : 0),
                                  w->ask->arg[0], w->s->nhp };

    return fop_back(w->s->f, &of, w->out, w->ctl, err);
}

static enum status gram(const struct work *w, struct err *err)
{
    const size_t M = w->s->M, ny = w->ask->arg[0];

    return fop_gram_of(w->s->f, ny, ny ? w->rows : NULL, w->out, ny ? w->out + M * M : NULL, NULL,
                       w->ctl, err);
}

static enum status forms(const struct work *w, struct err *err)
{
    const struct fop_factors of = { w->all, w->ask->arg[0], (enum precision)w->ask->arg[1] };

    return w->ask->arg[1] > PREC_DOUBLE || of.count == 0
               ? bad(err) : fop_forms(w->s->f, &of, w->out_rows, w->ctl, err);
}

static enum status means(const struct work *w, struct err *err)
{
    const struct fop_groups of = { w->ask->arg[0], w->ask->arg[1],
                                   (enum precision)w->ask->arg[2] };

    if (w->ask->arg[2] > PREC_DOUBLE || of.each == 0 || of.groups > w->s->share.n / of.each)
        return bad(err);
    return fop_means(w->s->f, &of, w->out, w->ctl, err);
}

static enum status dots(const struct work *w, struct err *err)
{
    const size_t M = w->s->M;
    float *v = mem_calloc(M, sizeof *v, "a direction", err);

    for (size_t j = 0; v && j < M; j++)
        v[j] = (float)w->all[j];
    const enum status rc =
        v ? fop_dots(w->s->f, v, w->out_rows, w->out_rows + w->s->n, w->ctl, err) : ST_NOMEM;
    free(v);
    return rc;
}

/* Rows of a basis: whole pieces, perhaps none. */
static bool basis_sound(const struct ask_head *a)
{
    const size_t M = a->arg[1], r0 = a->arg[2], r1 = a->arg[3];
    bool begins = false, ends = false;

    for (size_t p = 0; M > 0 && M <= BASIS_MOST && p <= tall_pieces(M); p++) {
        begins |= tall_row(M, p) == r0;
        ends |= tall_row(M, p) == r1;
    }
    return begins && ends && r0 <= r1;
}

static enum status basis(const struct work *w, struct err *err)
{
    struct answer_state *s = w->s;
    const size_t L = w->ask->arg[0], r0 = w->ask->arg[2], rows = w->ask->arg[3] - r0;

    free(s->U);
    s->U = NULL;
    s->basis = (struct tall){ .L = 0 };
    if (L == 0)
        return ST_OK;
    s->U = mem_aligned(rows * L, sizeof *s->U, "a preconditioner", err);
    if (!s->U)
        return ST_NOMEM;
    memcpy(s->U, w->rows, rows * L * sizeof *s->U);
    s->basis = (struct tall){ w->ask->arg[1], L, r0, r0 + rows, s->U, rows };
    return ST_OK;
}

static enum status add_basis(const struct work *w, struct err *err)
{
    const struct tall *b = &w->s->basis;
    const size_t k = w->ask->arg[0], rows = b->r1 - b->r0;

    if (b->L == 0 || b->L != w->ask->arg[4] || b->M != w->ask->arg[1] ||
        b->r0 != w->ask->arg[2] || b->r1 != w->ask->arg[3])
        return bad(err);
    double *work = mem_aligned(tall_work(b, k), sizeof *work, "a preconditioner", err);
    if (!work)
        return ST_NOMEM;
    memcpy(w->out_rows, w->rows, rows * k * sizeof *work);
    const enum status rc = tall_add(b, &w->s->share, w->pool, k, w->all, w->out_rows, rows, work,
                                     err);
    free(work);
    return rc;
}

static enum status sums(const struct work *w, struct err *err)
{
    const struct ask_head *a = w->ask;
    struct fop *f = w->s->f;
    const bool slope = a->op == ASK_DGRAM || a->op == ASK_SLOPE;

    if (slope && (a->arg[0] > w->s->nhp || !fop_has_dtile(f)))
        return bad(err);
    switch (a->op) {
    case ASK_SET: return fop_set(f, w->all, err);
    case ASK_PASS: return fop_pass(f, a->arg[0], w->all, w->out, w->ctl, err);
    case ASK_PASS_EXACT: return fop_pass_exact(f, a->arg[0], w->all, w->out, w->ctl, err);
    case ASK_UNHALVE: return fop_unhalve(f), ST_OK;
    case ASK_ZP: return fop_zp(f, a->arg[0], w->all, w->out_rows, w->ctl, err);
    case ASK_ZTV: return fop_ztv(f, a->arg[0], w->rows, w->out, w->ctl, err);
    case ASK_GRAM: return gram(w, err);
    case ASK_SKETCH:
        return (a->arg[1] ? fop_sketch_rough : fop_sketch)(f, a->arg[0], w->all, w->out, w->ctl,
                                                           err);
    case ASK_DGRAM: return fop_dgram(f, a->arg[0], w->out, w->ctl, err);
    case ASK_DIAGONAL: return fop_diagonal(f, w->out, w->ctl, err);
    case ASK_SLOPE: return fop_slope_form(f, a->arg[0], w->rows, w->all, w->out, err);
    case ASK_BACK: return back(w, err);
    case ASK_FORMS: return forms(w, err);
    case ASK_MEANS: return means(w, err);
    case ASK_DOTS: return dots(w, err);
    case ASK_SOFTMAX: return softmax(w, err);
    case ASK_BLOCKS: return blocks(w, err);
    case ASK_BASIS: return basis(w, err);
    case ASK_BASIS_ADD: return add_basis(w, err);
    default: return bad(err);
    }
}

static struct answer_state *state_of(const struct answers *a, uint32_t name)
{
    struct answer_state *s = a->first;

    while (s && s->name != name)
        s = s->next;
    return s;
}

bool answer_sizes(const struct answers *a, const struct ask_head *ask, struct ask_sizes *z,
                  size_t *n)
{
    const struct answer_state *s = state_of(a, ask->state);

    if (ask_of_basis(ask) && !basis_sound(ask))
        return false;
    *n = !s ? 0 : ask_of_basis(ask) ? ask->arg[3] - ask->arg[2] : s->share.n;
    return s && ask_sizes(ask, s->M, s->nhp, z);
}

enum status answer_ask(struct answers *a, const struct ask_head *ask, const double *in,
                       size_t bytes, struct answer *answer, struct err *err)
{
    struct answer_state *s = state_of(a, ask->state);
    struct ask_sizes z;

    *answer = (struct answer){ .out = NULL };
    if (ask->op == ASK_CLOSE) {
        state_close(a, ask->state);
        return ST_OK;
    }
    if (!s || !ask_sizes(ask, s->M, s->nhp, &z) || (ask_of_basis(ask) && !basis_sound(ask)))
        return bad(err);
    const size_t n = ask_of_basis(ask) ? ask->arg[3] - ask->arg[2] : s->n;
    if ((double)bytes != 8.0 * ((double)z.all + (double)z.rows * (double)n))
        return bad(err);
    const size_t own = z.out + z.out_rows * n;
    answer->out = mem_calloc(own + 1, sizeof *answer->out, "an answer", err);
    if (!answer->out)
        return ST_NOMEM;
    const struct work w = { s, ask, in, in + z.all, answer->out, answer->out + z.out, a->pool,
                            a->ctl };
    const enum status rc = sums(&w, err);
    answer->from = ask->first ? 0 : z.out;
    answer->numbers = own - answer->from;
    return rc;
}

size_t answer_hyperparameters_for_tests(const struct answers *a)
{
    return a->first->nhp;
}
