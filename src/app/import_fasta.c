/* app/import_fasta.c -- FASTA files: records of a line ">name description" and lines of letters; and
 * the columns of a table that belong to them, found by name. */
#include "app/import.h"

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
    size_t caplet, capat, letters;   /* letters: bytes used, NULs too */
    struct grow name, about;         /* text: first word, and the rest, of the record's line */
    size_t n, line, described, empty, first_empty;
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

/* The record in hand is whole. */
static enum status end_record(struct fasta *f)
{
    void *p = f->s->at;
    enum status rc = spill_grow(&p, &f->capat, f->n + 2, sizeof *f->s->at, "sequences", f->err);

    f->s->at = p;
    if (rc == ST_OK && f->n == 0)
        f->s->at[0] = 0;
    if (rc == ST_OK && f->letters == f->s->at[f->n] && f->empty++ == 0)
        f->first_empty = f->n;
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
    enum status rc = grow_reserve(&f->name, f->n + 1, f->err);
    if (rc == ST_OK)
        rc = grow_reserve(&f->about, f->n + 1, f->err);
    if (rc == ST_OK && word > 0)
        rc = grow_text(&f->name, f->n, h, word, f->err);
    else if (rc == ST_OK)
        f->name.off[f->n] = SIZE_MAX;
    if (rc == ST_OK && rest < len) {
        f->described++;
        rc = grow_text(&f->about, f->n, h + rest, len - rest, f->err);
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
    err_named(f->err, ST_FORMAT, "fasta", "%s, line %zu, record '%s': %s is no letter of a sequence",
              stream_name(f->in->st), f->line, word, shown);
    err_hint(f->err, "a FASTA file has lines of letters, *, - and . under each line that begins with >");
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
    if (*at == LINE_START && c == ';') /* of old files */
        *at = LINE_COMMENT;
    if (*at == LINE_COMMENT || (*at != LINE_HEAD && (c == '\r' || c == ' ' || c == '\t')))
        return ST_OK;
    if (*at == LINE_HEAD) {
        if (c == '\0')
            return err_named(f->err, ST_FORMAT, "binary", "%s, line %zu: a zero byte: it is no text",
                             stream_name(f->in->st), f->line);
        if (f->head_len == IMPORT_MAX_NAME)
            return err_named(f->err, ST_FORMAT, "limit", "%s, line %zu: a record's line is longer than "
                             "%zu bytes", stream_name(f->in->st), f->line, IMPORT_MAX_NAME);
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
        rc = inbuf_fill(in, IMPORT_MAX_LINE, f->err);
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
        rc = grow_finish(&f->name, f->n, &t->col[j++], f->err);
    if (rc == ST_OK && f->described > 0) {
        rc = name_column(&t->col[1], "description", f->err);
        if (rc == ST_OK)
            rc = grow_finish(&f->about, f->n, &t->col[j++], f->err);
    }
    if (rc == ST_OK)
        rc = name_column(&t->col[j], "sequence", f->err);
    if (rc == ST_OK)
        rc = sequences_judge(f->s, f->n, "sequence", f->err);
    if (rc != ST_OK)
        return rc;
    t->col[j].type = COL_SEQUENCE;
    t->col[j].missing = f->empty;
    t->col[j].seq = f->s;
    f->s = NULL;
    sequence_note(&t->col[j], &notes);
    if (f->empty > 0) {
        const char *first = column_word(&t->col[0], f->first_empty);
        buf_printf(&notes, "warning[empty]: %zu record%s without a letter, first row %zu (", f->empty,
                   f->empty == 1 ? " is" : "s are", f->first_empty + 1);
        text_safe(&notes, first != NULL ? first : "no name", 40);
        buf_puts(&notes, "): missing drop leaves such rows out\n");
    }
    rc = table_add_notes(t, &notes, f->err);
    buf_free(&notes);
    return rc;
}

enum status import_fasta(struct inbuf *in, const struct import_opts *opts, const struct ctl *ctl,
                         struct table *t, struct err *err)
{
    (void)opts, (void)ctl; /* the stream looks at it */
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
        t->decisions = mem_strdup("FASTA", err);
        rc = t->decisions != NULL ? ST_OK : ST_NOMEM;
    }
    sequences_free(f->s);
    grow_free(&f->name);
    grow_free(&f->about);
    free(f);
    return rc;
}

/* ---- the table that belongs to them -------------------------------------------------------------- */

struct join {
    struct table *t;       /* of the records */
    struct table *of;      /* what is joined */
    size_t key, *row;      /* its column of names; its row of each record, SIZE_MAX: none */
    struct intern ids;
    struct buf notes;
    const char *file;
    struct err *err;
};

static size_t key_column(const struct table *t)
{
    static const char *const names[] = { "name", "id", "key", "record", "accession", "seq_id",
                                         "sequence_id", "protein", "protein_id", "mutant" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < t->ncols; j++)
            if (strcasecmp(t->col[j].name, names[i]) == 0)
                return j;
    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_TEXT || t->col[j].type == COL_CATEGORY)
            return j;
    return SIZE_MAX;
}

