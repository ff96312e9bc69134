/* figure/document_html.c -- a document as one page of HTML that needs nothing else: no network, no
 * script, no further file.
 *
 * Texts come from outside. They reach the page through html_text alone, and pictures through
 * figure_svg, which escapes them in the same way. */
#include "figure/document.h"

#include <string.h>

enum { WIDE = 860, HIGH = 420, PANEL_WIDE = 520, PANEL_HIGH = 340 };

/* Appends text: markup characters as entities, what no document shows as U+FFFD. */
static void html_text(struct buf *b, const char *s)
{
    while (s && *s) {
        uint32_t point;
        const size_t n = document_char(s, &point);
        if (point == 0xfffd)
            buf_puts(b, "\xef\xbf\xbd");
        else if (strchr("<>&\"'", *s))
            buf_printf(b, "&#%d;", *s);
        else
            buf_putn(b, s, n);
        s += n;
    }
}

/* Appends text between two pieces of markup. */
static void element(struct buf *b, const char *before, const char *text, const char *after)
{
    buf_puts(b, before);
    html_text(b, text);
    buf_puts(b, after);
}

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1a1c1f;--soft:#5c6370;--line:#d9dce1;--page:#fff;"
    "--card:#f6f7f9;--mark:#0b5cad}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a2a9b4;--line:#3a3f47;"
    "--page:#16181c;--card:#1f2227;--mark:#7cb7f5}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);"
    "max-width:58rem;margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:1.7rem;margin:0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.25rem}\n"
    "p.verdict{font-size:1.1rem;color:var(--mark);margin:.4rem 0}p.soft,figcaption,caption{"
    "color:var(--soft)}\n"
    "table{border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}"
    "caption{text-align:left}th,td{padding:.2rem .9rem .2rem 0;text-align:left;"
    "border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;white-space:nowrap}"
    "td.t{overflow-wrap:anywhere}"
    "th{font-weight:600;white-space:nowrap}\n"
    "pre{background:var(--card);padding:.8rem;border-radius:6px;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font-size:.85rem}\n"
    "figure{margin:1.2rem 0;break-inside:avoid}svg{max-width:100%;height:auto;border-radius:6px}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--card:#fff;--mark:#000}"
    "body{max-width:none;margin:0;font-size:11pt}h2{break-after:avoid}tr{break-inside:avoid}}\n";

static void page_head(struct buf *b, const struct document *d)
{
    buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    element(b, "<title>", d->title, "</title>\n<style>\n");
    buf_puts(b, style);
    element(b, "</style>\n</head>\n<body>\n<h1>", d->headline, "</h1>\n");
}

static void put_row(struct buf *b, const struct document_table *t, char *const *cell)
{
    static const char *const open[] = { [DOCUMENT_NAME] = "<th>", [DOCUMENT_WORD] = "<td>",
                                        [DOCUMENT_TEXT] = "<td class=\"t\">",
                                        [DOCUMENT_NUMBER] = "<td class=\"n\">" };

    buf_puts(b, "<tr>");
    for (size_t c = 0; c < t->ncols; c++)
        element(b, open[t->column[c]], cell[c],
                t->column[c] == DOCUMENT_NAME ? "</th>" : "</td>");
    buf_puts(b, "</tr>\n");
}

static void put_table(struct buf *b, const struct document_block *block)
{
    const struct document_table *t = &block->table;

    buf_puts(b, "<table>\n");
    if (block->text)
        element(b, "<caption>", block->text, "</caption>\n");
    if (t->ncols > 0 && t->head[0]) {
        buf_puts(b, "<tr>");
        for (size_t c = 0; c < t->ncols; c++)
            element(b, t->column[c] == DOCUMENT_NUMBER ? "<th class=\"n\">" : "<th>", t->head[c],
                    "</th>");
        buf_puts(b, "</tr>\n");
    }
    for (size_t i = 0; i + t->ncols <= t->n && t->ncols > 0; i += t->ncols)
        put_row(b, t, &t->cell[i]);
    buf_puts(b, "</table>\n");
}

/* Names of clips are unique in a drawing; those of several drawings get the number of theirs. */
static void put_svg(struct buf *b, const char *svg, size_t number)
{
    static const char *const marks[] = { "id=\"c", "url(#c" };
    const char *p = strstr(svg, "<svg");

    while (p && *p) {
        size_t k = 0, len = 1;
        while (k < 2 && strncmp(p, marks[k], strlen(marks[k])) != 0)
            k++;
        if (k < 2) {
            len = strlen(marks[k]);
            buf_putn(b, p, len);
            buf_printf(b, "%zu-", number);
        } else {
            buf_putc(b, *p);
        }
        p += len;
    }
}

static void put_figure(struct buf *b, const struct document_block *block, size_t number)
{
    const struct figure *f = block->figure;
    struct buf svg = { 0 };
    size_t panels = 0;

    for (const struct figure *p = f; p; p = p->next)
        panels++;
    const size_t across = f->across > 1 ? f->across : 1, down = (panels + across - 1) / across;
    figure_svg(f, across > 1 ? across * PANEL_WIDE : WIDE, down > 1 ? down * PANEL_HIGH : HIGH,
               false, &svg);
    b->failed |= svg.failed;
    element(b, "<figure id=\"", block->name, "\">\n");
    put_svg(b, buf_str(&svg), number);
    element(b, "<figcaption><strong>", block->text, "</strong>");
    for (const struct figure *p = f; p; p = p->next)
        if (p->verdict)
            element(b, "<br/>", p->verdict, "");
    buf_puts(b, "</figcaption>\n</figure>\n");
    buf_free(&svg);
}

/* The list of steps that begins with block i; returns the index of its last one. */
static size_t put_steps(struct buf *b, const struct document *d, size_t i)
{
    buf_puts(b, "<ol class=\"steps\">\n");
    for (;; i++) {
        element(b, "<li><code>", d->block[i].text, "</code></li>\n");
        if (i + 1 == d->n || d->block[i + 1].kind != DOCUMENT_STEP)
            break;
    }
    buf_puts(b, "</ol>\n");
    return i;
}

void document_html(const struct document *d, struct buf *b)
{
    static const char *const around[][2] = {
        [DOCUMENT_HEADING] = { "<h2>", "</h2>\n" },
        [DOCUMENT_PARAGRAPH] = { "<p>", "</p>\n" },
        [DOCUMENT_VERDICT] = { "<p class=\"verdict\">", "</p>\n" },
        [DOCUMENT_WARNING] = { "<p><strong>Warning:</strong> ", "</p>\n" },
        [DOCUMENT_REMARK] = { "<p class=\"soft\">", "</p>\n" },
        [DOCUMENT_CODE] = { "<pre>", "</pre>\n" },
    };
    size_t figures = 0;

    page_head(b, d);
    for (size_t i = 0; i < d->n; i++) {
        const struct document_block *block = &d->block[i];
        if (block->kind == DOCUMENT_TABLE)
            put_table(b, block);
        else if (block->kind == DOCUMENT_FIGURE)
            put_figure(b, block, figures++);
        else if (block->kind == DOCUMENT_STEP)
            i = put_steps(b, d, i);
        else
            element(b, around[block->kind][0], block->text, around[block->kind][1]);
    }
    element(b, "<p class=\"soft\">", d->made_by, "</p>\n</body>\n</html>\n");
    b->failed |= d->failed;
}
