/* compute/kernels/kernel.c -- the registry of kernels, and kernel expressions: reading, printing,
 * values.
 *
 *     expression := item { ("+" | "*") item }       a product binds more than a sum
 *     item       := ( term | layer ) [ "on" columns ]
 *     layer      := layer name [ "(" expression { "," setting } ")" ]
 *     term       := name [ "(" [ setting { "," setting } ] ")" ]
 *                 [ "ard" ]
 *     setting    := parameter "=" number [ "/" number ] | "ard" [ "=" which ]
 *     which      := inputs | "group" | group [ "x" inputs ] { ":" group [ "x" inputs ] }
 *     columns    := name { "," name }     patterns with *; "in quotes" where a name has other
 * letters */
#include "compute/kernels/kernel.h"

#include "base/text.h"
#include "compute/kernels/kernels.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

const struct hparam kernel_lengthscale[] = {
    { "lengthscale", "standard deviations of the inputs", 1e-2, 1e3, 1.0,
      "distance over which the function changes; l for short" },
    { 0 },
};

#define KERNEL_ADDRESS(name) &name,
static const struct kernel_ops *const kernels[] = { KERNEL_ROWS(KERNEL_ADDRESS) };
#undef KERNEL_ADDRESS

const struct kernel_ops *kernel_at(size_t i)
{
    return i < sizeof kernels / sizeof kernels[0] ? kernels[i] : NULL;
}

static const struct kernel_layer_info layers[] = {
    {"conv", "Convolution",
     "c c' sum_a sum_b k(window a, window b'), k rbf, matern, cauchy or rq; "
     "width, average=sqrt|none|full",
     "Morrow et al. 2017; Parkinson & Wang 2023", "conv(rbf,width=9)"},
    {"fastconv", "Static convolution",
     "k(phi, phi'), phi_j = max(0, largest of filter j over all "
     "windows); width, filters",
     "Parkinson & Wang 2023; Dempster et al. 2020", "fastconv(rbf,width=9)"},
    {"graph", "Set of nodes",
     "c c' sum_a sum_b k(node a, node b'), k rbf, matern, cauchy or rq: conv with "
     "windows of one position; average=sqrt|none|full, norm=standard|unit|raw",
     "Parkinson & Wang 2023", "graph(rbf)"},
    {"graphpoly", "Polynomial of a set of nodes",
     "c c' sum_a sum_b (node a . node b')^degree: degree=2..4, "
     "norm=unit|raw, average=sqrt|none|full",
     "Bartok et al. 2013; Parkinson & Wang 2023", "graphpoly(degree=2)"},
    {"convdense", "Convolution by dense filters",
     "the kernel of conv, drawn by random filters of their own "
     "numbers each: for windows of few numbers; conv takes it where it is cheaper",
     "Morrow et al. 2017", "convdense(rbf,width=3)"},
};
enum {
    GRAPH = 2,
    GRAPHPOLY,
    CONVDENSE
}; /* names for conv(.., width=1), and for one drawn otherwise */

const struct kernel_layer_info *kernel_layer_at(size_t i)
{
    return i < sizeof layers / sizeof layers[0] ? &layers[i] : NULL;
}

static enum kernel_layer_kind layer_find(const char *name)
{
    for (size_t i = 0; kernel_layer_at(i); i++)
        if (strcmp(layers[i].name, name) == 0)
            return i >= GRAPH ? LAYER_CONV : (enum kernel_layer_kind)(LAYER_CONV + i);
    return LAYER_NONE;
}

static const char *layer_name(const struct kernel_layer *l)
{
    return layers[l->poly    ? GRAPHPOLY
                  : l->graph ? GRAPH
                  : l->dense ? CONVDENSE
                             : l->kind - LAYER_CONV]
        .name;
}

static const struct hparam weight_hp = {
    "weight", "standard deviation over that of the first product", 1e-3, 1e3, 1.0,
    "share of a summand"
};

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

const struct kernel_ops *kernel_find(const char *name, struct err *err)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (strcmp(kernel_at(i)->name, name) == 0)
            return kernel_at(i);
    kernel_unknown(name, err);
    return NULL;
}

static size_t ops_nhp(const struct kernel_ops *ops)
{
    size_t n = 0;

    while (ops->hparams && ops->hparams[n].name)
        n++;
    return n;
}

/* A kernel without hyperparameters counts 0; one with a lengthscale, with ARD, one for each input.
 */
static size_t term_nhp(const struct kterm *t)
{
    const size_t n = ops_nhp(t->ops);

    return t->ard == 0 || t->ard == KERNEL_ARD ? n : n - 1 + t->ard;
}

/* Reading. */

struct parser {
    const char *text, *at;
    struct err *err;
    double weight; /* given for the product in hand; NaN: none */
    double *hp;    /* those given, and how many so far */
    size_t nhp;
    bool first;    /* product */
};

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static enum status parse_fail(struct parser *p, const char *expected)
{
    const size_t pos = (size_t)(p->at - p->text) + 1;

    if (!*p->at)
        return err_set(p->err, ST_USAGE, "kernel \"%.80s\" ends too early: expected %s", p->text,
                       expected);
    return err_set(p->err, ST_USAGE, "kernel \"%.80s\", position %zu: expected %s, not \"%.1s\"",
                   p->text, pos, expected, p->at);
}

static bool parse_word(struct parser *p, char word[KERNEL_NAME_MAX])
{
    size_t n = 0;

    skip_blanks(p);
    while (isalnum((unsigned char)*p->at) || *p->at == '_') {
        if (n + 1 < KERNEL_NAME_MAX)
            word[n++] = *p->at;
        p->at++;
    }
    word[n] = '\0';
    return n > 0;
}

static bool parse_plain_number(struct parser *p, double *out)
{
    skip_blanks(p);
    const char *s = p->at;
    size_t n = 0;

    while (isdigit((unsigned char)s[n]) || s[n] == '.' ||
           ((s[n] == '+' || s[n] == '-') && (n == 0 || s[n - 1] == 'e' || s[n - 1] == 'E')) ||
           ((s[n] == 'e' || s[n] == 'E') && n > 0))
        n++;
    if (n == 0 || !text_double(s, n, out))
        return false;
    p->at += n;
    return true;
}

static enum status parse_number(struct parser *p, double *out)
{
    double below;

