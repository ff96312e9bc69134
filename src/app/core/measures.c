/* app/core/measures.c -- the table of a run's figures. See measures.h. */
#include "app/core/measures.h"

#include "app/core/job.h"
#include "app/core/trace.h"
#include "app/shell/rec.h"
#include "compute/solvers/solve.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* Which runs a figure applies to. */

static bool iterated(const struct run *r)
{
    return r->info.why != OUT_DIRECT;
}

static bool has_features(const struct run *r)
{
    return r->info.features != 0;
}

static bool has_rank(const struct run *r)
{
    return iterated(r) && r->info.rank != 0;
}

static bool has_ranks(const struct run *r)
{
    return r->info.ranks != 0;
}

static bool has_precond(const struct run *r)
{
    return iterated(r) && r->info.precond[0];
}

static bool has_plan(const struct run *r)
{
    return r->info.plan[0];
}

static bool warm(const struct run *r)
{
    return r->info.warm;
}

static bool halved(const struct run *r)
{
    return r->info.halved != 0;
}

static bool has_batch(const struct run *r)
{
    return r->info.batch != 0;
}

static bool has_step(const struct run *r)
{
    return r->info.step_limit > 0.0;
}

static bool has_samples(const struct run *r)
{
    return r->info.samples != 0;
}

static bool chose_rank(const struct run *r)
{
    return r->info.rank_chosen;
}

static bool predicted_rank(const struct run *r)
{
    const struct fit_info *i = &r->info;

    return i->rank_chosen && i->why == OUT_RTOL && i->rank_iterations > 0.0;
}

static bool has_variance(const struct run *r)
{
    return r->info.variance_features != 0;
}

static bool is_sparse(const struct run *r)
{
    return r->info.inducing != 0;
}

static bool has_mean(const struct run *r)
{
    return is_sparse(r) && r->info.level != 0.0;
}

static bool has_neighbours(const struct run *r)
{
    return r->info.neighbours != 0;
}

/* Rows that a search for the amplitude left out, too. */
static bool has_left_out_nlpd(const struct run *r)
{
    return has_neighbours(r) ||
           (r->model && r->model->kind->point && isfinite(r->info.left_out_nlpd));
}

static bool has_bound(const struct run *r)
{
    return is_sparse(r) && isfinite(r->info.bound);
}

static bool has_support(const struct run *r)
{
    return r->info.support != 0;
}

static bool chose_points(const struct run *r)
{
    return r->tune.rounds != 0;
}

static bool has_left_out(const struct run *r)
{
    return r->info.left_out_rows != 0;
}

static bool is_calibrated(const struct run *r)
{
    return r->info.calibration_rows != 0;
}

static bool is_scaled(const struct run *r)
{
    return is_calibrated(r) && r->info.calibration_factor > 0.0;
}

static bool is_tempered(const struct run *r)
{
    return is_calibrated(r) && r->info.calibration_temperature > 0.0;
}

static bool has_sets(const struct run *r)
{
    return is_calibrated(r) && r->info.calibration_set > 0.0;
}

static bool has_level(const struct run *r)
{
    return is_calibrated(r) && r->info.calibration_level > 0.0;
}

/* A target has two values. */
static bool has_classes(const struct run *r)
{
    const struct metrics *m;
    bool has = false;

    for (size_t k = 0; (m = run_metrics(r, k, true)) != NULL; k++)
        has |= isfinite(m->auroc);
    return has;
}

/* Its predictions are probabilities of two classes. */
static bool has_probabilities(const struct run *r)
{
    const struct metrics *m = run_metrics(r, 0, true);

    return m && isfinite(m->log_loss);
}

/* Those of several classes. */
static bool has_several(const struct run *r)
{
    const struct metrics *m = run_metrics(r, 0, true);

    return m && isfinite(m->balanced_accuracy);
}

static bool has_evidence(const struct run *r)
{
    return isfinite(r->info.evidence) && r->info.evidence != 0.0;
}

static bool by_probes(const struct run *r)
{
    return r->tune.best.se > 0.0;
}

static bool has_probes(const struct run *r)
{
    return r->tune.probes != 0;
}

/* Figures computed from others. */

static const char *store_word(const struct run *r)
{
    return r->info.half                      ? "float16"
           : r->info.bits                    ? "bits"
           : r->info.stored                  ? "float32"
           : strcmp(r->info.plan, model_plan_words[PLAN_STORE]) ? NULL
           : r->fit.precision == PREC_DOUBLE ? "float64"
                                             : "float32";
}

