/* app/shell/complete.c -- completion at the cursor: verbs, keys, and values by their type. */
#include "app/shell/command.h"

#include "app/shell/args.h"
#include "app/shell/options.h"
#include "app/shell/words.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FOUND_MAX = 500 };

struct found { char **v; size_t n, cap; bool failed; };

/* Keeps prefix + word if it begins with the typed text. */
static void offer(struct found *f, const char *typed, const char *prefix, const char *word,
                  const char *tail)
{
    const size_t np = strlen(prefix);
    struct buf b = { 0 };

    if (f->n >= FOUND_MAX || strncmp(typed, prefix, np < strlen(typed) ? np : strlen(typed)) ||
        (strlen(typed) > np && strncmp(word, typed + np, strlen(typed) - np)))
        return;
    if (f->n + 2 > f->cap) {
        const size_t cap = f->cap ? 2 * f->cap : 32;
        char **grown = realloc(f->v, cap * sizeof *grown);
        if (!grown) {
            f->failed = true;
            return;
        }
        f->v = grown;
        f->cap = cap;
    }
    buf_printf(&b, "%s%s%s", prefix, word, tail);
    char *s = buf_take(&b);
    buf_free(&b);
    if (s)
        f->v[f->n++] = s;
    else
        f->failed = true;
}

/* Like offer, for names of the user, which may need quotes. */
static void offer_name(struct found *f, const char *typed, const char *prefix, const char *name)
{
    struct buf q = { 0 };
    const size_t np = strlen(prefix);
    const char *rest = strlen(typed) >= np ? typed + np : "";

    command_quote(&q, name);
    if (!strncmp(typed, prefix, np) && (*rest == '"' || *rest == '\'')) {
        /* the user opened a quote: compare the text after it, and offer quoted names */
        if (!strncmp(name, rest + 1, strlen(rest + 1))) {
            if (*buf_str(&q) != '"') {
                buf_clear(&q);
                buf_printf(&q, "\"%s\"", name);
            }
            offer(f, prefix, prefix, buf_str(&q), "");
        }
    } else if (strlen(typed) <= np || !strncmp(name, rest, strlen(rest))) {
        if (strlen(typed) <= np)
            offer(f, typed, prefix, buf_str(&q), "");
        else
            offer(f, prefix, prefix, buf_str(&q), "");
    }
    buf_free(&q);
}