    if (!parse_plain_number(p, out))
        return parse_fail(p, "a number");
    skip_blanks(p);
    if (*p->at != '/')
        return ST_OK;
    p->at++;
    if (!parse_plain_number(p, &below) || below == 0.0)
        return parse_fail(p, "a number other than 0");
    *out /= below;
    return ST_OK;
}

static enum status set_value(struct parser *p, struct kterm *term, double *hp, const char *name,
                             double v)
{
    const struct kernel_ops *ops = term->ops;

    for (size_t i = 0; ops->params && ops->params[i].name; i++) {
        const struct kparam *k = &ops->params[i];
        if (strcmp(name, k->name) != 0)
            continue;
        if (!(v >= k->lo && v <= k->hi) || (k->valid && !k->valid(v)))
            return err_set(p->err, ST_RANGE, "%s: %s=%g is not possible; %s", ops->name, name, v,
                           k->help);
        term->params[i] = v;
        return ST_OK;
    }
    if (strcmp(name, "l") == 0)
        name = "lengthscale";
    if (strcmp(name, weight_hp.name) == 0) {
        if (!(v >= weight_hp.lo && v <= weight_hp.hi))
            return err_set(p->err, ST_RANGE, "%s: weight=%g is outside %g to %g", ops->name, v,
                           weight_hp.lo, weight_hp.hi);
        p->weight = v;
        return ST_OK;
    }
    for (size_t i = 0; ops->hparams && ops->hparams[i].name; i++) {
        const struct hparam *h = &ops->hparams[i];
        if (strcmp(name, h->name) != 0)
            continue;
        if (!(v >= h->lo && v <= h->hi))
            return err_set(p->err, ST_RANGE, "%s: %s=%g is outside %g to %g", ops->name, name, v,
                           h->lo, h->hi);
        hp[i] = v;
        return ST_OK;
    }
    return err_set(p->err, ST_NOT_FOUND, "kernel %s has no parameter \"%s\"", ops->name, name);
}

static bool parse_count(struct parser *p, double most, size_t *out)
{
    const char *was = p->at;
    double v;

    if (parse_plain_number(p, &v) && v >= 1.0 && v <= most && v == floor(v))
        return *out = (size_t)v, true;
    p->at = was;
    return false;
}

static enum status groups_differ(struct err *err)
{
    return err_set(err, ST_USAGE, "all kernels of an expression have the same groups of inputs");
}

/* "inputs=3:4": the numbers of a row that a kernel of a model reads. */
static enum status parse_inputs(struct parser *p, struct kterm *term)
{
    size_t first, last;

    skip_blanks(p);
    if (!parse_count(p, 1e9, &first) || *p->at != ':')
        return parse_fail(p, "the first input and the last, as in 3:4");
    p->at++;
    if (!parse_count(p, 1e9, &last) || last < first)
        return parse_fail(p, "the last input");
    term->first = first - 1;
    term->count = last - first + 1;
    return ST_OK;
}

/* "1x4:2:1": the groups of inputs, in order of appearance. */
static enum status parse_groups(struct parser *p, struct kernel *k, struct kterm *term)
{
    uint8_t group[KERNEL_MAX_GROUPED];
    size_t n = 0, groups = 0;

    for (;;) {
        size_t g, times = 1;
        if (!parse_count(p, (double)(groups + 1), &g))
            return parse_fail(p, "the number of a group, the next new one or one of those before");
        if (g > KERNEL_MAX_HP - 8)
            return err_set(p->err, ST_LIMIT, "at most %d groups of inputs", KERNEL_MAX_HP - 8);
        if (*p->at == 'x') {
            p->at++;
            if (!parse_count(p, 1e9, &times))
                return parse_fail(p, "a number of inputs");
        }
        if (times > KERNEL_MAX_GROUPED - n)
            return err_set(p->err, ST_LIMIT, "ard=group: at most %d inputs", KERNEL_MAX_GROUPED);
        memset(group + n, (int)(g - 1), times);
        n += times;
        groups = g > groups ? g : groups;
        if (*p->at != ':')
            break;
        p->at++;
    }
    if (k->ngrouped > 0 && (k->ngrouped != n || memcmp(k->group, group, n) != 0))
        return groups_differ(p->err);
    memcpy(k->group, group, n);
    k->ngrouped = n;
    term->grouped = true;
    term->ard = groups;
    return ST_OK;
}

/* "ard"; "ard=8": the kernel of a model knows its inputs; "ard=group", and of a model "ard=1x4:2".
 */
static enum status parse_ard(struct parser *p, struct kernel *k, struct kterm *term)
{
    const struct hparam *h = term->ops->hparams;
    double v;

    if (!h || !h->name || strcmp(h->name, "lengthscale") != 0)
        return err_set(p->err, ST_USAGE, "kernel %s has no lengthscale: ard has no meaning",
                       term->ops->name);
    if (term->ard != 0)
        return err_set(p->err, ST_USAGE, "kernel %s has two words for ard", term->ops->name);
    term->ard = KERNEL_ARD;
    if (*p->at != '=')
        return ST_OK;
    p->at++;
    skip_blanks(p);
    if (strncmp(p->at, "group", 5) == 0 && !isalnum((unsigned char)p->at[5])) {
        p->at += 5;
        term->grouped = true;
        return ST_OK;
    }
    const char *list = p->at;
    if (!parse_plain_number(p, &v) || !(v >= 1.0) || v != floor(v))
        return parse_fail(p, "a number of inputs, or \"group\"");
    if (*p->at == 'x' || *p->at == ':') {
        p->at = list;
        return parse_groups(p, k, term);
    }
    if (v > KERNEL_MAX_HP - 8)
        return err_set(p->err, ST_LIMIT, "ard=%g: one lengthscale each for at most %d inputs", v,
                       KERNEL_MAX_HP - 8);
    term->ard = (size_t)v;
    return ST_OK;
}

static enum status parse_settings(struct parser *p, struct kernel *k, struct kterm *term,
                                  double *hp)
{
    char name[KERNEL_NAME_MAX];
    double v;

    skip_blanks(p);
    if (*p->at == ')')
        return p->at++, ST_OK;
    for (;;) {
        if (!parse_word(p, name))
            return parse_fail(p, "the name of a parameter");
        skip_blanks(p);
        enum status rc = ST_OK;
        if (strcmp(name, "ard") == 0) {
            rc = parse_ard(p, k, term);
        } else if (*p->at != '=') {
            return parse_fail(p, "\"=\"");
        } else {
            p->at++;
            rc = strcmp(name, "inputs") == 0 ? parse_inputs(p, term) : parse_number(p, &v);
            if (rc == ST_OK && strcmp(name, "inputs") != 0)
                rc = set_value(p, term, hp, name, v);
        }
        if (rc != ST_OK)
            return rc;
        skip_blanks(p);
        if (*p->at == ')')
            return p->at++, ST_OK;
        if (*p->at != ',')
            return parse_fail(p, "\",\" or \")\"");
        p->at++;
    }
}