static struct trace_fit fit_of(const struct run *r)
{
    struct trace_fit tf;

    trace_fit_run(r, &tf);
    return tf;
}

static double rate(const struct run *r)
{
    return fit_of(r).rate;
}

static double rate_r2(const struct run *r)
{
    return fit_of(r).r2;
}

static const char *rank_word(const struct run *r)
{
    const bool chosen = r->info.rank_chosen || (r->info.rank > 0 && r->fit.rank == 0);

    return !iterated(r) ? NULL : chosen ? "auto" : "given";
}

static const char *model_word(const struct run *r)
{
    return run_model_kind(r)->name;
}

static double rank_error(const struct run *r)
{
    return r->info.rank_iterations / (double)r->info.iterations - 1.0;
}

static double seconds(const struct run *r)
{
    return r->state == RUN_RUNNING ? job_now() - r->started
           : r->ended > r->started ? r->ended - r->started
                                   : NAN;
}

static double tune_features(const struct run *r)
{
    return (double)r->topt.features;
}

/* The table. */

#define TYPE_OF(x) \
    _Generic((x), double: MEASURE_REAL, size_t: MEASURE_COUNT, bool: MEASURE_FLAG, \
             char *: MEASURE_WORD, default: MEASURE_OUTCOME)
#define MEMBER(kind, structure, member) \
    .of = kind, .type = TYPE_OF(((struct structure *)0)->member), \
    .at = offsetof(struct structure, member), .size = sizeof(((struct structure *)0)->member)
#define INFO(member) MEMBER(MEASURE_OF_INFO, fit_info, member)
#define RESULT(member) MEMBER(MEASURE_OF_RESULT, tune_result, member)
#define POINT(member) MEMBER(MEASURE_OF_POINT, tune_point, member)
#define RAW(member) MEMBER(MEASURE_OF_RAW, metrics, member)
#define SCALED(member) MEMBER(MEASURE_OF_SCALED, metrics, member)
/* Name, key in session files, group of the result record, unit, words. */
#define ROW(n, s, g, u, w) .name = n, .session = s, .group = g, .unit = u, .words = w
#define LOWER .better = MEASURE_LOWER
#define HIGHER .better = MEASURE_HIGHER

