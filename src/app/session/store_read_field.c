/* app/session/store_read_field.c -- reads values that runs, states and the workspace have in common
 * from JSON: kernels, hyperparameters, bounds. */
#include "app/session/store_load.h"

#include "compute/likelihood/likelihood.h"
#include "compute/models/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool store_read_field_kernel(struct jdoc *j, struct kernel *k, const char *path)
{
    double set[KERNEL_MAX_HP];
    char *text = store_doc_str(j, "%s", path);
    const bool ok = text && kernel_parse(text, k, set, NULL) == ST_OK;

    if (!ok)
        store_doc_wrong(j, "%s is not a kernel", path);
    free(text);
    return ok;
}

bool store_read_field_current(struct jdoc *j, struct kernel *k, const char *path)
{
    double set[KERNEL_MAX_HP];
    char *text = store_doc_str(j, "%s", path), *cut = text ? strstr(text, ",weights=") : NULL;

    if (cut && kernel_parse(text, k, set, NULL) != ST_OK) {
        char *end = strpbrk(cut + 1, ",)");
        if (end)
            memmove(cut, end, strlen(end) + 1);
    }
    const bool ok = text && kernel_parse(text, k, set, NULL) == ST_OK;
    if (!ok)
        store_doc_wrong(j, "%s is not a kernel", path);
    free(text);
    return ok;
}

void store_read_field_hp(struct jdoc *j, double *hp, size_t n, const char *path)
{
    const size_t have = store_doc_len(j, KERNEL_MAX_HP, "%s", path);

    if (have != n)
        store_doc_wrong(j, "%s has %zu values, not %zu", path, have, n);
    for (size_t i = 0; i < n; i++) {
        hp[i] = store_doc_num(j, "%s[%zu]", path, i);
        if (!(hp[i] > 0))
            store_doc_wrong(j, "%s[%zu] is not positive", path, i);
    }
}

double store_read_field_positive(struct jdoc *j, const char *path, bool zero)
{
    const double x = store_doc_num(j, "%s", path);

    if (!(x > 0 || (zero && x == 0)))
        store_doc_wrong(j, "%s is not positive", path);
    return x;
}

static void read_bound(struct jdoc *j, struct tune_bound *b, const char *path)
{
    b->lo = store_doc_num(j, "%s.lo", path);
    b->hi = store_doc_num(j, "%s.hi", path);
    b->fixed = store_doc_bool(j, "%s.fixed", path);
    b->value = store_doc_num(j, "%s.value", path);
}

void store_read_field_bounds(struct jdoc *j, const char *in, struct tune_bound *hp, size_t n,
                        struct tune_bound *amplitude, struct tune_bound *noise)
{
    char path[64];

    if (store_doc_len(j, KERNEL_MAX_HP, "%s.bounds", in) != n)
        store_doc_wrong(j, "%s.bounds has another length", in);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s.bounds[%zu]", in, i);
        read_bound(j, &hp[i], path);
    }
    snprintf(path, sizeof path, "%s.amplitude_bound", in);
    read_bound(j, amplitude, path);
    snprintf(path, sizeof path, "%s.noise_bound", in);
    read_bound(j, noise, path);
}

const struct likelihood_ops *store_read_field_link(struct jdoc *j, const char *path)
{
    char *link = store_doc_has(j, "%s", path) ? store_doc_str(j, "%s", path) : NULL;
    const struct likelihood_ops *found = likelihood_linked(link);

    if (link && !found)
        store_doc_wrong(j, "%s is not known", path);
    free(link);
    return found;
}

size_t store_read_field_size(struct jdoc *j, const char *path)
{
    return (size_t)store_doc_int(j, 0, STORE_ROWS_MOST, "%s", path);
}

enum outcome store_read_field_outcome(struct jdoc *j, const char *path)
{
    return (enum outcome)store_outcome_values[store_doc_word(j, store_outcomes, "%s", path)];
}

size_t store_read_field_targets(struct jdoc *j, const char *path)
{
    const size_t n = store_doc_has(j, "%s", path) ? store_doc_len(j, TARGETS_MOST, "%s", path) : 1;

    if (n == 0)
        store_doc_wrong(j, "%s is empty", path);
    return n ? n : 1;
}

/* Reads positive amplitudes or noises of t targets. For one target the number that was already read
 * is used. */
void store_read_field_each(struct jdoc *j, const char *path, size_t t, double *each)
{
    if (t > 1 && store_doc_len(j, TARGETS_MOST, "%s", path) != t)
        store_doc_wrong(j, "%s is not of %zu targets", path, t);
    for (size_t i = 0; t > 1 && i < t; i++) {
        each[i] = store_doc_num(j, "%s[%zu]", path, i);
        if (!(each[i] > 0.0) || !isfinite(each[i]))
            store_doc_wrong(j, "%s[%zu] is not positive", path, i);
    }
}

int store_read_field_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}
