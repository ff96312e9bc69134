/* app/shell/args.c -- one statement into checked arguments: words, quotes, keys, values with units,
 * and the canonical line that the log and scripts keep.  The grammar is the one of the manual:
 *
 *   statement := verb { object | key=value | flag }
 *
 * Nothing here has side effects, because a whole script is parsed before its first command runs. */
#include "app/shell/args_impl.h"

#include "app/shell/options.h"
#include "app/shell/words.h"
#include "base/mem.h"
#include "compute/kernels/kernel.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of n values, for the lengthscales of all inputs, has lo == hi == value[0]; else n is 0. */
struct hp_key {
    char name[KERNEL_NAME_MAX + 8];
    double lo, hi, *value;
    size_t n;
    char *text;
};
struct opt_key { const char *name; char *value; };
struct args {
    int refs;
    const struct command *cmd;
    char *text[ARGS_MAX];
    bool given[ARGS_MAX];
    bool positional[ARGS_MAX]; /* given without its name, so already in `bare` */
    char **many; size_t nmany, capmany;
    struct hp_key *hp; size_t nhp, caphp;
    struct opt_key *opt; size_t nopt, capopt;
    struct buf bare; /* positional words in canonical form, in the order in which they were typed */
    char *line;
};

/* Keys. */

/* Parses a hyperparameter key: "l", "lengthscale", "noise", "2.l", "l.min". *out receives the
 * canonical name without the suffix; *side is -1 for .min, +1 for .max, otherwise 0. */
bool args_hp_name(const char *key, char *out, size_t len, int *side)
{
    const char *base = key;
    char name[KERNEL_NAME_MAX];
    size_t n;

    for (; isdigit((unsigned char)*base); base++)
        ;
    if (base > key && *base++ != '.')
        return false;
    n = strlen(base);
    *side = 0;
    if (n > 4 && !strcmp(base + n - 4, ".min"))
        *side = -1;
    if (n > 4 && !strcmp(base + n - 4, ".max"))
        *side = 1;
    n -= *side ? 4 : 0;
    if (n == 0 || n >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)n, base);
    char *bracket = strchr(name, '['), number[16] = "";
    if (bracket) { /* one of several lengthscales: l[3] */
        const size_t digits = strspn(bracket + 1, "0123456789");
        if (digits == 0 || digits > 4 || strcmp(bracket + 1 + digits, "]") != 0)
            return false;
        snprintf(number, sizeof number, "%s", bracket);
        *bracket = '\0';
    }
    if (!strcmp(name, "l"))
        snprintf(name, sizeof name, "lengthscale");
    bool known = (!strcmp(name, "amplitude") || !strcmp(name, "noise")) && base == key;
    known |= !strcmp(name, "weight") && base > key; /* of a summand: 2.weight */
    for (size_t i = 0; !known && kernel_at(i); i++)
        for (const struct hparam *h = kernel_at(i)->hparams; !known && h && h->name; h++)
            known = !strcmp(h->name, name);
    if (known)
        snprintf(out, len, "%.*s%s%s", (int)(base - key), key, name, number);
    return known;
}

const char *args_hp_known(size_t i)
{
    static const char *const model[] = { "amplitude", "noise" };

    if (i < 2)
        return model[i];
    i -= 2;
    for (size_t k = 0; kernel_at(k); k++)
        for (const struct hparam *h = kernel_at(k)->hparams; h && h->name; h++) {
            bool before = false; /* has an earlier kernel named it already */
            for (size_t q = 0; q < k && !before; q++)
                for (const struct hparam *g = kernel_at(q)->hparams; g && g->name; g++)
                    before |= !strcmp(g->name, h->name);
            if (!before && i-- == 0)
                return h->name;
        }
    return NULL;
}

/* The keys that a command accepts: its own, hyperparameters, options. */
struct key { const char *name; enum { KEY_ARG, KEY_HP, KEY_OPT } kind; size_t index; };
enum { KEYS_MAX = 128 };