static const struct measure table[] = {
    /* Figures of a fit: the system and how it was solved. */
    {ROW("solver", "solver", MEASURE_SYSTEM, "", "solver"), INFO(solver)},
    {ROW("model", NULL, MEASURE_SYSTEM, "", "kind of model"), .word = model_word,
     .type = MEASURE_WORD},
    {ROW("features", "features", MEASURE_SYSTEM, "", "random features"), INFO(features),
     .applies = has_features, .brief = "features", .expect = 2},
    {ROW("neighbours", "neighbours", MEASURE_SYSTEM, "",
         "nearest training rows that predict a row"),
     INFO(neighbours), .applies = has_neighbours, .omit = true, .age = MEASURE_LATER},
    {ROW("left_out_nlpd", "left_out_nlpd", MEASURE_SYSTEM, "nats",
         "NLPD of left-out rows at their best amplitude, scaled units; of classes their log loss"),
     INFO(left_out_nlpd), LOWER, .applies = has_left_out_nlpd, .omit = true, .age = MEASURE_LATER},
    {ROW("inducing", "inducing", MEASURE_SYSTEM, "", "inducing points"), INFO(inducing),
     .applies = is_sparse, .omit = true, .age = MEASURE_LATER},
    {ROW("inducing_outside", "outside", MEASURE_SYSTEM, "", "points that are no training rows"),
     INFO(outside), .applies = is_sparse, .omit = true, .age = MEASURE_LATER},
    {ROW("inducing_skipped", "skipped", MEASURE_SYSTEM, "",
         "candidates that the other points span"),
     INFO(skipped), .applies = is_sparse, .omit = true, .age = MEASURE_LATER},
    {ROW("inducing_choices", "choices", MEASURE_SYSTEM, "", "how often the points were chosen"),
     INFO(choices), .applies = is_sparse, .omit = true, .age = MEASURE_LATER},
    {ROW("bound", "bound", MEASURE_SYSTEM, "nats",
         "lower bound of the log marginal likelihood (nats)"),
     INFO(bound), HIGHER, .applies = has_bound, .omit = true, .age = MEASURE_LATER,
     .compare = true},
    {ROW("log_likelihood", "objective", MEASURE_SYSTEM, "nats",
         "what approx= has in place of the log marginal likelihood (nats)"),
     INFO(objective), HIGHER, .applies = is_sparse, .omit = true, .age = MEASURE_LATER},
    {ROW("support_vectors", "support", MEASURE_SYSTEM, "", "training rows that decide"),
     INFO(support), LOWER, .applies = has_support, .omit = true, .age = MEASURE_LATER,
     .least = 1.0, .compare = true},
    {ROW("support_at_price", "bounded", MEASURE_SYSTEM, "",
         "support vectors with the largest weight that C allows"),
     INFO(bounded), LOWER, .applies = has_support, .omit = true, .age = MEASURE_LATER},
    {ROW("C", "cost", MEASURE_SYSTEM, "", "price of errors of a support vector machine"),
     INFO(cost), .applies = has_support, .omit = true, .age = MEASURE_LATER, .least = DBL_MIN,
     .compare = true},
    {ROW("sigmoid_a", "sigmoid_a", MEASURE_SYSTEM, "",
         "slope of the sigmoid: p = 1/(1 + exp(a f + b))"),
     INFO(sigmoid_a), .applies = has_support, .omit = true, .age = MEASURE_LATER},
    {ROW("sigmoid_b", "sigmoid_b", MEASURE_SYSTEM, "", "its constant"), INFO(sigmoid_b),
     .applies = has_support, .omit = true, .age = MEASURE_LATER},
    {ROW("left_out_log_loss", "sigmoid_loss", MEASURE_SYSTEM, "nats",
         "log loss on the training rows, each left out of a fold"),
     INFO(sigmoid_loss), LOWER, .applies = has_support, .omit = true, .age = MEASURE_LATER,
     .least = DBL_MIN, .compare = true},
    {ROW("rank", "rank", MEASURE_SYSTEM, "", "rank of the preconditioner"), INFO(rank),
     .applies = has_rank, .brief = "rank"},
    {ROW("preconditioner", "precond", MEASURE_SYSTEM, "", "preconditioner"), INFO(precond),
     .applies = has_precond},
    {ROW("plan", "plan", MEASURE_SYSTEM, "", "what is stored and what is made anew"), INFO(plan),
     .applies = has_plan},
    {ROW("store", NULL, MEASURE_SYSTEM, "", "precision of stored features or kernel values"),
     .word = store_word, .type = MEASURE_WORD},
    {ROW("outcome", "why", MEASURE_SYSTEM, "", "why the solver ended"), INFO(why), .expect = 1},
    {ROW("iterations", "iterations", MEASURE_SYSTEM, "", "iterations"), INFO(iterations), LOWER,
     .applies = iterated, .brief = "iterations", .head = "it", .compare = true, .sweep = 6,
     .expect = 3},
    {ROW("residual", "residual", MEASURE_SYSTEM, "", "relative residual of the iteration"),
     INFO(residual), LOWER},
    {ROW("true_residual", "true_residual", MEASURE_SYSTEM, "", "recomputed relative residual"),
     INFO(true_residual), LOWER, .compare = true, .expect = 4},
    {ROW("evidence", "evidence", MEASURE_ITERATION, "nats",
         "logarithm of the approximate evidence of two classes"),
     INFO(evidence), HIGHER, .applies = has_evidence, .omit = true, .age = MEASURE_LATER,
     .compare = true},
    {ROW("level", "level", MEASURE_ITERATION, "",
         "mean of the prior of the function of two classes at inducing points, the likeliest one"),
     INFO(level), .applies = has_mean, .omit = true, .age = MEASURE_LATER},
    {ROW("ratio", "ratio", MEASURE_ITERATION, "", "eigenvalue at the rank over the noise"),
     INFO(ratio), LOWER, .applies = has_rank},
    {ROW("start_residual", "start_residual", MEASURE_ITERATION, "",
         "relative residual of the start"),
     INFO(start_residual), .applies = warm, .age = MEASURE_LATER},
    {ROW("passes", "passes", MEASURE_ITERATION, "", "passes over the data"), INFO(passes), LOWER,
     .applies = iterated, .age = MEASURE_LATER},
    {ROW("rate", NULL, MEASURE_ITERATION, "", "factor of the residual per iteration"), LOWER,
     .applies = iterated, .number = rate},
    {ROW("rate_r2", NULL, MEASURE_ITERATION, "", "how straight the log residuals are"),
     .applies = iterated, .number = rate_r2},
    {ROW("condition", "condition", MEASURE_ITERATION, "",
         "lower bound, with the preconditioner, seen by the iteration"),
     INFO(condition), LOWER, .age = MEASURE_LATER, .least = 1.0},
    {ROW("condition_plain", "condition_plain", MEASURE_ITERATION, "",
         "without preconditioner: upper bound (without one in use: condition)"),
     INFO(condition_plain), LOWER, .age = MEASURE_LATER, .least = 1.0},
    {ROW("ritz_min", "ritz_min", MEASURE_ITERATION, "", "smallest Ritz value"), INFO(ritz_min),
     .age = MEASURE_LATER, .least = DBL_MIN},
    {ROW("ritz_max", "ritz_max", MEASURE_ITERATION, "", "largest Ritz value"), INFO(ritz_max),
     .age = MEASURE_LATER, .least = DBL_MIN},
    {ROW("batch", "batch", MEASURE_ITERATION, "", "rows of a step"), INFO(batch),
     .applies = has_batch, .age = MEASURE_LATER},
    {ROW("step", "step", MEASURE_ITERATION, "", "length of a step, n beta at amplitude 1"),
     INFO(step), .applies = has_step, .age = MEASURE_LATER},
    {ROW("step_limit", "step_limit", MEASURE_ITERATION, "", "longest stable step, n beta"),
     INFO(step_limit), .applies = has_step, .age = MEASURE_LATER},
    {ROW("momentum", "momentum", MEASURE_ITERATION, "", "momentum of a step"), INFO(momentum),
     .applies = has_step, .age = MEASURE_LATER},
    {ROW("lambda1", "lambda1", MEASURE_ITERATION, "",
         "largest eigenvalue of the kernel matrix over its rows, at amplitude 1"),
     INFO(lambda1), .applies = has_step, .age = MEASURE_LATER},
    {ROW("samples", "samples", MEASURE_ITERATION, "", "functions that were solved for"),
     INFO(samples), .applies = has_samples, .age = MEASURE_LATER},
    {ROW("samples_residual", "samples_residual", MEASURE_ITERATION, "",
         "relative residual of the worst of these functions"),
     INFO(samples_residual), LOWER, .applies = has_samples, .age = MEASURE_LATER, .least = 0.0},
    {ROW("step_halved", "halved", MEASURE_ITERATION, "", "how often the step was halved"),
     INFO(halved), LOWER, .applies = halved, .age = MEASURE_LATER},
    {ROW("rank_chosen", NULL, MEASURE_ITERATION, "", "who chose the rank"), .word = rank_word,
     .type = MEASURE_WORD},
    {ROW("rank_predicted_iterations", "rank_iterations", MEASURE_ITERATION, "",
         "iterations predicted with the chosen rank"),
     INFO(rank_iterations), .applies = chose_rank, .age = MEASURE_LATER},
    {ROW("rank_prediction_error", NULL, MEASURE_ITERATION, "",
         "predicted iterations over those taken, less 1"),
     .better = MEASURE_NEAREST, .applies = predicted_rank, .number = rank_error},
    {ROW("variance_features", "variance_features", MEASURE_VARIANCE, "",
         "features of the variances"),
     INFO(variance_features), .applies = has_variance},
    {ROW("left_out_z2", "left_out_z2", MEASURE_VARIANCE, "",
         "mean squared z-score of left-out rows"),
     INFO(left_out_z2), .applies = has_left_out, .better = MEASURE_NEAREST, .goal = 1.0,
     .age = MEASURE_LATER},
    {ROW("left_out_z2_se", "left_out_z2_se", MEASURE_VARIANCE, "",
         "standard error of the mean z^2 of left-out rows"),
     INFO(left_out_z2_se), .applies = has_left_out, .age = MEASURE_LATER},
    {ROW("left_out_coverage95", "left_out_coverage95", MEASURE_VARIANCE, "",
         "share of left-out rows inside the 95 % interval"),
     INFO(left_out_coverage95), .applies = has_left_out, .better = MEASURE_NEAREST, .goal = 0.95,
     .age = MEASURE_LATER},
    {ROW("interval95", "interval95", MEASURE_VARIANCE, "sd",
         "how far the 95 % interval reaches, in predictive standard deviations"),
     INFO(reach95), .applies = has_left_out, .age = MEASURE_LATER},
#define CALIBRATED(when) .applies = when, .omit = true, .age = MEASURE_LATER
    {ROW("calibration", "calibration", MEASURE_VARIANCE, "", "how the variances were calibrated"),
     INFO(calibration), CALIBRATED(is_calibrated)},
    {ROW("calibration_rows", "calibration_rows", MEASURE_VARIANCE, "",
         "rows that the calibration was by"),
     INFO(calibration_rows), CALIBRATED(is_calibrated)},
    {ROW("calibration_level", "calibration_level", MEASURE_VARIANCE, "",
         "level that the calibration was for"),
     INFO(calibration_level), CALIBRATED(has_level)},
    {ROW("calibration_factor", "calibration_factor", MEASURE_VARIANCE, "",
         "factor of all variances by the calibration"),
     INFO(calibration_factor), CALIBRATED(is_scaled)},
    {ROW("calibration_reach", "calibration_reach", MEASURE_VARIANCE, "sd",
         "how far the interval of that level reaches, in predictive standard deviations"),
     INFO(calibration_reach), CALIBRATED(is_scaled)},
    {ROW("calibration_temperature", "calibration_temperature", MEASURE_VARIANCE, "",
         "by what the latent functions of classes are divided"),
     INFO(calibration_temperature), CALIBRATED(is_tempered)},
    {ROW("calibration_set", "calibration_set", MEASURE_VARIANCE, "",
         "what a class in a prediction set may lack of probability 1"),
     INFO(calibration_set), CALIBRATED(has_sets)},
#undef CALIBRATED
    {ROW("rows", "rows", MEASURE_ROWS, "", "training rows"), INFO(rows)},
    {ROW("processes", "processes", MEASURE_ROWS, "", "processes that shared the rows"), INFO(ranks),
     .applies = has_ranks, .omit = true, .age = MEASURE_LATER},
    {ROW("seconds.features", "s_features", MEASURE_SECONDS, "s", "making features"),
     INFO(seconds.features), LOWER},
    {ROW("seconds.precond", "s_precond", MEASURE_SECONDS, "s", "building the preconditioner"),
     INFO(seconds.precond), LOWER},
    {ROW("seconds.solve", "s_solve", MEASURE_SECONDS, "s", "solving"), INFO(seconds.solve), LOWER},
    {ROW("seconds.variance", "s_variance", MEASURE_SECONDS, "s", "factor of the variances"),
     INFO(seconds.variance), LOWER},
    {ROW("seconds.sums", "s_sums", MEASURE_SECONDS, "s", "sums between processes"),
     INFO(seconds.sums), LOWER, .applies = has_ranks, .omit = true, .age = MEASURE_LATER},
    {ROW("seconds.total", "s_total", MEASURE_SECONDS, "s", "the whole fit"), INFO(seconds.total),
     LOWER},
    {ROW("predicted_bytes", "predicted_bytes", MEASURE_COST, "bytes", "predicted peak memory"),
     INFO(predicted_bytes), LOWER, .age = MEASURE_LATER},
    {ROW("peak_bytes", "peak_bytes", MEASURE_COST, "bytes", "peak memory"), INFO(peak_bytes),
     LOWER},
    {ROW("effective_dimension", "effective_dimension", MEASURE_COST, "", "effective dimension"),
     INFO(effective_dimension), .whole = true, .brief = "effdim", .head = "effdim", .compare = true,
     .sweep = 5},
    {ROW("train_rmse", "train_rmse", MEASURE_NO_GROUP, "sd",
         "RMSE on the training rows over the target's sd"),
     INFO(train_rmse), LOWER},
    /* Values that only session files keep. */
    {.session = "half", INFO(half), .age = MEASURE_LATER},
    {.session = "bound_given", INFO(bound_given), .age = MEASURE_LATER},
    {.session = "objective_best", INFO(objective_best), .age = MEASURE_LATER},
    {.session = "noise_best", INFO(noise_best), .age = MEASURE_LATER},
    {.session = "inputs", INFO(inputs)},
    {.session = "left_out_rows", INFO(left_out_rows), .age = MEASURE_LATER},
    {.session = "left_out_before", INFO(left_out_before), .age = MEASURE_LATER},
    {.session = "left_out_within196", INFO(left_out_within196), .age = MEASURE_LATER},
    {.session = "left_out_latent99", INFO(left_out_latent99), .age = MEASURE_LATER},
    {.session = "warm", INFO(warm), .age = MEASURE_LATER},
    {.session = "rank_chosen", INFO(rank_chosen), .age = MEASURE_LATER},
    {.session = "float_limit", INFO(float_limit)},
    {.session = "kernel_stored", INFO(stored), .age = MEASURE_LATER},
    {.session = "amplitude", INFO(amplitude)},
    {.session = "noise", INFO(noise)},
    {.session = "scale", INFO(scale)},
    {.session = "likeliest_low", INFO(likeliest_low), .age = MEASURE_LATER},
    {.session = "likeliest_high", INFO(likeliest_high), .age = MEASURE_LATER},
    {.session = "plan_note", INFO(plan_note)},
    {.session = "warning", INFO(warning)},
    {.session = "warning_name", INFO(warning_name)},

    /* Figures of a tuning. */
    {ROW("features", NULL, MEASURE_NO_GROUP, "", "random features"), .number = tune_features,
     .of = MEASURE_OF_RUN, .brief = "features"},
    {ROW("evaluations", "evaluations", MEASURE_SEARCH, "", "evaluations"), RESULT(evaluations),
     LOWER, .brief = "iterations"},
    {ROW("nmll", "nmll", MEASURE_OBJECTIVE, "nats", "NMLL (nats)"), POINT(nmll), LOWER,
     .brief = "nmll", .head = "nmll", .compare = true, .sweep = 4, .expect = 1},
    {ROW("nmll_error", "se", MEASURE_PROBES, "nats", "standard error of the NMLL"), POINT(se),
     LOWER, .applies = by_probes},
    {ROW("inducing_choices", "rounds", MEASURE_SEARCHED, "", "how often the points were chosen"),
     RESULT(rounds), .applies = chose_points, .omit = true, .age = MEASURE_LATER},
    {ROW("probes", "probes", MEASURE_PROBES, "", "random probes"), RESULT(probes),
     .applies = has_probes, .omit = true, .age = MEASURE_LATER},
    {ROW("effective_dimension", "effective_dimension", MEASURE_SEARCHED, "", "effective dimension"),
     RESULT(effective_dimension)},
    {ROW("sampled", "subsampled", MEASURE_SEARCHED, "", "estimated from a sample of the rows"),
     POINT(subsampled)},
    {.session = "score", POINT(score)},
    {.session = "effdim", POINT(effdim)},
    {.session = "degenerate", RESULT(degenerate)},
    {.session = "verdict", RESULT(verdict)},

    /* Scores. */
    {.session = "n", RAW(n)},
    {ROW("rmse", "rmse", MEASURE_SCORES, "target", "RMSE (units of the target)"), RAW(rmse), LOWER,
     .compare = true, .folds = true},
    {ROW("mae", "mae", MEASURE_SCORES, "target", "MAE (units of the target)"), RAW(mae), LOWER,
     .folds = true},
    {ROW("rmse_scaled", NULL, MEASURE_SCORES, "sd", "RMSE over the target's sd"), SCALED(rmse),
     LOWER, .brief = "rmse", .head = "rmse/sd", .sweep = 1, .expect = 1},
    {ROW("mae_scaled", NULL, MEASURE_SCORES, "sd", "MAE over the target's sd"), SCALED(mae), LOWER},
    {ROW("r2", "r2", MEASURE_SCORES, "", "share of variance explained"), RAW(r2), HIGHER,
     .folds = true},
    {.session = "pearson", RAW(pearson)},
    {ROW("spearman", "spearman", MEASURE_SCORES, "", "rank correlation"), RAW(spearman), HIGHER},
    {ROW("auroc", "auroc", MEASURE_SCORES, "", "area under the ROC curve, of two values"),
     RAW(auroc), HIGHER, .applies = has_classes, .omit = true, .age = MEASURE_LATER,
     .compare = true},
    {ROW("auprc", "auprc", MEASURE_SCORES, "", "average precision, of two values"), RAW(auprc),
     HIGHER, .applies = has_classes, .omit = true, .age = MEASURE_LATER, .compare = true},
#define CLASSES .applies = has_probabilities, .omit = true, .age = MEASURE_LATER
    {ROW("accuracy", "accuracy", MEASURE_SCORES, "", "share of rows whose class is the likelier"),
     RAW(accuracy), HIGHER, CLASSES, .brief = "accuracy", .head = "accuracy", .compare = true,
     .folds = true, .sweep = 8, .expect = 4},
    {ROW("balanced_accuracy", "balanced_accuracy", MEASURE_SCORES, "",
         "mean over the classes of the share of their rows that are found"),
     RAW(balanced_accuracy), HIGHER, .applies = has_several, .omit = true, .age = MEASURE_LATER,
     .compare = true, .folds = true},
    {ROW("mce", "mce", MEASURE_SCORES, "", "largest deviation of a probability, over bins"),
     RAW(mce), LOWER, .applies = has_several, .omit = true, .age = MEASURE_LATER},
    {ROW("majority", "majority", MEASURE_SCORES, "", "share of the commoner class"), RAW(majority),
     CLASSES},
    {ROW("base_rate", "base_rate", MEASURE_SCORES, "", "share of the positive class"),
     RAW(base_rate), CLASSES},
    {ROW("log_loss", "log_loss", MEASURE_SCORES, "nats", "log loss (nats a row)"), RAW(log_loss),
     LOWER, CLASSES, .brief = "log_loss", .head = "log_loss", .compare = true, .folds = true,
     .sweep = 9, .expect = 5},
    {ROW("log_loss_constant", "log_loss_constant", MEASURE_SCORES, "nats",
         "log loss of the constant base rate"),
     RAW(log_loss_constant), LOWER, CLASSES},
    {ROW("brier", "brier", MEASURE_SCORES, "", "mean squared error of the probability"),
     RAW(brier), LOWER, CLASSES, .compare = true, .folds = true},
    {ROW("calibration_ad", "calibration_ad", MEASURE_SCORES, "",
         "mean deviation of probabilities from observed shares, over bins"),
     RAW(calibration_ad), LOWER, CLASSES},
    {ROW("ece", "ece", MEASURE_SCORES, "",
         "expected calibration error: that deviation, weighted by rows"),
     RAW(ece), LOWER, CLASSES, .compare = true},
#undef CLASSES
    {ROW("nlpd", "nlpd", MEASURE_SCORES, "nats", "NLPD (nats a row, units of the target)"),
     RAW(nlpd), LOWER, .compare = true, .folds = true},
    {ROW("nlpd_scaled", NULL, MEASURE_SCORES, "nats", "NLPD (nats a row, scaled)"), SCALED(nlpd),
     LOWER, .brief = "nlpd", .head = "nlpd", .sweep = 2, .expect = 2},
    {ROW("nlpd_constant", "nlpd_constant", MEASURE_SCORES, "nats",
         "NLPD with the best constant variance (scaled)"),
     SCALED(nlpd_constant), LOWER},
    {ROW("crps", "crps", MEASURE_SCORES, "target", "CRPS (units of the target)"), RAW(crps), LOWER},
    {ROW("crps_scaled", NULL, MEASURE_NO_GROUP, "sd", "CRPS over the target's sd"), SCALED(crps),
     LOWER},
    {ROW("coverage50", "coverage50", MEASURE_SCORES, "", "share inside the 50 % interval"),
     RAW(coverage50), .better = MEASURE_NEAREST, .goal = 0.50},
    {ROW("coverage90", "coverage90", MEASURE_SCORES, "", "share inside the 90 % interval"),
     RAW(coverage90), .better = MEASURE_NEAREST, .goal = 0.90},
    {ROW("coverage95", "coverage95", MEASURE_SCORES, "", "share inside the 95 % interval"),
     RAW(coverage95), .better = MEASURE_NEAREST, .goal = 0.95, .brief = "coverage",
     .head = "cover95", .compare = true, .folds = true, .sweep = 3, .expect = 3},
    {ROW("mean_z2", "mean_z2", MEASURE_CHECKS, "", "mean squared z-score"), RAW(mean_z2),
     .better = MEASURE_NEAREST, .goal = 1.0},
    {ROW("mean_z2_se", "mean_z2_se", MEASURE_CHECKS, "", "standard error of the mean z^2"),
     RAW(mean_z2_se), .age = MEASURE_LATER},
    {ROW("ence", "ence", MEASURE_CHECKS, "", "calibration error"), RAW(ence), LOWER},

    /* Figures of every run. */
    {ROW("seconds", NULL, MEASURE_NO_GROUP, "s", "seconds"), LOWER, .number = seconds,
     .brief = "seconds", .head = "seconds", .compare = true, .sweep = 7},
};