static enum status parse_term(struct parser *p, const char *name, struct kernel *k)
{
    struct kterm *term = &k->term[k->nterms];
    double *hp = p->hp + p->nhp;
    enum status rc = ST_OK;

    term->ops = kernel_find(name, p->err);
    if (!term->ops)
        return ST_NOT_FOUND;
    for (size_t i = 0; term->ops->params && term->ops->params[i].name; i++)
        term->params[i] = term->ops->params[i].init;
    skip_blanks(p);
    if (*p->at == '(') {
        p->at++;
        rc = parse_settings(p, k, term, hp);
        skip_blanks(p);
    }
    if (rc == ST_OK && strncmp(p->at, "ard", 3) == 0 && !isalnum((unsigned char)p->at[3])) {
        p->at += 3;
        rc = parse_ard(p, k, term);
    }
    if (rc == ST_OK) {
        p->nhp += term_nhp(term);
        k->nterms++;
    }
    return rc;
}

/* The weight of a product is the hyperparameter after those of its kernels. */
static enum status end_product(struct parser *p)
{
    if (p->first && !isnan(p->weight))
        return err_set(p->err, ST_USAGE, "the first summand has no weight: the amplitude is its "
                       "standard deviation");
    if (!p->first)
        p->hp[p->nhp++] = p->weight;
    p->weight = NAN;
    p->first = false;
    return ST_OK;
}

static bool is_name_byte(unsigned char c)
{
    return isalnum(c) || c >= 0x80 || strchr("_.-#/%[]*", c) != NULL;
}

/* The columns behind "on", as they stand there. */
static enum status parse_columns(struct parser *p, char on[KERNEL_ON_MOST])
{
    const char *from = p->at;

    for (;;) {
        const char *name = p->at;
        if (*p->at == '"') {
            const char *end = strchr(p->at + 1, '"');
            if (!end || end == p->at + 1)
                return parse_fail(p, "a name in quotes");
            p->at = end + 1;
        }
        while (*name != '"' && *p->at && is_name_byte((unsigned char)*p->at))
            p->at++;
        if (p->at == name)
            return parse_fail(p, "the name of a column");
        if (*p->at != ',')
            break;
        p->at++;
    }
    if ((size_t)(p->at - from) >= KERNEL_ON_MOST)
        return err_set(p->err, ST_LIMIT,
                       "the columns behind \"on\" take more than %d letters; names can "
                       "have a * for any letters",
                       KERNEL_ON_MOST - 1);
    memcpy(on, from, (size_t)(p->at - from));
    on[p->at - from] = '\0';
    return ST_OK;
}

static enum status parse_layer(struct parser *p, enum kernel_layer_kind kind, const char *name,
                               struct kernel *k);

/* A kernel or a layer, and the columns that it reads. */
static enum status parse_item(struct parser *p, bool inside, struct kernel *k)
{
    const size_t from = k->nterms;
    char name[KERNEL_NAME_MAX];
    enum status rc = ST_OK;

    if (!parse_word(p, name)) {
        rc = parse_fail(p, "the name of a kernel");
        if (*p->at == '(')
            err_hint(p->err, "without brackets: a * c + b * c");
        return rc;
    }
    const enum kernel_layer_kind layer = layer_find(name);
    if (layer && inside) {
        err_set(p->err, ST_UNSUPPORTED, "%s(...) cannot stand inside of another layer", name);
        err_hint(p->err, "conv(rbf) + rbf");
        return ST_UNSUPPORTED;
    }
    rc = layer ? parse_layer(p, layer, name, k) : parse_term(p, name, k);
    skip_blanks(p);
    if (rc != ST_OK || strncmp(p->at, "on", 2) != 0 || !isspace((unsigned char)p->at[2]))
        return rc;
    if (inside || layer == LAYER_CONV) {
        err_set(p->err, ST_UNSUPPORTED,
                layer == LAYER_CONV ? "%s reads the sequence, no other columns"
                                    : "inside of a layer \"on\" has no place: "
                                      "behind its bracket",
                name);
        err_hint(p->err, "conv(rbf) + rbf on COLUMNS");
        return ST_UNSUPPORTED;
    }
    p->at += 3;
    skip_blanks(p);
    rc = parse_columns(p, k->term[from].on);
    for (size_t t = from + 1; rc == ST_OK && t < k->nterms; t++)
        memcpy(k->term[t].on, k->term[from].on, sizeof k->term[t].on);
    skip_blanks(p);
    return rc;
}

/* inside: of a layer, where a comma or a bracket ends it; its last product then goes on outside. */
static enum status parse_expression(struct parser *p, bool inside, struct kernel *k)
{
    for (;;) {
        const size_t from = k->nterms;
        const bool factor = from < KERNEL_MAX_TERMS && k->term[from].times;
        if (k->nterms == KERNEL_MAX_TERMS)
            return err_set(p->err, ST_LIMIT, "an expression has at most %d kernels",
                           KERNEL_MAX_TERMS);
        enum status rc = parse_item(p, inside, k);
        if (rc != ST_OK)
            return rc;
        skip_blanks(p);
        const bool end = inside ? *p->at == ',' || *p->at == ')' : !*p->at;
        if (!end && *p->at != '+' && *p->at != '*')
            return parse_fail(p, inside ? "\"+\", \"*\", \",\" or \")\""
                                        : "\"+\", \"*\", \"(\" or the end");
        bool sum = false;
        for (size_t t = from + 1; t < k->nterms; t++)
            sum |= !k->term[t].times;
        if (sum && (factor || *p->at == '*')) {
            err_set(p->err, ST_UNSUPPORTED, "a sum inside of a layer cannot be multiplied");
            err_hint(p->err, "without brackets: a * c + b * c");
            return ST_UNSUPPORTED;
        }
        if (*p->at == '+' || (end && !inside))
            rc = end_product(p);
        if (rc != ST_OK)
            return rc;
        if (end)
            break;
        if (k->nterms < KERNEL_MAX_TERMS)
            k->term[k->nterms].times = *p->at == '*';
        p->at++;
    }
    for (size_t t = 0; t < k->nterms; t++) /* bound to groups all, or none */
        if (k->ngrouped > 0 && k->term[t].grouped && k->term[t].ard == KERNEL_ARD)
            return groups_differ(p->err);
    return ST_OK;
}

