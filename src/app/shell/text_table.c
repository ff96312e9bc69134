/* app/shell/text_table.c -- a table of words: see text_table.h. */
#include "app/shell/text_table.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void text_table_init(struct text_table *g, size_t cols)
{
    memset(g, 0, sizeof *g);
    g->cols = cols;
}

void text_table_free(struct text_table *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->cell[i]);
    free(g->cell);
    memset(g, 0, sizeof *g);
}

void text_table_cell(struct text_table *g, const char *text, size_t width)
{
    struct buf b = { 0 };

    if (g->n == g->cap) {
        const size_t cap = g->cap ? 2 * g->cap : 64;
        char **grown = realloc(g->cell, cap * sizeof *grown);
        if (!grown) {
            g->failed = true;
            return;
        }
        g->cell = grown;
        g->cap = cap;
    }
    text_safe(&b, text ? text : "", width ? width : 40);
    g->cell[g->n] = buf_take(&b);
    buf_free(&b);
    if (g->cell[g->n])
        g->n++;
    else
        g->failed = true;
}

void text_table_printf(struct text_table *g, const char *fmt, ...)
{
    struct buf b = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    text_table_cell(g, buf_str(&b), 200);
    buf_free(&b);
}

void text_table_print(const struct text_table *g, const bool *right, struct buf *out)
{
    size_t *wide = calloc(g->cols ? g->cols : 1, sizeof *wide);

    if (!wide || g->failed) { /* a table without a cell has the others in wrong columns */
        out->failed = true;
        free(wide);
        return;
    }
    for (size_t i = 0; i < g->n; i++) {
        const size_t w = text_width(g->cell[i]);
        if (w > wide[i % g->cols])
            wide[i % g->cols] = w;
    }
    for (size_t i = 0; i < g->n; i++) {
        const size_t c = i % g->cols, pad = wide[c] - text_width(g->cell[i]);
        const bool last = c + 1 == g->cols, align = right && right[c];
        for (size_t k = 0; align && k < pad; k++)
            buf_putc(out, ' ');
        buf_puts(out, g->cell[i]);
        for (size_t k = 0; !align && !last && k < pad; k++)
            buf_putc(out, ' ');
        buf_puts(out, last ? "\n" : "  ");
    }
    free(wide);
}
