/* data/formats/import_fasta.c -- FASTA files: records of a line ">name description" and lines of
 * letters; and the columns of a table that belong to them, found by name. */
#include "data/formats/format.h"

#include "data/kinds/sequence.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct fasta {
    struct inbuf *in;
    struct sequences *s;
    size_t caplet, capat, capline, letters; /* letters: number of bytes used, including NULs */
    struct grow name, about;    /* text: the first word of a record's line, and the rest of it */
    size_t n, line, described, empty;
    char head[IMPORT_MAX_NAME + 1];
    size_t head_len;
    struct err *err;
};

static enum status put_letter(struct fasta *f, char c)
{
    void *p = f->s->letters;
    const enum status rc = spill_grow(&p, &f->caplet, f->letters + 1, 1, "sequences", f->err);

    f->s->letters = p;
    if (rc == ST_OK)
        f->s->letters[f->letters++] = c;
    return rc;
}

/* The current record is complete. */
static enum status end_record(struct fasta *f)
{
    void *p = f->s->at;
    enum status rc = spill_grow(&p, &f->capat, f->n + 2, sizeof *f->s->at, "sequences", f->err);

    f->s->at = p;
    if (rc == ST_OK && f->n == 0)
        f->s->at[0] = 0;
    if (rc == ST_OK)
        f->empty += f->letters == f->s->at[f->n];
    if (rc == ST_OK)
        rc = put_letter(f, '\0');
    if (rc == ST_OK)
        f->s->at[++f->n] = f->letters;
    return rc;
}

static enum status take_head(struct fasta *f)
{
    const char *h = f->head;
    size_t len = f->head_len, word = 0;

    while (len > 0 && isspace((unsigned char)h[len - 1]))
        len--;
    while (word < len && !isspace((unsigned char)h[word]))
        word++;
    size_t rest = word;
    while (rest < len && isspace((unsigned char)h[rest]))
        rest++;
    void *lines = f->s->line;
    enum status rc =
        spill_grow(&lines, &f->capline, f->n + 1, sizeof *f->s->line, "sequences", f->err);
    f->s->line = lines;
    if (rc == ST_OK) {
        f->s->line[f->n] = f->line;
        rc = table_grow_reserve(&f->name, f->n + 1, f->err);
    }
    if (rc == ST_OK)
        rc = table_grow_reserve(&f->about, f->n + 1, f->err);
    if (rc == ST_OK && word > 0)
        rc = table_grow_text(&f->name, f->n, h, word, f->err);
    else if (rc == ST_OK)
        f->name.off[f->n] = SIZE_MAX;
    if (rc == ST_OK && rest < len) {
        f->described++;
        rc = table_grow_text(&f->about, f->n, h + rest, len - rest, f->err);
    } else if (rc == ST_OK) {
        f->about.off[f->n] = SIZE_MAX;
    }
    return rc;
}

static void record_words(const struct fasta *f, char *out, size_t len)
{
    struct buf b = { 0 };

    text_safe(&b, f->name.off[f->n] == SIZE_MAX ? "" : f->name.text + f->name.off[f->n], 40);
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&b);
}

static enum status no_letter(const struct fasta *f, unsigned char c)
{
    char word[64], shown[16];

    record_words(f, word, sizeof word);
    snprintf(shown, sizeof shown, isprint(c) ? "'%c'" : "byte %d", c);
    err_named(f->err, ST_FORMAT, "fasta",
              "%s, line %zu, record '%s': %s is not a letter of a sequence", stream_name(f->in->st),
              f->line, word, shown);
    err_hint(f->err,
             "a FASTA file has lines of letters, *, - and . under each line that begins with >");
    return ST_FORMAT;
}

enum place { LINE_START, LINE_HEAD, LINE_LETTERS, LINE_COMMENT };

static enum status take_byte(struct fasta *f, enum place *at, bool *open, unsigned char c)
{
    enum status rc = ST_OK;

