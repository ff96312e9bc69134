/* compute/kernels/kernel_parse.c -- kernel expressions read from text.
 *
 *     expression := item { ("+" | "*") item }       a product binds more than a sum
 *     item       := ( term | layer ) [ "on" columns ]
 *     layer      := layer name [ "(" expression { "," setting } ")" ]
 *     term       := name [ "(" [ setting { "," setting } ] ")" ]
 *                 | map  "(" term { "," setting } ")"
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
#include <stdio.h>
#include <string.h>

enum { BEHIND = 4 }; /* coordinates that a map has for a kernel behind it, unless out= says */

struct parser {
    const char *text, *at;
    struct err *err;
    double weight; /* the weight given for the current product; NaN: none */
    double *hp;    /* values given for hyperparameters, NaN where not, */
    size_t nhp;    /* and how many there are so far */
    bool first;    /* the current product is the first */
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
    if (strcmp(name, kernel_weight.name) == 0) {
        if (!(v >= kernel_weight.lo && v <= kernel_weight.hi))
            return err_set(p->err, ST_RANGE, "%s: weight=%g is outside %g to %g", ops->name, v,
                           kernel_weight.lo, kernel_weight.hi);
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

static bool parse_whole(struct parser *p, double least, double most, size_t *out)
{
    const char *was = p->at;
    double v;

    if (parse_plain_number(p, &v) && v >= least && v <= most && v == floor(v))
        return *out = (size_t)v, true;
    p->at = was;
    return false;
}

static bool parse_count(struct parser *p, double most, size_t *out)
{
    return parse_whole(p, 1.0, most, out);
}

static enum status groups_differ(struct err *err)
{
    return err_set(err, ST_USAGE, "all kernels of an expression have the same groups of inputs");
}

/* Parses "inputs=3:4", the numbers of a row that a kernel of a saved model reads. */
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

/* Parses "1x4:2:1", the groups of the inputs in their order: four of group 1, one of 2, one of
 * 1. */
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

/* Parses "ard" and "ard=group", and the forms of a kernel that is bound to inputs, "ard=8" and
 * "ard=1x4:2". */
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

/* Parses one of the words of a parameter, or its number among them. */
static enum status parse_param_word(struct parser *p, const struct kparam *k, double *out)
{
    char word[KERNEL_NAME_MAX];
    const char *was = p->at;

    if (parse_word(p, word))
        for (size_t i = 0; k->words[i]; i++)
            if (strcmp(word, k->words[i]) == 0)
                return *out = (double)i, ST_OK;
    p->at = was;
    return parse_fail(p, k->help);
}

/* Parses the checksum of the weights that a kernel has learned. */
static enum status parse_weights(struct parser *p, struct kterm *term)
{
    unsigned long long sum = 0;
    int n = 0;

    skip_blanks(p);
    if (!term->ops->learns || sscanf(p->at, "%16llx%n", &sum, &n) != 1 || n != 16)
        return parse_fail(p, "16 digits, as a tuning of a kernel that learns wrote them");
    p->at += n;
    term->net = net_find(sum);
    if (term->net)
        return ST_OK;
    err_named(p->err, ST_NOT_FOUND, "weights", "the weights %016llx of %s are not in this session",
              sum, term->ops->name);
    err_hint(p->err, "kernel %s, then tune", term->ops->name);
    return ST_NOT_FOUND;
}

/* The parameter of this name; NULL: there is none. */
static const struct kparam *param_named(const struct kernel_ops *ops, const char *name)
{
    for (const struct kparam *k = ops->params; k && k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

/* Parses the value of a parameter, or (NULL) of a hyperparameter. */
static enum status parse_value(struct parser *p, const struct kparam *k, double *out)
{
    if (k && k->words)
        return parse_param_word(p, k, out);
    if (!k || !k->text)
        return parse_number(p, out);
    skip_blanks(p);
    return k->text->read(&p->at, out) ? ST_OK : parse_fail(p, k->help);
}

/* Parses what stands behind "name=". */
static enum status parse_setting(struct parser *p, struct kterm *term, const char *name, double *hp)
{
    double v;

    if (strcmp(name, "inputs") == 0)
        return parse_inputs(p, term);
    if (strcmp(name, "weights") == 0 && term->ops->learns)
        return parse_weights(p, term);
    const enum status rc = parse_value(p, param_named(term->ops, name), &v);
    return rc == ST_OK ? set_value(p, term, hp, name, v) : rc;
}

static enum status parse_settings(struct parser *p, struct kernel *k, struct kterm *term,
                                  double *hp)
{
    char name[KERNEL_NAME_MAX];

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
            rc = parse_setting(p, term, name, hp);
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

static enum status parse_term(struct parser *p, const char *name, struct kernel *k);

/* True if a kernel stands next, as in mlp(rbf,out=4), and not a setting. */
static bool at_kernel(const struct parser *p)
{
    struct parser ahead = *p;
    char name[KERNEL_NAME_MAX];

    if (!parse_word(&ahead, name))
        return false;
    skip_blanks(&ahead);
    return *ahead.at != '=';
}

static void usual_params(const struct kernel_ops *ops, double *params)
{
    for (size_t i = 0; ops->params && ops->params[i].name; i++)
        params[i] = ops->params[i].init;
}

/* Parses "rbf,out=4)": a kernel behind a map, and the settings of the map. */
static enum status parse_behind(struct parser *p, const struct kernel_ops *ops, struct kernel *k)
{
    struct kterm map = { .ops = ops }, *term = &k->term[k->nterms];
    const bool times = term->times;
    char name[KERNEL_NAME_MAX];

    usual_params(ops, map.params);
    for (size_t i = 0; ops->params[i].name; i++)
        if (strcmp(ops->params[i].name, "out") == 0)
            map.params[i] = BEHIND;
    *term = (struct kterm){ .times = times };
    parse_word(p, name);
    enum status rc = parse_term(p, name, k);
    if (rc != ST_OK)
        return rc;
    if (kterm_learns(term)) {
        err_named(p->err, ST_UNSUPPORTED, "learned", "%s stands before a kernel of another kind",
                  ops->name);
        err_hint(p->err, "kernel %s(rbf,out=4)  |  kernel %s(depth=3)", ops->name, ops->name);
        return ST_UNSUPPORTED;
    }
    skip_blanks(p);
    if (*p->at != ',' && *p->at != ')')
        return parse_fail(p, "\",\" or \")\"");
    p->at += *p->at == ',';
    rc = parse_settings(p, k, &map, NULL); /* a map has no hyperparameters */
    term->map = ops;
    term->net = map.net;
    memcpy(term->map_params, map.params, sizeof term->map_params);
    return rc;
}

static enum status parse_term(struct parser *p, const char *name, struct kernel *k)
{
    struct kterm *term = &k->term[k->nterms];
    double *hp = p->hp + p->nhp;
    enum status rc = ST_OK;

    term->ops = kernel_find(name, p->err);
    if (!term->ops)
        return ST_NOT_FOUND;
    usual_params(term->ops, term->params);
    skip_blanks(p);
    if (*p->at == '(') {
        p->at++;
        if (term->ops->learns && at_kernel(p))
            return parse_behind(p, term->ops, k);
        rc = parse_settings(p, k, term, hp);
        skip_blanks(p);
    }
    if (rc == ST_OK && strncmp(p->at, "ard", 3) == 0 && !isalnum((unsigned char)p->at[3])) {
        p->at += 3;
        rc = parse_ard(p, k, term);
    }
    if (rc == ST_OK) {
        p->nhp += kernel_term_nhp(term);
        k->nterms++;
    }
    return rc;
}

/* Ends a product: its weight is the hyperparameter after those of its kernels. */
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

/* Copies the names of columns after "on". */
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

/* Appends a name so that parse_columns reads it back; false if it cannot. */
static bool write_column(struct buf *out, const char *name)
{
    const char *p = name;

    while (*p && *p != '*' && is_name_byte((unsigned char)*p))
        p++;
    if (*name && !*p)
        buf_puts(out, name);
    else
        buf_printf(out, "\"%s\"", name);
    return *name && !strchr(name, '"');
}

/* The list with the names of columns that `now` knows replaced by what it returns. */
static bool rename_columns(const char *on, const char *(*now)(void *, const char *), void *ctx,
                           struct buf *out)
{
    char name[KERNEL_ON_MOST];

    while (*on) {
        const bool quoted = *on == '"';
        const size_t len = strcspn(on + quoted, quoted ? "\"" : ",");
        snprintf(name, sizeof name, "%.*s", (int)len, on + quoted);
        const char *to = now(ctx, name);
        on += quoted + len + quoted;
        buf_puts(out, out->len ? "," : "");
        if (!to)
            buf_printf(out, quoted ? "\"%s\"" : "%s", name);
        else if (!write_column(out, to))
            return false;
        on += *on == ',';
    }
    return !out->failed && out->len < KERNEL_ON_MOST;
}

bool kernel_parse_rename(struct kernel *k, const char *(*now)(void *, const char *), void *ctx)
{
    struct kernel renamed = *k;
    bool good = true;

    for (size_t t = 0; good && t < k->nterms; t++) {
        struct buf on = { 0 };
        good = rename_columns(k->term[t].on, now, ctx, &on);
        if (good)
            snprintf(renamed.term[t].on, KERNEL_ON_MOST, "%s", buf_str(&on));
        buf_free(&on);
    }
    if (good)
        *k = renamed;
    return good;
}

static enum status parse_layer(struct parser *p, const struct layer_ops *ops, struct kernel *k);

/* True if the columns that a kernel reads follow: "on NAME". */
static bool at_columns(const struct parser *p)
{
    return strncmp(p->at, "on", 2) == 0 && isspace((unsigned char)p->at[2]);
}

/* Parses a kernel or a layer, and the columns that it reads. */
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
    const struct layer_ops *layer = layer_find(name);
    if (layer && inside) {
        err_set(p->err, ST_UNSUPPORTED, "%s(...) cannot stand inside of another layer", name);
        err_hint(p->err, "conv(rbf) + rbf");
        return ST_UNSUPPORTED;
    }
    rc = layer ? parse_layer(p, layer, k) : parse_term(p, name, k);
    skip_blanks(p);
    if (rc != ST_OK || !at_columns(p))
        return rc;
    if (inside) {
        err_set(p->err, ST_UNSUPPORTED,
                "inside of a layer \"on\" has no place: behind its bracket");
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

/* Parses an expression.  inside: that of a layer, which a comma or a bracket ends; its last product
 * can continue outside. */
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
    for (size_t t = 0; t < k->nterms; t++) /* all kernels are bound to groups, or none */
        if (k->ngrouped > 0 && k->term[t].grouped && k->term[t].ard == KERNEL_ARD)
            return groups_differ(p->err);
    return ST_OK;
}

/* Parses one of the words of a setting. */
static enum status parse_choice(struct parser *p, const struct layer_setting *s, unsigned *out)
{
    char word[KERNEL_NAME_MAX];
    const char *was = p->at;

    if (parse_word(p, word))
        for (unsigned i = 0; s->words[i]; i++)
            if (strcmp(word, s->words[i]) == 0) {
                *out = i;
                return ST_OK;
            }
    p->at = was;
    return parse_fail(p, s->expected);
}

static enum status layer_count(struct parser *p, const struct layer *l, const char *name,
                               double least, double most, size_t *out)
{
    skip_blanks(p);
    if (parse_whole(p, least, most, out))
        return ST_OK;
    return err_set(p->err, ST_RANGE, "%s: %s is a whole number from %g to %g", l->ops->name, name,
                   least, most);
}

/* Reads the digits of a whole number from 1 to most; 0: there is none such.  "1." of "1..5" would
 * be a number, too. */
static size_t digits(struct parser *p, double most)
{
    size_t v = 0;

    skip_blanks(p);
    for (; isdigit((unsigned char)*p->at) && (double)v <= most; p->at++)
        v = 10 * v + (size_t)(*p->at - '0');
    return (double)v <= most ? v : 0;
}

/* Parses a whole number, or a range of them as in "1..5". */
static enum status layer_range(struct parser *p, struct layer *l, const struct layer_setting *s)
{
    size_t first = digits(p, s->most), last = first;
    const bool range = strncmp(p->at, "..", 2) == 0;

    if (range) {
        p->at += 2;
        last = digits(p, s->most);
    }
    if (first == 0 || last < first)
        return err_set(p->err, ST_RANGE,
                       "%s: %s is a whole number from 1 to %g, or a range of them, as in %s=1..5",
                       l->ops->name, s->name, s->most, s->name);
    first = first == last ? 0 : first;
    memcpy((char *)l + s->offset, &last, sizeof last);
    memcpy((char *)l + s->from, &first, sizeof first);
    return ST_OK;
}

/* Parses a parameter of the kernel that a layer fixes. */
static enum status parse_inside(struct parser *p, const struct layer *l, const struct kparam *k,
                                double *out)
{
    double v;

    skip_blanks(p);
    if (parse_number(p, &v) != ST_OK || !(v >= k->lo && v <= k->hi) || (k->valid && !k->valid(v)))
        return err_set(p->err, ST_RANGE, "%s: the %s is %s", l->ops->name, k->name, k->help);
    *out = v;
    return ST_OK;
}

/* Parses a setting that is a number. */
static enum status layer_number(struct parser *p, struct layer *l, const struct layer_setting *s)
{
    double v;

    skip_blanks(p);
    if (parse_number(p, &v) != ST_OK || !(v >= s->lo && v <= s->hi))
        return err_set(p->err, ST_RANGE, "%s: %s is a number from %g to %g", l->ops->name, s->name,
                       s->lo, s->hi);
    memcpy((char *)l + s->offset, &v, sizeof v);
    return ST_OK;
}

/* Parses "2/3", the part of a row that a kernel of a saved model reads, and how many there are. */
static enum status parse_part(struct parser *p, struct layer *l)
{
    size_t part, parts;

    skip_blanks(p);
    if (!parse_count(p, ROW_PARTS_MOST, &part) || *p->at != '/')
        return parse_fail(p, "a part of a row and how many there are, as in 2/3");
    p->at++;
    if (!parse_count(p, ROW_PARTS_MOST, &parts) || parts < 2 || parts < part)
        return parse_fail(p, "how many parts a row has");
    l->part = part - 1;
    l->parts = parts;
    return ST_OK;
}

/* Parses symbols=, channels=, flat= or part=: the rows that a kernel of a saved model is bound
 * to. */
static enum status parse_rows(struct parser *p, struct layer *l, const char *name, bool *known)
{
    const bool symbols = strcmp(name, "symbols") == 0, flat = strcmp(name, "flat") == 0,
               part = strcmp(name, "part") == 0;

    *known = l->ops->kind == LAYER_WINDOWS &&
             (symbols || flat || part || strcmp(name, "channels") == 0);
    if (!*known)
        return ST_OK;
    if (part)
        return parse_part(p, l);
    if (flat)
        return layer_count(p, l, name, 1, 1e9, &l->flat);
    if (l->channels != 0)
        return err_set(p->err, ST_USAGE, "%s: what a position is stands there twice",
                       l->ops->name);
    enum status rc = layer_count(p, l, name, 1, 1e6, &l->channels);
    l->symbols |= rc == ST_OK && symbols;
    if (rc == ST_OK && l->symbols && l->ops->words && *p->at == '+') { /* letters and others */
        p->at++;
        rc = layer_count(p, l, "the number of other symbols", 1, 1, &l->others);
        l->channels += l->others;
    }
    return rc;
}

/* Parses a setting of a layer; t: the kernel inside. */
static enum status parse_layer_setting(struct parser *p, struct layer *l, struct kterm *t)
{
    const struct kparam *inside = l->ops->inside ? l->ops->inside->params : NULL;
    char name[KERNEL_NAME_MAX];
    bool known;

    if (!parse_word(p, name))
        return parse_fail(p, "the name of a parameter");
    skip_blanks(p);
    if (*p->at != '=')
        return parse_fail(p, "\"=\"");
    p->at++;
    for (size_t i = 0; inside && inside[i].name; i++)
        if (strcmp(name, inside[i].name) == 0)
            return parse_inside(p, l, &inside[i], &t->params[i]);
    for (const struct layer_setting *s = l->ops->settings; s && s->name; s++) {
        void *field = (char *)l + s->offset;
        unsigned word = 0;
        if (strcmp(name, s->name) != 0)
            continue;
        if (s->lo < s->hi)
            return layer_number(p, l, s);
        if (!s->words)
            return s->from ? layer_range(p, l, s)
                           : layer_count(p, l, name, s->zero ? 0 : 1, s->most, field);
        const enum status rc = parse_choice(p, s, &word);
        if (rc == ST_OK)
            memcpy(field, &word, sizeof word);
        return rc;
    }
    const enum status rc = parse_rows(p, l, name, &known);
    if (known)
        return rc;
    err_set(p->err, ST_NOT_FOUND, "%s has no parameter \"%s\"", l->ops->name, name);
    err_hint(p->err, "%s", l->ops->hint);
    return ST_NOT_FOUND;
}

static enum status parse_layer(struct parser *p, const struct layer_ops *ops, struct kernel *k)
{
    const struct kernel_ops *inside = ops->inside;
    const size_t from = k->nterms;
    struct layer l = ops->start;
    enum status rc = ST_OK;

    l.ops = ops;
    if (inside) {
        k->term[k->nterms].ops = inside;
        for (size_t i = 0; inside->params && inside->params[i].name; i++)
            k->term[k->nterms].params[i] = inside->params[i].init;
        k->nterms++;
    }

    skip_blanks(p);
    if (*p->at != '(' && *p->at && *p->at != '+' && *p->at != '*' && !at_columns(p))
        return parse_fail(p, inside ? "\"(\", \"+\", \"*\" or the end"
                                    : "\"(\" and a kernel, as in conv(rbf,width=9)");
    if (*p->at != '(') { /* "conv" alone means conv(rbf) */
        rc = inside ? ST_OK : parse_term(p, kernel_at(0)->name, k);
    } else {
        p->at++;
        rc = inside ? ST_OK : parse_expression(p, true, k);
        skip_blanks(p);
        for (bool more = inside && *p->at != ')'; rc == ST_OK && (more || *p->at == ',');
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
    return rc == ST_OK && ops->check ? ops->check(k, from, p->err) : rc;
}

/* True if a layer over windows is bound to rows, or was written so. */
static bool is_bound(const struct layer *l)
{
    return layer_kind(l) == LAYER_WINDOWS && l->channels != l->ops->start.channels;
}

/* Checks that the layers of an expression that is bound to rows are bound to the same. */
static enum status layers_agree(const struct kernel *k, struct err *err)
{
    const struct layer *one = NULL;

    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        if (layer_kind(l) != LAYER_WINDOWS)
            continue;
        if (one && (one->flat != l->flat || one->parts != l->parts))
            return err_set(err, ST_USAGE, "all layers of an expression read the same rows");
        for (size_t s = 0; s < t; s++) {
            const struct layer *other = &k->term[s].layer;
            if (is_bound(other) && is_bound(l) && other->part == l->part &&
                (other->channels != l->channels || layer_rows(other) != layer_rows(l)))
                return err_set(err, ST_USAGE, "all layers of an expression read the same rows");
        }
        one = one ? one : l;
    }
    return ST_OK;
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
        rc = layers_agree(&k, err);
    if (rc == ST_OK)
        rc = kernel_learned_check(&k, err);
    if (rc != ST_OK)
        return rc;
    *out = k;
    if (hp_set)
        memcpy(hp_set, hp, sizeof hp);
    return ST_OK;
}

