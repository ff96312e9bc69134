/* compute/models/model_plan.c -- the plan of a fit: how it will store or compute features, and what
 * time and memory it needs.  It follows from sizes and the vector level of the processor alone and
 * never from a clock, so that the same command gives the same bits on another day; the number of
 * cores decides only between ways that give the same bits.
 *
 * The costs for one core are rounded measurements (tests/bench/bench_compute).  They are right to a
 * factor of two, which is enough to tell apart plans that differ by more. */
#include "compute/models/model_impl.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/features/fop.h"
#include "compute/features/gram.h"
#include "compute/linalg/blas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DIRECT_ALWAYS = 2048,     /* columns up to which an automatic solver factorises */
    PLAN_THREADS = 2,         /* the number of threads whose memory a choice counts */
    ITERATIONS = 120,         /* assumed iterations of a solve with a ranked preconditioner, */
    ITERATIONS_PLAIN = 500,   /* of one without, */
    ITERATIONS_FACTORED = 8,  /* and of one with a factor of Z'Z */
    SEARCHED = 6,             /* factors of a search for the noise ratio */
    SEARCH_ROWS = 2048,       /* its sample (model_refine.c) */
};

const char *const model_plan_words[] = { "auto", "store", "regenerate", "direct", NULL };
const char *const model_store_words[] = { "auto", "float32", "float16", "bits", NULL };

/* The rates of one core.  Seconds for an entry of Z with its products in a pass: computed anew
 * (made), read from float32 (stored), read from float16 (half), and what each further target adds
 * (more; measured at n=20,000, M=4096: 0.10e-9 up to the eighth, then 0.03e-9).  Floating point
 * operations per second: of the Gram matrix (n M^2 of them), of sketches, and in float64. */
struct rates { const char *level; double made, stored, half, more, gram, sketch, dbl; };
static const struct rates rates[] = {
    { "amx", 0.33e-9, 0.25e-9, 0.25e-9, 0.08e-9, 270e9, 95e9, 50e9 },
    { "avx512", 0.33e-9, 0.25e-9, 0.25e-9, 0.08e-9, 90e9, 95e9, 50e9 },
    { "avx2", 0.6e-9, 0.3e-9, 0.33e-9, 0.13e-9, 90e9, 95e9, 50e9 },
    { "portable", 1.6e-9, 0.5e-9, 3.1e-9, 0.45e-9, 90e9, 95e9, 50e9 },
};
/* Features that are signs (featmap_kernel_signed) are hashed once: seconds for each of them, place
 * and row.  An entry of Z'Z is a count of bits: operations per second, as gram above. */
static const double hash_seconds = 0.15e-9, hash_places = 30.0, bits_gram = 1500e9;
/* Z'Z of signs is not formed by itself beyond so many bytes (5,792 columns): the bits are passed
 * over, which takes a fraction of the memory and at most a few times as long. */
static const double bits_gram_most = 268435456.0;
static const double half_more = 1.2; /* factor on iterations: they correct rounding to float16 */
static const double stream = 10e9; /* bytes a second that one core reads from memory, */
static const double shared = 100e9; /* and all cores together, of a machine that has many */

/* The rates of a whole device, from operation counts for an H200 and not measured.  Factorisations
 * stay on the host. */
static const struct rates device_rates = { "device", 2e-12,  1.1e-12, 0.6e-12,
                                           0.5e-12,  25e12,  30e12,   50e9 };
static const double device_spare = 0.8; /* share of its free memory that stored features may take */

/* How many rows a row counts for: each window is one, and each place of a row of counts. */
static double windows_made(const struct kernel *k)
{
    size_t most = 1;

    for (size_t t = 0; t < k->nterms; t++)
        if (kterm_reads_windows(&k->term[t]) && k->term[t].layer.positions > most)
            most = k->term[t].layer.positions;
    return (double)most;
}