static size_t keys_of(const struct command *c, struct key keys[KEYS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < ARGS_MAX && c->args[i].name && n < KEYS_MAX; i++)
        keys[n++] = (struct key){ c->args[i].name, KEY_ARG, i };
    for (size_t i = 0; c->flags & CMD_HP_KEYS && n < KEYS_MAX && args_hp_known(i); i++)
        keys[n++] = (struct key){ args_hp_known(i), KEY_HP, 0 };
    for (size_t i = 0; c->flags & CMD_OPTION_KEYS && n < KEYS_MAX && option_at(i); i++)
        keys[n++] = (struct key){ option_at(i)->arg.name, KEY_OPT, i };
    return n;
}

/* Finds the key that a word means: an exact match, or else a unique beginning. */
static enum status key_find(const struct command *c, const char *word, struct key *out,
                            char hp[KERNEL_NAME_MAX + 8], int *side, struct err *err)
{
    struct key keys[KEYS_MAX];
    const char *names[KEYS_MAX];
    const size_t n = keys_of(c, keys);
    size_t hits = 0;
    struct buf list = { 0 };
    char near[200];
    enum status rc;

    *side = 0;
    for (size_t i = 0; i < n; i++) {
        names[i] = keys[i].name;
        if (!strcmp(keys[i].name, word) && keys[i].kind != KEY_HP) {
            *out = keys[i];
            return ST_OK;
        }
    }
    if (c->flags & CMD_HP_KEYS && args_hp_name(word, hp, KERNEL_NAME_MAX + 8, side)) {
        *out = (struct key){ hp, KEY_HP, 0 };
        return ST_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (!strncmp(keys[i].name, word, strlen(word))) {
            buf_printf(&list, "%s%s", hits++ ? ", " : "", keys[i].name);
            *out = keys[i];
        }
    if (hits == 1) {
        buf_free(&list);
        if (out->kind == KEY_HP && !args_hp_name(out->name, hp, KERNEL_NAME_MAX + 8, side))
            return err_set(err, ST_INTERNAL, "no kernel has the hyperparameter %s", out->name);
        return ST_OK;
    }
    rc = hits ? ST_AMBIGUOUS : ST_NOT_FOUND;
    if (hits)
        err_set(err, rc, "%s: %.60s= may be %s", c->name, word, buf_str(&list));
    else
        err_set(err, rc, "%s has no argument %.60s=", c->name, word);
    if (!hits && command_nearest(word, names, n, near, sizeof near))
        err_hint(err, "%s=   (all: help %s)", near, c->name);
    else
        err_hint(err, "help %s", c->name);
    buf_free(&list);
    return rc;
}

/* Reads the values of a hyperparameter: a number, an interval, or numbers between commas. */
static enum status read_hp(const struct arg *like, const char *text, struct hp_key *k,
                           struct err *err)
{
    size_t cap = 0;
    enum status rc = ST_OK;
    char one[72];

    if (!strchr(text, ','))
        return args_value_bound(like, text, &k->lo, &k->hi, err);
    for (const char *at = text; rc == ST_OK; at += strcspn(at, ",") + 1) {
        const size_t len = strcspn(at, ",");
        double lo, hi;
        snprintf(one, sizeof one, "%.*s", (int)len, at);
        if (len == 0 || len >= sizeof one || strstr(one, ".."))
            rc = args_value_bad(like, text, ST_USAGE, "a list is numbers between commas", err);
        if (rc == ST_OK)
            rc = args_value_bound(like, one, &lo, &hi, err);
        if (rc == ST_OK)
            rc = mem_grow((void **)&k->value, &cap, k->n + 1, sizeof *k->value, "values", err);
        if (rc == ST_OK)
            k->value[k->n++] = lo;
        if (at[len] == '\0')
            break;
    }
    if (rc == ST_OK)
        k->lo = k->hi = k->value[0];
    return rc;
}

/* Appends a key, which then owns its values, if it is not there yet. */
static enum status append_hp(struct args *a, struct hp_key k, const char *text, struct err *err)
{
    const enum status rc = mem_grow((void **)&a->hp, &a->caphp, a->nhp + 1, sizeof k, "arguments",
                                    err);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < a->nhp; i++) {
        const bool halves = (isnan(k.lo) && isnan(a->hp[i].hi)) ||
                            (isnan(k.hi) && isnan(a->hp[i].lo));
        if (!strcmp(a->hp[i].name, k.name) && !halves)
            return err_set(err, ST_USAGE, "%s is given twice", k.name);
    }
    k.text = mem_strdup(text, err);
    if (!k.text)
        return ST_NOMEM;
    a->hp[a->nhp++] = k;
    return ST_OK;
}

