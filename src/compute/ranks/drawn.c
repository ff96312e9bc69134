/* compute/ranks/drawn.c -- a drawn feature map and its rows as a message (drawn.h). */
#include "compute/ranks/drawn.h"

#include "base/mem.h"
#include "compute/ranks/content.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1024, TEXT_MOST = 1 << 20, INPUTS_MOST = 1 << 26 };

enum status drawn_of(struct drawn *d, const struct featmap *fm, const struct source *src,
                     const struct fop_opts *opts, const uint64_t *sum, struct err *err)
{
    struct kernel bare = fm->kernel;

    /* Rows already have what learned maps make of them, and a map does not depend on weights. */
    for (size_t t = 0; t < bare.nterms; t++)
        bare.term[t].net = NULL;
    *d = (struct drawn){ .fm = fm, .src = src, .opts = opts, .sum = sum };
    kernel_print(&bare, &d->text);
    do
        buf_putc(&d->text, '\0');
    while (d->text.len % 8 != 0 && !d->text.failed);
    if (src->places)
        places_put(&d->places, src->places);
    if (d->text.failed || d->places.failed) {
        drawn_free(d);
        return err_nomem(err, sizeof bare, "a kernel");
    }
    d->head = (struct drawn_head){
        .n = src->n, .d = fm->d, .inputs = src->d, .M = fm->M, .seed = fm->seed,
        .precision = opts->precision, .store = opts->store, .half = opts->half,
        .scaled = opts->row_scale != NULL, .text = d->text.len, .layout = src->layout
    };
    for (size_t t = 0; t < fm->kernel.nterms; t++)
        d->head.place[t] = (struct drawn_place){ fm->kernel.term[t].first,
                                                 fm->kernel.term[t].count };
    return ST_OK;
}

void drawn_free(struct drawn *d)
{
    buf_free(&d->text);
    buf_free(&d->places);
    buf_free(&d->list);
}

/* The segments whose sums are there. */
static size_t segments_of(const struct drawn_head *h)
{
    return content_segment(h->n, h->from + h->listed) - content_segment(h->n, h->from);
}

double drawn_common(const struct drawn_head *h)
{
    return (double)h->text + (double)h->places + (double)h->list +
           (double)segments_of(h) * sizeof(uint64_t);
}

double drawn_body(const struct drawn_head *h)
{
    const double rows = (double)(h->r1 - h->r0);

    return drawn_common(h) + rows * sizeof(double) * (double)(h->scaled + h->sent * h->inputs);
}

/* Maps that count words or pairs are made by the processor, where a device is, too; so ranks sum
 * them as they do without devices. */
static bool counts(const struct featmap *fm)
{
    bool some = false;

    for (size_t i = 0; i < fm->nterms; i++)
        some |= featmap_is_counts(&fm->term[i]);
    return some;
}

enum status drawn_for(struct drawn *d, size_t r0, size_t r1, bool sent, struct err *err)
{
    const bool places = d->places.len > 0 && !sent;

    buf_clear(&d->list);
    if (places)
        places_put_rows(&d->list, d->src->places, r0, r1);
    if (d->list.failed)
        return err_nomem(err, r1 - r0, "numbers of rows");
    d->head.r0 = d->head.from = r0;
    d->head.r1 = r1;
    d->head.listed = r1 - r0;
    d->head.places = places ? d->places.len : 0;
    d->head.list = places ? d->list.len : 0;
    d->head.sent = sent;
    d->head.device = d->device && !counts(d->fm);
    return ST_OK;
}

uint64_t drawn_bytes(const struct drawn *d)
{
    return sizeof d->head + (uint64_t)drawn_body(&d->head);
}

/* The rows as the source gives them; zeros from where it fails. */
static enum status send_rows(const struct drawn *d, const struct wire *w, enum status *there,
                             struct err *err)
{
    const size_t inputs = d->src->d, end = d->head.r1;
    double *x = mem_calloc(ROWS_AT_ONCE, inputs * sizeof *x, "rows for other processes", err);
    enum status rc = x ? ST_OK : ST_NOMEM;

    if (!x) /* the other side still expects them */
        *there = ST_NOMEM;
    for (size_t r = d->head.r0, to; *there == ST_OK && r < end; r = to) {
        to = r + ROWS_AT_ONCE < end ? r + ROWS_AT_ONCE : end;
        if (rc == ST_OK)
            rc = d->src->rows(d->src, r, to, x, err);
        if (rc != ST_OK)
            memset(x, 0, ROWS_AT_ONCE * inputs * sizeof *x);
        if (ctl_stopped(w->ctl)) {
            *there = err_set(err, ST_IO, "it was stopped while its rows were sent");
            break;
        }
        *there = wire_put(w, x, (to - r) * inputs * sizeof *x, rc == ST_OK ? err : NULL);
    }
    free(x);
    return rc;
}