enum { ROWS = sizeof table / sizeof *table };

const struct measure *measure_at(size_t i)
{
    return i < ROWS ? &table[i] : NULL;
}

/* True if runs of this kind have the struct that holds the figure. */
static bool of_kind(const struct measure *m, enum run_kind kind)
{
    switch (m->of) {
    case MEASURE_OF_RESULT:
    case MEASURE_OF_POINT: return kind == RUN_TUNE;
    case MEASURE_OF_RUN:
        return m->number == seconds || (m->number == tune_features) == (kind == RUN_TUNE);
    default: return kind == RUN_FIT;
    }
}

const struct measure *measure_find(const char *name, enum run_kind kind)
{
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].name && of_kind(&table[i], kind) && !strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

const struct measure *measure_brief(const char *brief, enum run_kind kind)
{
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].brief && of_kind(&table[i], kind) && !strcmp(table[i].brief, brief))
            return &table[i];
    return NULL;
}

const struct measure *measure_of_sweep(size_t place)
{
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].sweep == place + 1)
            return &table[i];
    return NULL;
}

const struct measure *measure_of_expect(size_t place)
{
    size_t before = 0;

    for (unsigned char wanted = 1; wanted; wanted++)
        for (size_t i = 0; i < ROWS; i++)
            if (table[i].expect == wanted && before++ == place)
                return &table[i];
    return NULL;
}

