/* app/shell/palette.c -- see palette.h. */
#include "app/shell/palette.h"

#include "app/shell/commands.h"
#include "app/teach/explain.h"
#include "app/teach/lesson.h"
#include "app/shell/options.h"
#include "app/core/workspace.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MAX = 500 };   /* of a dataset that are listed */

enum status palette_add(struct palette *p, const char *label, const char *about, const char *line,
                        const char *keys, int act, struct err *err)
{
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 128;
        struct palette_item *grown = realloc(p->v, cap * sizeof *grown);
        if (!grown)
            return err_nomem(err, cap * sizeof *grown, "the palette");
        p->v = grown;
        p->cap = cap;
    }
    struct palette_item i = { mem_strdup(label, err), mem_strdup(about ? about : "", err),
                              mem_strdup(line ? line : "", err), mem_strdup(keys ? keys : "", err),
                              act };
    p->v[p->n++] = i;
    return i.label && i.about && i.line && i.keys ? ST_OK : ST_NOMEM;
}

void palette_free(struct palette *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].label);
        free(p->v[i].about);
        free(p->v[i].line);
        free(p->v[i].keys);
    }
    free(p->v);
    *p = (struct palette){ 0 };
}

/* The list. */

/* A command runs as it stands when it needs nothing; else its name waits on the prompt. */
static enum status add_command(struct palette *p, const struct command *c, struct err *err)
{
    char line[80];
    bool asks = false;

    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        asks |= (c->args[i].flags & ARGF_REQUIRED) != 0;
    asks |= !strcmp(c->name, "quit") || c->flags & CMD_SETS;  /* look before you leap */
    snprintf(line, sizeof line, "%s%s", c->name, asks ? " " : "");
    return palette_add(p, c->name, c->summary, line, NULL, 0, err);
}

static enum status fill_tables(struct palette *p, struct err *err)
{
    const struct command *c;
    char label[80], line[80];
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && (c = command_at(i)) != NULL; i++)
        rc = add_command(p, c, err);
    for (size_t i = 0; rc == ST_OK && plot_at(i); i++) {
        snprintf(label, sizeof label, "plot %s", plot_at(i)->name);
        rc = palette_add(p, label, plot_at(i)->title, label, NULL, 0, err);
    }
    for (size_t i = 0; rc == ST_OK && option_at(i); i++) {
        snprintf(label, sizeof label, "option %s", option_at(i)->arg.name);
        snprintf(line, sizeof line, "set %s=", option_at(i)->arg.name);
        rc = palette_add(p, label, option_at(i)->arg.help, line, NULL, 0, err);
    }
    for (size_t i = 0; rc == ST_OK && help_topic_at(i); i++) {
        snprintf(label, sizeof label, "help %s", help_topic_at(i));
        rc = palette_add(p, label, "a page of help", label, NULL, 0, err);
    }
    return rc;
}

static enum status fill_pages(struct palette *p, struct err *err)
{
    char label[80];
    struct lesson_list l = { 0 };
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && explain_at(i); i++) {
        snprintf(label, sizeof label, "explain %s", explain_at(i));
        rc = palette_add(p, label, "what it is, with the current numbers", label, NULL, 0, err);
    }
    if (rc == ST_OK && lesson_list(&l, NULL) == ST_OK)     /* without lessons the rest is there */
        for (size_t i = 0; rc == ST_OK && i < l.n; i++) {
            snprintf(label, sizeof label, "lesson %s", l.id[i]);
            rc = palette_add(p, label, l.title[i], label, NULL, 0, err);
        }
    lesson_list_free(&l);
    return rc;
}

static enum status add_run(struct palette *p, const struct run *r, struct err *err)
{
    char label[40], line[60];
    struct buf about = { 0 };

    snprintf(label, sizeof label, "run %s", r->id);
    snprintf(line, sizeof line, "show run:%s", r->id);
    buf_printf(&about, "%s, ", run_state_name(r->state));
    text_safe(&about, r->kernel_text ? r->kernel_text : "", 40);
    if (r->note && *r->note) {
        buf_puts(&about, ": ");
        text_safe(&about, r->note, 60);
    }
    const enum status rc = palette_add(p, label, buf_str(&about), line, NULL, 0, err);
    buf_free(&about);
    return rc;
}

static enum status add_column(struct palette *p, const struct dataset *d, size_t j, struct err *err)
{
    struct buf label = { 0 }, line = { 0 };