/* The rates for these options on this machine. */
static struct rates rates_now(const struct fit_opts *o)
{
    struct rates r = rates[sizeof rates / sizeof rates[0] - 1];

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (strcmp(cpu_level(), rates[i].level) == 0)
            r = rates[i];
    if (o->device_free) { /* seconds are divided by the host's cores later: multiply here */
        const double cores = o->device_cores ? (double)o->device_cores : 1.0;
        r = device_rates;
        r.made *= cores;
        r.stored *= cores;
        r.half *= cores;
        r.more *= cores;
        r.gram /= cores;
        r.sketch /= cores;
    }
    for (size_t t = 0; t < o->kernel.nterms; t++) /* chains of steps that no fused code serves */
        if ((o->kernel.term[t].ops->recipe && o->kernel.term[t].layer.terms == 0) ||
            o->kernel.term[t].times) {
            r.made *= 3.0;
            break;
        }
    r.made *= windows_made(&o->kernel);
    if (featmap_kernel_signed(&o->kernel)) { /* spread from bits */
        r.made = r.stored;
        r.gram = bits_gram;
    }
    if (o->precision == PREC_DOUBLE) {
        r.made *= 2.2;
        r.stored *= 2.0;
        r.more *= 2.0;
        if (!o->device_free)
            r.sketch = r.dbl;
        if (!o->device_free && !featmap_kernel_signed(&o->kernel))
            r.gram = r.dbl;
    }
    return r;
}

/* The number of targets beside the first: right-hand sides that share all passes. */
static double further(const struct fit_opts *o)
{
    return o->targets > 1 ? (double)o->targets - 1.0 : 0.0;
}

/* Seconds of a product with a preconditioner of rank r: U is read twice, once for all targets. */
static double apply_seconds(const struct fit_opts *o, double r)
{
    const double M = (double)o->features;
    return 16.0 * M * r / stream + further(o) * 4.0 * M * r / rates_now(o).dbl;
}

