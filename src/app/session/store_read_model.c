/* app/session/store_read_model.c -- reads fitted models from the session: weights, rows and
 * variance factors. */
#include "app/session/store_load.h"

#include "app/core/workspace.h"
#include "base/mem.h"
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads n doubles of a run; NULL with the reason if they are absent or damaged. */
double *store_read_model_doubles(struct loader *l, const char *owner, const char *what, size_t n,
                       struct err *err)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, sizeof(double), &bytes) ||
        store_db_blob_size(l->db, owner, what) != bytes) {
        err_set(err, ST_FORMAT, "%s of %s is missing or has another size", what, owner);
        return NULL;
    }
    double *v = mem_aligned(n, sizeof *v, "a model", err);
    if (v && store_db_get_blob(l->db, owner, what, v, bytes, err) != ST_OK) {
        free(v);
        return NULL;
    }
    if (v)
        store_pack_doubles(v, n);
    return v;
}

/* Reads n numbers of single precision; NULL with the reason if they are absent or damaged. */
static double *singles(struct loader *l, const char *owner, const char *what, size_t n,
                       struct err *err)
{
    double *v = mem_aligned(n, sizeof *v, "a model", err);
    const size_t bytes = n * sizeof(uint32_t);
    /* In the second half of the array: what is unpacked never reaches what is not yet read. */
    unsigned char *in = v ? (unsigned char *)(v + n) - bytes : NULL;

    if (v && store_db_get_blob(l->db, owner, what, in, bytes, err) != ST_OK) {
        free(v);
        return NULL;
    }
    for (size_t i = 0; v && i < n; i++) {
        uint32_t u;
        float f;
        memcpy(&u, in + i * sizeof u, sizeof u);
        u = le32toh(u);
        memcpy(&f, &u, sizeof f);
        v[i] = f;
    }
    return v;
}

/* The number of elements of the lower triangle. */
static size_t triangle(size_t n)
{
    return n % 2 ? (n + 1) / 2 * n : n / 2 * (n + 1);
}

/* Unpacks the factor from its lower triangle. */
static double *factor(struct loader *l, const char *owner, size_t n, struct err *err)
{
    const size_t packed = triangle(n);
    double *p = NULL;

    if (store_db_blob_size(l->db, owner, STORE_FACTOR) == packed * sizeof(double))
        p = store_read_model_doubles(l, owner, STORE_FACTOR, packed, err);
    else if (store_db_blob_size(l->db, owner, STORE_FACTOR_SINGLE) == packed * sizeof(float))
        p = singles(l, owner, STORE_FACTOR_SINGLE, packed, err);
    double *full = p ? mem_calloc(n * n, sizeof *full, "a variance factor", err) : NULL;
    const double *from = p;
    for (size_t j = 0; full && j < n; j++) {
        memcpy(full + j * n + j, from, (n - j) * sizeof *full);
        from += n - j;
    }
    free(p);
    return full;
}

/* True if the rows that a model keeps are as its encoding writes them, their parts at the same
 * places. */
static bool rows_sound(const struct encoding *e, const struct model *m)
{
    const struct row_layout l = encoding_layout(e);
    bool sound = true;

    for (size_t i = 0; sound && i < m->M; i++) {
        const double *row = m->X + i * m->d;
        sound = source_row_sound(&l, m->d, row) &&
                memcmp(row + l.flat, m->X + l.flat,
                       (row_layout_head(&l) - l.flat) * sizeof *row) == 0;
    }
    return sound;
}

/* The rows that points come from: whole numbers below the number of training rows, or -1; and the
 * rounds of their choice, which are not missed. */