    buf_puts(&label, "column ");
    text_safe(&label, d->table->col[j].name, 40);
    buf_puts(&line, "cols ");
    command_quote(&line, d->table->col[j].name);
    buf_puts(&line, " role=");
    const enum status rc =
        palette_add(p, buf_str(&label), role_name(d->role[j]), buf_str(&line), NULL, 0, err);
    buf_free(&label);
    buf_free(&line);
    return rc;
}

enum status palette_fill(struct palette *p, const struct workspace *ws, struct err *err)
{
    enum status rc = fill_tables(p, err);

    for (size_t i = ws->nrun; rc == ST_OK && i-- > 0;)       /* the newest first */
        rc = add_run(p, ws->run[i], err);
    if (ws->cur < ws->ndata) {
        const struct dataset *d = ws->data[ws->cur];
        for (size_t j = 0; rc == ST_OK && j < d->table->ncols && j < COLUMNS_MAX; j++)
            rc = add_column(p, d, j, err);
    }
    return rc == ST_OK ? fill_pages(p, err) : rc;
}

/* The search. */

static int same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static bool starts_word(const char *text, size_t i)
{
    return i == 0 || (!isalnum((unsigned char)text[i - 1]) && text[i] != ' ');
}

/* One word of the query: the best of starting it at each place where its first letter stands. */
static int word_score(const char *word, size_t n, const char *text)
{
    int best = 0;

    for (size_t s = 0; text[s]; s++) {
        if (!same(text[s], word[0]))
            continue;
        int score = 0;
        size_t k = 0, last = 0;
        for (size_t i = s; text[i] && k < n; i++)
            if (same(text[i], word[k])) {
                score += 2 + (starts_word(text, i) ? 6 : 0) + (k && last + 1 == i ? 5 : 0);
                last = i;
                k++;
            }
        if (k < n)
            break;                           /* from further right it cannot match either */
        score += s == 0 ? 4 : 0;
        score += n == strlen(text) ? 20 : 0; /* the whole of it */
        score -= (int)(last - s) / 4;
        best = score > best ? score : best;
    }
    return best > 0 ? best : 0;
}

int palette_score(const char *query, const char *text)
{
    int total = 0;

    for (query += strspn(query, " "); *query; query += strspn(query, " ")) {
        const size_t n = strcspn(query, " ");
        const int s = word_score(query, n, text);
        if (s <= 0)
            return 0;
        total += s;
        query += n;
    }
    return total;
}

/* Every word anywhere in the text as it stands: long lines would match any few letters. */
static bool has_words(const char *query, const char *text)
{
    char word[64];

    for (query += strspn(query, " "); *query; query += strspn(query, " ")) {
        const size_t n = strcspn(query, " ");
        snprintf(word, sizeof word, "%.*s", n < 60 ? (int)n : 60, query);
        if (!strcasestr(text, word))
            return false;
        query += n;
    }
    return true;
}

static bool has_key(const char *keys, const char *key)
{
    const size_t n = strlen(key);

    for (const char *p = keys; n && *p; p += strspn(p, " ")) {
        const size_t k = strcspn(p, " ");
        if (k == n && strncmp(p, key, n) == 0)
            return true;
        p += k;
    }
    return false;
}

static int item_score(const struct palette_item *i, const char *query, bool words)
{
    int s = words ? has_words(query, i->label) * 8 : 4 * palette_score(query, i->label);

    if (has_key(i->keys, query))
        s += 1000;
    if (s == 0 && strlen(query) > 1 && has_words(query, i->about))
        s = 3;
    if (s == 0 && strlen(query) > 1) {       /* a word of the name, the other of the description */
        struct buf b = { 0 };
        buf_printf(&b, "%s %s", i->label, i->about);
        s = has_words(query, buf_str(&b)) ? 2 : 0;
        buf_free(&b);
    }
    return s;
}

size_t palette_match(const struct palette *p, const char *query, size_t *order)
{
    int *score = malloc((p->n ? p->n : 1) * sizeof *score);
    size_t n = 0;

    query += strspn(query, " ");
    for (size_t i = 0; score && i < p->n; i++) {
        score[i] = *query ? item_score(&p->v[i], query, p->words) : 1;
        if (score[i] <= 0)
            continue;
        size_t k = n++;
        for (; k > 0 && score[order[k - 1]] < score[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    free(score);
    return n;
}