/* Layers. */

static const char *const averages[] = { "sqrt", "none", "full" };

static const char *const norms[] = { "standard", "unit", "raw" };

/* One of three words. */
static enum status parse_choice(struct parser *p, const char *const words[3], const char *expected,
                                unsigned *out)
{
    char word[KERNEL_NAME_MAX];
    const char *was = p->at;

    if (parse_word(p, word))
        for (unsigned i = 0; i < 3; i++)
            if (strcmp(word, words[i]) == 0) {
                *out = i;
                return ST_OK;
            }
    p->at = was;
    return parse_fail(p, expected);
}

static enum status parse_degree(struct parser *p, struct kterm *t)
{
    size_t degree;

    skip_blanks(p);
    if (!parse_count(p, 4, &degree) || degree < 2)
        return err_set(p->err, ST_RANGE, "graphpoly: the degree is 2, 3 or 4");
    t->params[0] = (double)degree;
    return ST_OK;
}

/* t: the kernel inside. */
static enum status parse_layer_setting(struct parser *p, struct kernel_layer *l, struct kterm *t)
{
    unsigned choice;
    enum status rc;
    const char *layer = layer_name(l);
    const bool conv = l->kind == LAYER_CONV;
    char name[KERNEL_NAME_MAX];

    if (!parse_word(p, name))
        return parse_fail(p, "the name of a parameter");
    skip_blanks(p);
    if (*p->at != '=')
        return parse_fail(p, "\"=\"");
    p->at++;
    if (conv && strcmp(name, "average") == 0) {
        rc = parse_choice(p, averages, "sqrt, none or full", &choice);
        l->average = rc == ST_OK ? (enum kernel_average)choice : l->average;
        return rc;
    }
    if (conv && strcmp(name, "norm") == 0) {
        rc = parse_choice(p, norms, "standard, unit or raw", &choice);
        l->norm = rc == ST_OK ? (enum kernel_norm)choice : l->norm;
        return rc;
    }
    if (l->poly && strcmp(name, "degree") == 0)
        return parse_degree(p, t);
    const struct { const char *name; double most; size_t *to; bool there; } counts[] = {
        { "width", KERNEL_WIDTH_MOST, &l->width, !l->graph },
        { "filters", KERNEL_FILTERS_MOST, &l->filters, !conv },
        { "symbols", 1e6, &l->channels, conv },
        { "channels", 1e6, &l->channels, conv },
        { "flat", 1e9, &l->flat, conv },
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!counts[i].there || strcmp(name, counts[i].name) != 0)
            continue;
        if ((i == 2 || i == 3) && l->channels != 0)
            return err_set(p->err, ST_USAGE, "%s: what a position is stands there twice", layer);
        skip_blanks(p);
        if (!parse_count(p, counts[i].most, counts[i].to))
            return err_set(p->err, ST_RANGE, "%s: %s is a whole number from 1 to %g", layer, name,
                           counts[i].most);
        l->symbols |= i == 2;
        return ST_OK;
    }
    err_set(p->err, ST_NOT_FOUND, "%s has no parameter \"%s\"", layer, name);
    err_hint(p->err,
             l->poly    ? "kernel graphpoly(degree=2,norm=unit,average=sqrt)"
             : l->graph ? "average=sqrt|none|full; a lengthscale goes inside: graph(rbf(l=2))"
             : conv     ? "width=9, average=sqrt|none|full; a lengthscale goes inside: "
                          "conv(rbf(l=2))"
                        : "width=9, filters=512; a lengthscale goes inside: fastconv(rbf(l=2))");
    return ST_NOT_FOUND;
}

/* What may stand inside, from kernel `from` on. */
static enum status layer_check(const struct kernel *k, size_t from, struct err *err)
{
    const struct kterm *t = &k->term[from];

    if (t->layer.poly && t->layer.norm == NORM_STANDARD)
        return err_set(err, ST_USAGE,
                       "graphpoly reads nodes that are not centred: norm=unit or norm=raw");
    if (t->layer.kind != LAYER_CONV || t->layer.poly)
        return ST_OK;
    if (k->nterms != from + 1 || !t->ops->exact || t->ard != 0) {
        err_set(err, ST_UNSUPPORTED, "%s takes one stationary kernel with one lengthscale: rbf, "
                "matern, cauchy or rq", layer_name(&t->layer));
        err_hint(err, "conv(rbf,width=9)  |  fastconv(EXPRESSION,width=9)  takes any");
        return ST_UNSUPPORTED;
    }
    return ST_OK;
}

static enum status parse_layer(struct parser *p, enum kernel_layer_kind kind, const char *name,
                               struct kernel *k)
{
    const bool poly = strcmp(name, layers[GRAPHPOLY].name) == 0;
    const bool graph = poly || strcmp(name, layers[GRAPH].name) == 0;
    const size_t from = k->nterms;
    struct kernel_layer l = { .kind = kind, .width = graph ? 1 : 9, .graph = graph, .poly = poly,
                              .dense = strcmp(name, layers[CONVDENSE].name) == 0,
                              .norm = poly ? NORM_UNIT : NORM_STANDARD,
                              .filters = kind == LAYER_FASTCONV ? 512 : 0 };
    enum status rc;

    if (poly) {
        k->term[k->nterms].ops = &kernel_power;
        k->term[k->nterms++].params[0] = 2.0;
    }

    skip_blanks(p);
    if (*p->at != '(' && *p->at && *p->at != '+' && *p->at != '*')
        return parse_fail(p, "\"(\" and a kernel, as in conv(rbf,width=9)");
    if (*p->at != '(') { /* "conv": what is meant most often */
        rc = poly ? ST_OK : parse_term(p, "rbf", k);
    } else {
        p->at++;
        rc = poly ? ST_OK : parse_expression(p, true, k);
        skip_blanks(p);
        for (bool more = poly && *p->at != ')'; rc == ST_OK && (more || *p->at == ',');
             more = false) {
            p->at += !more;
            rc = parse_layer_setting(p, &l, &k->term[from]);
            skip_blanks(p);
            if (rc == ST_OK && *p->at != ',' && *p->at != ')')
                rc = parse_fail(p, "\",\" or \")\"");
        }
        p->at += rc == ST_OK;
    }
    for (size_t t = from; t < k->nterms; t++)
        k->term[t].layer = l;
    return rc == ST_OK ? layer_check(k, from, p->err) : rc;
}