enum status drawn_send(const struct drawn *d, const struct wire *w, bool *lost, struct err *err)
{
    const struct drawn_head *h = &d->head;
    const size_t first = content_segment(h->n, h->from);
    const struct { const void *p; size_t bytes; } part[] = {
        { h, sizeof *h }, { d->text.s, h->text }, { d->places.s, h->places },
        { d->list.s, h->list }, { d->sum + first, segments_of(h) * sizeof *d->sum },
        { h->scaled ? d->opts->row_scale + h->r0 : NULL,
          h->scaled ? (h->r1 - h->r0) * sizeof(double) : 0 },
    };
    enum status rc = ST_OK, there = ST_OK;

    for (size_t i = 0; there == ST_OK && i < sizeof part / sizeof part[0]; i++)
        there = wire_put(w, part[i].p, part[i].bytes, err);
    if (there == ST_OK && h->sent)
        rc = send_rows(d, w, &there, err);
    *lost = there != ST_OK;
    return rc != ST_OK ? rc : there;
}

static enum status bad(struct err *err)
{
    return err_set(err, ST_FORMAT, "a message that describes no feature map");
}

static bool layout_sound(const struct row_layout *l)
{
    bool sound = l->nparts <= ROW_PARTS_MOST && l->flat <= INPUTS_MOST;

    for (size_t i = 0; sound && i < l->nparts; i++)
        sound = l->part[i].channels <= INPUTS_MOST && l->part[i].positions <= INPUTS_MOST &&
                l->part[i].others <= 1;
    return sound;
}

static bool head_sound(const struct drawn_head *h, size_t bytes)
{
    return h->n > 0 && h->r0 < h->r1 && h->r1 <= h->n && h->n <= SIZE_MAX / 4096 && h->d > 0 &&
           h->d <= h->inputs && h->inputs <= INPUTS_MOST && h->M > 0 && h->M <= INPUTS_MOST &&
           h->precision <= PREC_DOUBLE && h->store <= 1 && h->half <= 1 && h->scaled <= 1 &&
           h->device <= 1 && h->sent <= 1 && h->text > 0 && h->text <= TEXT_MOST &&
           h->text % 8 == 0 && h->places % 8 == 0 && h->list % 8 == 0 && h->from <= h->r0 &&
           h->listed <= h->n &&
           h->from + h->listed >= h->r1 && h->from + h->listed <= h->n &&
           layout_sound(&h->layout) && sizeof *h + drawn_body(h) == (double)bytes;
}

/* The kernel as it was bound at the front end. */
static enum status kernel_read(const struct drawn_head *h, const char *text, struct kernel *k,
                               struct err *err)
{
    double hp[KERNEL_MAX_HP];
    enum status rc = kernel_parse(text, k, hp, err);

    if (rc == ST_OK && h->layout.nparts > 0) {
        size_t part[KERNEL_MAX_TERMS];
        for (size_t t = 0; rc == ST_OK && t < k->nterms; t++) {
            part[t] = k->term[t].layer.parts > 1 ? k->term[t].layer.part : 0;
            if (part[t] >= h->layout.nparts)
                rc = bad(err);
        }
        if (rc == ST_OK)
            rc = kernel_bind_rows(k, &h->layout, part, err);
    }
    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++) {
        const struct drawn_place *p = &h->place[t];
        if (p->first > h->inputs || p->count > h->inputs - p->first)
            rc = bad(err);
        else if (p->count > 0)
            rc = kernel_bind_inputs(k, t, p->first, p->count, err);
    }
    return rc;
}

enum status drawn_check(const struct drawn_head *h, const double *x, struct err *err)
{
    for (size_t r = 0; r < h->r1 - h->r0; r++)
        if (!source_row_sound(&h->layout, h->inputs, x + r * h->inputs))
            return bad(err);
    return ST_OK;
}

enum status drawn_read(struct drawn_there *d, const void *body, size_t bytes, struct err *err)
{
    const char *at = body;
    struct kernel k;

    *d = (struct drawn_there){ .fm = NULL };
    if (bytes < sizeof d->head)
        return bad(err);
    memcpy(&d->head, at, sizeof d->head);
    const struct drawn_head *h = &d->head;
    at += sizeof d->head;
    if (!head_sound(h, bytes) || at[h->text - 1] != '\0' || !share_fits(h->n, h->r0, h->r1) ||
        !share_fits(h->n, h->from, h->from + h->listed))
        return bad(err);
    enum status rc = kernel_read(h, at, &k, err);
    if (rc != ST_OK)
        return rc;
    const char *sums = at + h->text + h->places + h->list, *after = at + (size_t)drawn_common(h);
    d->places = (struct places_told){ at + h->text, at + h->text + h->places, h->places, h->list,
                                      h->inputs, h->listed };
    d->sum = (const uint64_t *)(const void *)sums + content_segment(h->n, h->r0) -
             content_segment(h->n, h->from);
    d->row_scale = h->scaled ? (const double *)(const void *)after : NULL;
    d->x = h->sent ? (const double *)(const void *)after + (h->scaled ? h->r1 - h->r0 : 0) : NULL;
    d->fm = featmap_new(&k, h->d, h->M, h->seed, err);
    return d->fm ? ST_OK : err_status(err);
}
