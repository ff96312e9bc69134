/* app/runs/words/motif_run.c -- see motif_run.h.  Each string of the upper half of the target gives
 * one window, that whose letters alone have the largest function; of a string that can be read from
 * both strands it is turned as the heaviest one of all. */
#include "app/runs/words/motif_run.h"

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

enum { LISTED = 4 }; /* letters of a position in the text */

/* Of a letter at a position: its share of the windows, and their mean weight. */
struct portion { double share, weight; };
/* The window of a training row (word_list.at; SIZE_MAX: none). */
struct pick { size_t at; double weight; };

struct motif {
    struct word_list l;
    size_t width, letters, rows;
    struct pick *pick;
    struct portion *of;    /* width x letters */
    double *information; /* of each position, bits */
    size_t first;        /* the row with the heaviest window */
    char *out;
    double seconds;
};

static void motif_free(struct job *job)
{
    struct motif *m = job->arg;

    if (!m)
        return;
    word_list_free(&m->l);
    free(m->pick);
    free(m->of);
    free(m->information);
    free(m->out);
    free(m);
    job->arg = NULL;
}

/* The heaviest window of each row, and of equal ones the first. */
static void choose(struct motif *m)
{
    for (size_t i = 0; i < m->l.e.n; i++)
        m->pick[i] = (struct pick){ SIZE_MAX, -INFINITY };
    for (size_t k = 0; k < m->l.n; k++)
        for (size_t j = m->l.word[k].first; j < m->l.word[k].first + m->l.word[k].places; j++) {
            const double weight = m->l.word[k].weight;
            struct pick *p = &m->pick[m->l.at[j].row];
            const bool before = p->at != SIZE_MAX && m->l.at[j].place < m->l.at[p->at].place;
            if (weight > p->weight || (weight == p->weight && before))
                *p = (struct pick){ j, weight };
        }
    m->first = SIZE_MAX;
    for (size_t i = 0; i < m->l.e.n; i++) {
        if (!m->l.upper[i])
            m->pick[i].at = SIZE_MAX;
        if (m->pick[i].at == SIZE_MAX)
            continue;
        m->rows++;
        if (m->first == SIZE_MAX || m->pick[i].weight > m->pick[m->first].weight)
            m->first = i;
    }
}

/* How many letters agree with those of another window. */
static size_t agreement(const struct word_at *a, const struct word_at *b)
{
    size_t n = 0;

    for (size_t j = 0; j < a->letters; j++)
        n += word_list_letter(a, j) == word_list_letter(b, j);
    return n;
}

static void count(struct motif *m)
{
    const struct word_at *first = &m->l.at[m->pick[m->first].at];

    for (size_t i = 0; i < m->l.e.n; i++) {
        if (m->pick[i].at == SIZE_MAX)
            continue;
        struct word_at at = m->l.at[m->pick[i].at], other = at;
        other.back = !at.back;
        if (m->l.strands && agreement(&other, first) > agreement(&at, first))
            at = other;
        for (size_t j = 0; j < m->width; j++) {
            struct portion *s = &m->of[j * m->letters + word_list_letter(&at, j)];
            s->share += 1.0;
            s->weight += m->pick[i].weight;
        }
    }
    for (size_t j = 0; j < m->width; j++) {
        m->information[j] = log2((double)m->letters);
        for (size_t c = 0; c < m->letters; c++) {
            struct portion *s = &m->of[j * m->letters + c];
            s->weight = s->share > 0.0 ? s->weight / s->share : (double)NAN;
            s->share /= (double)m->rows;
            m->information[j] += s->share > 0.0 ? s->share * log2(s->share) : 0.0;
        }
    }
}

static enum status motif_work(struct job *job, struct err *err)
{
    struct motif *m = job->arg;
    const double t0 = job_now();
    enum status rc = word_list_find(&m->l, m->width, m->width, err);

    if (rc == ST_OK)
        rc = word_list_weigh(&m->l, NULL, m->l.n, false, job, err);
    m->letters = strlen(word_list_alphabet(&m->l));
    m->pick = rc == ST_OK ? mem_calloc(m->l.e.n + 1, sizeof *m->pick, "a motif", err) : NULL;
    m->of = m->pick ? mem_calloc(m->width, m->letters * sizeof *m->of, "a motif", err) : NULL;
    m->information = m->of ? mem_calloc(m->width, sizeof *m->information, "a motif", err) : NULL;
    if (rc == ST_OK && !m->information)
        rc = ST_NOMEM;
    if (rc == ST_OK)
        choose(m);
    if (rc == ST_OK && m->rows == 0) {
        rc = err_named(err, ST_STATE, "words", "no training row of the upper half has a window of "
                       "%zu known letters", m->width);
        err_hint(err, "motif width=%zu", m->width / 2 + 1);
    }
    if (rc == ST_OK)
        count(m);
    m->seconds = job_now() - t0;
    return rc;
}

