/* compute/kernels/kernel_hp.c -- the hyperparameters of an expression: their order, names and
 * bounds, and properties of an expression as a whole. */
#include "compute/kernels/kernel.h"

#include "compute/kernels/kernels.h"

#include <math.h>
#include <string.h>


const struct hparam kernel_weight = {
    "weight", "standard deviation over that of the first product", 1e-3, 1e3, 1.0,
    "share of a summand"
};

size_t kernel_weight_after(const struct kernel *k, size_t t)
{
    bool sum = false;

    for (size_t i = 1; i <= t; i++)
        sum |= !k->term[i].times;
    return sum && (t + 1 == k->nterms || !k->term[t + 1].times);
}

size_t kernel_nhp(const struct kernel *k)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++)
        n += kernel_term_nhp(&k->term[t]) + kernel_weight_after(k, t);
    return n;
}

struct kernel_place kernel_place(const struct kernel *k, size_t t)
{
    struct kernel_place p = { .first = t == 0 || !k->term[t].times, .weight = SIZE_MAX };

    for (size_t i = 0; i < t; i++)
        p.hp0 += kernel_term_nhp(&k->term[i]) + kernel_weight_after(k, i);
    p.nhp = kernel_term_nhp(&k->term[t]);
    p.nl = p.nhp - kernel_ops_nhp(k->term[t].ops) + 1;
    size_t end = p.hp0;
    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++) {
        end += kernel_term_nhp(&k->term[i]);
        if (kernel_weight_after(k, i))
            p.weight = end;
    }
    return p;
}

bool kernel_has_lengthscales(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct hparam *h = k->term[t].ops->hparams;
        if (h && h->name && !strcmp(h->name, "lengthscale"))
            return true;
    }
    return false;
}

bool kernel_is_radial(const struct kernel *k)
{
    return k->nterms == 1 && k->term[0].ops->exact != NULL && !k->term[0].map;
}

/* Before the factor sqrt(1/Mf) an entry is at most 1 in size, so that float16 (11 significant bits)
 * rounds it by at most 2^-12.  With 2 Mf entries |e| <= sqrt(2) 2^-12 while |z| = 1.  A weight
 * multiplies both. */
double kernel_half_error(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].ops->exact == NULL || k->term[t].times)
            return INFINITY;
    return kernel_reads_windows(k) ? INFINITY : 1.4142135623730951 * 0x1p-12;
}

bool kernel_has_ard(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].ard != 0)
            return true;
    return false;
}

bool kernel_hp_is_ard(const struct kernel *k, size_t i)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kernel_place at = kernel_place(k, t);
        if (i >= at.hp0 && i < at.hp0 + at.nl)
            return k->term[t].ard != 0;
    }
    return false;
}

bool kernel_has_groups(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].grouped)
            return true;
    return false;
}

void kernel_hp_info(const struct kernel *k, size_t i, char name[KERNEL_NAME_MAX],
                    struct hparam *info)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        const struct kernel_place at = kernel_place(k, t);
        const bool weight = kernel_weight_after(k, t) && i == at.weight;
        if (i >= at.hp0 + at.nhp && !weight)
            continue;
        const size_t own = i - at.hp0;
        const struct hparam *h = weight ? &kernel_weight
                                        : &term->ops->hparams[own < at.nl ? 0 : own - at.nl + 1];
        struct buf b = { 0 };
        size_t number = t;
        while (weight && number > 0 && k->term[number].times)
            number--;
        if (k->nterms > 1)
            buf_printf(&b, "%zu.", number + 1);
        buf_puts(&b, h->name);
        if (!weight && term->ard != 0 && term->ard != KERNEL_ARD && own < at.nl)
            buf_printf(&b, "[%zu]", own + 1);
        strncpy(name, buf_str(&b), KERNEL_NAME_MAX - 1);
        name[KERNEL_NAME_MAX - 1] = '\0';
        buf_free(&b);
        if (info)
            *info = *h;
        return;
    }
    name[0] = '\0';
}
