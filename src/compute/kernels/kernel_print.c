/* compute/kernels/kernel_print.c -- kernel expressions as text, in one canonical form. */
#include "compute/kernels/kernel.h"

#include "base/buf.h"

#include <math.h>
#include <string.h>

/* Prints halves as fractions, as in matern(nu=5/2). */
static void print_value(double v, struct buf *out)
{
    if (v != floor(v) && 2.0 * v == floor(2.0 * v) && fabs(v) < 1e6)
        buf_printf(out, "%.0f/2", 2.0 * v);
    else
        buf_json_double(out, v);
}

static void print_groups(const struct kernel *k, struct buf *out)
{
    for (size_t i = 0, n; i < k->ngrouped; i += n) {
        for (n = 1; i + n < k->ngrouped && k->group[i + n] == k->group[i];)
            n++;
        buf_printf(out, "%s%d", i ? ":" : "", k->group[i] + 1);
        if (n > 1 || n == k->ngrouped) /* "1" alone would be a number of inputs */
            buf_printf(out, "x%zu", n);
    }
}

/* True if a setting is the first word, or the number with which it starts. */
static bool is_usual(const struct layer *l, const struct layer_setting *s)
{
    static const unsigned first = 0;
    const char *field = (const char *)l + s->offset;
    const void *start = (const char *)&l->ops->start + s->offset;

    return s->words ? memcmp(field, &first, sizeof first) == 0
                    : memcmp(field, start, s->lo < s->hi ? sizeof(double) : sizeof(size_t)) == 0;
}

/* Prints the settings of a layer and the rows that it is bound to, behind `before`. */
static void print_layer(const struct layer *l, const char *before, struct buf *out)
{
    for (const struct layer_setting *s = l->ops->settings; s && s->name; s++) {
        const void *field = (const char *)l + s->offset;
        unsigned word = 0;
        size_t first = 0;

        if (s->quiet && is_usual(l, s))
            continue;
        buf_printf(out, "%s%s=", before, s->name);
        before = ",";
        if (s->words)
            memcpy(&word, field, sizeof word);
        if (s->from)
            memcpy(&first, (const char *)l + s->from, sizeof first);
        if (first)
            buf_printf(out, "%zu..", first);
        if (s->lo < s->hi)
            buf_json_double(out, *(const double *)field);
        else if (s->words)
            buf_puts(out, s->words[word]);
        else
            buf_printf(out, "%zu", *(const size_t *)field);
    }
    if (l->channels && l->channels != l->ops->start.channels) {
        buf_printf(out, "%s%s=%zu", before, l->symbols ? "symbols" : "channels",
                   l->channels - l->others);
        if (l->others)
            buf_printf(out, "+%zu", l->others);
        before = ",";
    }
    if (l->flat) {
        buf_printf(out, "%sflat=%zu", before, l->flat);
        before = ",";
    }
    if (l->parts > 1) {
        buf_printf(out, "%spart=%zu/%zu", before, l->part + 1, l->parts);
        before = ",";
    }
    if (*before == ',')
        buf_putc(out, ')');
}

void kernel_print_param(const struct kparam *p, double v, struct buf *out)
{
    if (p->words)
        buf_puts(out, p->words[(size_t)v]);
    else if (p->text)
        p->text->write(v, out);
    else
        print_value(v, out);
}

/* Prints parameters and weights; returns what stands before a further setting. */
static const char *print_params(const struct kernel_ops *ops, const double *params,
                                const struct net *net, const char *before, struct buf *out)
{
    for (size_t i = 0; ops->params && ops->params[i].name; i++, before = ",") {
        buf_printf(out, "%s%s=", before, ops->params[i].name);
        kernel_print_param(&ops->params[i], params[i], out);
    }
    if (net)
        buf_printf(out, "%sweights=%016llx", before, (unsigned long long)net->sum);
    return before;
}

/* Prints the bracket of a kernel: parameters, ard with its groups, inputs. */
static void print_settings(const struct kernel *k, const struct kterm *term, struct buf *out)
{
    const bool bound = term->ard != 0 && term->ard != KERNEL_ARD;
    const char *before = print_params(term->ops, term->params, term->map ? NULL : term->net, "(",
                                      out);

    if (term->ard != 0) {
        buf_printf(out, "%sard", before);
        before = ",";
    }
    if (term->grouped)
        buf_puts(out, bound ? "=" : "=group");
    if (bound && term->grouped)
        print_groups(k, out);
    else if (bound)
        buf_printf(out, "=%zu", term->ard);
    if (term->count) {
        buf_printf(out, "%sinputs=%zu:%zu", before, term->first + 1, term->first + term->count);
        before = ",";
    }
    if (*before == ',')
        buf_putc(out, ')');
}

/* Prints the parameters of a kernel that its layer fixes, as settings of the layer.  Returns what
 * stands before a further one. */
static const char *print_inside(const struct kterm *term, struct buf *out)
{
    const struct kparam *p = term->ops->params;
    const char *before = "(";

    for (size_t i = 0; p && p[i].name; i++, before = ",") {
        buf_printf(out, "%s%s=", before, p[i].name);
        buf_json_double(out, term->params[i]);
    }
    return before;
}

/* True when kernels t and t + 1 stand in one layer. */
static bool same_layer(const struct kernel *k, size_t t)
{
    const struct kterm *a = &k->term[t], *b = a + 1;

    return t + 1 < k->nterms && layer_kind(&a->layer) == LAYER_NUMBERS &&
           layer_same_numbers(&a->layer, &b->layer) && strcmp(a->on, b->on) == 0;
}

void kernel_print(const struct kernel *k, struct buf *out)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        const bool inside = term->layer.ops && term->layer.ops->inside;
        const char *before = ",";

        buf_puts(out, t == 0 ? "" : term->times ? " * " : " + ");
        if (term->layer.ops && (t == 0 || !same_layer(k, t - 1)))
            buf_printf(out, "%s%s", term->layer.ops->name, inside ? "" : "(");
        if (inside) {
            before = print_inside(term, out);
        } else {
            if (term->map)
                buf_printf(out, "%s(", term->map->name);
            buf_puts(out, term->ops->name);
            print_settings(k, term, out);
            if (term->map)
                print_params(term->map, term->map_params, term->net, ",", out);
            buf_puts(out, term->map ? ")" : "");
        }
        if (term->layer.ops && !same_layer(k, t))
            print_layer(&term->layer, before, out);
        if (*term->on && !same_layer(k, t))
            buf_printf(out, " on %s", term->on);
    }
}
