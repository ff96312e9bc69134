/* compute/kernels/kernel.c -- the registry of kernels. */
#include "compute/kernels/kernel.h"

#include "base/text.h"
#include "compute/kernels/kernels.h"

#include <string.h>

#define KERNEL_ADDRESS(name) &name,
static const struct kernel_ops *const kernels[] = { KERNEL_ROWS(KERNEL_ADDRESS) };
#undef KERNEL_ADDRESS


const struct kernel_ops *kernel_at(size_t i)
{
    return i < sizeof kernels / sizeof kernels[0] ? kernels[i] : NULL;
}

static enum status kernel_unknown(const char *name, struct err *err)
{
    const enum status rc = err_set(err, ST_NOT_FOUND, "there is no kernel named \"%s\"", name);
    char all[200] = "";
    const char *near = NULL;
    size_t best = 3;

    for (size_t i = 0; kernel_at(i); i++) {
        const char *k = kernel_at(i)->name;
        const bool told = strlen(name) > 3 && strcasestr(kernel_at(i)->title, name);
        const size_t dist = told ? 0 : text_distance(name, k, 2); /* "intercept": constant */
        if (dist < best) {
            best = dist;
            near = k;
        }
        strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, k, sizeof all - strlen(all) - 1);
    }
    if (near)
        err_hint(err, "kernel %s", near);
    else
        err_hint(err, "one of: %s", all);
    return rc;
}

bool kernel_of_distance(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].map || (!k->term[t].ops->exact && !k->term[t].ops->of_distance))
            return false;
    return true;
}

const struct kernel_ops *kernel_find(const char *name, struct err *err)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (strcmp(kernel_at(i)->name, name) == 0)
            return kernel_at(i);
    kernel_unknown(name, err);
    return NULL;
}