/* The layers of an expression agree, and what they have in common stands in the kernel. */
static enum status layers_join(struct kernel *k, struct err *err)
{
    size_t fast = 0; /* fastconv(..)s */

    for (size_t t = 0, windows = 0; t < k->nterms; t++) {
        const struct kernel_layer *l = &k->term[t].layer;
        windows = k->term[t].times ? windows + (l->kind == LAYER_CONV) : l->kind == LAYER_CONV;
        if (windows > 1)
            return err_set(err, ST_UNSUPPORTED,
                           "one conv or graph in a product: the other factors read "
                           "columns of numbers");
        if (l->kind == LAYER_NONE)
            continue;
        const bool again = t > 0 && k->term[t - 1].layer.kind == LAYER_FASTCONV &&
                           k->term[t - 1].layer.width == l->width &&
                           k->term[t - 1].layer.filters == l->filters;
        fast += l->kind == LAYER_FASTCONV && !again;
        if (k->layer.kind == LAYER_NONE)
            k->layer = *l;
        if (k->layer.kind != l->kind || fast > 1) {
            err_set(err, ST_UNSUPPORTED,
                    "one fastconv in an expression, and none beside conv or graph");
            err_hint(err, "conv(rbf,width=5) + conv(rbf,width=9)  |  fastconv(rbf + linear)");
            return ST_UNSUPPORTED;
        }
        k->layer.width = l->width > k->layer.width ? l->width : k->layer.width;
        if (k->layer.norm != l->norm) {
            err_set(err, ST_UNSUPPORTED,
                    "all kernels of sets of nodes read the same numbers: norm=unit or raw for "
                    "each of them");
            err_hint(err, "kernel graph(rbf,norm=unit) + graphpoly(degree=2,norm=unit)");
            return ST_UNSUPPORTED;
        }
        if (k->layer.channels != l->channels || k->layer.symbols != l->symbols ||
            k->layer.flat != l->flat)
            return err_set(err, ST_USAGE, "all layers of an expression read the same rows");
    }
    return ST_OK;
}

bool kernel_reads_parts(const struct kernel *k)
{
    bool some = false, all = true;

    for (size_t t = 0; t < k->nterms; t++) {
        if (*k->term[t].on)
            return true;
        *(k->term[t].layer.kind ? &some : &all) = k->term[t].layer.kind != LAYER_NONE;
    }
    return some && !all;
}

size_t kernel_inputs(const struct kernel *k, size_t t, size_t d)
{
    const struct kterm *term = &k->term[t];

    if (kterm_reads_windows(term))
        return term->layer.width * term->layer.channels;
    return term->count ? term->count : kernel_reads_windows(k) ? k->layer.flat : d;
}

bool kernel_reads_input(const struct kernel *k, size_t t, size_t i)
{
    const struct kterm *term = &k->term[t];

    return !kterm_reads_windows(term) &&
           (term->count == 0 || (i >= term->first && i < term->first + term->count));
}

static enum status rows_differ(const char *what, size_t had, size_t has, struct err *err)
{
    return err_set(err, ST_SHAPE, "the kernel was made for rows with %zu %s, the data have %zu",
                   had, what, has);
}

/* Of letters, dense filters cost an addition for each position, structured ones three times the
 * logarithm of all numbers: 6 to 28 % less up to 8 positions (bench_windows).  Of vectors they cost
 * a product for each number. Beyond some 64 numbers structured ones have the smaller error, by up
 * to a half at 9 x 20. */
static bool dense_pays(const struct kernel_layer *l)
{
    const size_t numbers = l->width * l->channels;

    return l->kind == LAYER_CONV && !l->graph && !l->poly && !l->dense && l->channels > 0 &&
           (l->symbols ? l->width <= 8 && numbers <= 64 : numbers <= 16);
}

size_t kernel_choose_filters(struct kernel *k)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++) {
        struct kernel_layer *l = &k->term[t].layer;
        if (!dense_pays(l))
            continue;
        l->dense = l->chosen = true;
        n++;
    }
    return n;
}

enum status kernel_bind_rows(struct kernel *k, size_t channels, bool symbols, size_t positions,
                             struct err *err)
{
    struct kernel_layer *l = &k->layer;

    if (l->kind != LAYER_CONV)
        return ST_OK;
    if (l->channels != 0 && (l->channels != channels || l->symbols != symbols))
        return err_set(err, ST_SHAPE,
                       "the kernel was made for positions of %zu %s, the data have %zu "
                       "%s",
                       l->channels, l->symbols ? "letters" : "numbers", channels,
                       symbols ? "letters" : "numbers");
    for (size_t t = 0; t <= k->nterms; t++) {
        if (t < k->nterms && !kterm_reads_windows(&k->term[t]))
            continue;
        l = t < k->nterms ? &k->term[t].layer : &k->layer;
        l->channels = channels;
        l->symbols = symbols;
        l->positions = positions;
    }
    return ST_OK;
}

enum status kernel_bind_flat(struct kernel *k, size_t flat, struct err *err)
{
    if (!kernel_reads_windows(k) || k->layer.flat == flat)
        return ST_OK;
    if (k->layer.flat != 0)
        return rows_differ("numbers beside the sequence", k->layer.flat, flat, err);
    k->layer.flat = flat;
    for (size_t t = 0; t < k->nterms; t++)
        if (kterm_reads_windows(&k->term[t]))
            k->term[t].layer.flat = flat;
    return ST_OK;
}

enum status kernel_bind_inputs(struct kernel *k, size_t t, size_t first, size_t count,
                               struct err *err)
{
    struct kterm *term = &k->term[t];

    if (term->count != 0 && term->count != count)
        return rows_differ("inputs of a kernel", term->count, count, err);
    if (term->count != 0 && term->first != first)
        return rows_differ("inputs before those of a kernel", term->first, first, err);
    term->first = first;
    term->count = count;
    return ST_OK;
}