/* The names of the joined table, each once. */
static enum status take_names(struct join *k)
{
    struct buf cell = { 0 };
    enum status rc = ST_OK;

    for (size_t i = 0; i < k->of->n && rc == ST_OK; i++) {
        uint32_t code;
        buf_clear(&cell);
        table_cell(k->of, i, k->key, &cell);
        rc = intern_code(&k->ids, buf_str(&cell), cell.len, &code, k->err);
        if (rc == ST_OK && code != i) {
            struct buf word = { 0 };
            text_safe(&word, buf_str(&cell), 40);
            rc = err_named(k->err, ST_FORMAT, "join", "%s: '%s' stands in column '%.40s' twice (rows %u and "
                           "%zu)", k->file, buf_str(&word), k->of->col[k->key].name, code + 1, i + 1);
            err_hint(k->err, "each record has one row");
            buf_free(&word);
        }
    }
    buf_free(&cell);
    return rc;
}

static void note_first(struct join *k, size_t n, const char *what, const char *first, const char *then)
{
    if (n == 0)
        return;
    buf_printf(&k->notes, "warning[unmatched]: %zu %s, first '", n, what);
    text_safe(&k->notes, first, 40);
    buf_printf(&k->notes, "': %s\n", then);
}

static enum status match_rows(struct join *k)
{
    const size_t n = k->t->n, m = k->of->n;
    bool *met = mem_calloc(m + 1, sizeof *met, "a join", k->err);
    size_t alone = 0, first_alone = 0, left = 0, first_left = 0, matched = 0;
    struct buf cell = { 0 };
    enum status rc = ST_OK;

    k->row = mem_calloc(n + 1, sizeof *k->row, "a join", k->err);
    if (met == NULL || k->row == NULL)
        rc = ST_NOMEM;
    for (size_t i = 0; i < n && rc == ST_OK; i++) {
        const char *name = column_word(&k->t->col[0], i);
        uint32_t code = UINT32_MAX;
        k->row[i] = SIZE_MAX;
        if (name != NULL)
            rc = intern_code(&k->ids, name, strlen(name), &code, k->err);
        if (rc == ST_OK && code < m) {
            k->row[i] = code;
            met[code] = true;
            matched++;
        } else if (alone++ == 0) {
            first_alone = i;
        }
    }
    for (size_t i = 0; i < m && rc == ST_OK; i++)
        if (!met[i] && left++ == 0)
            first_left = i;
    if (rc == ST_OK && matched == 0) {
        rc = err_named(k->err, ST_FORMAT, "join", "no record has a name that stands in column '%.40s' of %s",
                       k->of->col[k->key].name, k->file);
        err_hint(k->err, "the column of names is called name or id, or is the first one of words");
    }
    if (rc == ST_OK) {
        const char *name = alone ? column_word(&k->t->col[0], first_alone) : NULL;
        note_first(k, alone, alone == 1 ? "record has no row in the table" : "records have no row in the table", name != NULL ? name : "no name",
                   "their cells are missing (missing drop leaves them out)");
        table_cell(k->of, first_left, k->key, &cell);
        note_first(k, left, left == 1 ? "row of the table has no record" : "rows of the table have no record", buf_str(&cell), "they are left out");
    }
    buf_free(&cell);
    free(met);
    return rc;
}

