/* data/demo/demo.c -- data that is always available: one measured series, and generators whose
 * truth is known. Every draw is keyed by (seed, stream, row), so that row 17 is the same for any
 * n. */
#include "data/table.h"

#include "data/demo/demo_molecules.h"
#include "data/demo/demo_motifs.h"
#include "data/demo/demo_proteins.h"
#include "data/formats/import.h"
#include "data/kinds/nodes.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/kernels/kernel.h"
#include "compute/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    double year, ppm;
} co2_series[] = {
#include "src/data/demo/co2_data.h" /* made from share/data/co2.csv, which names its source */
};

enum { MAX_ROWS = 100000000 };

struct recipe {
    struct demo demo;
    const char *columns; /* inputs and target, separated by blanks */
    size_t n;            /* default number of rows; 0: a fixed table */
    double noise;
    enum status (*make)(struct table *, const struct demo_opts *, struct err *);
};

/* Streams of RNG_DEMO: one for each input column, then the noise. */
enum { STREAM_NOISE = 1000 };

static double uniform(const struct demo_opts *o, size_t col, size_t row, double lo, double hi)
{
    return lo + (hi - lo) * rng_uniform(o->seed, rng_stream(RNG_DEMO, (uint32_t)col), row);
}

static double noise(const struct demo_opts *o, size_t row)
{
    return o->noise * rng_normal(o->seed, rng_stream(RNG_DEMO, STREAM_NOISE), row);
}

static enum status make_co2(struct table *t, const struct demo_opts *o, struct err *err)
{
    (void)o, (void)err;
    for (size_t i = 0; i < t->n; i++) {
        t->col[0].v[i] = co2_series[i].year;
        t->col[1].v[i] = co2_series[i].ppm;
    }
    return ST_OK;
}

/* The distance reached by an arm of eight links of length 1/8. Joint k rotates everything behind
 * it, about the z axis if k is odd and about the y axis if it is even. Seen from the end, p <- R_k
 * (p + link). */
static double reach(const double angle[8])
{
    double x = 0.0, y = 0.0, z = 0.0;
    for (size_t k = 8; k-- > 0;) {
        double c = cos(angle[k]), s = sin(angle[k]);
        x += 0.125;
        if (k % 2 == 0) {
            double turned = c * x - s * y;
            y = s * x + c * y;
            x = turned;
        } else {
            double turned = c * x + s * z;
            z = c * z - s * x;
            x = turned;
        }
    }
    return sqrt((x - 0.1) * (x - 0.1) + (y - 0.1) * (y - 0.1) + (z - 0.1) * (z - 0.1));
}

static enum status make_robot(struct table *t, const struct demo_opts *o, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < t->n; i++) {
        double angle[8];
        for (size_t j = 0; j < 8; j++)
            angle[j] = t->col[j].v[i] = uniform(o, j, i, -0.5 * M_PI, 0.5 * M_PI);
        t->col[8].v[i] = reach(angle) + noise(o, i);
    }
    return ST_OK;
}

/* Friedman 1991, Multivariate adaptive regression splines: five of the ten inputs matter. */
static enum status make_friedman1(struct table *t, const struct demo_opts *o, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < t->n; i++) {
        double x[10];
        for (size_t j = 0; j < 10; j++)
            x[j] = t->col[j].v[i] = uniform(o, j, i, 0.0, 1.0);
        t->col[10].v[i] = 10.0 * sin(M_PI * x[0] * x[1]) + 20.0 * (x[2] - 0.5) * (x[2] - 0.5) +
                          10.0 * x[3] + 5.0 * x[4] + noise(o, i);
    }
    return ST_OK;
}

/* A slow and a fast wave: no single lengthscale suits both. */
static enum status make_toy(struct table *t, const struct demo_opts *o, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < t->n; i++) {
        double x = t->col[0].v[i] = uniform(o, 0, i, 0.0, 10.0);
        t->col[1].v[i] = sin(0.8 * x) + 0.3 * sin(8.0 * x) + noise(o, i);
    }
    return ST_OK;
}

/* A draw from a Gaussian process. */

struct wave {
    double omega, a, b; /* a cos(omega x) + b sin(omega x) */
};

/* Frequencies of one stationary term in one dimension: a normal variable divided by l, times the
 * radial factor of the kernel. */
static void draw_term(const struct kterm *term, double l, size_t index, uint64_t seed, size_t m,
                      double weight, struct wave *w)
{
    uint64_t stream = rng_stream(RNG_DRAW, (uint32_t)(8 * index));
    for (size_t j = 0; j < m; j++) {
        double radial = 1.0;
        if (term->ops->radial != NULL)
            radial = term->ops->radial(term->params, seed, stream + 1, j);
        w[j].omega = rng_normal(seed, stream + 2, j) * radial / l;
        w[j].a = weight * rng_normal(seed, stream + 3, j) / sqrt((double)m);
        w[j].b = weight * rng_normal(seed, stream + 4, j) / sqrt((double)m);
    }
}