/* The letters of a position, the most frequent first. */
static void order_letters(const struct motif *m, size_t j, size_t *order)
{
    const struct portion *of = m->of + j * m->letters;

    for (size_t c = 0; c < m->letters; c++) {
        size_t k = c;
        while (k > 0 && of[order[k - 1]].share < of[c].share) {
            order[k] = order[k - 1];
            k--;
        }
        order[k] = c;
    }
}

/* The logo: at each position letters stand upon each other, the most frequent on top, as high as
 * the position's information times their share (Schneider & Stephens 1990). */

enum { WIDE = 40, HIGH = 200, LEFT = 50, TOP = 20, BELOW = 50 };

static const char *color_of(char letter)
{
    static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                          "#56b4e9", "#6b6b00", "#444444" };
    const char *known = strchr("CTAUGKRD", letter);

    if (known && *known) /* the four of DNA differ, T and U are alike */
        return colors[letter == 'U' ? 1 : (size_t)(known - "CTAUGKRD") % 8];
    return colors[(unsigned char)letter % 8];
}

static void letter_svg(struct buf *b, char letter, double x, double bottom, double high)
{
    /* Capitals of a font of 100 units are about 70 high and, set to this length, 90 wide. */
    buf_printf(b, "<text transform=\"translate(%.2f %.2f) scale(%.4f %.4f)\" font-size=\"100\" "
                  "textLength=\"90\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\">", x, bottom,
               (WIDE - 4) / 90.0, high / 70.0, color_of(letter));
    if (letter == '&' || letter == '<' || letter == '>')
        buf_puts(b, letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : "&gt;");
    else
        buf_putc(b, letter);
    buf_puts(b, "</text>\n");
}

static void position_svg(const struct motif *m, size_t j, const size_t *order, struct buf *b)
{
    const double unit = HIGH / log2((double)(m->letters > 1 ? m->letters : 2));
    const double x = (double)(LEFT + WIDE * j) + 2.0;
    double bottom = TOP + HIGH;

    for (size_t k = m->letters; k-- > 0;) {
        const struct portion *s = &m->of[j * m->letters + order[k]];
        const double high = unit * m->information[j] * s->share;
        if (high < 0.5)
            continue;
        letter_svg(b, word_list_alphabet(&m->l)[order[k]], x, bottom, high);
        bottom -= high;
    }
    buf_printf(b, "<text x=\"%.1f\" y=\"%d\" font-size=\"12\" text-anchor=\"middle\">%zu</text>\n",
               x + WIDE / 2.0 - 2.0, TOP + HIGH + 18, j + 1);
}

static enum status motif_svg(const void *work, struct err *err)
{
    const struct motif *m = work;
    const size_t wide = LEFT + WIDE * m->width + 20;
    size_t *order = mem_calloc(m->letters, sizeof *order, "a motif", err);
    struct buf b = { 0 };

    if (!order)
        return ST_NOMEM;
    buf_printf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%d\" "
                   "font-family=\"Helvetica, Arial, sans-serif\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                   "<path d=\"M%d %dV%dH%zu\" fill=\"none\" stroke=\"black\"/>\n"
                   "<text x=\"%d\" y=\"%d\" font-size=\"12\" text-anchor=\"end\">%.3g</text>\n"
                   "<text x=\"%d\" y=\"%d\" font-size=\"12\" text-anchor=\"end\">bits</text>\n",
               wide, TOP + HIGH + BELOW, LEFT - 2, TOP, TOP + HIGH, wide - 20, LEFT - 6, TOP + 10,
               log2((double)m->letters), LEFT - 6, TOP + HIGH / 2);
    for (size_t j = 0; j < m->width; j++) {
        order_letters(m, j, order);
        position_svg(m, j, order, &b);
    }
    buf_printf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"12\">heaviest windows of %zu training rows "
                   "(%s)</text>\n</svg>\n", LEFT, TOP + HIGH + 40, m->rows, m->l.m.run);
    const enum status rc = b.failed ? err_nomem(err, b.len, "a motif")
                                    : outfile_put(m->out, 0666, buf_str(&b), b.len, err);
    buf_free(&b);
    free(order);
    return rc;
}

