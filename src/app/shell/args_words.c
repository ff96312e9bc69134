/* app/shell/args_words.c -- splits a statement into words (blanks, quotes, escapes, key=value), and
 * writes a value as a word. */
#include "app/shell/args_impl.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_MAX = 1 << 16, WORDS_MAX = 4096 };

bool args_quote_opens(char prev)
{
    return prev == '\0' || isspace((unsigned char)prev) || strchr("=,(:;", prev);
}

static bool key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The escape at s (a backslash) inside double quotes: appends the character it stands for and
 * returns its length. An unknown escape stands for itself, so that "C:\data" means what it
 * shows. */
static size_t unescape(const char *s, struct buf *out)
{
    switch (s[1]) {
    case '"': case '\\': buf_putc(out, s[1]); return 2;
    case 'n': buf_putc(out, '\n'); return 2;
    case 't': buf_putc(out, '\t'); return 2;
    case 'r': buf_putc(out, '\r'); return 2;
    case 'x': {
        const int a = hex_digit(s[2]), b = a < 0 ? -1 : hex_digit(s[3]);
        if (b >= 0 && a * 16 + b > 0) {
            buf_putc(out, (char)(a * 16 + b));
            return 4;
        }
        break;
    }
    default: break;
    }
    buf_putc(out, '\\');
    return 1;
}

void args_words_free(struct args_words *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->v[i].text);
        free(w->v[i].key);
    }
    free(w->v);
    memset(w, 0, sizeof *w);
}

/* A quoted run that starts at s[*p]; *p ends after the closing quote. */
static enum status read_quoted(const char *s, size_t *p, struct buf *out, struct err *err)
{
    const char q = s[*p];
    const size_t open = *p;

    for (size_t i = open + 1; s[i];) {
        if (s[i] == q) {
            *p = i + 1;
            return ST_OK;
        }
        if (q == '"' && s[i] == '\\' && s[i + 1])
            i += unescape(s + i, out);
        else
            buf_putc(out, s[i++]);
    }
    err_set(err, ST_USAGE, "the quote %c at column %zu is not closed", q, open + 1);
    err_hint(err, "inside \"..\" write \\\" for a quote");
    return ST_USAGE;
}

/* True if [s, s+n) is a key: letters, digits, _ . - with at least one letter, optionally after --
 * and optionally with a number in brackets at the end (one of many lengthscales). */
static bool is_key(const char *s, size_t n, size_t *skip)
{
    bool letter = false;

    if (n > 3 && s[n - 1] == ']') {
        size_t at = n - 1;
        while (at > 0 && isdigit((unsigned char)s[at - 1]))
            at--;
        if (at < n - 1 && at > 1 && s[at - 1] == '[')
            n = at - 1;
    }

    *skip = n > 2 && s[0] == '-' && s[1] == '-' ? 2 : 0;
    for (size_t i = *skip; i < n; i++) {
        if (!key_char(s[i]))
            return false;
        letter |= isalpha((unsigned char)s[i]) != 0;
    }
    return letter && n > *skip && s[*skip] != '-';
}

static enum status read_word(const char *s, size_t *p, struct args_word *w, struct err *err)
{
    struct buf out = { 0 };
    size_t i = *p, depth = 0, open_at = 0, skip;
    enum status rc = ST_OK;

    memset(w, 0, sizeof *w);
    w->start = i;
    w->quoted = s[i] == '"' || s[i] == '\'';
    for (char prev = '\0'; s[i] && rc == ST_OK; prev = s[i - 1]) {
        const char c = s[i];
        if (isspace((unsigned char)c) && depth == 0)
            break;
        if ((c == '"' || c == '\'') && args_quote_opens(prev)) {
            const size_t at = i;
            rc = read_quoted(s, &i, &out, err);
            w->whole = at == w->start && (!s[i] || isspace((unsigned char)s[i]));
            continue;
        }
        if (c == '=' && depth == 0 && !w->key && !w->quoted &&
            is_key(s + w->start, i - w->start, &skip)) {
            w->key = strndup(s + w->start + skip, i - w->start - skip);
            out.failed |= !w->key; /* without its key it would be another word */
            if (out.failed)
                break;
            buf_clear(&out);
            i++;
            continue;
        }
        if (c == '(' && depth++ == 0)
            open_at = i;
        if (c == ')' && depth > 0)
            depth--;
        buf_putc(&out, c);
        i++;
    }
    if (rc == ST_OK && depth > 0) {
        rc = err_set(err, ST_USAGE, "the ( at column %zu is not closed", open_at + 1);
        err_hint(err, "a name with a ( in it needs quotes: \"data (1).csv\"");
    }
    w->dashed = rc == ST_OK && !w->key && !w->quoted && i - w->start > 2 &&
                is_key(s + w->start, i - w->start, &skip) && skip == 2;
    w->end = *p = i;
    if (w->dashed) {
        w->key = strdup(buf_str(&out) + 2);
        if (w->key)
            buf_clear(&out);
        else
            out.failed = true;
    }
    w->text = buf_take(&out);
    buf_free(&out);
    if (rc == ST_OK && !w->text)
        rc = err_nomem(err, w->end - w->start, "a word");
    return rc;
}

enum status args_words_read(const char *s, struct args_words *w, struct err *err)
{
    enum status rc = ST_OK;
    size_t p = 0;

    if (strlen(s) > STATEMENT_MAX)
        return err_set(err, ST_USAGE, "a command of %zu bytes is too long; the limit is %d bytes",
                       strlen(s), STATEMENT_MAX);
    for (;;) {
        while (isspace((unsigned char)s[p]))
            p++;
        if (!s[p])
            return ST_OK;
        if (w->n == WORDS_MAX)
            return err_set(err, ST_USAGE, "a command can have at most %d words", WORDS_MAX);
        rc = mem_grow((void **)&w->v, &w->cap, w->n + 1, sizeof *w->v, "words", err);
        if (rc != ST_OK)
            return rc;
        rc = read_word(s, &p, &w->v[w->n++], err);
        if (rc != ST_OK)
            return rc;
    }
}

void command_quote(struct buf *out, const char *s)
{
    static const char plain[] = "_./,*:+%@~^<>-()[]{}&|$!=";
    bool quote = !*s || !strcmp(s, "?") || !strncmp(s, "--", 2);
    long depth = 0;

    for (const char *p = s; *p && !quote; p++) {
        const unsigned char c = (unsigned char)*p;
        quote = !(isalnum(c) || c >= 0x80 || strchr(plain, c)) || (c == '=' && depth == 0);
        depth += c == '(';
        depth -= c == ')';
        quote |= depth < 0;
    }
    quote |= depth != 0;
    if (!quote) {
        buf_puts(out, s);
        return;
    }
    buf_putc(out, '"');
    for (const char *p = s; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\t')
            buf_puts(out, "\\t");
        else if (c == '\r')
            buf_puts(out, "\\r");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, *p);
    }
    buf_putc(out, '"');
}