static bool scored(const struct measure *m)
{
    return m->of == MEASURE_OF_RAW || m->of == MEASURE_OF_SCALED;
}

/* The struct that holds the figure in this run; NULL if the run has none. */
static const void *base_of(const struct measure *m, const struct run *r, size_t target)
{
    if (!r || !of_kind(m, r->kind))
        return NULL;
    switch (m->of) {
    case MEASURE_OF_INFO: return &r->info;
    case MEASURE_OF_RESULT: return r->tune.evaluations ? &r->tune : NULL;
    case MEASURE_OF_POINT: return r->tune.evaluations ? &r->tune.best : NULL;
    case MEASURE_OF_RAW:
    case MEASURE_OF_SCALED: return run_metrics(r, target, m->of == MEASURE_OF_RAW);
    case MEASURE_OF_RUN: break;
    }
    return r;
}

bool measure_applies(const struct measure *m, const struct run *r)
{
    return base_of(m, r, 0) && (!m->applies || m->applies(r));
}

static double member_number(const struct measure *m, const void *base)
{
    const char *p = (const char *)base + m->at;

    switch (m->type) {
    case MEASURE_REAL:
        return m->least > 0.0 && *(const double *)p < m->least ? NAN : *(const double *)p;
    case MEASURE_COUNT: return (double)*(const size_t *)p;
    case MEASURE_FLAG: return *(const bool *)p ? 1.0 : 0.0;
    default: return NAN;
    }
}