static enum status add_hp(struct args *a, const char *name, int side, const char *text,
                          struct err *err)
{
    const struct arg like = { name, ARG_BOUND, 0, NULL, 1e-12, 1e12, NULL, NULL, NULL };
    struct hp_key k = { 0 };
    enum status rc = read_hp(&like, text, &k, err);

    if (rc == ST_OK && side && (k.lo != k.hi || k.n))
        rc = args_value_bad(&like, text, ST_USAGE, "one bound of an interval is a number", err);
    if (side < 0)
        k.hi = NAN;
    if (side > 0)
        k.lo = NAN;
    snprintf(k.name, sizeof k.name, "%s", name);
    if (rc == ST_OK)
        rc = append_hp(a, k, text, err);
    if (rc != ST_OK)
        free(k.value);
    return rc;
}

static enum status add_option(struct args *a, const struct option_row *row, char **text,
                              struct err *err)
{
    enum status rc = args_value_check(&row->arg, text, err);

    for (size_t i = 0; rc == ST_OK && i < a->nopt; i++)
        if (!strcmp(a->opt[i].name, row->arg.name))
            rc = err_set(err, ST_USAGE, "%s is given twice", row->arg.name);
    if (rc == ST_OK)
        rc = mem_grow((void **)&a->opt, &a->capopt, a->nopt + 1, sizeof *a->opt, "arguments", err);
    if (rc != ST_OK)
        return rc;
    a->opt[a->nopt++] = (struct opt_key){ row->arg.name, *text };
    *text = NULL;
    return ST_OK;
}

/* Stores a checked value for argument i and takes over *text. */
static enum status take(struct args *a, size_t i, char **text, struct err *err)
{
    const struct arg *row = &a->cmd->args[i];
    enum status rc = args_value_check(row, text, err);

    if (rc != ST_OK)
        return rc;
    if (row->flags & ARGF_MANY) {
        rc = mem_grow((void **)&a->many, &a->capmany, a->nmany + 1, sizeof *a->many, "arguments",
                      err);
        if (rc != ST_OK)
            return rc;
        a->given[i] = true;
        a->many[a->nmany++] = *text;
        *text = NULL;
        return ST_OK;
    }
    if (a->given[i])
        return err_set(err, ST_USAGE, "%s is given twice: %.60s and %.60s", row->name, a->text[i],
                       *text);
    a->given[i] = true;
    a->text[i] = *text;
    *text = NULL;
    return ST_OK;
}

/* Building a statement. */

static const struct args_word none;

/* A kernel may contain blanks: rbf + linear. */
static enum status join_kernel(struct args_words *w, size_t *i, struct err *err)
{
    for (;;) {
        struct args_word *at = &w->v[*i];
        const struct args_word *next = *i + 1 < w->n ? &w->v[*i + 1] : &none;
        const size_t len = strlen(at->text);
        const bool open = len && strchr("+*", at->text[len - 1]);
        if (at->quoted || !next->text || next->key || next->quoted ||
            !(open || *next->text == '+' || *next->text == '*'))
            return ST_OK;
        struct buf b = { 0 };
        buf_printf(&b, "%s %s", at->text, next->text);
        char *joined = buf_take(&b);
        buf_free(&b);
        if (!joined)
            return err_nomem(err, len, "a kernel");
        free(w->v[*i + 1].text);
        w->v[*i + 1].text = joined;
        w->v[*i + 1].start = at->start;
        if (at->key) { /* kernel=rbf + linear: the joined word keeps the key */
            w->v[*i + 1].key = at->key;
            at->key = NULL;
        }
        ++*i;
    }
}

static enum status parse_keyed(struct args *a, struct args_words *w, size_t *i, struct err *err)
{
    struct args_word *x = &w->v[*i];
    char hp[KERNEL_NAME_MAX + 8];
    struct key key = { 0 };
    int side;
    enum status rc = key_find(a->cmd, x->key, &key, hp, &side, err);