static enum status draw_waves(const struct demo_opts *o, size_t m, struct wave **out, size_t *n,
                              struct err *err)
{
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    enum status rc = kernel_parse(o->kernel != NULL ? o->kernel : "rbf(l=0.3)", &k, hp, err);
    if (rc != ST_OK)
        return rc;
    *n = m * k.nterms;
    *out = mem_calloc(*n, sizeof **out, "a draw", err);
    if (*out == NULL)
        return ST_NOMEM;
    for (size_t t = 0; t < k.nterms; t++) {
        const struct kernel_ops *ops = k.term[t].ops;
        const struct kernel_place at = kernel_place(&k, t);
        if (ops->exact == NULL || ops->hparams == NULL || k.term[t].times) {
            free(*out);
            err_set(err, ST_UNSUPPORTED, "a draw needs stationary kernels and their sums; %s is "
                    "%s", ops->name, k.term[t].times ? "a factor" : "none");
            err_hint(err, "demo draw kernel=rbf(l=0.3)");
            return ST_UNSUPPORTED;
        }
        const double l = isnan(hp[at.hp0]) ? ops->hparams[0].init : hp[at.hp0];
        const double weight = at.weight == SIZE_MAX || isnan(hp[at.weight]) ? 1.0 : hp[at.weight];
        draw_term(&k.term[t], l, t, o->seed, m, weight, *out + t * m);
    }
    return ST_OK;
}

/* x has variance one, so that the lengthscale of the kernel is also that of the scaled data. */
static enum status make_draw(struct table *t, const struct demo_opts *o, struct err *err)
{
    size_t m = t->n <= 100000 ? 1024 : t->n <= 1000000 ? 256 : 64, n;
    struct wave *w;
    enum status rc = draw_waves(o, m, &w, &n, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < t->n; i++) {
        double x = t->col[0].v[i] = uniform(o, 0, i, -sqrt(3.0), sqrt(3.0)), f = 0.0;
        for (size_t j = 0; j < n; j++)
            f += w[j].a * cos(w[j].omega * x) + w[j].b * sin(w[j].omega * x);
        t->col[1].v[i] = f + noise(o, i);
    }
    free(w);
    return ST_OK;
}

/* Points typed by hand. */

/* Parses the next pair of "1:2,3:4". Returns false if there is none. */
static bool next_point(const char **s, double *x, double *y)
{
    const size_t nx = strcspn(*s, ":,"), ny = (*s)[nx] == ':' ? strcspn(*s + nx + 1, ",") : 0;
    if (ny == 0 || !text_double(*s, nx, x) || !text_double(*s + nx + 1, ny, y) || !isfinite(*x) ||
        !isfinite(*y))
        return false;
    *s += nx + 1 + ny;
    *s += **s == ',';
    return true;
}

static enum status count_points(const char *xy, size_t *n, struct err *err)
{
    double x, y;
    *n = 0;
    for (const char *s = xy != NULL ? xy : ""; *s != '\0'; ++*n)
        if (!next_point(&s, &x, &y)) {
            err_set(err, ST_USAGE, "point %zu of xy= is '%.20s', not x:y", *n + 1, s);
            err_hint(err, "demo points xy=-1:0.5,0:1.2,2:-0.3");
            return ST_USAGE;
        }
    if (*n == 0) {
        err_set(err, ST_USAGE, "demo points needs xy=");
        err_hint(err, "demo points xy=-1:0.5,0:1.2,2:-0.3");
        return ST_USAGE;
    }
    return ST_OK;
}

static enum status make_points(struct table *t, const struct demo_opts *o, struct err *err)
{
    const char *s = o->xy;
    (void)err;
    for (size_t i = 0; i < t->n; i++)
        (void)next_point(&s, &t->col[0].v[i], &t->col[1].v[i]);
    return ST_OK;
}

/* The list. */

static const struct recipe recipes[] = {
    {{"co2", "carbon dioxide at Mauna Loa, 1958 to 2020: trend and season (measured)"},
     "year ppm",
     0,
     0.0,
     make_co2},
    {{"robot", "eight joint angles of a robot arm -> distance of its hand from a point"},
     "joint1 joint2 joint3 joint4 joint5 joint6 joint7 joint8 distance",
     2000,
     0.01,
     make_robot},
    {{"friedman1", "Friedman's first function: ten inputs, of which five matter"},
     "x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 y",
     1000,
     1.0,
     make_friedman1},
    {{"draw", "a function drawn from a Gaussian process of the given kernel"},
     "x y",
     200,
     0.1,
     make_draw},
    {{"toy", "a slow and a fast wave with noise, one input"}, "x y", 200, 0.1, make_toy},
    {{"points", "points of your own: demo points xy=-1:0.5,0:1.2 (taken as they are, not scaled)"},
     "x y",
     0,
     0.0,
     make_points},
    {{"molecules",
      "5 to 20 atoms of four kinds -> energy of all pairs: sets of nodes, for graph and graphpoly"},
     MOLECULES_COLUMNS,
     5000,
     0.02,
     molecules_make},
    {{"proteins", "variants of a protein, 1 to 10 of 60 letters changed -> activity: sequences, "
                  "for rbf and conv"},
     PROTEINS_COLUMNS,
     3000,
     0.1,
     proteins_make},
    {{"motifs", "100 letters of DNA -> how often a planted word of five occurs, and whether more "
                "than five times: for spectrum"},
     MOTIFS_COLUMNS,
     1000,
     0.0,
     motifs_make},
};
enum { NRECIPES = sizeof recipes / sizeof *recipes };

