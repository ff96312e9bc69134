/* app/session/transcript_rows.c -- see transcript_rows.h.  What a line added to the steps of its
 * data (data/prepare_rows.h) is the difference of the states before it and after it. */
#include "app/session/transcript_rows.h"

#include "app/session/timeline.h"
#include "data/prepare_rows.h"

#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 30000 }; /* a command has at most twice as many, half of them quotes */

/* The current dataset of a state; NULL: none. */
static const struct dataset *current(const struct snapshot *s)
{
    return s && s->cur < s->ndata ? s->data[s->cur] : NULL;
}

/* The steps that the line added to the current data; NULL: it did something else. */
static const char *added(const struct workspace *ws, size_t number, const struct dataset **d)
{
    const struct dataset *before = current(timeline_after(ws, number - 1, NULL)),
                         *now = current(timeline_after(ws, number, NULL));

    *d = now;
    if (!before || !now || !now->steps || strcmp(before->name, now->name) != 0)
        return NULL;
    const size_t n = before->steps ? strlen(before->steps) : 0;
    if (strncmp(now->steps, before->steps ? before->steps : "", n) != 0)
        return NULL;
    return now->steps + n + (now->steps[n] == '\n');
}

/* One command: its words so far. */
struct command_text { const char *verb, *goal; struct buf words; size_t written, most; };

/* A word in quotes: single ones, in which nothing has to be escaped, where it has none. */
static void put_word(struct buf *out, const char *s)
{
    if (strchr(s, '\'')) {
        command_quote(out, s);
        return;
    }
    buf_putc(out, '\'');
    buf_puts(out, s);
    buf_putc(out, '\'');
}

static void flush(struct buf *out, struct command_text *c)
{
    if (!c->words.len)
        return;
    buf_printf(out, "%s ", c->verb);
    if (!strcmp(c->verb, "ask")) {
        buf_putc(&c->words, ']');
        put_word(out, buf_str(&c->words));
    } else {
        buf_puts(out, buf_str(&c->words));
    }
    if (c->goal) {
        buf_puts(out, " goal=");
        command_quote(out, c->goal);
    }
    buf_putc(out, '\n');
    out->failed |= c->words.failed;
    buf_clear(&c->words);
    c->written++;
}

/* id=value,value or id=failed */
static void put_value(struct buf *words, const struct dataset *d, const char *step, const char *id)
{
    const char *between = "=";

    buf_puts(words, words->len ? " " : "");
    buf_puts(words, id);
    if (!strncmp(step, "failed", 6)) {
        buf_puts(words, "=failed");
        return;
    }
    for (size_t j = 0; j < d->table->ncols; j++) {
        char *text = d->role[j] == ROLE_TARGET
                         ? prepare_rows_text(strchr(step, '{'), d->table->col[j].name) : NULL;
        if (text)
            buf_printf(words, "%s%s", between, text);
        between = text ? "," : between;
        free(text);
    }
}

/* One step of n bytes; false: it is none of proposals or measurements. */
static bool put_step(struct buf *out, const struct dataset *d, const char *step, size_t n,
                     struct command_text *c)
{
    const bool asks = !strncmp(step, "ask ", 4);
    struct buf one = { 0 };

    if (!prepare_rows_is(step) || asks != !strcmp(c->verb, "ask"))
        return false;
    if (c->words.len && c->words.len + n > COMMAND_BYTES)
        flush(out, c);
    buf_putn(&one, step, n);
    if (asks) {
        buf_puts(&c->words, c->words.len ? "," : "[");
        buf_puts(&c->words, buf_str(&one) + 4);
    } else {
        char *id = prepare_rows_id(buf_str(&one));
        if (id)
            put_value(&c->words, d, buf_str(&one), id);
        c->words.failed |= !id;
        free(id);
    }
    c->words.failed |= one.failed;
    buf_free(&one);
    return true;
}

size_t transcript_rows_put(struct buf *out, const struct workspace *ws,
                           const struct transcript_rows *at)
{
    const struct dataset *d;
    const char *steps = added(ws, at->number, &d);
    struct command_text c = { .verb = strncmp(at->line, "tell", 4) ? "ask" : "tell",
                              .goal = at->goal };
    struct buf own = { 0 };
    bool good = steps && *steps;

    for (const char *p = steps; good && *p;) {
        const size_t n = strcspn(p, "\n");
        good = put_step(&own, d, p, n, &c);
        p += n + (p[n] == '\n');
    }
    flush(&own, &c);
    good = good && c.written <= at->most;
    if (good) {
        if (strncmp(at->line, "ask [", 5) != 0 && strncmp(at->line, "ask \"", 5) != 0)
            buf_printf(out, "# %s\n", at->line);
        buf_puts(out, buf_str(&own));
        out->failed |= own.failed;
    }
    buf_free(&own);
    buf_free(&c.words);
    return good ? c.written : 0;
}
