/* app/commands/cmd_likelihood.c -- what the target is: a number with Gaussian noise, or one of two
 * or of several classes. */
#include "app/commands/commands.h"
#include "app/commands/data_words.h"

#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "app/shell/args.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/likelihood.h"
#include "data/classes.h"
#include "data/dataset.h"
#include "data/decision.h"

#include <stdlib.h>
#include <string.h>

/* The classes of a dataset: two of bernoulli (negative, positive), or all of several. */
struct levels { char **at; size_t n; };

static void levels_free(struct levels *l)
{
    for (size_t i = 0; l->at && i < l->n; i++)
        free(l->at[i]);
    free(l->at);
}

static enum status levels_find(const struct dataset *d, struct levels *l, struct err *err)
{
    if (d->alpha > 0.0)
        return classes_list(d, &l->at, &l->n, err);
    l->at = mem_calloc(2, sizeof *l->at, "classes", err);
    const enum status rc = l->at ? classes_find(d, l->at, err) : ST_NOMEM;
    l->n = rc == ST_OK ? 2 : 0;
    return rc;
}

static void tell_bernoulli(struct rec *r, const struct dataset *d,
                           const struct likelihood_ops *l, const struct levels *v)
{
    rec_str(r, "classweights", d->balanced ? "balanced" : "no");
    rec_str(r, "rule", d->rule);
    rec_text(r, "%s: %s, by %s\n  predicted is the probability that ", l->name, l->title,
             l->method);
    rec_safe(r, d->table->col[dataset_target(d)].name);
    rec_text(r, " is ");
    rec_safe(r, v->at[1]);
    rec_text(r, ", not ");
    rec_safe(r, v->at[0]);
}

/* The likelihood in force, as a record. */
static void tell(struct workspace *ws, const struct dataset *d, const struct levels *v)
{
    const struct likelihood_ops *l = d->link ? likelihood_linked(d->link) : &gaussian_likelihood;
    const bool several = d->alpha > 0.0;
    struct buf counts = { 0 };
    struct rec r;

    rec_init(&r, REC_RESULT, "likelihood");
    rec_str(&r, "likelihood", l->name);
    rec_str(&r, "link", several ? NULL : d->link);
    rec_str(&r, "positive", d->link && !several ? v->at[1] : NULL);
    rec_str(&r, "negative", d->link && !several ? v->at[0] : NULL);
    if (several) {
        rec_strs(&r, "classes", (const char *const *)v->at, v->n);
        rec_num(&r, "alpha", d->alpha);
        rec_str(&r, "classweights", d->balanced ? "balanced" : "no");
        rec_str(&r, "rule", d->rule);
        rec_text(&r, "%s: %s, with alpha %g\n  predicted are the probabilities of the %zu classes "
                     "of ", l->name, l->title, d->alpha, v->n);
        rec_safe(&r, d->table->col[dataset_target(d)].name);
    } else if (d->link) {
        tell_bernoulli(&r, d, l, v);
    } else {
        rec_text(&r, "gaussian: %s", gaussian_likelihood.title);
    }
    if (d->link) {
        classes_counts(d->table, dataset_target(d), &counts);
        rec_text(&r, "   (%s)", buf_str(&counts));
        buf_free(&counts);
    }
    if (d->balanced)
        rec_text(&r, "\n  classweights=balanced: rows weigh so that all classes weigh the same");
    if (d->rule) {
        rec_text(&r, "\n  ");
        rec_safe(&r, d->rule);
    }
    ws_emit(ws, &r);
}

/* Puts words into the dataset; positive NULL: chosen by the data. */
static enum status take(struct dataset *d, const struct dataset *trial, struct err *err)
{
    char *l = trial->link ? mem_strdup(trial->link, err) : NULL;
    char *p = trial->positive ? mem_strdup(trial->positive, err) : NULL;
    char *rule = trial->rule ? mem_strdup(trial->rule, err) : NULL;