double measure_number(const struct measure *m, const struct run *r, size_t target)
{
    const void *base = base_of(m, r, target);

    return !base ? NAN : m->of != MEASURE_OF_RUN ? member_number(m, base)
                       : m->number ? m->number(r) : NAN;
}

const char *measure_word(const struct measure *m, const struct run *r)
{
    const char *base = base_of(m, r, 0);

    if (!base || m->of == MEASURE_OF_RUN)
        return base && m->word ? m->word(r) : NULL;
    return m->type == MEASURE_WORD      ? base + m->at
           : m->type == MEASURE_OUTCOME ? solve_outcome(*(const enum outcome *)(base + m->at))
                                        : NULL;
}

double measure_score(const struct measure *m, const struct metrics *of)
{
    return scored(m) ? member_number(m, of) : NAN;
}

double measure_mean(const struct measure *m, const struct run *r)
{
    double sum = 0.0;
    size_t n = 0;

    if (!scored(m))
        return r && measure_applies(m, r) ? measure_number(m, r, 0) : NAN;
    for (; base_of(m, r, n); n++)
        sum += measure_number(m, r, n);
    return n ? sum / (double)n : NAN;
}

double measure_order(const struct measure *m, const struct run *r)
{
    const double v = measure_number(m, r, 0);

    return m->better == MEASURE_NEAREST ? fabs(v - m->goal)
           : m->better == MEASURE_HIGHER ? -v : v;
}

/* "seconds.total" is written into an object "seconds", as "total". */
static const char *key_of(const struct measure *m)
{
    const char *dot = strchr(m->name, '.');

    return dot ? dot + 1 : m->name;
}

static void one_json(struct rec *rec, const struct run *r, const struct measure *m)
{
    const bool there = measure_applies(m, r);

    if (!there && m->omit)
        return;
    switch (m->type) {
    case MEASURE_REAL: rec_num(rec, key_of(m), there ? measure_number(m, r, 0) : NAN); break;
    case MEASURE_COUNT:
        if (there)
            rec_int(rec, key_of(m), (int64_t)measure_number(m, r, 0));
        else
            rec_null(rec, key_of(m));
        break;
    case MEASURE_FLAG: rec_bool(rec, key_of(m), there && measure_number(m, r, 0) != 0.0); break;
    case MEASURE_WORD:
    case MEASURE_OUTCOME: rec_str(rec, key_of(m), there ? measure_word(m, r) : NULL); break;
    }
}

void measures_json(struct rec *rec, const struct run *r, enum measure_group group)
{
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].group == group)
            one_json(rec, r, &table[i]);
}