/* Seconds of a product with a stored Z'Z. */
static double gram_pass_seconds(const struct fit_opts *o)
{
    const double M = (double)o->features;
    return 4.0 * M * M / stream + further(o) * 2.0 * M * M / rates_now(o).dbl;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The rank that memory is planned for: the one asked for, or M / 8 within bounds. */
static size_t first_rank(size_t M, size_t asked)
{
    if (asked)
        return asked < M ? asked : M;
    size_t r = M / 8 / 16 * 16;
    r = r > RANK_FIRST ? RANK_FIRST : r < 32 ? 32 : r;
    return r < M / 2 ? r : M / 2 > 0 ? M / 2 : 1;
}

/* The number of features for the variances; whole: all of them where the program decides. */
static size_t variance_columns(const struct fit_opts *o, bool whole)
{
    switch (o->variance) {
    case VAR_NONE:
    case VAR_SAMPLES: return 0;
    case VAR_ALL: return o->features;
    case VAR_COUNT: return o->variance_count < o->features ? o->variance_count : o->features;
    case VAR_AUTO: break;
    }
    return whole || o->features <= AUTO_VARIANCE ? o->features : AUTO_VARIANCE;
}

/* Seconds of one core for each way to fit, variances included. */
static double product_seconds(double n, double M, const struct fit_opts *o)
{
    const double hashes = featmap_kernel_signed(&o->kernel) ? hash_seconds * hash_places : 0.0;

    return n * M * M / rates_now(o).gram + n * M * hashes;
}

static double factor_seconds(double M)
{
    return M * M * M / 3.0 / 45e9;
}

/* True when the fit searches for its noise ratio (model_refine.c). */
static bool looks(const struct fit_opts *o)
{
    return !o->keep_scale && !o->keep_ratio;
}

/* That search on the matrix of the rows: Z Z', then factors and the diagonals of their inverses. */
static double rows_seconds(double n, const struct fit_opts *o)
{
    return n * n * (double)o->features / rates_now(o).dbl + SEARCHED * 3.0 * factor_seconds(n);
}

/* That search by a factor of M columns: for each ratio a factor, and its solves for the features of
 * sampled rows, which gives their leverages. */
static double factors_seconds(double n, double M)
{
    return SEARCHED * (factor_seconds(M) + least(n, SEARCH_ROWS) * M * M / 45e9);
}

/* Of most kernels columns are draws like each other, and the search takes some of them. */
static double direct_seconds(double n, const struct fit_opts *o)
{
    const double M = (double)o->features, once = product_seconds(n, M, o) + factor_seconds(M);
    const double columns = M / (double)model_refine_every(o->features);

    if (!looks(o))
        return once;
    if (model_refine_by_rows((size_t)n, o->features))
        return once + rows_seconds(n, o);
    return once - (columns < M ? 0.0 : factor_seconds(M)) + factors_seconds(n, columns);
}

/* The solver asked for; NULL when the choice is free. */
static const struct solver_ops *asked(const struct fit_opts *o)
{
    return solver_is_free(o->solver) ? NULL : solver_find(o->solver, NULL);
}

static bool wants_direct(const struct fit_opts *o)
{
    return asked(o) && !asked(o)->iterative;
}

/* The preconditioner of the solve; NULL when the solver takes none. */
static const struct precond_ops *precond_of(const struct fit_opts *o)
{
    return asked(o) && !asked(o)->uses_precond ? NULL : precond_find(o->precond, NULL);
}

static bool preconditioned(const struct fit_opts *o)
{
    const struct precond_ops *p = precond_of(o);

    return p && p->ranked;
}

static bool factored(const struct fit_opts *o)
{
    const struct precond_ops *p = precond_of(o);

    return p && p->factored;
}

static double iterations(const struct fit_opts *o)
{
    const double usual = factored(o) ? ITERATIONS_FACTORED
                         : preconditioned(o) ? ITERATIONS : ITERATIONS_PLAIN;
    return o->maxit ? least((double)o->maxit, usual) : usual;
}

/* What an iterative fit does for its noise ratio: on the matrix of the rows, or on a Gram matrix of
 * as many columns as variances usually have, factorised several times. */
static double look_seconds(double n, const struct fit_opts *o)
{
    const size_t small = o->features < AUTO_VARIANCE ? o->features : AUTO_VARIANCE;

    if (!looks(o))
        return 0.0;
    if (model_refine_by_rows((size_t)n, o->features))
        return rows_seconds(n, o);
    return product_seconds(n, (double)small, o) + factors_seconds(n, (double)small);
}

/* The factor of the variances of an iterative fit, unless that of the search serves them. */
static double variance_seconds(double n, const struct fit_opts *o, size_t Mv)
{
    const size_t small = o->features < AUTO_VARIANCE ? o->features : AUTO_VARIANCE;
    const bool kept = looks(o) && !model_refine_by_rows((size_t)n, o->features) && Mv == small;

    return Mv && !kept ? product_seconds(n, (double)Mv, o) + factor_seconds((double)Mv) : 0.0;
}

/* The part of an iterative solve that is the same in every plan: the preconditioner's products and
 * the search for the noise ratio. */
static double solve_seconds(double n, const struct fit_opts *o, double rank)
{
    const double M = (double)o->features, whole = product_seconds(n, M, o) + factor_seconds(M);
    const double pre = factored(o)         ? whole + iterations(o) * apply_seconds(o, 0.5 * M)
                       : preconditioned(o) ? iterations(o) * apply_seconds(o, rank)
                                           : 0.0;
    return pre + look_seconds(n, o);
}

/* An iterative fit by passes over Z, without its variances; entry: seconds for an entry of Z. */
static double passes_seconds(double n, const struct fit_opts *o, double rank, double entry)
{
    const struct rates r = rates_now(o);
    const double M = (double)o->features, sketch = preconditioned(o) ? 2.0 * 4.0 * M * rank : 0.0;
    return n * sketch / r.sketch + iterations(o) * n * M * (entry + further(o) * r.more) +
           solve_seconds(n, o, rank);
}

/* An iterative fit on a stored Z'Z, without its variances. */
static double formed_seconds(double n, const struct fit_opts *o, double rank)
{
    const double M = (double)o->features;
    const double sketch = preconditioned(o) ? 2.0 * 2.0 * M * M * rank / rates_now(o).dbl : 0.0;
    return product_seconds(n, M, o) + sketch + iterations(o) * gram_pass_seconds(o) +
           solve_seconds(n, o, rank);
}

/* True where the matrix of the features would dwarf the features themselves. */
static bool prefers_bits(const struct fit_opts *o)
{
    const double M = (double)o->features;

    return featmap_kernel_signed(&o->kernel) && 8.0 * M * M > bits_gram_most;
}

/* The columns of the variances of an iterative fit: all of them where their factor takes no longer
 * than the quickest fit, and the memory allowed has room for it. */
static size_t iterative_columns(double n, const struct fit_opts *o, double rank, double budget)
{
    const double M = (double)o->features;
    const double fit = least(passes_seconds(n, o, rank, rates_now(o).stored),
                             formed_seconds(n, o, rank));

    return variance_columns(o, 8.0 * M * M <= 0.5 * budget && !prefers_bits(o) &&
                                   product_seconds(n, M, o) + factor_seconds(M) <= fit);
}

void model_on(struct fit_opts *o, const struct backend_ops *be, size_t threads)
{
    struct backend_device d;

    o->device_free = o->device_cores = 0;
    o->device_exact = false;
    if (featmap_kernel_hashed(&o->kernel)) /* no device has loops for it */
        return;
    if (be->describe == NULL || be->describe(SIZE_MAX, &d, NULL) != ST_OK)
        return;
    o->device_free = d.free ? d.free : 1;
    o->device_exact = be->exact != NULL;
    o->device_cores = threads;
}

/* Memory. */

/* The sizes of a fit.  All bytes below are those at the peak of a phase.  Inputs and targets, which
 * exist before the fit, are not counted. */
struct sizes { double n, d, M, t, threads; size_t Mv; }; /* Mv: variances of an iterative fit */

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Columns of the inverse of a factor. */
static double inverse_bytes(size_t order)
{
    return 8.0 * (double)order * (double)blas_inverse_columns(order);
}

/* A factor with that many columns and what is computed from it: the blocks of the Gram matrix; with
 * a search for the noise ratio (look) the features of a sample, twice; columns of its inverse; the
 * Gram matrix of half of the features. */
static double factor_bytes(const struct sizes *s, const struct fit_opts *o, size_t columns,
                           bool look)
{
    if (columns == 0)
        return 0.0;
    const double M = (double)columns, inverse = inverse_bytes(columns);
    const double half = 2.0 * M * M + inverse_bytes(columns / 2);
    const size_t n = (size_t)s->n, threads = (size_t)s->threads;
    const double blocks = fop_product_bytes(n, columns, 0, o->precision, threads);
    const double kept = fop_kept_bytes(n, columns, o->precision, threads);
    const double sample = look ? kept + 16.0 * M * least(s->n, SEARCH_ROWS) : 0.0;

    return 8.0 * M * M + most(most(blocks, sample), most(kept + inverse, half));
}

/* The search for the noise ratio on the matrix of the rows: the features, then columns of its
 * inverse. */
static double rows_bytes(const struct sizes *s)
{
    return 8.0 * s->n * s->n + most(8.0 * s->n * s->M, inverse_bytes((size_t)s->n));
}

/* A preconditioner of rank r: test matrix, sketch and core.  blocks: those of the sketch, 0 where
 * it is made from a stored Z'Z. */
static double precond_bytes(const struct sizes *s, double r, double blocks)
{
    return r > 0.0 ? 16.0 * s->M * r + 16.0 * r * r + most(blocks, 24.0 * r * r) : 0.0;
}

/* The choice of a rank: the features of a sample and their Gram matrix. */
static double sample_bytes(const struct sizes *s, const struct fit_opts *o)
{
    enum { SAMPLE = 2048 }; /* spectrum.c */
    const double m = least(s->n, SAMPLE);

    return o->rank || !preconditioned(o) ? 0.0 : 8.0 * m * m + 8.0 * m * most(m, s->M);
}

/* The solve with a preconditioner of rank r: U and five vectors for each target. */
static double solve_bytes(const struct sizes *s, double r)
{
    return 8.0 * s->M * (r + 5.0 * s->t);
}

/* Fills the bytes of all ways to fit: in each the largest sum over the phases. */
static void plan_bytes(double n, double d, const struct fit_opts *o, struct fit_plan *p)
{
    const double t = o->targets ? (double)o->targets : 1.0;
    const struct sizes s = { n, d, (double)o->features, t, (double)p->threads, p->iterative_Mv };
    const size_t M = o->features, small = M < AUTO_VARIANCE ? M : AUTO_VARIANCE;
    const double size = o->precision == PREC_DOUBLE ? 8.0 : 4.0, T = s.threads;
    const double r = preconditioned(o) ? (double)p->rank : 0.0;
    /* In every phase: weights, Z'y and partial sums, the packing of BLAS, and the map. */
    const double always = 16.0 * s.M * t + fop_pass_bytes(M, (size_t)t, o->precision, p->threads) +
                          T * MODEL_BLAS_PACK + featmap_bytes(&o->kernel, (size_t)d, M) +
                          (p->bits ? n * s.M / 8.0 : 0.0);
    const double rows = 8.0 * n * t;
    const double sketch = fop_product_bytes((size_t)n, M, (size_t)r, o->precision, p->threads);
    const bool by_rows = looks(o) && model_refine_by_rows((size_t)n, M);
    const bool look = looks(o) && !by_rows;
    const double refine = by_rows ? rows_bytes(&s) : look ? factor_bytes(&s, o, small, true) : 0.0;
    /* The factor of the search stays when it has the columns of the variances. */
    const double kept = look && s.Mv == small ? 8.0 * (double)small * (double)small : 0.0;
    const double whole = factored(o) ? 8.0 * s.M * s.M : 0.0;
    const double blocks0 =
        factored(o) ? fop_product_bytes((size_t)n, M, 0, o->precision, p->threads) : 0.0;
    const double solve = kept + whole +
                         most(most(sample_bytes(&s, o), blocks0),
                              most(precond_bytes(&s, r, sketch), solve_bytes(&s, r)));
    const double iterate = most(refine, most(solve, rows));
    const size_t Md = variance_columns(o, true);
    const double Mv = (double)s.Mv, left = s.Mv ? model_left_out_bytes(n, s.M, Mv, T) : 0.0;
    const double variance = most(kept > 0.0 ? 1.25 * kept : factor_bytes(&s, o, s.Mv, false),
                                 8.0 * Mv * Mv + left);

    p->bytes_regenerate = always + most(iterate, variance);
    const double here = o->device_free ? 0.0 : 1.0; /* 1: stored features are in host memory */
    p->bytes_store =
        always + most(iterate + (p->bits ? 0.0 : here * n * s.M * size), variance);
    p->bytes_half = always + most(iterate + here * n * s.M * 2.0, variance);
    p->device_store = o->device_free ? n * s.M * size : 0.0;
    p->device_half = o->device_free ? n * s.M * 2.0 : 0.0;
    const double left_direct =
        Md ? 8.0 * (double)Md * (double)Md + model_left_out_bytes(n, s.M, (double)Md, T) : 0.0;
    p->bytes_direct = always + most(most(most(by_rows ? refine : 0.0,
                                              factor_bytes(&s, o, M, look)), left_direct),
                                    most(rows, Md < M ? factor_bytes(&s, o, Md, false) : 0.0));
    const double gram = (double)gram_bytes(M, (size_t)t);
    const double blocks = fop_product_bytes((size_t)n, M, 0, o->precision, p->threads);
    const double stays = fop_kept_bytes((size_t)n, M, o->precision, p->threads);
    const double on_gram =
        whole + most(sample_bytes(&s, o), most(precond_bytes(&s, r, 0.0), solve_bytes(&s, r)));
    p->bytes_formed = always + most(most(refine, variance),
                                    gram + kept + most(blocks, most(stays + on_gram, rows)));
}

/* The choice. */

static double bytes_of(const struct fit_plan *p)
{
    return p->formed                    ? p->bytes_formed
           : p->plan == PLAN_DIRECT     ? p->bytes_direct
           : p->plan == PLAN_REGENERATE ? p->bytes_regenerate
           : p->half                    ? p->bytes_half
                                        : p->bytes_store;
}

struct rank_cost model_plan_costs(size_t n, size_t d, const struct fit_opts *o,
                                  const struct fit_plan *plan, size_t rank, int sketches)
{
    struct rank_cost c = { 0 };
    const struct rates rate = rates_now(o);
    const double N = (double)n, M = (double)o->features, r = (double)rank;
    struct fit_plan p = *plan;

    if (rank) { /* the sketches, then their orthonormal basis, core and spectrum */
        c.build = plan->formed ? sketches * 2.0 * M * M * r / rate.dbl
                              : sketches * 4.0 * N * M * r / rate.sketch;
        c.build += ((4.0 * sketches + 7.0) * M * r * r + 12.0 * r * r * r) / rate.dbl;
    }
    const double entry = plan->half                 ? rate.half * half_more
                         : plan->plan == PLAN_STORE ? rate.stored
                                                    : rate.made;
    c.iteration = apply_seconds(o, r) + (plan->formed ? gram_pass_seconds(o)
                                                     : N * M * (entry + further(o) * rate.more));
    p.threads = PLAN_THREADS;
    c.bytes = model_plan_bytes(n, d, o, &p, rank);
    return c;
}

double model_plan_bytes(size_t n, size_t d, const struct fit_opts *o, const struct fit_plan *plan,
                        size_t rank)
{
    struct fit_plan p = *plan;

    p.rank = rank;
    plan_bytes((double)n, (double)d, o, &p);
    return bytes_of(&p);
}

/* Whether features may be rounded to float16; UNSUPPORTED with the reason when they may not. */
static enum status may_round(const struct fit_opts *o, struct err *err)
{
    char names[120];

    if (o->precision != PREC_FLOAT)
        return err_set(err, ST_UNSUPPORTED, "store=float16: it is of precision=float");
    if (!(kernel_half_error(&o->kernel) < 1.0))
        return err_set(err, ST_UNSUPPORTED,
                       "store=float16: only sums of stationary kernels have features that it can "
                       "hold to a known error");
    if (solver_is_free(o->solver) || (asked(o) && asked(o)->corrects))
        return ST_OK;
    solver_names(solver_corrects, names, sizeof names);
    return err_set(err, ST_UNSUPPORTED, "store=float16: only %s correct its rounding", names);
}

/* store= implies plan=store: an error where both cannot be had. */
static enum status check_store(const struct fit_opts *o, struct err *err)
{
    if (featmap_kernel_signed(&o->kernel) && (o->store == STORE_FLOAT32 ||
                                              o->store == STORE_FLOAT16)) {
        err_set(err, ST_UNSUPPORTED, "store=%s: the features of this kernel are signs, which are "
                "kept as bits", model_store_words[o->store]);
        err_hint(err, "fit plan=store store=bits");
        return ST_UNSUPPORTED;
    }
    if (o->store == STORE_BITS && !featmap_kernel_signed(&o->kernel)) {
        err_set(err, ST_UNSUPPORTED,
                "store=bits: only features that are signs can be kept as bits, those of kernel "
                "tanimoto");
        err_hint(err, "fit plan=store store=float32");
        return ST_UNSUPPORTED;
    }
    if (o->store == STORE_FLOAT16 && may_round(o, err) != ST_OK) {
        err_hint(err, "fit plan=store store=float32");
        return ST_UNSUPPORTED;
    }
    if (o->store == STORE_AUTO || o->plan == PLAN_AUTO || o->plan == PLAN_STORE)
        return ST_OK;
    err_set(err, ST_USAGE, "store= is how plan=store keeps features: no other plan does");
    err_hint(err, "fit plan=store store=float16");
    return ST_USAGE;
}

/* True when memory has room for stored features, in float16 or float32. */
static bool stores(const struct fit_opts *o, double budget, const struct fit_plan *p, bool half)
{
    const double device = half ? p->device_half : p->device_store;

    return (half ? p->bytes_half : p->bytes_store) <= budget &&
           (o->device_free == 0 || device <= device_spare * (double)o->device_free);
}

/* True when features will be stored in float16: as asked, or because only those fit. */
static bool in_half(const struct fit_opts *o, double budget, const struct fit_plan *p)
{
    if (o->store != STORE_AUTO)
        return o->store == STORE_FLOAT16;
    return !stores(o, budget, p, false) && stores(o, budget, p, true) &&
           may_round(o, NULL) == ST_OK;
}

/* True when so many cores wait for stored features, which all come from one memory, that making
 * them anew is quicker.  Both ways give the same bits, so that the number of cores may decide. */
static bool crowded(const struct fit_opts *o, size_t cores)
{
    const double size = o->precision == PREC_DOUBLE ? 8.0 : 4.0;

    return o->device_free == 0 && size / shared > rates_now(o).made / (double)(cores ? cores : 1);
}

/* Chooses the plan: as asked, else the quickest one that fits into the budget. */
static enum status choose(size_t n, const struct fit_opts *o, double budget, struct fit_plan *p,
                          struct err *err)
{
    const bool free_choice = solver_is_free(o->solver);
    const double rank = (double)p->rank;
    bool formed = false; /* form Z'Z once, then iterate on it */

    if (wants_direct(o) && o->plan != PLAN_AUTO && o->plan != PLAN_DIRECT)
        return err_set(err, ST_USAGE, "solver=direct has no other plan than direct");
    p->seconds_direct = direct_seconds((double)n, o);
    p->seconds_search = look_seconds((double)n, o);
    const double factor = variance_seconds((double)n, o, p->iterative_Mv);
    p->seconds_formed = factor + formed_seconds((double)n, o, rank);
    p->seconds_store = factor + passes_seconds((double)n, o, rank, rates_now(o).stored);
    p->seconds_half = factor + passes_seconds((double)n, o, rank, half_more * rates_now(o).half);
    p->seconds_regenerate = factor + passes_seconds((double)n, o, rank, rates_now(o).made);
    const enum status rc = check_store(o, err);
    if (rc != ST_OK)
        return rc;
    const bool half = in_half(o, budget, p);
    if (o->store != STORE_AUTO) {
        p->plan = PLAN_STORE;
    } else if (o->plan != PLAN_AUTO) {
        p->plan = o->plan;
    } else if (wants_direct(o)) {
        p->plan = PLAN_DIRECT;
    } else {
        const double store = half ? p->seconds_half : p->seconds_store;
        const bool fits = half || stores(o, budget, p, false);
        p->plan = fits && store <= p->seconds_regenerate ? PLAN_STORE : PLAN_REGENERATE;
        const double passes = p->plan == PLAN_STORE ? store : p->seconds_regenerate;
        if (prefers_bits(o))
            p->plan = PLAN_STORE;
        else if (free_choice && p->bytes_direct <= budget &&
                 (o->features <= DIRECT_ALWAYS || p->seconds_direct <= passes))
            p->plan = PLAN_DIRECT;
        else if (p->bytes_formed <= budget && p->seconds_formed <= passes)
            formed = true;
    }
    if (formed)
        p->plan = PLAN_DIRECT;
    if (p->bits && p->plan == PLAN_REGENERATE) /* they are kept anyway */
        p->plan = PLAN_STORE;
    p->half = half && p->plan == PLAN_STORE;
    p->formed = p->plan == PLAN_DIRECT && (formed || !free_choice) && !wants_direct(o);
    return ST_OK;
}

struct way { const char *chosen, *other; double bytes, seconds; bool taken; };

/* Writes the note: what the plan does (memory, time), and the same of the alternatives. */
static void describe(const struct fit_opts *o, size_t threads, double budget,
                     const struct fit_plan *p, char note[256])
{
    const struct way ways[] = {
        { p->bits ? "keeps the features as bits" : "stores the features",
          p->bits ? "passes over bits" : "storing the features",
          o->device_free ? p->device_store : p->bytes_store, p->seconds_store,
          p->plan == PLAN_STORE && !p->half },
        { "stores the features in float16", "in float16",
          o->device_free ? p->device_half : p->bytes_half, p->seconds_half, p->half },
        { "makes the features anew in every pass", "making them anew", p->bytes_regenerate,
          p->seconds_regenerate, p->plan == PLAN_REGENERATE },
        { "forms Z'Z once and iterates on it", "iterating on Z'Z", p->bytes_formed,
          p->seconds_formed, p->formed },
        { "forms and factorises Z'Z", "factorising Z'Z", p->bytes_direct, p->seconds_direct,
          p->plan == PLAN_DIRECT && !p->formed },
    };
    const double cores = threads ? (double)threads : 1.0;
    char mem[24], t[24], head[100] = "", rest[200] = "";

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        mem_format(mem, sizeof mem, ways[i].bytes);
        text_seconds(t, sizeof t, ways[i].seconds / cores);
        if (ways[i].taken)
            snprintf(head, sizeof head, "%s (%s, about %s)", ways[i].chosen, mem, t);
        else if ((!wants_direct(o) || i == 4) && !(p->bits && i == 2) &&
                 (i != 1 || may_round(o, NULL) == ST_OK))
            snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%s %s (%s, %s)",
                     *rest ? "," : "; instead", ways[i].other, mem, t);
    }
    mem_format(mem, sizeof mem, budget);
    int n = snprintf(note, 256, "%s%s", head, rest);
    if (n > 0 && n < 256 && o->device_free) {
        mem_format(t, sizeof t, (double)o->device_free);
        n += snprintf(note + n, 256 - (size_t)n, "; the device has %s free", t);
    }
    if (n > 0 && n < 256)
        snprintf(note + n, 256 - (size_t)n, "; %s allowed", mem);
}

