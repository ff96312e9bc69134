/* app/teach/explain.c -- see explain.h. */
#include "app/teach/explain.h"

#include "app/shell/help.h"
#include "app/teach/lesson_text.h"
#include "app/shell/options.h"
#include "app/plots/plot_rows.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 78, INDENT = 10, NAMES_MOST = 1000 };

static const char *const words[] = {"title", "what", "formula", "now",   "else",
                                    "read",  "try",  "see",     "source"};
enum word { TITLE, WHAT, FORMULA, NOW, ELSE, READ, TRY, SEE, SOURCE, NWORDS };

/* Finding pages. */

/* True if `name` is in the list "a, b, c", which ends at the end of the line. */
static bool listed(const char *list, const char *name)
{
    const size_t n = strlen(name);

    for (const char *s = list; *s && *s != '\n';) {
        s += strspn(s, " ,");
        const size_t len = strcspn(s, ",\n");
        size_t real = len;
        while (real && s[real - 1] == ' ')
            real--;
        if (real == n && !strncasecmp(s, name, n))
            return true;
        s += len;
    }
    return false;
}

/* The next line that begins with "== ", at s or after it. */
static const char *next_head(const char *s)
{
    while (s && *s && strncmp(s, "== ", 3) != 0) {
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
    }
    return s && *s ? s : NULL;
}

static const char *find_page(const char *name)
{
    for (size_t f = 0; help_text[f].name; f++)
        for (const char *p = next_head(help_text[f].text); p; p = next_head(p + 1))
            if (listed(p + 3, name))
                return p;
    return NULL;
}

/* True where a page has this name.  Plots, options and commands are not counted: they explain
 * themselves. */
static bool has_page(const char *name)
{
    return *name && find_page(name) != NULL;
}

const char *explain_at(size_t i)
{
    static char name[64];

    for (size_t f = 0; help_text[f].name; f++)
        for (const char *p = next_head(help_text[f].text); p; p = next_head(p + 1))
            for (const char *s = p + 3; *s && *s != '\n';) {
                s += strspn(s, " ,");
                const size_t len = strcspn(s, ",\n");
                if (len && i-- == 0) {
                    snprintf(name, sizeof name, "%.*s", (int)len, s);
                    return name;
                }
                s += len;
            }
    return NULL;
}

/* Reading a page. */

/* Reads one entry: its word, and its text joined to one line. Returns the text after it, or NULL at
 * the end of the page. */