    if (rc != ST_OK)
        return rc;
    const bool is_bool = key.kind == KEY_ARG && a->cmd->args[key.index].type == ARG_BOOL;
    if (x->dashed) { /* --key value, or a flag */
        const bool more = *i + 1 < w->n && !w->v[*i + 1].key;
        bool flag;
        if (is_bool && !(more && args_value_bool(w->v[*i + 1].text, &flag))) {
            free(x->text);
            x->text = mem_strdup("yes", err);
        } else if (more) {
            ++*i;
            free(x->text);
            x->text = w->v[*i].text;
            w->v[*i].text = NULL;
            w->v[*i].text = mem_strdup("", err);
        } else {
            return err_set(err, ST_USAGE, "--%s needs a value", x->key);
        }
        if (!x->text)
            return ST_NOMEM;
    }
    if (key.kind == KEY_HP)
        return add_hp(a, hp, side, x->text, err);
    if (key.kind == KEY_OPT)
        return add_option(a, option_at(key.index), &x->text, err);
    if (a->cmd->args[key.index].type == ARG_KERNEL && !x->dashed) {
        rc = join_kernel(w, i, err);
        x = &w->v[*i];
    }
    const size_t before = a->nmany;
    if (rc == ST_OK)
        rc = take(a, key.index, &x->text, err);
    if (rc == ST_OK && a->nmany > before) {
        buf_printf(&a->bare, " %s=", key.name);
        command_quote(&a->bare, a->many[before]);
    }
    return rc;
}

/* True if this positional argument can take the word, although a later one might take it, too. */
static bool suits(const struct arg *row, const struct args_word *x)
{
    char word[48];

    if (row->type == ARG_RUN)
        return args_looks_like_run(x->text);
    if (row->type == ARG_CHOICE) {
        for (size_t i = 0; command_choice(row->choices, i, word, sizeof word); i++)
            if (!strncmp(word, x->text, strlen(x->text)))
                return true;
        return false;
    }
    return true;
}

/* True if an earlier positional argument was given by name.  In the canonical line, where named
 * arguments come last, the word would then take its place, so it is written with its name. */
static bool displaced(const struct args *a, size_t k, const struct args_word *x)
{
    for (size_t q = 0; q < k; q++)
        if (a->cmd->args[q].flags & ARGF_POS && !(a->cmd->args[q].flags & ARGF_MANY) &&
            a->given[q] && !a->positional[q] && suits(&a->cmd->args[q], x))
            return true;
    return false;
}

static enum status unexpected(const struct args *a, const struct args_words *w, size_t i,
                              struct err *err)
{
    const struct args_word *x = &w->v[i];
    struct key keys[KEYS_MAX];
    const char *names[KEYS_MAX];
    const size_t n = keys_of(a->cmd, keys);
    char near[200];

    for (size_t k = 0; k < n; k++)
        names[k] = keys[k].name;
    err_set(err, ST_USAGE, "%s: the word %.80s is one too many", a->cmd->name, x->text);
    if (*x->text == '=' || (i + 1 < w->n && w->v[i + 1].text && *w->v[i + 1].text == '='))
        err_hint(err, "write key=value without blanks around the =");
    else if (command_nearest(x->text, names, n, near, sizeof near))
        err_hint(err, "%s=", near);
    else
        err_hint(err, "help %s", a->cmd->name);
    return ST_USAGE;
}

/* Takes the rest of the line unchanged, but removes a pair of quotes around all of it. */
static enum status take_rest(struct args *a, size_t arg, const char *statement,
                             struct args_words *w, size_t *i, struct err *err)
{
    struct args_word *x = &w->v[*i];
    char *text;

    if (x->whole && *i + 1 == w->n) {
        text = x->text;
        x->text = NULL;
    } else {
        text = mem_strdup(statement + x->start, err);
        for (size_t n = text ? strlen(text) : 0; n && isspace((unsigned char)text[n - 1]); n--)
            text[n - 1] = '\0';
    }
    if (!text)
        return err_nomem(err, 0, "a text");
    *i = w->n;
    /* The name is written if an earlier position is empty, or if other names follow in the
     * canonical line and would be taken for a part of this text. */
    bool skipped = a->nhp || a->nopt;
    for (size_t k = 0; k < arg && x->key; k++)
        skipped |= (a->cmd->args[k].flags & ARGF_POS) && !a->given[k];
    for (size_t k = 0; k < ARGS_MAX && a->cmd->args[k].name; k++)
        skipped |= a->given[k] && !a->positional[k];
    if (!skipped) {
        a->positional[arg] = true;
        buf_putc(&a->bare, ' ');
        command_quote(&a->bare, text);
    }
    enum status rc = take(a, arg, &text, err);
    free(text);
    return rc;
}