    if (c == '\n') {
        if (*at == LINE_HEAD)
            rc = take_head(f);
        *at = LINE_START;
        f->line++;
        return rc;
    }
    if (*at == LINE_START && c == '>') {
        if (*open)
            rc = end_record(f);
        *open = true;
        f->head_len = 0;
        *at = LINE_HEAD;
        return rc;
    }
    if (*at == LINE_START && c == ';') /* a comment of old files */
        *at = LINE_COMMENT;
    if (*at == LINE_COMMENT || (*at != LINE_HEAD && (c == '\r' || c == ' ' || c == '\t')))
        return ST_OK;
    if (*at == LINE_HEAD) {
        if (c == '\0')
            return err_named(f->err, ST_FORMAT, "binary",
                             "%s, line %zu: a zero byte, so this is not a text file",
                             stream_name(f->in->st), f->line);
        if (f->head_len == IMPORT_MAX_NAME)
            return err_named(f->err, ST_FORMAT, "limit",
                             "%s, line %zu: a record's line is longer than "
                             "%zu bytes",
                             stream_name(f->in->st), f->line, IMPORT_MAX_NAME);
        f->head[f->head_len++] = (char)c;
        return ST_OK;
    }
    *at = LINE_LETTERS;
    if (c >= 0x80 || (!isalpha(c) && !strchr("*-.?", c)) || c == '\0')
        return no_letter(f, c);
    return put_letter(f, (char)c);
}

static enum status read_records(struct fasta *f)
{
    struct inbuf *in = f->in;
    enum place at = LINE_START;
    bool open = false;
    enum status rc = ST_OK;

    for (;;) {
        while (rc == ST_OK && in->pos < in->len)
            rc = take_byte(f, &at, &open, (unsigned char)in->b[in->pos++]);
        if (rc != ST_OK || in->eof)
            break;
        rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, f->err);
    }
    if (rc == ST_OK && at == LINE_HEAD)
        rc = take_head(f);
    return rc == ST_OK && open ? end_record(f) : rc;
}

static enum status name_column(struct column *c, const char *name, struct err *err)
{
    c->named = true;
    c->name = mem_strdup(name, err);
    return c->name != NULL ? ST_OK : ST_NOMEM;
}

static enum status fasta_columns(struct fasta *f, struct table *t)
{
    const size_t ncols = f->described > 0 ? 3 : 2;
    struct buf notes = { 0 };
    size_t j = 0;

    free(t->col);
    t->col = mem_calloc(ncols, sizeof *t->col, "columns", f->err);
    t->ncols = t->col != NULL ? ncols : 0;
    t->n = f->n;
    enum status rc = t->col != NULL ? name_column(&t->col[0], "name", f->err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = table_grow_finish(&f->name, f->n, &t->col[j++], f->err);
    if (rc == ST_OK && f->described > 0) {
        rc = name_column(&t->col[1], "description", f->err);
        if (rc == ST_OK)
            rc = table_grow_finish(&f->about, f->n, &t->col[j++], f->err);
    }
    if (rc == ST_OK)
        rc = name_column(&t->col[j], "sequence", f->err);
    if (rc != ST_OK)
        return rc;
    sequences_judge(f->s, f->n);
    t->col[j].type = COL_HELD;
    t->col[j].missing = f->empty;
    t->col[j].held = f->s;
    t->col[j].cells = &sequence_cells;
    f->s = NULL;
    sequence_note(t, &t->col[j], &notes);
    rc = table_add_notes(t, &notes, f->err);
    buf_free(&notes);
    return rc;
}

static enum status read_fasta(struct inbuf *in, const struct import_opts *opts,
                              const struct ctl *ctl, struct table *t, struct err *err)
{
    (void)opts, (void)ctl; /* the stream checks it */
    struct fasta *f = mem_calloc(1, sizeof *f, "records", err);
    if (f == NULL)
        return ST_NOMEM;
    f->in = in;
    f->err = err;
    f->line = 1;
    f->name.type = f->about.type = COL_TEXT;
    f->s = mem_calloc(1, sizeof *f->s, "sequences", err);
    enum status rc = f->s != NULL ? read_records(f) : ST_NOMEM;
    if (rc == ST_OK)
        rc = fasta_columns(f, t);
    if (rc == ST_OK) {
        free(t->decisions);
        t->decisions = mem_strdup(import_fasta_format.records, err);
        rc = t->decisions != NULL ? ST_OK : ST_NOMEM;
    }
    sequences_free(f->s);
    table_grow_free(&f->name);
    table_grow_free(&f->about);
    free(f);
    return rc;
}

static bool sniff(const struct inbuf *in)
{
    return in->b[strspn(in->b, " \t\r\n")] == '>'; /* 16 zero bytes follow the window */
}

const struct format import_fasta_format = {
    .name = "FASTA", .sniff = sniff, .read = read_fasta, .records = "FASTA" };