static bool read_points(struct loader *l, const struct run *r, struct model *m, struct err *why)
{
    const char *what = m->kind->margin ? "support vector" : "inducing point";

    m->origin = store_read_model_doubles(l, r->id, "origin", m->M, why);
    for (size_t i = 0; m->origin && i < m->M; i++) {
        const double row = m->origin[i];
        if (row == -1.0 || (row >= 0.0 && row < (double)r->info.rows && row == floor(row)))
            continue;
        err_set(why, ST_FORMAT, "%s %zu comes from row %g of %zu", what, i + 1, row, r->info.rows);
        return false;
    }
    for (size_t i = 0; m->origin && i < m->M * m->d; i++)
        if (!isfinite(m->X[i])) {
            err_set(why, ST_FORMAT, "%s %zu is not finite", what, i / m->d + 1);
            return false;
        }
    if (m->origin && m->nrounds)
        m->rounds = store_read_model_doubles(l, r->id, "rounds", MODEL_ROUND * m->nrounds, NULL);
    m->nrounds = m->rounds ? m->nrounds : 0;
    return m->origin != NULL;
}

/* The square roots of the weights of rows, which are positive. */
static double *read_row_scale(struct loader *l, const struct run *r, const struct model *m,
                              struct err *why)
{
    double *s = store_read_model_doubles(l, r->id, "row_scale", m->M, why);

    for (size_t i = 0; s && i < m->M; i++)
        if (!(s[i] > 0.0) || !isfinite(s[i]))
            err_set(why, ST_FORMAT, "the weight of training row %zu is %g", i + 1, s[i] * s[i]);
    return s;
}

/* Weights and errors of folds; the numbers of rows in front add up to those that follow. */
static void read_folds(struct loader *l, const struct run *r, struct model *m, struct err *why)
{
    double n = 0.0;

    m->cv = store_read_model_doubles(l, r->id, "cv", m->ncv_errors, why);
    m->cv_w = m->cv ? store_read_model_doubles(l, r->id, "cv_w", m->ncv * m->t * m->M, why) : NULL;
    for (size_t k = 0; m->cv && k < m->ncv; k++)
        n += m->cv[k] >= 0.0 && m->cv[k] == floor(m->cv[k]) ? m->cv[k] : NAN;
    if (m->cv && (double)m->ncv + n * (double)m->t != (double)m->ncv_errors)
        err_set(why, ST_FORMAT, "its folds have %g rows", n);
}

static void read_arrays(struct loader *l, struct run *r, struct model *m, bool inputs,
                        bool weighted)
{
    struct err why = { 0 };

    m->w = store_read_model_doubles(l, r->id, "w", m->t * m->M, &why);
    if (m->w && inputs)
        m->X = store_read_model_doubles(l, r->id, "X", m->M * m->d, &why);
    if (m->w && m->S)
        m->a = store_read_model_doubles(l, r->id, "a", m->S * m->M, &why);
    if (m->X && weighted)
        m->row_scale = read_row_scale(l, r, m, &why);
    if (m->w && m->ncv)
        read_folds(l, r, m, &why);
    if (m->w && (m->nspread || m->one_spread))
        m->spread = store_read_model_doubles(l, r->id, "spread", m->t * (m->nspread + 1), &why);
    if (m->X && !rows_sound(&r->enc, m))
        err_set(&why, ST_FORMAT, "its rows are not as its encoding writes them");
    const bool points = m->w && m->X && !m->kind->keeps_rows;
    if (why.code || !m->w || (inputs && !m->X) || (m->S && !m->a) ||
        (points && !read_points(l, r, m, &why))) {
        store_load_damaged(l, "the model of %s is damaged (%.200s): fit it again", r->id, why.msg);
        model_unref(m);
        return;
    }
    const size_t bytes = store_db_blob_size(l->db, r->id, STORE_STATE);
    if (bytes > 0) { /* without it the weights are a start, no more */
        m->nstate = bytes / sizeof *m->state;
        m->state = store_read_model_doubles(l, r->id, STORE_STATE, m->nstate, &why);
        m->nstate = m->state ? m->nstate : 0;
    }
    if (m->kind->loaded && m->kind->loaded(m, r->info.rows, &why) != ST_OK) {
        store_load_damaged(l, "the model of %s is damaged (%.200s): fit it again", r->id, why.msg);
        model_unref(m);
        return;
    }
    r->model = m;
}