/* Files in the directory of the typed path. */
static void offer_files(struct found *f, const char *typed, const char *prefix)
{
    const size_t np = strlen(prefix);
    const char *rest = strlen(typed) >= np ? typed + np : "";
    const bool quoted = *rest == '"' || *rest == '\'';
    const char *path = rest + quoted, *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
    const char *base = slash ? slash + 1 : path;
    const char *home = getenv("HOME");
    struct buf where = { 0 };
    struct dirent *e;

    if (dir && !strncmp(dir, "~/", 2) && home)
        buf_printf(&where, "%s%s", home, dir + 1);
    else
        buf_puts(&where, dir && *dir ? dir : ".");
    DIR *d = opendir(buf_str(&where));

    for (size_t seen = 0; d && (e = readdir(d)) != NULL && seen < 20000; seen++) {
        struct buf full = { 0 }, q = { 0 };
        struct stat st;
        if (strncmp(e->d_name, base, strlen(base)) || (*e->d_name == '.' && *base != '.') ||
            !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        buf_printf(&full, "%s/%s", buf_str(&where), e->d_name);
        const bool is_dir = stat(buf_str(&full), &st) == 0 && S_ISDIR(st.st_mode);
        buf_clear(&full);
        buf_printf(&full, "%s%s%s", dir, e->d_name, is_dir ? "/" : "");
        command_quote(&q, buf_str(&full));
        if (quoted && *buf_str(&q) != '"') {
            buf_clear(&q);
            buf_printf(&q, "\"%s\"", buf_str(&full));
        }
        offer(f, prefix, prefix, buf_str(&q), "");
        buf_free(&full);
        buf_free(&q);
    }
    if (d)
        closedir(d);
    buf_free(&where);
    free(dir);
}

/* Finds the text up to the last of these characters, which completion keeps: the next term of a
 * kernel or the next name of a list is completed.  Writes it to out (len bytes), or the prefix if
 * none of the characters occurs. */
static const char *behind_last(const char *typed, const char *prefix, const char *marks, char *out,
                               size_t len)
{
    const size_t np = strlen(prefix);
    size_t end = 0;

    for (size_t i = np; i < strlen(typed); i++)
        if (strchr(marks, typed[i]))
            end = i + 1;
    if (!end || end + 1 > len)
        return prefix;
    snprintf(out, len, "%.*s", (int)end, typed);
    return out;
}

/* Finds the innermost bracket that is open at the end of the text. Returns the name before it, at
 * most len - 1 bytes, and the number of bytes up to the item that is typed; 0: no bracket is
 * open. */
static size_t open_bracket(const char *typed, char *name, size_t len, bool *first)
{
    size_t at[8], depth = 0, item = 0;

    for (size_t i = 0; typed[i]; i++) {
        if (typed[i] == '(' && depth < sizeof at / sizeof *at)
            at[depth++] = i;
        else if (typed[i] == ')' && depth > 0)
            depth--;
    }
    if (depth == 0)
        return 0;
    size_t from = at[depth - 1];
    while (from > 0 && (isalnum((unsigned char)typed[from - 1]) || typed[from - 1] == '_'))
        from--;
    snprintf(name, len, "%.*s", (int)(at[depth - 1] - from), typed + from);
    *first = true;
    int inner = 0;
    for (size_t i = item = at[depth - 1] + 1; typed[i]; i++) {
        inner += (typed[i] == '(') - (typed[i] == ')');
        if (typed[i] == ',' && inner == 0) {
            item = i + 1;
            *first = false;
        }
    }
    while (isspace((unsigned char)typed[item]))
        item++;
    return item;
}

/* True if some name of the row may stand first in the brackets of `outer`. */
static bool first_fits(const struct words_row *w, const char *outer)
{
    const char *name;

    for (size_t i = 0; (name = w->at(NULL, i)) != NULL; i++)
        if (w->fits(outer, name))
            return true;
    return false;
}

/* True if the first `kept` bytes, up to an open bracket, already give this parameter. */
static bool given_inside(const char *typed, size_t kept, const char *text)
{
    const size_t n = strcspn(text, "=");
    size_t from = kept, depth = 0;

    while (from > 0 && (typed[from - 1] != '(' || depth > 0)) {
        depth += typed[from - 1] == ')';
        depth -= typed[from - 1] == '(' && depth > 0;
        from--;
    }
    for (size_t i = from; i + n <= kept; i++)
        if (!strncmp(typed + i, text, n) && strchr("(, ", typed[i - 1]) &&
            strchr("=,", typed[i + n]))
            return true;
    return false;
}

/* What may stand in the bracket that is open behind a name and is not there yet. Returns false if
 * no bracket is open. */
static bool offer_inside(struct found *f, const struct words_row *w, const char *typed,
                         bool *first, char name[64])
{
    const size_t kept = open_bracket(typed, name, 64, first);
    const bool kernel_first = kept > 0 && *first && w->fits && first_fits(w, name);
    const char *text;

    for (size_t i = 0; kept > 0 && !kernel_first && (text = w->inside(name, i)) != NULL; i++) {
        struct buf b = { 0 };
        if (given_inside(typed, kept, text))
            continue;
        buf_printf(&b, "%.*s%s", (int)kept, typed, text);
        f->failed |= b.failed;
        offer(f, typed, "", buf_str(&b), "");
        buf_free(&b);
    }
    return kept > 0;
}

/* The names of a type that there are now, and what may stand behind one. */
static void offer_words(struct found *f, struct workspace *ws, enum arg_type type,
                        const char *typed, const char *prefix)
{
    const struct words_row *w = words_of(type);
    const char *name;
    char kept[256], outer[64];
    bool first;

    const bool inside = w && w->inside && offer_inside(f, w, typed, &first, outer);
    if (inside && !(first && w->fits && first_fits(w, outer)))
        return; /* no name stands here */
    if (w && w->behind)
        prefix = behind_last(typed, prefix, w->behind, kept, sizeof kept);
    for (size_t i = 0; w && (name = w->at(ws, i)) != NULL; i++)
        if (w->quoted)
            offer_name(f, typed, prefix, name);
        else if (!inside || w->fits(outer, name))
            offer(f, typed, prefix, name, "");
}

/* Values of an argument, after `prefix` ("kernel=" or ""). */
static void offer_values(struct found *f, struct workspace *ws, const struct arg *a,
                         const char *typed, const char *prefix)
{
    char word[64];

    for (size_t i = 0; a->choices && command_choice(a->choices, i, word, sizeof word); i++)
        offer(f, typed, prefix, word, "");
    switch (a->type) {
    case ARG_BOOL:
        offer(f, typed, prefix, "yes", "");
        offer(f, typed, prefix, "no", "");
        break;
    case ARG_FILE: case ARG_OUT:
        offer_files(f, typed, prefix);
        break;
    default:
        offer_words(f, ws, a->type, typed, prefix);
        break;
    }
}

/* Keys of pairs of the user's own: the names of the argument's type. */
static void offer_pairs(struct found *f, struct workspace *ws, const struct arg *a,
                        const char *typed)
{
    const struct words_row *w = words_of(a->type);
    const char *name;

    for (size_t i = 0; w && (name = w->at(ws, i)) != NULL; i++)
        offer(f, typed, "", name, "=");
}

static void offer_keys(struct found *f, const struct command *c, const char *typed)
{
    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        offer(f, typed, "", c->args[i].name, c->args[i].type == ARG_BOOL ? "" : "=");
    for (size_t i = 0; c->flags & CMD_HP_KEYS && args_hp_known(i); i++)
        offer(f, typed, "", args_hp_known(i), "=");
    for (size_t i = 0; c->flags & CMD_OPTION_KEYS && option_at(i); i++)
        offer(f, typed, "", option_at(i)->arg.name, "=");
}

/* After key=: values of the argument with that key, if there is one. */
static void offer_keyed(struct found *f, struct workspace *ws, const struct command *c,
                        const char *word, size_t keylen)
{
    char prefix[80];

    if (keylen + 2 > sizeof prefix)
        return;
    snprintf(prefix, sizeof prefix, "%.*s=", (int)keylen, word);
    const char *key = !strncmp(prefix, "--", 2) ? prefix + 2 : prefix;
    const size_t n = strlen(key) - 1;
    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        if (strlen(c->args[i].name) == n && !strncmp(c->args[i].name, key, n))
            offer_values(f, ws, &c->args[i], word, prefix);
    for (size_t i = 0; c->flags & CMD_OPTION_KEYS && option_at(i); i++)
        if (strlen(option_at(i)->arg.name) == n && !strncmp(option_at(i)->arg.name, key, n))
            offer_values(f, ws, &option_at(i)->arg, word, prefix);
}

/* Finds the start of the word that ends at pos, and of its statement; both respect quotes, and a
 * blank in brackets does not end a word. */
static void locate(const char *line, size_t pos, size_t *stmt, size_t *word, size_t *words)
{
    char quote = '\0', prev = '\0';
    bool in_word = false;
    size_t depth = 0;

    *stmt = *words = 0;
    *word = pos;
    for (size_t i = 0; i < pos; i++) {
        const char c = line[i];
        if (quote) {
            quote = c == quote && prev != '\\' ? '\0' : quote;
        } else if ((c == '"' || c == '\'') && args_quote_opens(prev)) {
            quote = c;
            if (!in_word)
                *word = i;
            in_word = true;
        } else if (c == ';') {
            *stmt = i + 1;
            *words = 0;
            in_word = false;
            depth = 0;
            prev = '\0';
            continue;
        } else if (isspace((unsigned char)c) && depth == 0) {
            *words += in_word;
            in_word = false;
        } else if (!in_word) {
            in_word = true;
            *word = i;
        }
        depth += !quote && c == '(';
        depth -= !quote && c == ')' && depth > 0;
        prev = c;
    }
    if (!in_word)
        *word = pos;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* True if a list of columns begins at `at`, behind "on" in the kernel of this command. */
static bool behind_on(const struct command *c, const char *line, size_t stmt, size_t at)
{
    bool kernel = false;

    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        kernel |= c->args[i].type == ARG_KERNEL && (c->args[i].flags & ARGF_POS);
    while (at > stmt && isspace((unsigned char)line[at - 1]))
        at--;
    return kernel && at >= stmt + 3 && strncmp(line + at - 2, "on", 2) == 0 &&
           isspace((unsigned char)line[at - 3]);
}

/* at: where the word begins. */
static void offer_all(struct found *f, struct workspace *ws, const char *line, size_t stmt,
                      size_t at, const char *word, size_t words)
{
    const struct command *c;

    if (words == 0) {
        for (size_t i = 0; (c = command_at(i)) != NULL; i++)
            offer(f, word, "", c->name, "");
        return;
    }
    while (isspace((unsigned char)line[stmt]))
        stmt++;
    char *verb = strndup(line + stmt, strcspn(line + stmt, " \t;"));
    c = verb ? command_find(verb, NULL) : NULL;
    free(verb);
    if (!c)
        return;
    if (words > 1 && behind_on(c, line, stmt, at)) {
        offer_words(f, ws, ARG_COLUMN, word, "");
        return;
    }
    const size_t keylen = strcspn(word, "=("); /* kernel matern(nu= is no key */
    if (word[keylen] == '=' && *word != '"' && *word != '\'') {
        offer_keyed(f, ws, c, word, keylen);
        return;
    }
    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        if (c->args[i].flags & ARGF_PAIRS)
            offer_pairs(f, ws, &c->args[i], word);
        else if (c->args[i].flags & ARGF_POS)
            offer_values(f, ws, &c->args[i], word, "");
    offer_keys(f, c, word);
}

char **command_complete(struct workspace *ws, const char *line, size_t pos, size_t *start)
{
    struct found f = { 0 };
    size_t stmt, at, words, kept = 0;

    locate(line, pos, &stmt, &at, &words);
    char *word = strndup(line + at, pos - at);
    *start = at;
    if (word)
        offer_all(&f, ws, line, stmt, at, word, words);
    free(word);
    if (!f.v)
        return calloc(1, sizeof *f.v);
    qsort(f.v, f.n, sizeof *f.v, by_name);
    for (size_t i = 0; i < f.n; i++)
        if (kept && !strcmp(f.v[kept - 1], f.v[i]))
            free(f.v[i]);
        else
            f.v[kept++] = f.v[i];
    f.v[kept] = NULL;
    return f.v;
}
