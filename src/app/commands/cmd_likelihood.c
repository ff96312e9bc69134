/* app/commands/cmd_likelihood.c -- what the target is: a number with Gaussian noise, or one of two
 * classes. */
#include "app/commands/commands.h"

#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "app/shell/args.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/likelihood/likelihood.h"
#include "data/classes.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

/* The likelihood in force, as a record. */
static void tell(struct workspace *ws, const struct dataset *d, char *const level[2])
{
    struct rec r;

    rec_init(&r, REC_RESULT, "likelihood");
    rec_str(&r, "likelihood", d->link ? probit_likelihood.name : gaussian_likelihood.name);
    rec_str(&r, "link", d->link);
    rec_str(&r, "positive", d->link ? level[1] : NULL);
    rec_str(&r, "negative", d->link ? level[0] : NULL);
    if (!d->link) {
        rec_text(&r, "gaussian: %s", gaussian_likelihood.title);
    } else {
        const struct likelihood_ops *l = likelihood_find(probit_likelihood.name, d->link, NULL);
        rec_text(&r, "bernoulli: %s, by %s\n  predicted is the probability that ", l->title,
                 l->method);
        rec_safe(&r, d->table->col[dataset_target(d)].name);
        rec_text(&r, " is ");
        rec_safe(&r, level[1]);
        rec_text(&r, ", not ");
        rec_safe(&r, level[0]);
        struct buf counts = { 0 };
        classes_counts(d->table, dataset_target(d), &counts);
        rec_text(&r, "   (%s)", buf_str(&counts));
        buf_free(&counts);
    }
    ws_emit(ws, &r);
}

/* Puts words into the dataset; positive NULL: chosen by the data. */
static enum status take(struct dataset *d, const char *link, const char *positive, struct err *err)
{
    char *l = link ? mem_strdup(link, err) : NULL, *p = positive ? mem_strdup(positive, err) : NULL;

    if ((link && !l) || (positive && !p)) {
        free(l), free(p);
        return ST_NOMEM;
    }
    free(d->link), free(d->positive);
    d->link = l;
    d->positive = p;
    return ST_OK;
}

static enum status cmd_likelihood(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, err);
    const char *name = args_text(a, "name"), *link = args_text(a, "link");
    char *level[2] = { NULL, NULL };
    const struct likelihood_ops *l = name ? likelihood_find(name, link, err) : NULL;

    if (name && !l)
        return err->code;
    if (!name && (link || args_given(a, "positive"))) {
        err_set(err, ST_USAGE, "link= and positive= belong to a likelihood");
        err_hint(err, "likelihood bernoulli link=logit");
        return ST_USAGE;
    }
    if (l && !l->classes && args_given(a, "positive")) {
        err_set(err, ST_USAGE, "a Gaussian target has no positive class");
        err_hint(err, "likelihood bernoulli positive=LEVEL");
        return ST_USAGE;
    }
    struct dataset trial = *d; /* proven before the state changes */
    if (l) {
        trial.link = l->classes ? (char *)l->link : NULL;
        trial.positive = l->classes ? (char *)args_text(a, "positive") : NULL;
    }
    enum status rc = trial.link ? classes_find(&trial, level, err) : ST_OK;
    if (rc == ST_OK && l)
        rc = take(d, trial.link, trial.positive, err);
    if (rc == ST_OK)
        tell(ws, d, level);
    free(level[0]), free(level[1]);
    return rc;
}

const struct command cmd_likelihood_rows[] = {
    {"likelihood",
     "model",
     "Choose what the target is: a number, or one of two classes",
     "likelihood gaussian",
     {{"name", ARG_CHOICE, ARGF_POS, NULL, 0, 0, "gaussian|bernoulli", NULL,
       "gaussian: numbers with Gaussian noise; bernoulli: one of two classes"},
      {"link", ARG_CHOICE, 0, NULL, 0, 0, "probit|logit", NULL,
       "how the probability follows from the function (default probit)"},
      {"positive", ARG_WORD, 0, NULL, 0, 0, NULL, NULL,
       "the value of the target whose probability is predicted (default: the greater number, or "
       "the rarer word)"}},
     CMD_NEEDS_DATA | CMD_CHANGES | CMD_DRY,
     cmd_likelihood,
     "With bernoulli the target has exactly two values, numbers or words. tune and fit then find\n"
     "a latent function whose sign is the likelier class: by expectation propagation (probit) or\n"
     "Laplace's method (logit), with the exact kernel, on up to 5,000 training rows. There is no\n"
     "noise; the amplitude says how sure the function can be. score gives accuracy, AUROC, AUPRC,\n"
     "log loss, Brier score and calibration; predict writes p and class; check says whether the\n"
     "probabilities are honest; plot calibration, roc and pr show them.\n"
     "  split test=20% stratify=yes   keeps the shares of both classes in all parts\n"
     "likelihood alone shows what is in force; likelihood gaussian goes back to regression."},
    {.name = NULL},
};