/* The argument that takes pairs of its own, if the key belongs to no other. */
static bool is_pair(const struct args *a, const char *key, size_t *arg)
{
    bool found = false;

    for (size_t k = 0; k < ARGS_MAX && a->cmd->args[k].name; k++) {
        if (!strcmp(a->cmd->args[k].name, key))
            return false;
        if (a->cmd->args[k].flags & ARGF_PAIRS)
            *arg = k, found = true;
    }
    return found;
}

/* Takes key=value as one word. */
static enum status take_pair(struct args *a, size_t arg, const struct args_word *x,
                             struct err *err)
{
    struct buf b = { 0 };

    buf_printf(&b, "%s=%s", x->key, x->text);
    char *text = buf_take(&b);
    buf_free(&b);
    if (!text)
        return err_nomem(err, 0, "an argument");
    buf_printf(&a->bare, " %s=", x->key);
    command_quote(&a->bare, x->text);
    const enum status rc = take(a, arg, &text, err);
    free(text);
    return rc;
}

static enum status parse_bare(struct args *a, const char *statement, struct args_words *w,
                              size_t *i, struct err *err)
{
    const struct command *c = a->cmd;
    struct args_word *x = &w->v[*i];

    for (size_t k = 0; k < ARGS_MAX && c->args[k].name && !x->quoted && !x->key; k++)
        if (c->args[k].type == ARG_BOOL && !strcmp(c->args[k].name, x->text)) {
            char *yes = mem_strdup("yes", err);
            enum status rc = yes ? take(a, k, &yes, err) : ST_NOMEM;
            free(yes);
            return rc;
        }
    for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++) {
        const struct arg *row = &c->args[k];
        if (!(row->flags & ARGF_POS) || row->flags & ARGF_PAIRS ||
            (a->given[k] && !(row->flags & ARGF_MANY)))
            continue;
        /* key=value ends the positional words and opens the rest of the line */
        if (x->key && !(row->flags & ARGF_REST))
            continue;
        if (!suits(row, x)) {
            bool later = false;
            for (size_t q = k + 1; q < ARGS_MAX && c->args[q].name; q++)
                later |= (c->args[q].flags & ARGF_POS) && !a->given[q];
            if (later)
                continue;
        }
        if (row->flags & ARGF_REST)
            return take_rest(a, k, statement, w, i, err);
        if (row->type == ARG_KERNEL) {
            enum status rc = join_kernel(w, i, err);
            if (rc != ST_OK)
                return rc;
            x = &w->v[*i];
        }
        const bool named = displaced(a, k, x);
        const size_t before = a->nmany;
        enum status rc = take(a, k, &x->text, err);
        if (rc == ST_OK && a->nmany > before) {
            buf_printf(&a->bare, named ? " %s=" : " ", row->name);
            command_quote(&a->bare, a->many[before]);
        } else if (rc == ST_OK && !named) {
            a->positional[k] = true;
            buf_putc(&a->bare, ' ');
            command_quote(&a->bare, a->text[k]);
        }
        return rc;
    }
    return unexpected(a, w, *i, err);
}

/* True if the next free positional argument takes the rest of the line. */
static bool rest_is_next(const struct args *a, const char *key)
{
    const struct command *c = a->cmd;
    bool rest = false, open = false;

    for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++) {
        if (!strcmp(c->args[k].name, key))
            return false;
        if (!(c->args[k].flags & ARGF_POS) || a->given[k])
            continue;
        if (c->args[k].flags & ARGF_REST)
            rest = true;
        else if (c->args[k].flags & ARGF_REQUIRED)
            open = true;
    }
    return rest && !open;
}