    if ((trial->link && !l) || (trial->positive && !p) || (trial->rule && !rule)) {
        free(l), free(p), free(rule);
        return ST_NOMEM;
    }
    free(d->link), free(d->positive), free(d->rule);
    d->rule = rule;
    d->balanced = trial->balanced;
    d->link = l;
    d->positive = p;
    d->alpha = trial->alpha;
    d->link_said = true;
    return ST_OK;
}

/* Arguments that belong to another likelihood than the one named (NULL: none was). */
static enum status suits(const struct args *a, const struct likelihood_ops *l, struct err *err)
{
    static const char *const several[] = { "alpha", "classweights", NULL };
    static const char *const classes[] = { "decision", "cost", NULL };
    const bool link = args_given(a, "link"), positive = args_given(a, "positive");

    if (!l && (link || positive)) {
        err_set(err, ST_USAGE, "link= and positive= belong to a likelihood");
        err_hint(err, "likelihood bernoulli link=logit  |  likelihood dirichlet alpha=0.01");
        return ST_USAGE;
    }
    if (l && positive && (!l->classes || l->several)) {
        err_set(err, ST_USAGE, l->several ? "of several classes none is the positive one"
                                          : "a Gaussian target has no positive class");
        err_hint(err, "likelihood bernoulli positive=LEVEL");
        return ST_USAGE;
    }
    for (size_t k = 0; several[k]; k++)
        if (args_given(a, several[k]) && !(l && (l->several || (k == 1 && l->classes)))) {
            err_set(err, ST_USAGE, "%s= belongs to %s%s", several[k],
                    k == 0 ? "several classes" : "classes", l ? "" : ", by likelihood dirichlet");
            err_hint(err, "likelihood dirichlet %s=%s", several[k], k == 0 ? "0.01" : "balanced");
            return ST_USAGE;
        }
    for (size_t k = 0; classes[k]; k++)
        if (args_given(a, classes[k]) && !(l && l->classes)) {
            err_set(err, ST_USAGE, "%s= belongs to a likelihood of classes", classes[k]);
            err_hint(err, "likelihood dirichlet %s=%s", classes[k],
                     k == 0 ? "NAME:0.3" : "TRUE>PREDICTED:5");
            return ST_USAGE;
        }
    if (args_given(a, "decision") && args_given(a, "cost")) {
        err_set(err, ST_USAGE, "decision= and cost= each choose the class: give one of them");
        err_hint(err, "likelihood %s decision=NAME:0.3", l->name);
        return ST_USAGE;
    }
    return ST_OK;
}

/* The rule of the line, proven against the classes; it is the caller's. */
static enum status rule_of(const struct args *a, const struct likelihood_ops *l,
                           const struct levels *v, char **rule, struct err *err)
{
    const char *const key = args_given(a, "cost") ? "cost" : "decision";
    struct decision d = { .cost = NULL };
    struct buf b = { 0 };

    *rule = NULL;
    if (!args_given(a, key))
        return ST_OK;
    buf_printf(&b, "%s=%s", key, args_text(a, key));
    *rule = buf_take(&b);
    const enum status rc = *rule ? decision_parse(*rule, v->n, v->at, &d, err)
                                 : err_nomem(err, 64, "a rule");
    decision_free(&d);
    if (rc == ST_USAGE)
        err_hint(err, "likelihood %s decision=%.40s:0.3  |  likelihood %s cost=%.40s>%.40s:5",
                 l->name, v->at[0], l->name, v->at[0], v->at[1]);
    return rc;
}