/* Variance factors, newest first, up to a quarter of the memory. A factor that is not loaded (or
 * was not kept) is recomputed from the data when it is needed. */
void store_read_model_factors(struct loader *l)
{
    double budget = (l->ws->opt.mem ? (double)l->ws->opt.mem : (double)mem_physical()) / 4;

    for (size_t i = l->ws->nrun == l->out->nrun ? l->ws->nrun : 0; i-- > 0;) {
        struct run *r = l->ws->run[i];
        struct model *m = r->model;
        struct err why = { 0 };
        const size_t bytes = store_db_blob_size(l->db, r->id, STORE_FACTOR);
        const size_t single = store_db_blob_size(l->db, r->id, STORE_FACTOR_SINGLE);
        if (!m || !m->Mv || m->Mv > 1 << 16 || (bytes == 0 && single == 0))
            continue;
        if (bytes < triangle(m->Mv) * sizeof(double) &&
            single < triangle(m->Mv) * sizeof(float)) {
            l->out->run[i].unfinished = true; /* the program ended before all of it was written */
            continue;
        }
        l->out->run[i].factor = true; /* it is in the file, loaded or not */
        budget -= (double)m->Mv * (double)m->Mv * sizeof(double);
        if (budget < 0)
            return;
        m->L = factor(l, r->id, m->Mv, &why);
        if (!m->L) {
            l->out->run[i].factor = false;
            store_load_damaged(l, "the variance factor of %s is damaged; it is worked out again "
                               "from the data", r->id);
        }
    }
}

static const struct model_ops *read_kind(struct jdoc *j)
{
    const char *words[16] = { NULL };

    for (size_t i = 0; i + 1 < sizeof words / sizeof *words && model_kind_at(i); i++)
        words[i] = model_kind_at(i)->name;
    return model_kind_at((size_t)store_doc_word(j, words, "$.model.kind"));
}

/* How far the intervals reach.  A session that says nothing has those of normal distributions. */
static void read_reach(struct jdoc *j, struct model *m)
{
    static const char path[] = "$.model.reach";

    if (!store_doc_has(j, path))
        return;
    if (store_doc_len(j, TARGETS_MOST * REACH_LEVELS, path) != m->t * REACH_LEVELS) {
        store_doc_wrong(j, "%s is not of %zu targets", path, m->t);
        return;
    }
    for (size_t i = 0; i < m->t; i++) {
        for (size_t k = 0; k < REACH_LEVELS; k++)
            m->reach[i].at[k] = store_doc_num(j, "%s[%zu]", path, i * REACH_LEVELS + k);
        if (!reach_holds(&m->reach[i]))
            store_doc_wrong(j, "%s: intervals of target %zu do not grow with their level", path,
                            i + 1);
    }
}

/* What calibrations have made of a model; nothing in most sessions. */
static void read_calibration(struct jdoc *j, struct model *m)
{
    if (store_doc_has(j, "$.model.temperature"))
        m->temperature = store_read_field_positive(j, "$.model.temperature", false);
    if (store_doc_has(j, "$.model.level")) {
        m->level = store_doc_num(j, "$.model.level");
        if (!isfinite(m->level))
            store_doc_wrong(j, "$.model.level is not finite");
    }
    if (store_doc_has(j, "$.model.set_reach"))
        m->set_reach = store_read_field_positive(j, "$.model.set_reach", false);
    if (store_doc_has(j, "$.model.spread")) {
        m->nspread = (size_t)store_doc_int(j, 0, STORE_MANY, "$.model.spread");
        m->one_spread = m->nspread == 0;
    }
    if (store_doc_has(j, "$.model.cv_folds")) {
        m->ncv = (size_t)store_doc_int(j, 1, TARGETS_MOST, "$.model.cv_folds");
        m->ncv_errors = (size_t)store_doc_int(j, 1, STORE_MANY, "$.model.cv_errors");
        m->cv_level = store_read_field_positive(j, "$.model.cv_level", false);
    }
    if (m->nspread)
        store_read_field_hp(j, m->spread_hp, kernel_nhp(&m->kernel), "$.model.spread_hp");
}