static void canonical_line(struct args *a)
{
    struct buf b = { 0 };
    const struct command *c = a->cmd;

    buf_puts(&b, c->name);
    buf_puts(&b, buf_str(&a->bare));
    for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++) {
        if (!a->text[k] || a->positional[k])
            continue;
        buf_printf(&b, " %s=", c->args[k].name);
        command_quote(&b, a->text[k]);
    }
    for (size_t k = 0; k < a->nhp; k++)
        buf_printf(&b, " %s%s=%s", a->hp[k].name, isnan(a->hp[k].hi) ? ".min"
                   : isnan(a->hp[k].lo) ? ".max" : "", a->hp[k].text);
    for (size_t k = 0; k < a->nopt; k++) {
        buf_printf(&b, " %s=", a->opt[k].name);
        command_quote(&b, a->opt[k].value);
    }
    a->line = buf_take(&b);
    buf_free(&b);
}

static enum status missing_args(const struct args *a, struct err *err)
{
    const struct command *c = a->cmd;

    for (size_t k = 0; k < ARGS_MAX && c->args[k].name; k++)
        if (c->args[k].flags & ARGF_REQUIRED && !a->given[k]) {
            struct buf usage = { 0 }, help = { 0 };
            command_usage(c, &usage);
            words_expand(c->args[k].help ? c->args[k].help : "no default", &help);
            err_set(err, ST_USAGE, "%s needs %s (%s)", c->name, c->args[k].name, buf_str(&help));
            err_hint(err, "%.200s", buf_str(&usage));
            buf_free(&usage);
            buf_free(&help);
            return ST_USAGE;
        }
    return ST_OK;
}

static enum status fill(struct args *a, const char *statement, struct args_words *w,
                        struct err *err)
{
    enum status rc = ST_OK;

    for (size_t i = 1; i < w->n && rc == ST_OK; i++) {
        const struct args_word *x = &w->v[i];
        size_t pairs;
        if (x->key && !x->dashed && is_pair(a, x->key, &pairs))
            rc = take_pair(a, pairs, x, err);
        else if (x->key && !rest_is_next(a, x->key))
            rc = parse_keyed(a, w, &i, err);
        else
            rc = parse_bare(a, statement, w, &i, err);
    }
    if (rc == ST_OK)
        rc = missing_args(a, err);
    if (rc == ST_OK)
        canonical_line(a);
    if (rc == ST_OK && (!a->line || a->bare.failed))
        rc = err_nomem(err, 0, "a command line");
    return rc;
}

/* True for `fit ?` and `fit --help`. */
static bool asks_usage(const struct args_words *w)
{
    return w->n == 2 && !w->v[1].quoted &&
           (!strcmp(w->v[1].text, "?") ||
            (w->v[1].dashed && !strcmp(w->v[1].key, "help")));
}

static enum status parse_words(const char *statement, struct args_words *w,
                               const struct command **cmd, struct args **out, struct err *err)
{
    if (w->n == 0)
        return err_set(err, ST_USAGE, "there is no command here");
    if (w->v[0].key) {
        err_set(err, ST_USAGE, "a line starts with a command, but %.60s= is an argument",
                w->v[0].key);
        err_hint(err, "set %.60s=..   |   help", w->v[0].key);
        return ST_USAGE;
    }
    *cmd = command_find(strcmp(w->v[0].text, "?") ? w->v[0].text : "help", err);
    if (!*cmd)
        return err && err->code ? err->code : ST_NOT_FOUND;
    if (asks_usage(w)) {
        char line[64];
        snprintf(line, sizeof line, "help %s", (*cmd)->name);
        return command_parse(line, cmd, out, err);
    }
    struct args *a = mem_calloc(1, sizeof *a, "arguments", err);
    if (!a)
        return ST_NOMEM;
    a->refs = 1;
    a->cmd = *cmd;
    enum status rc = fill(a, statement, w, err);
    if (rc != ST_OK) {
        args_free(a);
        return rc;
    }
    *out = a;
    return ST_OK;
}

enum status command_parse(const char *statement, const struct command **cmd, struct args **args,
                          struct err *err)
{
    struct args_words w = { 0 };
    enum status rc;

    *cmd = NULL;
    *args = NULL;
    rc = args_words_read(statement, &w, err);
    if (rc == ST_OK)
        rc = parse_words(statement, &w, cmd, args, err);
    args_words_free(&w);
    return rc;
}

/* Reading arguments. */

struct args *args_ref(const struct args *a)
{
    struct args *w = (struct args *)(uintptr_t)a;

    w->refs++;
    return w;
}