/* A column of the joined table in the order of the records. */
static enum status take_column(const struct join *k, const struct column *c, struct column *to)
{
    const size_t n = k->t->n;
    struct grow g = { .type = c->type == COL_SEQUENCE ? COL_TEXT : c->type };
    enum status rc = grow_reserve(&g, n + 1, k->err);

    for (size_t i = 0; i < n && rc == ST_OK; i++) {
        const size_t r = k->row[i];
        const char *w = r == SIZE_MAX || c->type == COL_REAL ? NULL : column_word(c, r);
        if (c->type == COL_REAL)
            g.v[i] = r == SIZE_MAX ? (double)NAN : column_at(c, r);
        else if (g.type == COL_CATEGORY && w == NULL)
            g.code[i] = UINT32_MAX;
        else if (g.type == COL_CATEGORY)
            rc = intern_code(&g.levels, w, strlen(w), &g.code[i], k->err);
        else if (w == NULL)
            g.off[i] = SIZE_MAX;
        else
            rc = grow_text(&g, i, w, strlen(w), k->err);
    }
    if (rc == ST_OK)
        rc = grow_finish(&g, n, to, k->err);
    grow_free(&g);
    if (rc == ST_OK)
        rc = name_column(to, c->name, k->err);
    to->date = c->date;
    return rc;
}

static enum status add_columns(struct join *k)
{
    struct table *t = k->t;
    struct column *all = mem_calloc(t->ncols + k->of->ncols, sizeof *all, "columns", k->err);
    const size_t had = t->ncols;
    enum status rc = ST_OK;

    if (all == NULL)
        return ST_NOMEM;
    memcpy(all, t->col, had * sizeof *all);
    free(t->col);
    t->col = all;
    for (size_t j = 0; j < k->of->ncols && rc == ST_OK; j++) {
        if (j == k->key || table_find(t, k->of->col[j].name) != SIZE_MAX)
            continue;
        rc = take_column(k, &k->of->col[j], &t->col[t->ncols++]);
        t->missing += rc == ST_OK ? t->col[t->ncols - 1].missing : 0;
    }
    return rc;
}

enum status fasta_join(struct table *t, const char *path, const struct import_opts *opts,
                       const struct ctl *ctl, struct err *err)
{
    struct import_opts o = *opts;
    struct join k = { .t = t, .file = path, .err = err };

    if (t->ncols < 2 || (strcmp(t->decisions, "FASTA") != 0 && opts->graph == NULL)) {
        err_set(err, ST_USAGE, "targets= joins a table to the records of a FASTA file, or to graphs; this is another "
                "file");
        err_hint(err, "open FILE target=NAME  |  open NODES graph=COLUMN targets=FILE");
        return ST_USAGE;
    }
    o.targets = o.target = o.inputs = o.graph = o.describe = o.lengths = o.window = NULL;
    enum status rc = import_file(path, &o, ctl, &k.of, err);
    k.key = SIZE_MAX;
    if (rc == ST_OK && opts->graph != NULL) /* graphs: the column of the same name */
        k.key = table_find(k.of, opts->graph);
    if (rc == ST_OK && k.key == SIZE_MAX && (k.key = key_column(k.of)) == SIZE_MAX) {
        rc = err_named(err, ST_FORMAT, "join", "%.200s has no column of names", path);
        err_hint(err, "a column name, id, or one of words");
    }
    if (rc == ST_OK)
        rc = take_names(&k);
    if (rc == ST_OK)
        rc = match_rows(&k);
    if (rc == ST_OK)
        rc = add_columns(&k);
    if (rc == ST_OK)
        rc = table_add_notes(t, &k.notes, err);
    intern_free(&k.ids);
    buf_free(&k.notes);
    free(k.row);
    table_unref(k.of);
    return rc;
}
