/* app/runs/words/words_run.c -- see words_run.h. */
#include "app/runs/words/words_run.h"

#include "app/core/job.h"
#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/runs/words/word_list.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BARS_MOST = 24 };

struct weighing {
    struct word_list l;
    size_t count, *order; /* of the words, the heaviest first */
    char *out;
    double seconds;
};

static void weighing_free(struct job *job)
{
    struct weighing *w = job->arg;

    if (!w)
        return;
    word_list_free(&w->l);
    free(w->order);
    free(w->out);
    free(w);
    job->arg = NULL;
}

struct heavy { size_t word; double weight; };

static int by_weight(const void *a, const void *b)
{
    const struct heavy *p = a, *q = b;

    if (fabs(p->weight) != fabs(q->weight))
        return fabs(p->weight) < fabs(q->weight) ? 1 : -1;
    return (p->word > q->word) - (p->word < q->word);
}

static enum status sort_words(struct weighing *w, struct err *err)
{
    struct heavy *h = mem_calloc(w->l.n, sizeof *h, "words", err);

    w->order = h ? mem_calloc(w->l.n, sizeof *w->order, "words", err) : NULL;
    for (size_t i = 0; w->order && i < w->l.n; i++)
        h[i] = (struct heavy){ i, w->l.word[i].weight };
    if (w->order)
        qsort(h, w->l.n, sizeof *h, by_weight);
    for (size_t i = 0; w->order && i < w->l.n; i++)
        w->order[i] = h[i].word;
    free(h);
    return w->order ? ST_OK : ST_NOMEM;
}

/* All words are weighed, and those that are shown get their sds. */
static enum status words_work(struct job *job, struct err *err)
{
    struct weighing *w = job->arg;
    const double t0 = job_now();
    enum status rc = word_list_find(&w->l, 0, 0, err);

    if (rc == ST_OK)
        rc = word_list_weigh(&w->l, NULL, w->l.n, w->out != NULL, job, err);
    if (rc == ST_OK)
        rc = sort_words(w, err);
    if (rc == ST_OK) {
        w->count = w->count < w->l.n ? w->count : w->l.n;
        if (!w->out)
            rc = word_list_weigh(&w->l, w->order, w->count, true, job, err);
    }
    w->seconds = job_now() - t0;
    return rc;
}

static const struct word_at *place_of(const struct weighing *w, size_t i)
{
    return &w->l.at[w->l.word[i].first];
}

/* The word, and where it has to stand. */
static void shown(const struct weighing *w, size_t i, struct buf *out)
{
    word_list_text(&w->l, place_of(w, i), out);
    if (w->l.placed)
        buf_printf(out, " at %zu", place_of(w, i)->place + 1);
}

static struct figure *words_draw(const void *work, struct err *err)
{
    const struct weighing *w = work;
    const size_t n = w->count < BARS_MOST ? w->count : BARS_MOST;
    double x[BARS_MOST], y[BARS_MOST], bx[3 * BARS_MOST], by[3 * BARS_MOST];
    char *name[BARS_MOST] = { NULL }, title[64];
    struct buf unit = { 0 };

    for (size_t k = 0; k < n; k++) {
        const struct word *word = &w->l.word[w->order[k]];
        struct buf b = { 0 };
        shown(w, w->order[k], &b);
        name[k] = buf_take(&b);
        x[k] = bx[3 * k] = bx[3 * k + 1] = (double)k;
        bx[3 * k + 2] = by[3 * k + 2] = NAN;
        y[k] = word->weight;
        by[3 * k] = word->weight - 2.0 * word->sd;
        by[3 * k + 1] = word->weight + 2.0 * word->sd;
    }
    snprintf(title, sizeof title, "The heaviest words of %s", w->l.m.run);
    buf_puts(&unit, "weight, ");
    word_list_unit(&w->l, &unit);
    struct figure *f = figure_new("words", title, err);
    bool ok = f && figure_label(f, "word", buf_str(&unit), err) == ST_OK;
    struct series *s = ok ? figure_add(f, "weight", MARK_BARS, n, x, y, err) : NULL;
    if (s)
        s->color = 0;
    if (s && w->l.deviations)
        s = figure_add(f, "2 sds", MARK_LINE, 3 * n, bx, by, err);
    if (s && w->l.deviations)
        s->color = 1;
    ok = s && figure_names(&f->x, n, (const char *const *)name, err) == ST_OK;
    for (size_t k = 0; k < n; k++)
        free(name[k]);
    buf_free(&unit);
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

static enum status words_csv(const void *work, struct err *err)
{
    const struct weighing *w = work;
    struct buf b = { 0 };

