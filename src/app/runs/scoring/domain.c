/* app/runs/scoring/domain.c -- see domain.h. */
#include "app/runs/scoring/domain.h"

#include "app/runs/alike.h"
#include "app/runs/cliffs.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/metrics.h"
#include "data/classes.h"
#include "data/kinds/distance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most so many pairs of rows of counts are compared, and letters of sequences: a few seconds.
 * Of more rows a sample is taken, evenly spaced, of at least LEAST. */
static const double pairs_most = 1e8, letters_most = 2e9;
enum { LEAST = 200, JUDGED_LEAST = 10, ROWS_LEAST = 5, WAVE = 64 };
/* Errors whose squares are at least this share of those of the training mean are guesses. */
static const double guess_share = 0.9;

/* Similarities. */

struct wave {
    const struct row_distance *v;
    const size_t *row;
    double *out;
};

static void letters_of(void *ctx, size_t task, size_t worker)
{
    const struct wave *w = ctx;

    (void)worker;
    w->out[task] = w->v->kind->distance->alike(w->v, w->row[task]);
}

static enum status by_letters(const struct domain_ask *q, const struct row_distance *v,
                              const size_t *row, size_t n, double *out, struct err *err)
{
    for (size_t i = 0; i < n; i += WAVE) {
        struct wave w = { v, row + i, out + i };
        if (ctl_stopped(&q->job->ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        pool_run(q->job->pool, n - i < WAVE ? n - i : WAVE, letters_of, &w);
    }
    return ST_OK;
}

static enum status by_counts(const struct domain_ask *q, const struct column *c,
                             const struct alike_rows *train, const size_t *row, size_t n,
                             double *out, struct err *err)
{
    const struct alike_rows rows = { counts_of(c), row, n };
    const struct alike_ask ask = { .a = &rows, .b = train, .least = 2.0, .pool = q->job->pool };
    struct alike_pairs none;
    const enum status rc = alike_compare(&ask, &none, out, &q->job->ctl, err);

    free(none.at);
    return rc;
}

/* The training rows of a column, and how many rows can be compared with them. */
struct neighbourhood {
    const struct column *c;
    bool counts;
    struct row_distance letters;
    size_t *row, n, affordable;
};

static void neighbourhood_close(struct neighbourhood *h)
{
    if (!h->counts)
        distance_close(&h->letters);
    free(h->row);
}

/* Compares what there is in each of the rows with the training rows. */
static enum status open_column(const struct dataset *d, size_t j, struct neighbourhood *h,
                               struct err *err)
{
    size_t n = 0, longest = 0;

    *h = (struct neighbourhood){ .c = &d->table->col[j] };
    h->counts = (kind_of(h->c)->rows & ROWS_COUNTS) != 0;
    enum status rc = dataset_rows(d, PART_TRAIN, &h->row, &h->n, err);
    if (rc == ST_OK && !h->counts)
        rc = distance_open(d, j, &h->letters, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < h->n; i++)
        if (!column_missing(h->c, h->row[i]))
            h->row[n++] = h->row[i];
    h->n = n;
    longest = h->counts ? 0 : kind_of(h->c)->longest(h->c);
    const double some = h->counts ? pairs_most / (double)(n + 1)
                                  : letters_most / ((double)(n + 1) * (double)(longest + 16));
    h->affordable = some > LEAST ? (size_t)fmin(some, 1e9) : LEAST;
    return ST_OK;
}

/* Those of a prediction's rows that are compared, as indices of it and as rows of the table. */
struct chosen { size_t n, *at, *row; double *similarity; };

static void chosen_free(struct chosen *c)
{
    free(c->at);
    free(c->row);
    free(c->similarity);
}

static enum status choose(const struct domain_ask *q, const struct neighbourhood *h,
                          const struct prediction *p, struct chosen *c, struct err *err)
{
    const size_t most = p->n < h->affordable ? p->n : h->affordable;

    *c = (struct chosen){ .at = mem_calloc(most + 1, sizeof *c->at, "rows", err),
                          .row = mem_calloc(most + 1, sizeof *c->row, "rows", err),
                          .similarity = mem_calloc(most + 1, sizeof *c->similarity, "rows", err) };
    if (!c->at || !c->row || !c->similarity)
        return ST_NOMEM;
    for (size_t k = 0; k < most; k++) {
        const size_t i = (size_t)((double)k * (double)p->n / (double)most);
        if (column_missing(h->c, p->row[i]))
            continue;
        c->at[c->n] = i;
        c->row[c->n++] = p->row[i];
    }
    if (!h->counts)
        return by_letters(q, &h->letters, c->row, c->n, c->similarity, err);
    const struct alike_rows train = { counts_of(h->c), h->row, h->n };
    return by_counts(q, h->c, &train, c->row, c->n, c->similarity, err);
}

/* Bins. */

static bool is_empty(const struct domain_bin *b)
{
    return b->rows + b->train == 0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a share of the similarities lies; NaN: there are none. */
static double quantile(const struct chosen *c, double share, struct err *err)
{
    double *v = mem_calloc(c->n + 1, sizeof *v, "rows", err), x = NAN;

    if (v && c->n > 0) {
        memcpy(v, c->similarity, c->n * sizeof *v);
        qsort(v, c->n, sizeof *v, by_size);
        x = v[(size_t)(share * (double)(c->n - 1))];
    }
    free(v);
    return x;
}

/* The width of bins: a round number, and not more than ten bins from the least alike hundredth of
 * the rows to 1. */
static double width_of(double least)
{
    static const double width[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1 };
    size_t k = 0;

    while (k + 1 < sizeof width / sizeof *width && (1.0 - least) / width[k] > 10.0)
        k++;
    return width[k];
}

static size_t bins_of(double width)
{
    const double all = round(1.0 / width);

    return all < DOMAIN_BINS ? (size_t)all : DOMAIN_BINS;
}

/* Bins are counted from 1 down, each with its upper end; all that is less alike is in the last. */
static size_t bin_at(double similarity, double width)
{
    const double k = floor((1.0 - similarity) / width + 1e-9);
    const size_t last = bins_of(width) - 1;

    return k < (double)last ? (size_t)k : last;
}

/* The training mean, as the prediction of whoever does not look at the inputs. */
static double mean_of(const struct prediction *train)
{
    double sum = 0.0;

    for (size_t i = 0; i < train->n; i++)
        sum += train->y[i];
    return sum / (double)train->n;
}

static void add_row(struct domain_bin *b, const struct prediction *p, size_t i, double mean)
{
    const double level = 0.95, e = p->y[i] - p->mean[i];
    double inside = NAN;

    if (!isfinite(e))
        return;
    if (p->y_scaled && p->var_scaled)
        metrics_coverage(1, &p->y_scaled[i], &p->mean_scaled[i], &p->var_scaled[i], p->reach, 1,
                         &level, &inside);
    b->rows++;
    b->square += e * e;
    b->sd2 += p->sd ? p->sd[i] * p->sd[i] : (double)NAN;
    b->guess2 += (p->y[i] - mean) * (p->y[i] - mean);
    b->coverage95 += inside;
}

static struct domain_bin joined(const struct domain_bin *a, const struct domain_bin *b)
{
    return (struct domain_bin){ .from = a->from, .to = b->to, .rows = a->rows + b->rows,
                                .train = a->train + b->train, .square = a->square + b->square,
                                .sd2 = a->sd2 + b->sd2, .guess2 = a->guess2 + b->guess2,
                                .coverage95 = a->coverage95 + b->coverage95 };
}

/* From sums to means. */
static void average(struct domain_bin *b, bool classes)
{
    const double n = (double)b->rows;

    b->square /= n;
    b->sd2 /= n;
    b->guess2 /= n;
    b->coverage95 = classes ? (double)NAN : b->coverage95 / n;
}

/* From the least alike bin on, while groups of at least ten rows are predicted hardly better than
 * by the training mean (share/doc/methods.md 11.15). */
static void find_guesses(struct domain *d)
{
    struct domain_bin group = { 0 }, all = { 0 };

    d->below = NAN;
    d->judged = false;
    for (size_t k = 0; k < d->nbins; k++) {
        group = is_empty(&group) ? d->bin[k] : joined(&group, &d->bin[k]);
        if (group.rows < JUDGED_LEAST)
            continue;
        d->judged = true;
        if (!(group.square >= guess_share * group.guess2))
            break;
        all = all.rows > 0 ? joined(&all, &group) : group;
        d->below = group.to;
        group = (struct domain_bin){ 0 };
    }
    d->guessed = all;
}

static void fill_bins(const struct domain_ask *q, const struct chosen *rows,
                      const struct chosen *train, double width, struct domain *d)
{
    const double mean = q->train->n ? mean_of(q->train) : (double)NAN;
    const bool classes = q->enc->nclasses > 0;
    struct domain_bin bin[DOMAIN_BINS] = { 0 };

    for (size_t k = 0; k < rows->n; k++)
        add_row(&bin[bin_at(rows->similarity[k], width)], q->at, rows->at[k], mean);
    for (size_t k = 0; k < train->n; k++)
        bin[bin_at(train->similarity[k], width)].train++;
    const size_t n = bins_of(width);
    for (size_t k = n; k-- > 0;) {
        const double all = round(1.0 / width); /* so that ends are round numbers */
        bin[k].to = (all - (double)k) / all;
        bin[k].from = k + 1 < n ? (all - (double)k - 1.0) / all : 0.0;
        if (d->nbins > 0 || !is_empty(&bin[k]))
            d->bin[d->nbins++] = bin[k];
    }
    while (d->nbins > 0 && is_empty(&d->bin[d->nbins - 1]))
        d->nbins--;
    find_guesses(d);
    for (size_t k = 0; k < d->nbins; k++)
        average(&d->bin[k], classes);
    average(&d->guessed, classes);
}

/* Cliffs. */

struct target {
    const struct domain_ask *q;
    const struct column *c;
    double difference;
    const size_t *a, *b; /* rows that are compared */
};

/* The target of a row in its own units; of two classes -1 or 1.  NaN: unknown. */
static double target_at(const struct target *t, size_t row)
{
    if (!t->q->enc->nclasses)
        return column_at(t->c, row);
    return 2.0 * classes_label(t->q->enc, t->c, row) - 1.0;
}

static bool is_cliff(const void *ctx, size_t a, size_t b, double similarity)
{
    const struct target *t = ctx;

    /* Equal rows with different targets are noise. */
    return similarity < 1.0 &&
           fabs(target_at(t, t->a[a]) - target_at(t, t->b[b])) >= t->difference;
}

/* All rows with counts and a target, and the sd of the target over them. */
static enum status find_others(struct target *t, const struct column *counts, size_t **out,
                               size_t *n, struct err *err)
{
    const size_t all = t->q->data->table->n;
    size_t *row = *out = mem_calloc(all + 1, sizeof *row, "rows", err);
    double mean = 0.0, square = 0.0;

    *n = 0;
    for (size_t i = 0; row && i < all; i++)
        if (!column_missing(counts, i) && !isnan(target_at(t, i)))
            row[(*n)++] = i;
    for (size_t i = 0; i < *n; i++)
        mean += target_at(t, row[i]) / (double)*n;
    for (size_t i = 0; i < *n; i++)
        square += pow(target_at(t, row[i]) - mean, 2.0) / (double)*n;
    t->difference = sqrt(square);
    return row ? ST_OK : ST_NOMEM;
}

/* The error on rows of cliffs, of all rows that there are, and on the others. */
static enum status find_cliffs(const struct domain_ask *q, const struct column *counts,
                               const struct chosen *rows, struct domain_cliffs *out,
                               struct err *err)
{
    const size_t j = table_find(q->data->table, q->target);
    struct target t = { .q = q, .a = rows->row };
    struct alike_pairs pairs = { 0 };
    size_t *other = NULL, n = 0;

    if (j == SIZE_MAX || (!q->enc->nclasses && q->data->table->col[j].type != COL_REAL))
        return ST_OK;
    t.c = &q->data->table->col[j];
    enum status rc = find_others(&t, counts, &other, &n, err);
    t.b = other;
    const struct alike_rows a = { counts_of(counts), rows->row, rows->n },
                            b = { counts_of(counts), other, n };
    const struct alike_ask ask = { .a = &a, .b = &b, .least = CLIFFS_SIMILAR, .keep = is_cliff,
                                   .ctx = &t, .pool = q->job->pool };
    bool *in = rc == ST_OK ? mem_calloc(rows->n + 1, sizeof *in, "rows", err) : NULL;
    if (rc == ST_OK)
        rc = in ? alike_compare(&ask, &pairs, NULL, &q->job->ctl, err) : ST_NOMEM;
    for (size_t k = 0; rc == ST_OK && k < pairs.n; k++)
        in[pairs.at[k].a] = true;
    for (size_t i = 0; rc == ST_OK && i < rows->n; i++)
        add_row(in[i] ? &out->in : &out->out, q->at, rows->at[i], (double)NAN);
    out->have = rc == ST_OK && t.difference > 0.0;
    out->similar = CLIFFS_SIMILAR;
    out->difference = t.difference * (q->enc->nclasses ? 0.5 : 1.0);
    average(&out->in, q->enc->nclasses > 0);
    average(&out->out, q->enc->nclasses > 0);
    free(in);
    free(other);
    free(pairs.at);
    return rc;
}

static enum status measure(const struct domain_ask *q, size_t j, struct domain *d,
                           struct err *err)
{
    const char *name = q->data->table->col[j].name;
    struct neighbourhood h;
    struct chosen rows = { 0 }, train = { 0 };
    enum status rc = open_column(q->data, j, &h, err);

    *d = (struct domain){ .by = h.counts ? "tanimoto" : "letters", .of = q->at->n };
    snprintf(d->column, sizeof d->column, "%s", name);
    if (rc == ST_OK)
        rc = choose(q, &h, q->at, &rows, err);
    if (rc == ST_OK)
        rc = choose(q, &h, q->train, &train, err);
    if (rc == ST_OK) {
        d->rows = rows.n;
        d->train = train.n;
        d->median = quantile(&rows, 0.5, err);
        d->train_median = quantile(&train, 0.5, err);
        const double least = fmin(quantile(&rows, 0.01, err), quantile(&train, 0.01, err));
        fill_bins(q, &rows, &train, width_of(least), d);
    }
    if (rc == ST_OK && h.counts && q->target)
        rc = find_cliffs(q, h.c, &rows, &d->cliffs, err);
    chosen_free(&rows);
    chosen_free(&train);
    neighbourhood_close(&h);
    return rc;
}

enum status domain_measure(const struct domain_ask *q, struct domain *out, size_t most, size_t *n,
                           struct err *err)
{
    const struct dataset *d = q->data;
    enum status rc = ST_OK;

    *n = 0;
    for (size_t j = 0; rc == ST_OK && j < d->table->ncols && *n < most; j++) {
        const struct column *c = &d->table->col[j];
        const struct row_kind *kind = kind_of(c);
        if (d->role[j] != ROLE_INPUT || !(kind->rows & ROWS_COUNTS || kind->distance) ||
            !encoding_reads(q->enc, c->name))
            continue;
        rc = measure(q, j, &out[*n], err);
        *n += rc == ST_OK && out[*n].rows > 0;
    }
    return rc;
}

/* Telling. */

bool domain_same(const struct domain *d)
{
    return !(1.0 - d->median > 1.5 * fmax(1.0 - d->train_median, 0.05));
}

void domain_words(const struct domain *d, struct buf *out)
{
    buf_printf(out, "nearest training row %.3g alike at the median (%s of ", d->median, d->by);
    text_safe(out, d->column, 24);
    buf_printf(out, "), of training rows left out %.3g: %s; ", d->train_median,
               domain_same(d) ? "the same kind of rows" : "further from the training data");
    if (isnan(d->below))
        buf_puts(out, d->judged ? "the least alike rows, too, are predicted better than by the "
                                  "training mean"
                                : "too few rows to tell where the model only guesses");
    else
        buf_printf(out, "up to %.3g the model only guesses (%zu rows, RMSE %.3g; by the training "
                        "mean %.3g)", d->below, d->guessed.rows, sqrt(d->guessed.square),
                   sqrt(d->guessed.guess2));
}

static void bin_json(struct rec *r, const struct domain_bin *b)
{
    rec_item(r);
    rec_num(r, "from", b->from);
    rec_num(r, "to", b->to);
    rec_int(r, "rows", (int64_t)b->rows);
    rec_int(r, "train_rows", (int64_t)b->train);
    rec_num(r, "rmse", sqrt(b->square));
    rec_num(r, "sd", sqrt(b->sd2));
    rec_num(r, "coverage95", b->coverage95);
    rec_num(r, "mean_rmse", sqrt(b->guess2));
    rec_close(r);
}

static void bins_text(struct rec *r, const struct domain *d)
{
    rec_text(r, "\n  similarity to the nearest training row: %s of ", d->by);
    rec_safe(r, d->column);
    if (d->rows < d->of)
        rec_text(r, " (%zu of %zu rows)", d->rows, d->of);
    rec_text(r, "\n     above   up to    rows      RMSE        sd   in 95 %%   by mean   left-out "
                "training rows");
    for (size_t k = 0; k < d->nbins; k++) {
        const struct domain_bin *b = &d->bin[k];
        if (is_empty(b))
            continue;
        rec_text(r, "\n  %8.3g%8.3g%8zu", b->from, b->to, b->rows);
        if (b->rows == 0)
            rec_text(r, "%10s%10s%10s%10s", "", "", "", "");
        else if (isnan(b->coverage95))
            rec_text(r, "%10.4g%10.4g%10s%10.4g", sqrt(b->square), sqrt(b->sd2), "",
                     sqrt(b->guess2));
        else
            rec_text(r, "%10.4g%10.4g%8.0f %%%10.4g", sqrt(b->square), sqrt(b->sd2),
                     100.0 * b->coverage95, sqrt(b->guess2));
        rec_text(r, "%13.0f %%", 100.0 * (double)b->train / fmax(1.0, (double)d->train));
    }
}

static void side_json(struct rec *r, const char *key, const struct domain_bin *b)
{
    rec_open(r, key);
    rec_int(r, "rows", (int64_t)b->rows);
    rec_num(r, "rmse", sqrt(b->square));
    rec_num(r, "sd", sqrt(b->sd2));
    rec_num(r, "coverage95", b->coverage95);
    rec_close(r);
}

static void side_text(struct rec *r, const char *words, const struct domain_bin *b)
{
    rec_text(r, "%s: %zu", words, b->rows);
    if (b->rows > 0)
        rec_text(r, ", RMSE %.4g, sd %.4g", sqrt(b->square), sqrt(b->sd2));
    if (b->rows > 0 && !isnan(b->coverage95))
        rec_text(r, ", %.0f %% inside", 100.0 * b->coverage95);
}

static void cliffs_tell(struct rec *r, const struct domain_cliffs *c)
{
    if (!c->have)
        return;
    rec_open(r, "cliffs");
    rec_num(r, "similar", c->similar);
    rec_num(r, "difference", c->difference);
    side_json(r, "in", &c->in);
    side_json(r, "out", &c->out);
    rec_close(r);
    side_text(r, "\n  rows of cliffs", &c->in);
    side_text(r, ";  other rows", &c->out);
    rec_text(r, "\n  (cliffs: pairs at least %.2g alike whose targets differ by %.4g or more; the "
                "command cliffs lists them)", c->similar, c->difference);
}

void domain_tell(struct rec *r, const struct domain *d, size_t n)
{
    if (n == 0)
        return;
    rec_array(r, "domain");
    for (size_t i = 0; i < n; i++) {
        rec_item(r);
        rec_str(r, "column", d[i].column);
        rec_str(r, "by", d[i].by);
        rec_int(r, "rows", (int64_t)d[i].rows);
        rec_int(r, "train_rows", (int64_t)d[i].train);
        rec_num(r, "median", d[i].median);
        rec_num(r, "train_median", d[i].train_median);
        rec_num(r, "guesses_below", d[i].below);
        rec_int(r, "guesses", (int64_t)d[i].guessed.rows);
        rec_array(r, "bins");
        for (size_t k = 0; k < d[i].nbins; k++)
            if (!is_empty(&d[i].bin[k]))
                bin_json(r, &d[i].bin[k]);
        rec_array_close(r);
        bins_text(r, &d[i]);
        cliffs_tell(r, &d[i].cliffs);
        rec_close(r);
    }
    rec_array_close(r);
}

/* The figure: for each column error and sd, coverage, and how many rows there are. */

struct curve { size_t n; double x[DOMAIN_BINS], y[4][DOMAIN_BINS]; };

/* Of the bins with rows enough: middles; RMSE, sd, RMSE of the training mean, coverage. */
static void take_curve(const struct domain *d, struct curve *c)
{
    c->n = 0;
    for (size_t k = 0; k < d->nbins; k++) {
        const struct domain_bin *b = &d->bin[k];
        if (b->rows < ROWS_LEAST)
            continue;
        c->x[c->n] = 0.5 * (b->from + b->to);
        c->y[0][c->n] = sqrt(b->square);
        c->y[1][c->n] = sqrt(b->sd2);
        c->y[2][c->n] = sqrt(b->guess2);
        c->y[3][c->n++] = b->coverage95;
    }
}

static struct figure *panel(const struct domain *d, const char *title, const char *y,
                            struct err *err)
{
    struct figure *f = figure_new("similarity", title, err);
    struct buf x = { 0 };

    buf_printf(&x, "similarity to the nearest training row (%s of ", d->by);
    text_safe(&x, d->column, 24);
    buf_puts(&x, ")");
    if (f && figure_label(f, buf_str(&x), y, err) != ST_OK) {
        figure_free(f);
        f = NULL;
    }
    buf_free(&x);
    if (f) {
        f->x.lo = d->bin[0].from;
        f->x.hi = d->bin[d->nbins - 1].to;
    }
    return f;
}

static struct figure *ended(struct figure *f, bool ok)
{
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static struct figure *error_panel(const struct domain *d, const struct curve *c, const char *run,
                                  const char *y, struct err *err)
{
    struct buf title = { 0 }, label = { 0 }, words = { 0 };

    buf_printf(&title, "Error and sd of %s by similarity", run);
    buf_puts(&label, "error, sd (");
    text_safe(&label, y, 40);
    buf_puts(&label, ")");
    struct figure *f = panel(d, buf_str(&title), buf_str(&label), err);
    bool ok = f && figure_add(f, "RMSE, held-out rows", MARK_LINEPOINTS, c->n, c->x, c->y[0], err);
    ok = ok && figure_add(f, "predicted sd", MARK_LINEPOINTS, c->n, c->x, c->y[1], err);
    struct series *s =
        ok ? figure_add(f, "RMSE of the training mean", MARK_LINE, c->n, c->x, c->y[2], err) : NULL;
    ok = s != NULL;
    if (s)
        s->dashed = true;
    if (ok && !isnan(d->below)) {
        s = figure_add_vline(f, "guesses up to here", d->below, err);
        ok = s != NULL;
        if (s)
            s->faint = true;
    }
    if (ok)
        f->y.lo = 0.0;
    domain_words(d, &words);
    ok = ok && figure_verdict(f, err, "%s", buf_str(&words)) == ST_OK;
    buf_free(&words);
    buf_free(&title);
    buf_free(&label);
    return ended(f, ok);
}

static struct figure *coverage_panel(const struct domain *d, const struct curve *c,
                                     struct err *err)
{
    struct figure *f = panel(d, "Coverage", "share inside the 95 % interval", err);
    bool ok = f && figure_add(f, "held-out rows", MARK_LINEPOINTS, c->n, c->x, c->y[3], err);
    struct series *s = ok ? figure_add_hline(f, "95 %", 0.95, err) : NULL;

    if (s) {
        s->faint = true;
        f->y.hi = 1.0;
    }
    return ended(f, s != NULL);
}

static struct figure *rows_panel(const struct domain *d, struct err *err)
{
    struct figure *f = panel(d, "How many rows", "share of rows", err);
    double x[DOMAIN_BINS], share[2][DOMAIN_BINS];

    for (size_t k = 0; k < d->nbins; k++) {
        const struct domain_bin *b = &d->bin[k];
        x[k] = 0.5 * (b->from + b->to);
        share[0][k] = (double)b->train / fmax(1.0, (double)d->train);
        share[1][k] = (double)b->rows / fmax(1.0, (double)d->rows);
    }
    bool ok = f && figure_add(f, "training rows left out", MARK_STEPS, d->nbins, x, share[0], err);
    ok = ok && figure_add(f, "held-out rows", MARK_STEPS, d->nbins, x, share[1], err);
    if (ok)
        f->y.lo = 0.0;
    return ended(f, ok);
}

struct figure *domain_figure(const struct domain *d, size_t n, const char *run, const char *y,
                             struct err *err)
{
    struct figure *first = NULL, **end = &first;
    enum { ERRORS, COVERAGE, ROWS, KINDS };

    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < n; i++) {
            struct curve c;
            take_curve(&d[i], &c);
            if (kind == COVERAGE && (c.n == 0 || isnan(c.y[3][0])))
                continue;
            *end = kind == ERRORS     ? error_panel(&d[i], &c, run, y, err)
                   : kind == COVERAGE ? coverage_panel(&d[i], &c, err)
                                      : rows_panel(&d[i], err);
            if (!*end) {
                figure_free(first);
                return NULL;
            }
            end = &(*end)->next;
        }
    if (first && n > 1)
        first->across = n;
    return first;
}