void kernel_unbind(struct kernel *k)
{
    k->layer.channels = k->layer.flat = 0;
    for (size_t t = 0; t < k->nterms; t++) {
        struct kernel_layer *l = &k->term[t].layer;
        l->channels = l->flat = k->term[t].first = k->term[t].count = 0;
        l->dense &= !l->chosen;
        l->chosen = false;
    }
}

enum status kernel_parse(const char *text, struct kernel *out, double hp_set[KERNEL_MAX_HP],
                         struct err *err)
{
    double hp[KERNEL_MAX_HP];
    struct parser p = {
        .text = text, .at = text, .err = err, .weight = NAN, .hp = hp, .first = true};
    struct kernel k = { 0 };

    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        hp[i] = NAN;
    enum status rc = parse_expression(&p, false, &k);
    if (rc == ST_OK)
        rc = layers_join(&k, err);
    if (rc != ST_OK)
        return rc;
    *out = k;
    if (hp_set)
        memcpy(hp_set, hp, sizeof hp);
    return ST_OK;
}

/* Printing and values. */

/* Halves as fractions, so that matern(nu=5/2) looks as in the books. */
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

static void print_layer(const struct kernel_layer *l, struct buf *out)
{
    if (!l->graph)
        buf_printf(out, ",width=%zu", l->width);
    if (l->norm != NORM_STANDARD)
        buf_printf(out, ",norm=%s", norms[l->norm]);
    if (l->kind == LAYER_CONV)
        buf_printf(out, ",average=%s", averages[l->average]);
    else
        buf_printf(out, ",filters=%zu", l->filters);
    if (l->channels)
        buf_printf(out, ",%s=%zu", l->symbols ? "symbols" : "channels", l->channels);
    if (l->flat)
        buf_printf(out, ",flat=%zu", l->flat);
    buf_putc(out, ')');
}

/* What is written in the brackets of a kernel, one after the other. */
static void print_settings(const struct kernel *k, const struct kterm *term, struct buf *out)
{
    const struct kernel_ops *ops = term->ops;
    const bool bound = term->ard != 0 && term->ard != KERNEL_ARD;
    const char *before = "(";

    for (size_t i = 0; ops->params && ops->params[i].name; i++, before = ",") {
        buf_printf(out, "%s%s=", before, ops->params[i].name);
        print_value(term->params[i], out);
    }
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

/* Kernels t and t + 1 stand in one layer. */
static bool same_layer(const struct kernel *k, size_t t)
{
    return k->term[t].layer.kind == LAYER_FASTCONV && t + 1 < k->nterms &&
           k->term[t + 1].layer.kind == LAYER_FASTCONV;
}

void kernel_print(const struct kernel *k, struct buf *out)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];

        buf_puts(out, t == 0 ? "" : term->times ? " * " : " + ");
        if (term->layer.kind && (t == 0 || !same_layer(k, t - 1)))
            buf_printf(out, "%s(", layer_name(&term->layer));
        if (term->layer.poly) {
            buf_printf(out, "degree=%g", term->params[0]);
        } else {
            buf_puts(out, term->ops->name);
            print_settings(k, term, out);
        }
        if (term->layer.kind && !same_layer(k, t))
            print_layer(&term->layer, out);
        if (*term->on && !same_layer(k, t))
            buf_printf(out, " on %s", term->on);
    }
}

/* 1 after the last kernel of a product that is not the first. */
static size_t weight_after(const struct kernel *k, size_t t)
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
        n += term_nhp(&k->term[t]) + weight_after(k, t);
    return n;
}

struct kernel_place kernel_place(const struct kernel *k, size_t t)
{
    struct kernel_place p = { .first = t == 0 || !k->term[t].times, .weight = SIZE_MAX };

    for (size_t i = 0; i < t; i++)
        p.hp0 += term_nhp(&k->term[i]) + weight_after(k, i);
    p.nhp = term_nhp(&k->term[t]);
    p.nl = p.nhp - ops_nhp(k->term[t].ops) + 1;
    size_t end = p.hp0;
    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++) {
        end += term_nhp(&k->term[i]);
        if (weight_after(k, i))
            p.weight = end;
    }
    return p;
}

bool kernel_is_radial(const struct kernel *k)
{
    return k->nterms == 1 && k->term[0].ops->exact != NULL;
}

/* Entries are at most 1 before the factor sqrt(1/mf), so that float16 is at most 2^-12 off: with 2
 * mf of them |e| <= sqrt(2) 2^-12 to |z| = 1.  A weight multiplies both. */
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

bool kernel_has_groups(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].grouped)
            return true;
    return false;
}

size_t kernel_lengthscale_of(const struct kernel *k, size_t t, size_t i)
{
    const struct kterm *term = &k->term[t];
    const struct hparam *h = term->ops->hparams;

    if (!h || !h->name || strcmp(h->name, kernel_lengthscale[0].name) != 0)
        return SIZE_MAX;
    if (!kernel_reads_input(k, t, i))
        return SIZE_MAX;
    const struct kernel_place p = kernel_place(k, t);
    return p.hp0 + (p.nl < 2 ? 0 : term->grouped ? k->group[i] : i - term->first);
}

/* The expression as it is written for other inputs. */
static enum status bind_fail(const struct kernel *k, struct err *err)
{
    struct kernel open = *k;
    struct buf text = { 0 };

    for (size_t t = 0; t < k->nterms; t++)
        if (open.term[t].ard != 0)
            open.term[t].ard = KERNEL_ARD;
    kernel_print(&open, &text);
    err_hint(err, "kernel %s", buf_str(&text));
    buf_free(&text);
    return ST_SHAPE;
}

/* Numbers groups in order of appearance; *n: how many. */
static enum status bind_map(struct kernel *k, size_t d, const size_t *group, size_t *n,
                            struct err *err)
{
    size_t first[KERNEL_MAX_HP]; /* an input of each group */

    *n = 0;
    if (d > KERNEL_MAX_GROUPED) {
        err_set(err, ST_LIMIT, "ard=group: %zu inputs, at most %d are possible", d,
                KERNEL_MAX_GROUPED);
        err_hint(err, "cols NAME role=skip");
        return ST_LIMIT;
    }
    k->ngrouped = d;
    for (size_t i = 0; i < d; i++) {
        size_t g = 0;
        while (g < *n && (group ? group[first[g]] != group[i] : true))
            g++;
        if (g == *n && *n == KERNEL_MAX_HP - 8) {
            err_set(err, ST_LIMIT, "ard=group: more than %d groups of inputs", KERNEL_MAX_HP - 8);
            err_hint(err, "cols x1,x2* group=NAME");
            return ST_LIMIT;
        }
        if (g == *n)
            first[(*n)++] = i;
        k->group[i] = (uint8_t)g;
    }
    return ST_OK;
}

