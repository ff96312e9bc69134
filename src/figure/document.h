/* figure/document.h -- a report as data: what is said, in order, for a page of HTML
 * (document_html.c) and for pages of PDF (document_pdf.c).
 *
 * Texts may hold anything, as names of columns and files do: each renderer escapes them. A document
 * for which memory ran out stays valid and remembers it (failed), so that filling it needs only one
 * check at its end. */
#ifndef GPDESK_DOCUMENT_H
#define GPDESK_DOCUMENT_H

#include "figure/figure.h"

#include <stdint.h>

enum document_kind {
    DOCUMENT_HEADING,
    DOCUMENT_PARAGRAPH,
    DOCUMENT_VERDICT, /* the result in one sentence */
    DOCUMENT_WARNING,
    DOCUMENT_REMARK,  /* a paragraph of less weight */
    DOCUMENT_CODE,    /* lines that stay as they are */
    DOCUMENT_STEP,    /* one line of code; consecutive steps are a numbered list */
    DOCUMENT_TABLE,
    DOCUMENT_FIGURE
};

enum document_column {
    DOCUMENT_NAME,  /* what the row is about */
    DOCUMENT_WORD,  /* short words */
    DOCUMENT_TEXT,  /* text that may be long and have no blanks */
    DOCUMENT_NUMBER /* in line with the numbers above it */
};

enum { DOCUMENT_COLUMNS = 12 }; /* more are left out */

struct document_table {
    size_t ncols;
    enum document_column column[DOCUMENT_COLUMNS];
    char *head[DOCUMENT_COLUMNS]; /* NULL: no head row */
    size_t n, cap;                /* cells, row by row; never NULL */
    char **cell;
};

struct document_block {
    enum document_kind kind;
    char *text;                  /* of a table its caption, of a figure its title; may be NULL */
    char *name;                  /* of a figure: "parity" */
    struct document_table table; /* DOCUMENT_TABLE */
    struct figure *figure;       /* DOCUMENT_FIGURE; owned */
};

struct document {
    char *title, *headline; /* of the window or file, and above the text */
    char *made_by;          /* the last line */
    size_t n, cap;
    struct document_block *block;
    bool failed;
};

struct document *document_new(const char *title, const char *headline, const char *made_by,
                              struct err *);
void document_free(struct document *); /* NULL is allowed */

/* Adds a block of text: any kind but a table or a figure. Texts are copied. */
void document_add(struct document *, enum document_kind, const char *text);
/* Adds the figure, which the document owns from now on (after a failure it is freed). */
void document_figure(struct document *, const char *name, const char *title, struct figure *);

/* Begins a table; its columns are added before its first row. caption may be NULL. */
void document_table(struct document *, const char *caption);
/* Adds a column. head: NULL in every column of a table without a head row. */
void document_column(struct document *, enum document_column, const char *head);
/* Adds the cells of the last table one after another, row by row. */
void document_cell(struct document *, const char *text);
void document_cell_number(struct document *, double); /* empty where it is not finite */
/* Begins a table of facts, and adds one: a name and what is so; without text it is left out. */
void document_facts(struct document *);
void document_fact(struct document *, const char *name, const char *text);
void document_fact_count(struct document *, const char *name, size_t n);

/* Decodes the character at s (not at its end), and returns its length in bytes. *point is U+FFFD
 * for what no document shows: bytes that are not UTF-8, control characters, overrides of the
 * direction of writing. */
size_t document_char(const char *s, uint32_t *point);

/* The document as one page that needs nothing else: no network, no script, no further file. */
void document_html(const struct document *, struct buf *out);

struct ctl;
/* Writes the document to path as A4 pages of a PDF file, which gnuplot draws: atomically and within
 * a time limit, as plot_export. *rare: how many letters are written as numbers, because fonts often
 * lack them. Blocks; CANCELLED if ctl (may be NULL) asks to stop. */
enum status document_pdf(const struct ctl *, const struct document *, const char *path,
                         size_t *rare, struct err *);

#endif