const struct demo *demo_at(size_t i)
{
    return i < NRECIPES ? &recipes[i].demo : NULL;
}

static const struct recipe *find_recipe(const char *name, struct err *err)
{
    for (size_t i = 0; i < NRECIPES; i++)
        if (strcmp(recipes[i].demo.name, name) == 0)
            return &recipes[i];
    err_set(err, ST_NOT_FOUND, "no bundled data is called %.40s", name);
    err_hint(err, "demo co2 | robot | friedman1 | draw | toy | points | molecules | proteins | "
                  "motifs");
    return NULL;
}

static enum status check_opts(const struct recipe *r, const struct demo_opts *o, struct err *err)
{
    if (r->n == 0 && o->n != 0)
        return err_set(err, ST_USAGE, "demo %s has the rows it has: n= does not apply",
                       r->demo.name);
    if (r->make != make_points && o->xy != NULL) {
        err_set(err, ST_USAGE, "xy= belongs to demo points");
        err_hint(err, "demo points xy=%.60s", o->xy);
        return ST_USAGE;
    }
    if (r->make != make_draw && o->kernel != NULL) {
        err_set(err, ST_USAGE, "kernel= belongs to demo draw");
        err_hint(err, "demo draw kernel=%.60s", o->kernel);
        return ST_USAGE;
    }
    if (o->n > MAX_ROWS || o->n == 1)
        return err_set(err, ST_RANGE, "n=%zu: from 2 to %d rows", o->n, MAX_ROWS);
    if (o->noise > 1e6)
        return err_set(err, ST_RANGE, "noise=%g is too much", o->noise);
    return ST_OK;
}

static enum status make_columns(struct table *t, const char *names, struct err *err)
{
    for (size_t j = 0; j < t->ncols; j++) {
        struct column *c = &t->col[j];
        size_t len = strcspn(names, " ");
        c->type = COL_REAL;
        c->named = true;
        c->name = strndup(names, len);
        c->v = spill_array(t->n, sizeof *c->v, "generated data", err);
        if (c->name == NULL)
            return err_nomem(err, len, "generated data");
        if (c->v == NULL)
            return ST_NOMEM;
        names += len + (names[len] == ' ');
    }
    return ST_OK;
}

static char *describe(const struct recipe *r, const struct demo_opts *o)
{
    struct buf b = { 0 };
    buf_printf(&b, "demo:%s", r->demo.name);
    if (r->n > 0) {
        buf_printf(&b, " n=%zu seed=%" PRIu64 " noise=", o->n, o->seed);
        buf_json_double(&b, o->noise);
        if (o->kernel != NULL)
            buf_printf(&b, " kernel=%s", o->kernel);
    }
    if (o->xy != NULL)
        buf_printf(&b, " xy=%s", o->xy);
    return buf_take(&b);
}

enum status demo_make(const char *name, const struct demo_opts *opts, struct table **out,
                      struct err *err)
{
    *out = NULL;
    const struct recipe *r = find_recipe(name, err);
    if (r == NULL)
        return ST_NOT_FOUND;
    struct demo_opts o = opts != NULL ? *opts : (struct demo_opts){ .seed = 1, .noise = -1.0 };
    enum status rc = check_opts(r, &o, err);
    if (rc != ST_OK)
        return rc;
    size_t points = 0;
    if (r->make == make_points && (rc = count_points(o.xy, &points, err)) != ST_OK)
        return rc;
    o.noise = o.noise >= 0.0 ? o.noise : r->noise;
    o.n = o.n > 0 ? o.n : r->n;
    size_t ncols = 1;
    for (const char *p = r->columns; *p != '\0'; p++)
        ncols += *p == ' ';
    struct table *t = table_new("", ncols, err);
    if (t == NULL)
        return ST_NOMEM;
    t->n = points > 0 ? points : r->n == 0 ? sizeof co2_series / sizeof *co2_series : o.n;
    free(t->path);
    t->path = describe(r, &o);
    rc = t->path == NULL ? err_nomem(err, 64, "generated data") : make_columns(t, r->columns, err);
    if (rc == ST_OK)
        rc = r->make(t, &o, err);
    if (rc == ST_OK && r->make == molecules_make)
        rc = nodes_gather(&t,
                          &(struct import_opts){.graph = "mol",
                                                .describe = "neighbours",
                                                .target = "energy,atoms1,atoms2,atoms3,atoms4"},
                          NULL, err);
    if (rc == ST_OK)
        rc = table_finish(t, NULL, err);
    if (rc != ST_OK)
        table_unref(t);
    else
        *out = t;
    return rc;
}