static enum status cmd_likelihood(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *name = args_text(a, "name"), *link = args_text(a, "link");
    struct levels level = { NULL, 0 };
    const struct likelihood_ops *l = name ? likelihood_find(name, link, err) : NULL;

    if (name && !l)
        return err->code;
    enum status rc = suits(a, l, err);
    struct dataset trial = *d; /* proven before the state changes */
    if (l) {
        trial.link = l->classes ? (char *)l->link : NULL;
        trial.positive = l->classes ? (char *)args_text(a, "positive") : NULL;
        trial.alpha = !l->several                ? 0.0
                      : args_given(a, "alpha") ? args_num(a, "alpha")
                                               : DATA_WORDS_ALPHA;
    }
    if (rc == ST_OK && trial.link)
        rc = levels_find(&trial, &level, err);
    char *rule = NULL;
    if (rc == ST_OK && l) {
        const char *weights = l->classes ? args_text(a, "classweights") : NULL;
        rc = l->classes ? rule_of(a, l, &level, &rule, err) : ST_OK;
        trial.rule = rule;
        trial.balanced = weights && strcmp(weights, "balanced") == 0;
    }
    if (rc == ST_OK && l)
        rc = take(d, &trial, err);
    free(rule);
    if (rc == ST_OK)
        tell(ws, d, &level);
    levels_free(&level);
    return rc;
}

const struct command cmd_likelihood_rows[] = {
    {"likelihood",
     "model",
     "Choose what the target is: a number, or one of two or of several classes",
     "likelihood gaussian",
     {{"name", ARG_CHOICE, ARGF_POS, NULL, 0, 0,
       "gaussian|bernoulli|dirichlet|softmax|discriminant", NULL,
       "gaussian: numbers with Gaussian noise; bernoulli: one of two classes; dirichlet, "
       "softmax, discriminant: one of up to 256"},
      {"link", ARG_CHOICE, 0, NULL, 0, 0, "probit|logit", NULL,
       "how the probability follows from the function (default probit)"},
      {"positive", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "the value of the target whose probability is predicted (default: the greater number, or "
       "the rarer word)"},
      {"alpha", ARG_REAL, 0, NULL, 1e-6, 10, NULL, NULL,
       "dirichlet: what is added to the count of each class (default 0.01); less is surer. softmax "
       "and discriminant: that of the regressions by which tune finds the kernel"},
      {"classweights", ARG_CHOICE, 0, NULL, 0, 0, "balanced|no", NULL,
       "of classes: balanced lets rows weigh so that all classes weigh the same (default no)"},
      {"decision", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "of classes: NAME:0.3 chooses the class NAME when its probability is at least 0.3, "
       "otherwise the likeliest of the others"},
      {"cost", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "of classes: TRUE>PREDICTED:5,.. chooses the class with the least expected cost; other "
       "mistakes cost 1"}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_DRY,
     cmd_likelihood,
     "With bernoulli the target has exactly two values, numbers or words. tune and fit then find\n"
     "a latent function whose sign is the likelier class: by expectation propagation (probit) or\n"
     "Laplace's method (logit), with the exact kernel, on up to 5,000 training rows. There is no\n"
     "noise; the amplitude says how sure the function can be. score gives accuracy, AUROC, AUPRC,\n"
     "log loss, Brier score and calibration; predict writes p and class; check says whether the\n"
     "probabilities are honest; plot calibration, roc and pr show them.\n"
     "  split test=20% stratify=yes   keeps the shares of both classes in all parts\n"
     "With dirichlet the target has 2 to 256 values. Each class is a regression with known noise\n"
     "on random features, all with the same kernel; amplitudes are their own. It takes any\n"
     "number of rows; time and memory grow with the classes. predict writes class and p_NAME,\n"
     "score tells which classes are taken for which.\n"
     "With softmax one multinomial logistic model serves all classes, with discriminant normal\n"
     "densities with one covariance do, both on random features with the kernel that tune finds\n"
     "by the regressions of dirichlet.\n"
     "classweights=, decision= and cost= leave the labels alone: the first changes the fit and\n"
     "its probabilities (tune of bernoulli stays as it is), the others only which class is chosen\n"
     "in score and predict of later fits.\n"
     "A target of words is dirichlet unless likelihood says otherwise; the notes say so.\n"
     "likelihood alone shows what is in force; likelihood gaussian goes back to regression."},
    {.name = NULL},
};
