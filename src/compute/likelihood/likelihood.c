/* compute/likelihood/likelihood.c -- the registry of likelihoods. */
#include "compute/likelihood/likelihood.h"

#include <string.h>

const struct likelihood_ops gaussian_likelihood = {
    .name = "gaussian",
    .title = "numbers with Gaussian noise",
};

#define LIKELIHOOD_ADDRESS(name) &name,
static const struct likelihood_ops *const rows[] = { LIKELIHOOD_ROWS(LIKELIHOOD_ADDRESS) };
#undef LIKELIHOOD_ADDRESS
enum { NROWS = sizeof rows / sizeof *rows };

const struct likelihood_ops *likelihood_find(const char *name, const char *link, struct err *err)
{
    bool known = false;

    for (size_t i = 0; i < NROWS; i++) {
        if (strcmp(rows[i]->name, name) != 0)
            continue;
        known = true;
        if (link == NULL || (rows[i]->link && strcmp(rows[i]->link, link) == 0))
            return rows[i];
    }
    if (known)
        err_set(err, ST_NOT_FOUND, "the likelihood %s has no link %s", name, link);
    else
        err_set(err, ST_NOT_FOUND, "no likelihood %s", name);
    err_hint(err, "likelihood gaussian  |  likelihood bernoulli link=probit|logit  |  likelihood "
             "dirichlet  |  likelihood softmax  |  likelihood discriminant");
    return NULL;
}

const struct likelihood_ops *likelihood_linked(const char *link)
{
    for (size_t i = 0; link && i < NROWS; i++)
        if (rows[i]->link && strcmp(rows[i]->link, link) == 0)
            return rows[i];
    return NULL;
}
