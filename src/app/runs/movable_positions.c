/* app/runs/movable_positions.c -- the inputs of sequences by position (movable.h). */
#include "app/runs/movable.h"

#include "base/mem.h"
#include "base/text.h"
#include "data/kinds/kind.h"
#include "data/kinds/positions.h"

#include <stdlib.h>
#include <string.h>

enum { SPANS_USUAL = 48 }; /* a window is so wide that there are at most so many */

/* The position of a column of an encoding, from 1; 0: its number is not that of a position. */
static size_t position_of(const struct enc_col *e)
{
    return e->kind == ENC_CELL && !strcmp(e->of->numbers[e->number].word, "letter")
               ? strtoul(e->level, NULL, 10)
               : 0;
}

/* The positions of a part of a row. */
static size_t part_positions(const struct enc_held *h)
{
    return (h->inputs - 1) / positions_numbers(h);
}

/* True if position i of two rows is the same place. */
static bool is_ordered(const struct enc_held *h)
{
    return h->kind->ordered != NULL && h->kind->ordered(h->state);
}

/* The last position of any of the inputs. */
static size_t longest(const struct encoding *e)
{
    size_t most = 0;

    for (size_t p = 0; encoding_part(e, p); p++) {
        const struct enc_held *h = encoding_part(e, p);
        const size_t own = is_ordered(h) ? part_positions(h) : 0;
        most = own > most ? own : most;
    }
    for (size_t j = 0; j < e->ncol; j++) {
        const size_t p = position_of(&e->col[j]);
        most = p > most ? p : most;
    }
    return most;
}

/* What moves with a column of the encoding: a span of positions of its sequence, a number of nodes,
 * or the column itself. */
static void span_name(const struct encoding *e, size_t j, size_t window, bool several,
                      size_t *first, size_t *last, struct buf *out)
{
    const struct enc_col *c = &e->col[j];
    const size_t p = position_of(c), most = longest(e);

    *first = p ? (p - 1) / window * window + 1 : 0;
    *last = p ? *first + window - 1 : 0;
    *last = *last > most ? most : *last;
    if (c->kind == ENC_CELL && several)
        buf_printf(out, "%s ", c->column);
    if (p && *first < *last)
        buf_printf(out, "%zu-%zu", *first, *last);
    else if (p)
        buf_printf(out, "%zu", *first);
    else if (c->kind == ENC_CELL)
        buf_puts(out, *c->level ? c->level : "number of nodes");
    else
        buf_puts(out, c->column);
}

static enum status add(struct movable *m, const char *name, struct movable_column what, size_t *at,
                       size_t *cap, struct err *err)
{
    for (*at = 0; *at < m->ncol; ++*at)
        if (!strcmp(m->col[*at].name, name))
            return ST_OK;
    const enum status rc =
        mem_grow((void **)&m->col, cap, m->ncol + 1, sizeof *m->col, "positions", err);
    if (rc != ST_OK)
        return rc;
    what.name = mem_strdup(name, err);
    what.moves =
        what.name ? mem_calloc(movable_inputs(&m->enc), sizeof(bool), "positions", err) : NULL;
    m->col[m->ncol++] = what;
    return what.moves ? ST_OK : ST_NOMEM;
}

/* The spans of part k of a row, which begin behind its length. */
static enum status add_part(struct movable *m, size_t k, bool several, size_t window, size_t *cap,
                            struct err *err)
{
    const struct encoding *e = &m->enc;
    const struct enc_held *h = encoding_part(e, k);
    const size_t each = positions_numbers(h), n = part_positions(h),
                 first = encoding_part_first(e, k) + 1;
    enum status rc = ST_OK;

    for (size_t p = 0; rc == ST_OK && p < n; p += window) {
        const size_t end = p + window < n ? p + window : n;
        const struct movable_column span = { .at = SIZE_MAX, .kind = MOVABLE_OTHER,
                                             .first = p + 1, .last = end,
                                             .from = first + p * each,
                                             .to = first + end * each };
        struct buf name = { 0 };
        size_t at;
        if (several)
            buf_printf(&name, "%s ", h->column);
        buf_printf(&name, end > p + 1 ? "%zu-%zu" : "%zu", p + 1, end);
        rc = name.failed ? ST_NOMEM : add(m, buf_str(&name), span, &at, cap, err);
        buf_free(&name);
    }
    return rc;
}

/* Part k of a row, which has no positions in common with others. */
static enum status add_whole(struct movable *m, size_t k, size_t *cap, struct err *err)
{
    const struct movable_column whole = { .at = SIZE_MAX, .kind = MOVABLE_OTHER };
    size_t at;
    const enum status rc = add(m, encoding_part(&m->enc, k)->column, whole, &at, cap, err);