void store_read_model(struct loader *l, struct jdoc *j, struct run *r)
{
    struct model *m = mem_calloc(1, sizeof *m, "a model", NULL);

    if (!m) {
        store_doc_nomem(j);
        return;
    }
    m->refs = 1;
    m->kind = read_kind(j);
    m->likelihood = store_read_field_link(j, "$.model.link");
    if (store_read_field_kernel(j, &m->kernel, "$.model.kernel"))
        store_read_field_hp(j, m->hp, kernel_nhp(&m->kernel), "$.model.hp");
    m->amplitude = store_read_field_positive(j, "$.model.amplitude", false);
    m->noise = store_read_field_positive(j, "$.model.noise", true);
    m->t = store_read_field_targets(j, "$.model.amplitudes");
    m->amplitudes[0] = m->amplitude;
    m->noises[0] = m->noise;
    store_read_field_each(j, "$.model.amplitudes", m->t, m->amplitudes);
    store_read_field_each(j, "$.model.noises", m->t, m->noises);
    read_reach(j, m);
    read_calibration(j, m);
    m->seed = store_doc_u64(j, "$.model.seed");
    m->d = (size_t)store_doc_int(j, 1, STORE_MANY, "$.model.d");
    m->M = (size_t)store_doc_int(j, 1, STORE_MANY, "$.model.M");
    m->Mv = (size_t)store_doc_int(j, 0, STORE_MANY, "$.model.Mv");
    if (store_doc_has(j, "$.model.samples"))
        m->S = (size_t)store_doc_int(j, 0, STORE_MANY, "$.model.samples");
    m->precision = (enum precision)store_doc_word(j, store_precisions, "$.model.precision");
    if (store_doc_has(j, "$.model.neighbours"))
        m->neighbours = (size_t)store_doc_int(j, 1, STORE_MANY, "$.model.neighbours");
    const bool weighted = store_doc_has(j, "$.model.weighted") &&
                          store_doc_bool(j, "$.model.weighted");
    const bool inputs = store_doc_bool(j, "$.model.inputs");
    if (m->kind->keeps_inputs && !m->kind->keeps_rows && !m->kind->margin)
        m->approx = (enum bound_approx)store_doc_word(j, bound_approx_words, "$.model.approx");
    if (store_doc_has(j, "$.model.rounds"))
        m->nrounds = (size_t)store_doc_int(j, 0, STORE_MANY, "$.model.rounds");
    if (m->kind->classes != (m->likelihood != NULL) ||
        (m->likelihood && m->likelihood->several != m->kind->several) ||
        (m->kind->of && m->kind->of != m->likelihood) ||
        (m->kind->classes && r->has_enc && r->enc.nclasses == 0) ||
        (m->kind->several && r->has_enc && (r->enc.nclasses != m->t || !(r->enc.alpha > 0.0))) ||
        m->ncv * m->t > TARGETS_MOST || m->ncv > m->ncv_errors ||
        m->kind->local != (m->neighbours > 0) || m->neighbours > m->M ||
        (weighted && !m->kind->local) || inputs != m->kind->keeps_inputs ||
        (m->kind->draws && m->M % 2) || m->Mv > m->M)
        store_doc_wrong(j, "$.model contradicts itself");
    if (r->has_enc && r->enc.d != m->d)
        store_doc_wrong(j, "the model and its encoding have %zu and %zu inputs", m->d, r->enc.d);
    if (r->has_enc && !encoding_binds(&r->enc, &m->kernel))
        store_doc_wrong(j, "the model and its encoding read rows differently");
    if (store_doc_ok(j) && r->has_enc)
        read_arrays(l, r, m, inputs, weighted);
    else
        model_unref(m);
}