void args_free(struct args *a)
{
    if (!a || --a->refs > 0)
        return;
    for (size_t i = 0; i < ARGS_MAX; i++)
        free(a->text[i]);
    for (size_t i = 0; i < a->nmany; i++)
        free(a->many[i]);
    for (size_t i = 0; i < a->nhp; i++) {
        free(a->hp[i].text);
        free(a->hp[i].value);
    }
    for (size_t i = 0; i < a->nopt; i++)
        free(a->opt[i].value);
    free(a->many);
    free(a->hp);
    free(a->opt);
    free(a->line);
    buf_free(&a->bare);
    free(a);
}

/* Finds the row of an argument; asking for one that the table lacks is a bug in the caller. */
static const struct arg *row_of(const struct args *a, const char *name, size_t *k)
{
    for (*k = 0; *k < ARGS_MAX && a->cmd->args[*k].name; ++*k)
        if (!strcmp(a->cmd->args[*k].name, name))
            return &a->cmd->args[*k];
    return NULL;
}

bool args_given(const struct args *a, const char *name)
{
    size_t k;

    return row_of(a, name, &k) && a->given[k];
}

const char *args_text(const struct args *a, const char *name)
{
    size_t k;
    const struct arg *row = row_of(a, name, &k);

    if (!row)
        return NULL;
    if (row->flags & ARGF_MANY && a->nmany)
        return a->many[0];
    return a->given[k] ? a->text[k] : row->fallback;
}

double args_num(const struct args *a, const char *name)
{
    size_t k;
    const struct arg *row = row_of(a, name, &k);
    const char *text = args_text(a, name);
    double x = NAN;

    return row && text && command_number(row, text, &x, NULL) == ST_OK ? x : NAN;
}

long args_int(const struct args *a, const char *name, long absent)
{
    const double x = args_num(a, name);

    return isnan(x) || fabs(x) > 9e15 ? absent : (long)x;
}

bool args_bool(const struct args *a, const char *name)
{
    const char *text = args_text(a, name);
    bool flag = false;

    return text && args_value_bool(text, &flag) && flag;
}

bool args_bound(const struct args *a, const char *name, double *lo, double *hi)
{
    size_t k;
    const struct arg *row = row_of(a, name, &k);
    const char *text = args_text(a, name);

    return row && text && args_value_bound(row, text, lo, hi, NULL) == ST_OK;
}

enum status args_ints(const struct args *a, const char *name, size_t **out, size_t *n,
                      struct err *err)
{
    size_t k;
    const struct arg *row = row_of(a, name, &k);
    const char *text = args_text(a, name);

    *out = NULL;
    *n = 0;
    if (!row || !text)
        return ST_OK;
    return args_value_ints(row, text, out, n, err);
}

size_t args_many(const struct args *a, const char *name)
{
    size_t k;
    const struct arg *row = row_of(a, name, &k);

    return row && row->flags & ARGF_MANY ? a->nmany : 0;
}

const char *args_many_at(const struct args *a, const char *name, size_t i)
{
    return i < args_many(a, name) ? a->many[i] : NULL;
}

size_t args_hp(const struct args *a)
{
    return a->nhp;
}

const char *args_hp_at(const struct args *a, size_t i, double *lo, double *hi)
{
    if (i >= a->nhp)
        return NULL;
    *lo = a->hp[i].lo;
    *hi = a->hp[i].hi;
    return a->hp[i].name;
}

size_t args_hp_list(const struct args *a, size_t i, const double **value)
{
    *value = i < a->nhp ? a->hp[i].n ? a->hp[i].value : &a->hp[i].lo : NULL;
    return i >= a->nhp ? 0 : a->hp[i].n ? a->hp[i].n : a->hp[i].lo == a->hp[i].hi;
}

const char *args_hp_text(const struct args *a, size_t i)
{
    return i < a->nhp ? a->hp[i].text : NULL;
}

size_t args_opts(const struct args *a)
{
    return a->nopt;
}

const char *args_opt_at(const struct args *a, size_t i, const char **value)
{
    if (i >= a->nopt)
        return NULL;
    *value = a->opt[i].value;
    return a->opt[i].name;
}

const char *args_line(const struct args *a)
{
    return a->line;
}

bool args_any(const struct args *a)
{
    bool any = a->nhp || a->nopt;

    for (size_t k = 0; k < ARGS_MAX && !any; k++)
        any = a->given[k];
    return any;
}