static void position_record(const struct motif *m, size_t j, const size_t *order, struct rec *rec)
{
    const char *alphabet = word_list_alphabet(&m->l);

    rec_item(rec);
    rec_int(rec, "position", (int64_t)j + 1);
    rec_num(rec, "information", m->information[j]);
    rec_array(rec, "letters");
    rec_text(rec, "\n  %8zu  %5.2f ", j + 1, m->information[j]);
    for (size_t k = 0; k < m->letters; k++) {
        const struct portion *s = &m->of[j * m->letters + order[k]];
        const char letter[2] = { alphabet[order[k]], '\0' };
        if (s->share == 0.0)
            continue;
        rec_item(rec);
        rec_str(rec, "letter", letter);
        rec_num(rec, "share", s->share);
        rec_num(rec, "weight", s->weight);
        rec_close(rec);
        if (k < LISTED)
            rec_text(rec, "  %s %3.0f %% %-9.3g", letter, 100.0 * s->share, s->weight);
    }
    rec_array_close(rec);
    rec_close(rec);
}

static void motif_tell(struct workspace *ws, const void *work)
{
    const struct motif *m = work;
    const struct encoding one = encoding_for(&m->l.m.enc, m->l.m.target);
    size_t *order = mem_calloc(m->letters, sizeof *order, "a motif", NULL);
    struct buf best = { 0 }, unit = { 0 };
    struct rec rec;

    if (!order)
        return;
    word_list_text(&m->l, &m->l.at[m->pick[m->first].at], &best);
    word_list_unit(&m->l, &unit);
    rec_init(&rec, REC_RESULT, "motif");
    rec_str(&rec, "run", m->l.m.run);
    rec_str(&rec, "target", one.target);
    rec_str(&rec, "unit", buf_str(&unit));
    rec_int(&rec, "width", (int64_t)m->width);
    rec_int(&rec, "rows", (int64_t)m->rows);
    rec_str(&rec, "heaviest", buf_str(&best));
    rec_num(&rec, "weight", m->pick[m->first].weight);
    rec_text(&rec, "the heaviest window of %zu letters of each of %zu training rows (%s) by %s; "
                   "most of all ", m->width, m->rows,
             one.nclasses ? "the positive class" : "above the median", m->l.m.run);
    rec_safe(&rec, buf_str(&best));
    rec_text(&rec, " with %.4g ", m->pick[m->first].weight);
    rec_safe(&rec, buf_str(&unit));
    rec_text(&rec, "\n  %8s  %5s   letters: share, mean weight of their windows", "position",
             "bits");
    rec_array(&rec, "positions");
    for (size_t j = 0; j < m->width; j++) {
        order_letters(m, j, order);
        position_record(m, j, order, &rec);
    }
    rec_array_close(&rec);
    if (m->out)
        rec_str(&rec, "out", m->out);
    rec_num(&rec, "seconds", m->seconds);
    buf_free(&best);
    buf_free(&unit);
    free(order);
    ws_emit(ws, &rec);
}

static void motif_done(struct workspace *ws, struct job *job, enum status rc,
                       const struct err *why)
{
    const struct motif *m = job->arg;
    const struct kept_end end = { "motif", NULL, NULL, m->out ? motif_svg : NULL, motif_tell };

    kept_job_done(ws, job, rc, why, &end, m->l.m.run);
}

enum status motif_run_start(struct workspace *ws, const struct run *r,
                            const struct motif_run_opts *o, const char *line, struct err *err)
{
    static const struct job_ops ops = { .verb = "motif", .work = motif_work, .done = motif_done,
                                        .free = motif_free };
    struct motif *m = mem_calloc(1, sizeof *m, "job", err);
    enum status rc = m ? word_list_take(&m->l, r, o->target, err) : ST_NOMEM;

    if (rc == ST_OK && o->width < word_list_shortest(&m->l)) {
        err_named(err, ST_USAGE, "words", "a window of %zu letters holds no word of the kernel",
                  o->width);
        err_hint(err, "motif width=%zu", word_list_shortest(&m->l) + 3);
        rc = ST_USAGE;
    }
    if (rc == ST_OK) {
        m->width = o->width;
        m->out = o->out ? mem_strdup(o->out, err) : NULL;
        rc = o->out && !m->out ? ST_NOMEM : ST_OK;
    }
    if (rc == ST_OK)
        return ws_submit(ws, &ops, NULL, m, line, err);
    struct job tmp = { .arg = m };
    motif_free(&tmp);
    return rc;
}