    if (rc == ST_OK)
        m->col[at].moves[m->enc.ncol + k] = true;
    return rc;
}

/* Refuses what has no positions, or none that two rows have in common. */
static enum status check(const struct movable *m, bool *several, struct err *err)
{
    const struct encoding *e = &m->enc;
    const char *column = NULL;
    bool any = false, filters = false, ordered = false;

    *several = false;
    for (size_t p = 0; encoding_part(e, p); p++) {
        const struct enc_held *h = encoding_part(e, p);
        any = true;
        ordered |= is_ordered(h);
        *several |= column && strcmp(column, h->column) != 0;
        column = h->column;
    }
    for (size_t j = 0; j < e->ncol; j++) {
        filters |= e->col[j].kind == ENC_FILTER;
        any |= e->col[j].kind == ENC_CELL;
        ordered |= e->col[j].kind == ENC_CELL;
        if (e->col[j].kind == ENC_CELL || e->col[j].kind == ENC_FILTER) {
            *several |= column && strcmp(column, e->col[j].column) != 0;
            column = e->col[j].column;
        }
    }
    if (filters) {
        err_named(err, ST_UNSUPPORTED, "positions", "the filters of %s read its whole sequence, "
                  "so that no position of it can be permuted alone", m->run);
        err_hint(err, "explain-row row:1  changes each letter or node of a row");
    } else if (!any) {
        err_named(err, ST_UNSUPPORTED, "positions", "%s reads no sequence, so it has no positions",
                  m->run);
        err_hint(err, "importance  permutes columns");
    } else if (!ordered) {
        err_named(err, ST_UNSUPPORTED, "positions", "the %ss of these %s have no order, so that "
                  "the same position of two rows means nothing", encoding_part(e, 0)->kind->part,
                  encoding_part(e, 0)->kind->several);
        err_hint(err, "explain-row row:1  leaves out each node  |  kernel rbf, then fit and "
                 "importance by=position  permutes the means over the nodes");
    } else {
        return ST_OK;
    }
    return err->code;
}

enum status movable_positions(struct movable *m, size_t window, struct err *err)
{
    const struct encoding *e = &m->enc;
    const size_t most = longest(e), wide = (most + SPANS_USUAL - 1) / SPANS_USUAL;
    size_t cap = 0, at;
    bool several;
    enum status rc = check(m, &several, err);

    if (rc != ST_OK)
        return rc;
    movable_drop_columns(m);
    window = window ? window : wide ? wide : 1;
    if (most && window > most) {
        err_set(err, ST_RANGE, "window=%zu: there are %zu positions", window, most);
        err_hint(err, "importance by=position window=%zu", wide ? wide : 1);
        return ST_RANGE;
    }
    for (size_t j = 0; rc == ST_OK && j < e->ncol; j++) {
        struct movable_column span = { .at = SIZE_MAX, .kind = MOVABLE_OTHER };
        struct buf name = { 0 };
        span_name(e, j, window, several, &span.first, &span.last, &name);
        rc = add(m, buf_str(&name), span, &at, &cap, err);
        if (rc == ST_OK)
            m->col[at].moves[j] = true;
        buf_free(&name);
    }
    for (size_t p = 0; rc == ST_OK && encoding_part(e, p); p++)
        rc = is_ordered(encoding_part(e, p)) ? add_part(m, p, several, window, &cap, err)
                                             : add_whole(m, p, &cap, err);
    return rc;
}

/* The length of a part of a row is its first number. */
static enum status part_agrees(const struct movable *m, size_t p, struct err *err)
{
    const struct enc_held *h = encoding_part(&m->enc, p);
    const size_t n = m->sample.e.n, d = m->sample.e.base.d, at = encoding_part_first(&m->enc, p),
                 all = part_positions(h);

    for (size_t i = 0; i < n; i++) {
        const size_t own = (size_t)m->sample.x[i * d + at];
        if (own == all)
            continue;
        err_named(err, ST_UNSUPPORTED, "positions", "the %s differ in length (row %zu has %zu "
                  "positions, others %zu), so that the same position of two rows is not the same "
                  "place", h->kind->several, m->sample.e.row[i] + 1, own, all);
        err_hint(err, "explain-row row:%zu  changes each position of a row",
                 m->sample.e.row[i] + 1);
        return ST_UNSUPPORTED;
    }
    return ST_OK;
}

enum status movable_positions_agree(const struct movable *m, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t p = 0; rc == ST_OK && encoding_part(&m->enc, p); p++)
        if (is_ordered(encoding_part(&m->enc, p)))
            rc = part_agrees(m, p, err);
    return rc;
}