/* The groups of a bound kernel against those of the data. */
static enum status bind_groups(struct kernel *k, size_t d, const size_t *group, struct err *err)
{
    const size_t had = k->ngrouped;
    struct kernel now = *k;
    size_t n;

    if (had > 0 && !group && had == d)
        return ST_OK;
    const enum status rc = bind_map(&now, d, group, &n, err);
    if (rc != ST_OK)
        return rc;
    if (had > 0 && (had != d || memcmp(now.group, k->group, d) != 0)) {
        err_set(err, ST_SHAPE,
                "the kernel has a lengthscale for each of the groups that %zu inputs "
                "were in; the data have %zu inputs or other groups",
                had, d);
        return bind_fail(k, err);
    }
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].grouped)
            now.term[t].ard = n;
    *k = now;
    return ST_OK;
}

enum status kernel_bind(struct kernel *k, size_t d, size_t from[KERNEL_MAX_HP], struct err *err)
{
    return kernel_bind_groups(k, d, NULL, from, err);
}

enum status kernel_bind_groups(struct kernel *k, size_t d, const size_t *group,
                               size_t from[KERNEL_MAX_HP], struct err *err)
{
    struct kernel bound = *k;
    size_t old = 0, n = 0;

    if (kernel_has_groups(k) && kernel_reads_parts(k)) {
        err_set(err, ST_UNSUPPORTED, "ard=group reads all inputs: not beside conv, or with \"on\"");
        err_hint(err, "kernel rbf(ard)  has a lengthscale for each input");
        return ST_UNSUPPORTED;
    }
    const enum status rc = kernel_has_groups(k) ? bind_groups(&bound, d, group, err) : ST_OK;
    if (rc != ST_OK)
        return rc;
    for (size_t t = 0; t < k->nterms; t++) {
        struct kterm *term = &bound.term[t];
        const size_t own = kterm_reads_windows(term) ? d : kernel_inputs(k, t, d);
        if (term->ard == KERNEL_ARD)
            term->ard = own;
        if (term->ard != 0 && term->ard != own && !term->grouped) {
            err_set(err, ST_SHAPE, "the kernel has a lengthscale for each of %zu inputs, the data "
                    "have %zu", term->ard, own);
            return bind_fail(&bound, err);
        }
    }
    if (kernel_nhp(&bound) > KERNEL_MAX_HP - 2) {
        err_set(err, ST_LIMIT,
                "%zu hyperparameters for %zu inputs; at most %d are possible: one lengthscale for "
                "all inputs, or one for each group of them, needs fewer",
                kernel_nhp(&bound), d, KERNEL_MAX_HP - 2);
        err_hint(err, "cols x* group=NAME; kernel rbf(ard=group)");
        return ST_LIMIT;
    }
    for (size_t t = 0; t < k->nterms; t++) {
        const size_t had = term_nhp(&k->term[t]), has = term_nhp(&bound.term[t]);
        for (size_t i = 0; i < has; i++) /* one value spreads over all lengthscales */
            from[n + i] = old + (has == had              ? i
                                 : i < bound.term[t].ard ? 0
                                                         : i - bound.term[t].ard + 1);
        old += had;
        n += has;
        if (weight_after(k, t))
            from[n++] = old++;
    }
    *k = bound;
    return ST_OK;
}

void kernel_hp_info(const struct kernel *k, size_t i, char name[KERNEL_NAME_MAX],
                    struct hparam *info)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        const struct kernel_place at = kernel_place(k, t);
        const bool weight = weight_after(k, t) && i == at.weight;
        if (i >= at.hp0 + at.nhp && !weight)
            continue;
        const size_t own = i - at.hp0;
        const struct hparam *h = weight ? &weight_hp
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

/* One kernel at one pair of rows, with `each` lengthscales, 1 or d; grad: its own hyperparameters,
 * or NULL. */
static double ops_exact(const struct kterm *term, const double *hp, size_t each, size_t d,
                        const double *x, const double *y, double *grad)
{
    double r2 = 0.0;

    if (term->ops->pair)
        return term->ops->pair(term->params, hp, each, d, x, y, grad);
    for (size_t i = 0; i < d; i++) {
        const double u = (x[i] - y[i]) / hp[each > 1 ? i : 0];
        r2 += u * u;
    }
    const double a = sqrt(r2);
    if (grad) { /* f(a): df/dlog l_i = -f'(a) u_i^2 / a, and dlogl is -a f'(a) */
        const double all = term->ops->dlogl(term->params, a);
        if (each == 1)
            grad[0] = all;
        for (size_t i = 0; each > 1 && i < d; i++) {
            const double u = (x[i] - y[i]) / hp[i];
            grad[i] = r2 > 0.0 ? all * u * u / r2 : 0.0;
        }
    }
    return term->ops->exact(term->params, a);
}

/* Groups of inputs: as with a lengthscale for each input; derivatives of a group's add up. */
static double grouped_exact(const struct kernel *k, const struct kterm *term, const double *hp,
                            size_t d, const double *x, const double *y, double *grad)
{
    double own[KERNEL_MAX_GROUPED + KERNEL_MAX_HP], back[KERNEL_MAX_GROUPED + KERNEL_MAX_HP];
    const size_t nl = term->ard, rest = term_nhp(term) - nl;

    for (size_t i = 0; i < d; i++)
        own[i] = hp[k->group[i]];
    memcpy(own + d, hp + nl, rest * sizeof *own);
    const double v = ops_exact(term, own, d, d, x, y, grad ? back : NULL);
    if (!grad)
        return v;
    memset(grad, 0, nl * sizeof *grad);
    for (size_t i = 0; i < d; i++)
        grad[k->group[i]] += back[i];
    memcpy(grad + nl, back + d, rest * sizeof *grad);
    return v;
}

/* Windows. */

size_t kernel_windows(const struct kernel_layer *l, const double *row)
{
    return row[0] >= (double)l->width ? (size_t)row[0] - l->width + 1 : 0;
}

double kernel_window_factor(const struct kernel_layer *l, size_t windows)
{
    const double m = (double)(windows ? windows : 1);

    return l->average == AVERAGE_NONE ? 1.0 : l->average == AVERAGE_FULL ? 1.0 / m : 1.0 / sqrt(m);
}