    buf_puts(&b, "word,place,weight,sd,rows,rows_upper,rows_lower\n"); /* the heaviest first */
    for (size_t k = 0; k < w->l.n; k++) {
        const struct word *word = &w->l.word[w->order[k]];
        struct buf text = { 0 };
        word_list_text(&w->l, place_of(w, w->order[k]), &text);
        text_csv_guarded(&b, buf_str(&text));
        buf_free(&text);
        if (w->l.placed)
            buf_printf(&b, ",%zu", place_of(w, w->order[k])->place + 1);
        else
            buf_putc(&b, ',');
        buf_printf(&b, ",%.12g,", word->weight);
        if (isfinite(word->sd))
            buf_printf(&b, "%.12g", word->sd);
        buf_printf(&b, ",%zu,%zu,%zu\n", word->rows, word->upper, word->rows - word->upper);
    }
    const enum status rc = b.failed ? err_nomem(err, b.len, "words")
                                    : outfile_put(w->out, 0666, buf_str(&b), b.len, err);
    buf_free(&b);
    return rc;
}

static void word_record(const struct weighing *w, size_t i, int wide, struct rec *rec)
{
    const struct word *word = &w->l.word[i];
    struct buf text = { 0 };
    char sd[24] = "-";

    rec_item(rec);
    word_list_text(&w->l, place_of(w, i), &text);
    rec_str(rec, "word", buf_str(&text));
    if (w->l.placed)
        rec_int(rec, "place", (int64_t)place_of(w, i)->place + 1);
    else
        rec_null(rec, "place");
    rec_num(rec, "weight", word->weight);
    rec_num(rec, "sd", word->sd);
    rec_int(rec, "rows", (int64_t)word->rows);
    rec_int(rec, "rows_upper", (int64_t)word->upper);
    rec_int(rec, "rows_lower", (int64_t)(word->rows - word->upper));
    rec_close(rec);
    text.len = 0;
    shown(w, i, &text);
    if (isfinite(word->sd))
        snprintf(sd, sizeof sd, "%.2g", word->sd);
    rec_text(rec, "\n  %-*s  %+10.4g  %8s  %7zu  %7zu", wide, buf_str(&text), word->weight, sd,
             word->upper, word->rows - word->upper);
    buf_free(&text);
}

static void words_tell(struct workspace *ws, const void *work)
{
    const struct weighing *w = work;
    const struct encoding one = encoding_for(&w->l.m.enc, w->l.m.target);
    struct buf unit = { 0 };
    struct rec rec;
    int wide = 4;

    for (size_t k = 0; k < w->count; k++) {
        struct buf b = { 0 };
        shown(w, w->order[k], &b);
        wide = (int)b.len > wide ? (int)b.len : wide;
        buf_free(&b);
    }
    word_list_unit(&w->l, &unit);
    rec_init(&rec, REC_RESULT, "words");
    rec_str(&rec, "run", w->l.m.run);
    rec_str(&rec, "target", one.target);
    rec_str(&rec, "unit", buf_str(&unit));
    rec_int(&rec, "rows", (int64_t)w->l.e.n);
    rec_int(&rec, "rows_upper", (int64_t)w->l.rows_upper);
    rec_int(&rec, "found", (int64_t)w->l.n);
    rec_text(&rec, "the heaviest %zu of %zu words of %s, weights in ", w->count, w->l.n,
             w->l.m.run);
    rec_safe(&rec, buf_str(&unit));
    rec_text(&rec, "\n  %-*s  %10s  %8s  %7s  %7s", wide, "word", "weight", "sd",
             one.nclasses ? "yes" : "upper", one.nclasses ? "no" : "lower");
    rec_array(&rec, "words");
    for (size_t k = 0; k < w->count; k++)
        word_record(w, w->order[k], wide, &rec);
    rec_array_close(&rec);
    if (w->out)
        rec_str(&rec, "out", w->out);
    rec_num(&rec, "seconds", w->seconds);
    rec_text(&rec, "\n  the last columns: training rows with the word, of %zu %s and of %zu others",
             w->l.rows_upper, one.nclasses ? "of the positive class" : "above the median",
             w->l.e.n - w->l.rows_upper);
    buf_free(&unit);
    ws_emit(ws, &rec);
}

static void words_done(struct workspace *ws, struct job *job, enum status rc,
                       const struct err *why)
{
    const struct weighing *w = job->arg;
    const struct kept_end end = { "words", "words", words_draw, w->out ? words_csv : NULL,
                                  words_tell };

    kept_job_done(ws, job, rc, why, &end, w->l.m.run);
}

enum status words_run_start(struct workspace *ws, const struct run *r,
                            const struct words_run_opts *o, const char *line, struct err *err)
{
    static const struct job_ops ops = { .verb = "words", .work = words_work, .done = words_done,
                                        .free = weighing_free };
    struct weighing *w = mem_calloc(1, sizeof *w, "job", err);
    enum status rc = w ? word_list_take(&w->l, r, o->target, err) : ST_NOMEM;

    if (rc == ST_OK) {
        w->count = o->count;
        w->out = o->out ? mem_strdup(o->out, err) : NULL;
        rc = o->out && !w->out ? ST_NOMEM : ST_OK;
    }
    if (rc == ST_OK)
        return ws_submit(ws, &ops, NULL, w, line, err);
    struct job tmp = { .arg = w };
    weighing_free(&tmp);
    return rc;
}
