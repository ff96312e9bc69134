/* app/shell/palette.c -- see palette.h. */
#include "app/shell/palette.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* The search. */

static int same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static bool starts_word(const char *text, size_t i)
{
    return i == 0 || (!isalnum((unsigned char)text[i - 1]) && text[i] != ' ');
}

/* The score of one word of the query: the best over all places where its first letter occurs. */
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
            break;                           /* starting further right cannot match either */
        score += s == 0 ? 4 : 0;
        score += n == strlen(text) ? 20 : 0; /* it matches the whole text */
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

/* Long lines must contain every word unchanged, because any few letters would match them. */
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
    if (s == 0 && strlen(query) > 1) {       /* one word in the name, another in the description */
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