/* Squared distance of two symbols: of unit vectors, or none of them. */
static double position_distance(const struct kernel_layer *l, const double *x, const double *y)
{
    const double c = (double)l->channels;

    return x[0] == y[0] || (x[0] >= c && y[0] >= c) ? 0.0 : (double)((x[0] < c) + (y[0] < c));
}

/* Windows a and b' of equal a - b share all positions but one with the pair before: their distances
 * slide along the diagonals.  Those of symbols are whole numbers of at most twice the width: pairs
 * are counted, and the kernel is worked out once for each distance. */
static void count_distances(const struct kernel_layer *w, const double *x, size_t m,
                            const double *y, size_t n, size_t count[2 * KERNEL_WIDTH_MOST + 1])
{
    memset(count, 0, (2 * w->width + 1) * sizeof *count);
    for (size_t diagonal = 0; diagonal < m + n - 1; diagonal++) {
        size_t a = diagonal < m ? m - 1 - diagonal : 0, b = diagonal < m ? 0 : diagonal - m + 1;
        double r2 = 0.0;
        for (bool first = true; a < m && b < n; a++, b++, first = false) {
            const double *p = x + 1 + a, *q = y + 1 + b;
            if (!first)
                r2 -= position_distance(w, p - 1, q - 1);
            for (size_t i = first ? 0 : w->width - 1; i < w->width; i++)
                r2 += position_distance(w, p + i, q + i);
            count[(size_t)r2]++;
        }
    }
}

/* Pairs of nodes whose symbols stand for no unit vector. */
static size_t unknown_pairs(const struct kernel_layer *w, const double *x, size_t m,
                            const double *y, size_t n)
{
    size_t a = 0, b = 0;

    for (size_t i = 0; i < m; i++)
        a += x[1 + i] >= (double)w->channels;
    for (size_t i = 0; i < n; i++)
        b += y[1 + i] >= (double)w->channels;
    return a * b;
}

static double symbols_exact(const struct kterm *t, double l, const double *x, size_t m,
                            const double *y, size_t n, double *slope)
{
    size_t count[2 * KERNEL_WIDTH_MOST + 1];
    double sum = 0.0;

    count_distances(&t->layer, x, m, y, n, count);
    for (size_t i = 0; i <= 2 * t->layer.width; i++) {
        if (count[i] == 0)
            continue;
        if (!t->ops->exact) { /* nodes: alike at distance 0, unless both are none */
            sum += i == 0 ? (double)(count[0] - unknown_pairs(&t->layer, x, m, y, n)) : 0.0;
            continue;
        }
        sum += (double)count[i] * t->ops->exact(t->params, sqrt((double)i) / l);
        if (slope)
            *slope += (double)count[i] * t->ops->dlogl(t->params, sqrt((double)i) / l);
    }
    return sum;
}

static double windows_exact(const struct kterm *t, double l, const double *x, const double *y,
                            double *grad)
{
    const struct kernel_layer *w = &t->layer;
    const double one = 1.0;
    const size_t m = kernel_windows(w, x), n = kernel_windows(w, y);
    double sum = 0.0, slope = 0.0;

    if (w->symbols && m > 0 && n > 0)
        sum = symbols_exact(t, l, x, m, y, n, grad ? &slope : NULL);
    for (size_t a = 0; !w->symbols && a < m; a++)
        for (size_t b = 0; b < n; b++) {
            const double *p = x + 1 + a * w->channels, *q = y + 1 + b * w->channels;
            double r2 = 0.0;
            for (size_t i = 0; !t->ops->exact && i < w->width * w->channels; i++)
                r2 += p[i] * q[i];
            if (!t->ops->exact) {
                sum += t->ops->pair(t->params, NULL, 1, 1, &r2, &one, NULL);
                continue;
            }
            for (size_t i = 0; i < w->width * w->channels; i++)
                r2 += (p[i] - q[i]) * (p[i] - q[i]);
            sum += t->ops->exact(t->params, sqrt(r2) / l);
            slope += grad ? t->ops->dlogl(t->params, sqrt(r2) / l) : 0.0;
        }
    const double c = kernel_window_factor(w, m) * kernel_window_factor(w, n);
    if (grad && t->ops->exact)
        grad[0] = c * slope;
    return c * sum;
}

static double term_exact(const struct kernel *k, size_t t, const double *hp, size_t d,
                         const double *x, const double *y, double *grad)
{
    const struct kterm *term = &k->term[t];

    if (kterm_reads_windows(term))
        return windows_exact(term, term->ops->exact ? hp[0] : 1.0, x + term->layer.flat,
                             y + term->layer.flat, grad);
    x += term->first;
    y += term->first;
    d = kernel_inputs(k, t, d);
    if (term->grouped && term->ard > 1)
        return grouped_exact(k, term, hp, d, x, y, grad);
    return ops_exact(term, hp, term->ard == 0 ? 1 : term->ard, d, x, y, grad);
}

double kernel_exact(const struct kernel *k, const double *hp, size_t d, const double *x,
                    const double *y, double *grad)
{
    double sum = 0.0;

    if (k->nterms == 1)
        return term_exact(k, 0, hp, d, x, y, grad);
    for (size_t t = 0, end; t < k->nterms; t = end) { /* a product: kernels t to end - 1 */
        double v[KERNEL_MAX_TERMS], all = 1.0;
        size_t at[KERNEL_MAX_TERMS], n = 0;
        const struct kernel_place p = kernel_place(k, t);
        const double w = p.weight == SIZE_MAX ? 1.0 : hp[p.weight];
        for (end = t; end < k->nterms && (end == t || k->term[end].times); end++) {
            at[end - t] = p.hp0 + n;
            v[end - t] = term_exact(k, end, hp + at[end - t], d, x, y,
                                    grad ? grad + at[end - t] : NULL);
            n += term_nhp(&k->term[end]);
            all *= v[end - t];
        }
        sum += w * w * all;
        if (grad && p.weight != SIZE_MAX)
            grad[p.weight] = 2.0 * w * w * all;
        for (size_t i = t; grad && i < end; i++) { /* others times own derivative */
            double others = w * w;
            for (size_t j = t; j < end; j++)
                others *= j == i ? 1.0 : v[j - t];
            for (size_t h = 0; h < term_nhp(&k->term[i]); h++)
                grad[at[i - t] + h] *= others;
        }
    }
    return sum;
}