/* The largest number of features, by halving, that memory allows; 0: none. */
static size_t features_that_fit(size_t n, size_t d, const struct fit_opts *o, size_t threads)
{
    struct fit_opts half = *o;
    struct fit_plan p = { .plan = PLAN_AUTO };
    char note[256];

    for (half.features = o->features / 4 * 2; half.features >= 64;
         half.features = half.features / 4 * 2) {
        half.rank = half.rank > half.features / 2 ? 0 : half.rank;
        if (model_plan_features(&half, n, d, threads, &p, note, NULL) == ST_OK)
            return half.features;
    }
    return 0;
}

enum status model_plan_features(const struct fit_opts *o, size_t n, size_t d, size_t threads,
                                struct fit_plan *p, char note[256], struct err *err)
{
    const double ram = (double)mem_physical();
    const double budget = o->mem_limit ? (double)o->mem_limit : 0.5 * ram;
    char need[24], have[24];

    if (o->features < 2 || o->features % 2 != 0)
        return err_set(err, ST_RANGE, "features=%zu must be even and at least 2", o->features);
    if (o->variance == VAR_COUNT && (o->variance_count < 2 || o->variance_count % 2 != 0))
        return err_set(err, ST_RANGE, "variance=%zu must be even and at least 2",
                       o->variance_count);
    p->bits = featmap_kernel_signed(&o->kernel);
    p->rank = first_rank(o->features, o->rank);
    p->iterative_Mv = iterative_columns((double)n, o, (double)p->rank, budget);
    p->threads = PLAN_THREADS; /* so that the choice is the same for any number of threads */
    plan_bytes((double)n, (double)d, o, p);
    if (p->bytes_regenerate > budget) { /* rather fewer features for the variances than none */
        p->iterative_Mv = variance_columns(o, false);
        plan_bytes((double)n, (double)d, o, p);
    }
    enum status rc = choose(n, o, budget, p, err);
    if (rc != ST_OK)
        return rc;
    if (p->plan == PLAN_STORE && !p->half && !p->bits && o->plan == PLAN_AUTO &&
        o->store == STORE_AUTO && crowded(o, threads))
        p->plan = PLAN_REGENERATE;
    p->threads = threads;
    plan_bytes((double)n, (double)d, o, p);
    p->Mv = p->plan == PLAN_DIRECT && !p->formed ? variance_columns(o, true) : p->iterative_Mv;
    p->bytes = bytes_of(p);
    describe(o, threads, budget, p, note);
    const double most = o->mem_limit ? budget : 0.95 * ram;
    if (most > 0.0 && p->bytes > most) {
        mem_format(need, sizeof need, p->bytes);
        mem_format(have, sizeof have, most);
        err_named(err, ST_LIMIT, "memory", "features=%zu needs %s; %s is allowed", o->features,
                  need, have);
        const size_t fits = err ? features_that_fit(n, d, o, threads) : 0;
        if (fits)
            err_hint(err, "fit features=%zu, or variance=none, or a larger --mem", fits);
        else
            err_hint(err, "gpdesk --mem %s", need);
        return ST_LIMIT;
    }
    return ST_OK;
}
