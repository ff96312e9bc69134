/* compute/ranks/drawn.c -- a drawn feature map and its rows as a message (drawn.h). */
#include "compute/ranks/drawn.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1024, TEXT_MOST = 1 << 20, INPUTS_MOST = 1 << 26 };

static uint64_t eights(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

enum status drawn_of(struct drawn *d, const struct featmap *fm, const struct source *src,
                     const struct fop_opts *opts, struct err *err)
{
    struct kernel bare = fm->kernel;
    struct buf text = { 0 };

    /* Rows already have what learned maps make of them, and a map does not depend on weights. */
    for (size_t t = 0; t < bare.nterms; t++)
        bare.term[t].net = NULL;
    kernel_print(&bare, &text);
    *d = (struct drawn){ .fm = fm, .src = src, .opts = opts };
    const size_t bytes = text.len;
    if (!text.failed)
        d->text = mem_calloc(1, eights(bytes + 1), "a kernel", err);
    if (d->text)
        memcpy(d->text, buf_str(&text), bytes);
    buf_free(&text);
    if (!d->text)
        return err_nomem(err, bytes, "a kernel");
    d->head = (struct drawn_head){
        .n = src->n, .d = fm->d, .inputs = src->d, .M = fm->M, .seed = fm->seed,
        .precision = opts->precision, .store = opts->store, .half = opts->half,
        .scaled = opts->row_scale != NULL, .text = eights(bytes + 1), .layout = src->layout
    };
    for (size_t t = 0; t < fm->kernel.nterms; t++)
        d->head.place[t] = (struct drawn_place){ fm->kernel.term[t].first,
                                                 fm->kernel.term[t].count };
    return ST_OK;
}

void drawn_free(struct drawn *d)
{
    free(d->text);
    d->text = NULL;
}

uint64_t drawn_bytes(struct drawn *d, size_t r0, size_t r1)
{
    d->head.r0 = r0;
    d->head.r1 = r1;
    return sizeof d->head + d->head.text +
           (r1 - r0) * (d->src->d + (d->head.scaled ? 1 : 0)) * sizeof(double);
}

enum status drawn_send(const struct drawn *d, const struct wire *w, bool *lost, struct err *err)
{
    const size_t inputs = d->src->d, end = d->head.r1;
    double *x = mem_calloc(ROWS_AT_ONCE, inputs * sizeof *x, "rows for other processes", err);
    enum status rc = x ? ST_OK : ST_NOMEM, there = wire_put(w, &d->head, sizeof d->head, err);

    if (there == ST_OK)
        there = wire_put(w, d->text, d->head.text, err);
    if (!x && there == ST_OK) { /* the other side still expects them */
        *lost = true;
        return rc;
    }
    for (size_t r = d->head.r0, to; there == ST_OK && r < end; r = to) {
        to = r + ROWS_AT_ONCE < end ? r + ROWS_AT_ONCE : end;
        if (rc == ST_OK)
            rc = d->src->rows(d->src, r, to, x, err);
        if (rc != ST_OK)
            memset(x, 0, (to - r) * inputs * sizeof *x);
        there = wire_put(w, x, (to - r) * inputs * sizeof *x, rc == ST_OK ? err : NULL);
    }
    if (there == ST_OK && d->head.scaled)
        there = wire_put(w, d->opts->row_scale + d->head.r0,
                         (end - d->head.r0) * sizeof(double), rc == ST_OK ? err : NULL);
    free(x);
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
    const double rows = (double)(h->r1 - h->r0);

    return h->n > 0 && h->r0 < h->r1 && h->r1 <= h->n && h->n <= SIZE_MAX / 4096 && h->d > 0 &&
           h->d <= h->inputs && h->inputs <= INPUTS_MOST && h->M > 0 && h->M <= INPUTS_MOST &&
           h->precision <= PREC_DOUBLE && h->store <= 1 && h->half <= 1 && h->scaled <= 1 &&
           h->text > 0 && h->text <= TEXT_MOST && h->text % 8 == 0 && layout_sound(&h->layout) &&
           (double)(sizeof *h + h->text) +
                   8.0 * rows * (double)(h->inputs + h->scaled) == (double)bytes;
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
    if (!head_sound(h, bytes) || at[h->text - 1] != '\0' || !share_fits(h->n, h->r0, h->r1))
        return bad(err);
    enum status rc = kernel_read(h, at, &k, err);
    if (rc != ST_OK)
        return rc;
    const double *x = (const double *)(const void *)(at + h->text);
    const size_t rows = h->r1 - h->r0;
    source_array_init(&d->src, x, rows, h->inputs, h->inputs);
    d->src.base.layout = h->layout;
    d->row_scale = h->scaled ? x + rows * h->inputs : NULL;
    for (size_t r = 0; r < rows; r++)
        if (!source_row_sound(&h->layout, h->inputs, x + r * h->inputs))
            return bad(err);
    d->fm = featmap_new(&k, h->d, h->M, h->seed, err);
    return d->fm ? ST_OK : err && err->code != ST_OK ? err->code : ST_NOMEM;
}
