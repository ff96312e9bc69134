/* app/runs/scoring/class_facts.c -- see class_facts.h. */
#include "app/runs/scoring/class_facts.h"

#include "base/text.h"

#include <math.h>

static const double unequal = 10.0, lost = 0.05;

double class_facts_p(const struct prediction *p, size_t c, size_t i)
{
    return p->classes ? p->prob[c * p->n + i] : c ? p->mean[i] : 1.0 - p->mean[i];
}

/* Keeps the errors with the largest probabilities; of equal ones the first rows. */
static void keep(struct class_facts *f, struct class_error e)
{
    size_t at = f->nerror < CLASS_ERRORS ? f->nerror : CLASS_ERRORS - 1;

    f->wrong++;
    if (f->nerror == CLASS_ERRORS && !(e.p > f->error[at].p))
        return;
    for (; at > 0 && f->error[at - 1].p < e.p; at--)
        f->error[at] = f->error[at - 1];
    f->error[at] = e;
    f->nerror += f->nerror < CLASS_ERRORS;
}

static void sums(struct class_facts *f)
{
    size_t right = 0, with = 0;

    f->commonest = f->rarest = SIZE_MAX;
    for (size_t c = 0; c < f->classes; c++) {
        right += f->found[c];
        if (f->rows[c] == 0)
            continue;
        with++;
        f->balanced += (double)f->found[c] / (double)f->rows[c];
        if (f->commonest == SIZE_MAX || f->rows[c] > f->rows[f->commonest])
            f->commonest = c;
        if (f->rarest == SIZE_MAX || f->rows[c] < f->rows[f->rarest])
            f->rarest = c;
    }
    f->accuracy = (double)right / (double)f->n;
    f->balanced /= (double)with;
}

void class_facts_of(const struct prediction *p, size_t classes, struct class_facts *f)
{
    double sure = 0.0, var = 0.0, rare = 0.0;
    size_t right = 0; /* the likeliest class; a rule of the user may choose another one */

    *f = (struct class_facts){ .classes = classes };
    for (size_t i = 0; i < p->n; i++) {
        size_t most = p->classes ? 0 : p->mean[i] >= 0.5; /* as without a rule */
        if (!(p->y[i] >= 0.0 && p->y[i] < (double)classes))
            continue;
        const size_t seen = (size_t)p->y[i];
        for (size_t c = 0; c < classes; c++) {
            const double q = class_facts_p(p, c, i);
            if (p->classes && q > class_facts_p(p, most, i))
                most = c;
            if (q < CLASS_FACTS_RARE)
                f->expected += q, rare += q * (1.0 - q);
        }
        const double q = class_facts_p(p, most, i);
        sure += q;
        var += q * (1.0 - q);
        f->surprising += class_facts_p(p, seen, i) < CLASS_FACTS_RARE;
        f->rows[seen]++;
        f->found[seen] += run_prediction_class(p, i) == p->y[i];
        right += most == seen;
        f->n++;
        if (most != seen)
            keep(f, (struct class_error){ p->row[i], seen, most, q });
    }
    f->expected_sd = sqrt(rare);
    if (f->n == 0)
        return;
    sums(f);
    f->judged = judgement_classes(f->n, sure / (double)f->n, (double)right / (double)f->n,
                                  var / (double)f->n);
}

bool class_facts_surprise(const struct class_facts *f)
{
    return (double)f->surprising > f->expected + judgement_errors * f->expected_sd + 1.0;
}

bool class_facts_imbalance(const struct class_facts *f)
{
    return f->n && (double)f->rows[f->commonest] >= unequal * (double)f->rows[f->rarest] &&
           f->balanced < f->accuracy - lost;
}

void class_facts_errors(struct buf *b, const struct class_facts *f, char *const *names,
                        size_t most)
{
    for (size_t k = 0; k < f->nerror && k < most; k++) {
        const struct class_error *e = &f->error[k];
        buf_printf(b, "%srow %zu: ", k ? "; " : "", e->row + 1);
        text_safe(b, names[e->seen], 24);
        buf_puts(b, " taken for ");
        text_safe(b, names[e->taken], 24);
        buf_printf(b, " (%.3g %%)", 100.0 * e->p);
    }
}