static const char *next_entry(const char *s, enum word *w, struct buf *text)
{
    buf_clear(text);
    while (*s == '%' || *s == '\n') {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    if (!*s || !strncmp(s, "== ", 3))
        return NULL;
    const size_t n = strcspn(s, " \n");
    *w = NWORDS;
    for (size_t i = 0; i < NWORDS; i++)
        if (strlen(words[i]) == n && !strncmp(s, words[i], n))
            *w = (enum word)i;
    s += n;
    do {
        s += strspn(s, " \t");
        const size_t len = strcspn(s, "\n");
        buf_printf(text, "%s%.*s", text->len ? " " : "", (int)len, s);
        s += len;
        s += *s == '\n';
    } while (*s == ' ' || *s == '\t');
    return s;
}

static const char *page_body(const char *page)
{
    const char *s = strchr(page, '\n');

    return s ? s + 1 : page + strlen(page);
}

static void put_wrapped(struct buf *out, const char *label, const char *text)
{
    char first[INDENT + 1], rest[INDENT + 1];

    snprintf(first, sizeof first, "%-*s", INDENT, label);
    snprintf(rest, sizeof rest, "%*s", INDENT, "");
    text_wrap(out, text, WIDTH, first, rest);
    buf_putc(out, '\n');
}

/* Expands a sentence with numbers. Returns false if its condition does not hold or a value is
 * missing. */
static bool now_applies(struct workspace *ws, const char *text, struct buf *out, enum status *rc,
                        struct err *err)
{
    size_t missing = 0;

    if (*text == '[') {
        const char *end = strchr(text, ']');
        char condition[200];
        double x = NAN;
        if (!end || end - text > 190) {
            *rc = err_set(err, ST_FORMAT, "the bracket [ is not closed in '%.60s'", text);
            return false;
        }
        snprintf(condition, sizeof condition, "%.*s", (int)(end - text - 1), text + 1);
        *rc = placeholder_expression(ws, NULL, condition, &x, err);
        if (*rc != ST_OK || !(x == 1.0))
            return false;
        text = end + 1 + strspn(end + 1, " ");
    }
    *rc = placeholder_expand(ws, NULL, text, false, out, &missing, err);
    return *rc == ST_OK && missing == 0;
}

static void put_title(const char *page, const char *name, const char *title, struct buf *out)
{
    const size_t len = strcspn(page + 3, "\n"), first = strcspn(page + 3, ",\n");

    buf_printf(out, "%s: %s\n", name, title);
    if (first < len)
        buf_printf(out, "%-*salso %.*s\n", INDENT, "", (int)len, page + 3);
}

static enum status put_page(struct workspace *ws, const char *page, const char *name,
                            struct buf *out, struct err *err)
{
    struct buf text = { 0 }, line = { 0 };
    enum status rc = ST_OK;
    size_t nows = 0;
    enum word w;

    for (const char *s = page_body(page); rc == ST_OK && (s = next_entry(s, &w, &text)) != NULL;) {
        static const char *const label[] = { "", "", "formula", "now", "now", "read", "try", "see",
                                             "source" };
        if (w == NWORDS) {
            rc = err_set(err, ST_FORMAT, "page %.40s: '%.40s' does not begin with a known word",
                         name, buf_str(&text));
        } else if (w == TITLE) {
            put_title(page, name, buf_str(&text), out);
        } else if (w == NOW) {
            buf_clear(&line);
            if (now_applies(ws, buf_str(&text), &line, &rc, err))
                put_wrapped(out, nows++ ? "" : label[w], buf_str(&line));
        } else if (w != ELSE || nows == 0) {
            put_wrapped(out, label[w], buf_str(&text));
        }
    }
    if (rc != ST_OK)
        err_prefix(err, "page %.40s: ", name);
    buf_free(&text), buf_free(&line);
    return rc;
}

/* Things that explain themselves. */

static bool put_plot(const char *name, struct buf *out)
{
    const struct plot_ops *p;

    for (size_t i = 0; (p = plot_at(i)) != NULL; i++)
        if (!strcmp(p->name, name)) {
            buf_printf(out, "%s: %s\n", p->name, p->title);
            put_wrapped(out, "axes", p->axes);
            put_wrapped(out, "read", p->help);
            buf_printf(out, "%-*splot %s   |   describe %s\n", INDENT, "try", p->name, p->name);
            return true;
        }
    return false;
}

static bool put_option(struct workspace *ws, const char *name, struct buf *out)
{
    const struct option_row *o;

    for (size_t i = 0; (o = option_at(i)) != NULL; i++)
        if (!strcmp(o->arg.name, name)) {
            struct buf value = { 0 };
            buf_printf(out, "%s: an option\n", name);
            put_wrapped(out, "", o->arg.help);
            if (ws) {
                o->show(&ws->opt, &value);
                buf_printf(out, "%-*s%s (by %s)\n", INDENT, "now", buf_str(&value),
                           option_origin(ws->origin, name));
            }
            buf_printf(out, "%-*sset %s=VALUE   |   get %s   |   help options\n", INDENT, "try",
                       name, name);
            buf_free(&value);
            return true;
        }
    return false;
}

/* A kernel, a help page or a command: shows its help. */
static bool put_help(const char *name, struct buf *out)
{
    const struct command *c;

    if (help_topic(name, out))
        return true;
    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        if (!strcmp(c->name, name)) {
            command_help(c, out);
            return true;
        }
    return false;
}

static enum status unknown(const char *name, struct err *err)
{
    static char store[NAMES_MOST][64];
    const char *names[NAMES_MOST];
    size_t n = 0;
    char near[200];

    for (const char *s; n < NAMES_MOST && (s = explain_at(n)) != NULL; n++) {
        snprintf(store[n], sizeof store[n], "%s", s);
        names[n] = store[n];
    }
    err_set(err, ST_NOT_FOUND, "no page explains '%.60s'", name);
    if (command_nearest(name, names, n, near, sizeof near))
        err_hint(err, "explain %s", near);
    else
        err_hint(err, "explain all   |   help /%.60s", name);
    return ST_NOT_FOUND;
}

enum status explain_page(struct workspace *ws, const char *name, struct buf *out, struct err *err)
{
    const char *page = find_page(name);

    if (page)
        return put_page(ws, page, name, out, err);
    if (put_plot(name, out) || put_option(ws, name, out) || put_help(name, out))
        return ST_OK;
    return unknown(name, err);
}

/* Checks that every line to try parses (except those for a shell) and that every page under `see`
 * exists. */
static enum status check_try(char *text, struct err *err)
{
    char *save = NULL;

    for (char *one = strtok_r(text, "|", &save); one; one = strtok_r(NULL, "|", &save)) {
        const struct command *cmd;
        struct args *a = NULL;
        char *then = strstr(one, ", then ");
        if (strstr(one, "(in a shell)"))
            continue;
        if (then)
            *then = '\0';
        enum status rc = command_parse(one, &cmd, &a, err);
        args_free(a);
        if (rc == ST_OK && then)
            rc = check_try(then + 7, err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static enum status check_see(char *text, struct err *err)
{
    char *save = NULL;
    enum status rc = ST_OK;

    for (char *one = strtok_r(text, ", ", &save); one && rc == ST_OK;
         one = strtok_r(NULL, ", ", &save)) {
        struct buf page = { 0 };
        rc = explain_page(NULL, one, &page, err);
        buf_free(&page);
    }
    return rc;
}

static enum status check_entries(const char *page, const char *name, struct err *err)
{
    struct buf text = { 0 };
    enum status rc = ST_OK;
    enum word w;

    for (const char *s = page_body(page); rc == ST_OK && (s = next_entry(s, &w, &text)) != NULL;) {
        if (w == TRY || w == SEE) {
            char *copy = mem_strdup(buf_str(&text), err);
            rc = !copy ? ST_NOMEM : w == TRY ? check_try(copy, err) : check_see(copy, err);
            free(copy);
        } else if (w == NOW) {  /* check its expressions without numbers */
            struct buf out = { 0 };
            now_applies(NULL, buf_str(&text), &out, &rc, err);
            buf_clear(&out);
            const char *behind = strchr(buf_str(&text), ']');
            size_t missing;
            if (rc == ST_OK)
                rc = placeholder_expand(NULL, NULL, behind ? behind + 1 : buf_str(&text), false,
                                        &out, &missing, err);
            buf_free(&out);
        }
    }
    if (rc != ST_OK)
        err_prefix(err, "page %.40s: ", name);
    buf_free(&text);
    return rc;
}

enum status explain_check_for_tests(struct err *err)
{
    struct buf out = { 0 };
    enum status rc = ST_OK;

    for (size_t f = 0; help_text[f].name && rc == ST_OK; f++)
        for (const char *p = next_head(help_text[f].text); p && rc == ST_OK; p = next_head(p + 1)) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 3, ",\n"), p + 3);
            buf_clear(&out);
            rc = put_page(NULL, p, name, &out, err);
            if (rc == ST_OK)
                rc = check_entries(p, name, err);
            if (rc == ST_OK && (!strstr(buf_str(&out), ": ") || !strstr(buf_str(&out), "\n ")))
                rc = err_set(err, ST_FORMAT, "page %s has no title, or says nothing", name);
        }
    buf_free(&out);
    return rc;
}

/* The command. */

static enum status tell_list(struct workspace *ws)
{
    struct rec r;
    const char *name;
    size_t at = 0;

    rec_init(&r, REC_RESULT, "explain");
    rec_array(&r, "names");
    for (size_t i = 0; (name = explain_at(i)) != NULL; i++) {
        rec_item(&r);
        rec_str(&r, "name", name);
        rec_close(&r);
        const size_t w = strlen(name) + 2;
        rec_text(&r, "%s%s", at == 0 ? "" : at + w > WIDTH ? "\n" : "  ", name);
        at = at + w > WIDTH ? w : at + w;
    }
    rec_array_close(&r);
    rec_text(&r, "\nalso every plot, option, kernel and command");
    ws_emit(ws, &r);
    return ST_OK;
}

enum status cmd_explain(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *name = args_text(a, "name");
    struct buf page = { 0 };
    struct rec r;

    if (name && !strcmp(name, "all"))
        return tell_list(ws);
    if (!name) /* explain the last message or result */
        name = *ws->told && has_page(ws->told) ? ws->told : *ws->shown ? ws->shown : "gpdesk";
    char asked[48];
    snprintf(asked, sizeof asked, "%.47s", name);
    const enum status rc = explain_page(ws, asked, &page, err);
    if (rc != ST_OK) {
        buf_free(&page);
        return rc;
    }
    while (page.len && page.s[page.len - 1] == '\n')
        page.s[--page.len] = '\0';
    rec_init(&r, REC_RESULT, "explain");
    rec_str(&r, "name", asked);
    rec_str(&r, "text", buf_str(&page));
    rec_text(&r, "%s", buf_str(&page));
    ws_emit(ws, &r);
    buf_free(&page);
    return ST_OK;
}
