/* data/molecules/smiles_column.c -- see smiles_column.h. */
#include "data/molecules/smiles_column.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct smiles_column *own(const struct column *c)
{
    return c->held;
}

/* Cells. */

static void free_cells(struct column *c)
{
    struct smiles_column *s = c->held;

    if (s == NULL)
        return;
    counts_clear(&s->counts);
    free(s->text);
    free(s->arena);
    free(s->same);
    free(s->how);
    free(s->version);
    free(s);
}

static const char *cell_word(const struct column *c, size_t row)
{
    return counts_of(c)->missing[row] ? NULL : own(c)->text[row];
}

/* Moves the counts of a column of counts into one of SMILES. */
static void move_counts(struct column *from, struct smiles_column *to)
{
    struct counts *c = from->held;

    to->counts = *c;
    free(c);
    *from = (struct column){ 0 };
}

/* Copies of n strings, one after the other. */
static enum status keep_texts(struct smiles_column *s, const char *const *text, size_t n,
                              struct err *err)
{
    size_t bytes = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        bytes += text[i] != NULL ? strlen(text[i]) + 1 : 0;
    s->arena = mem_calloc(bytes + 1, 1, "molecules", err);
    s->text = s->arena != NULL ? mem_calloc(n + 1, sizeof *s->text, "molecules", err) : NULL;
    if (s->text == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == NULL)
            continue;
        s->text[i] = s->arena + at;
        const size_t len = strlen(text[i]) + 1;
        memcpy(s->text[i], text[i], len);
        at += len;
    }
    return ST_OK;
}

/* Copies rows into an empty column; row NULL: the first n. */
static enum status take_cells(const struct column *c, const size_t *row, size_t n,
                              struct column *to, struct err *err)
{
    const struct smiles_column *from = c->held;
    struct smiles_column *s = mem_calloc(1, sizeof *s, "molecules", err);
    const char **text = s != NULL ? mem_calloc(n + 1, sizeof *text, "molecules", err) : NULL;
    struct column counts = { 0 };
    enum status rc = text != NULL ? ST_OK : ST_NOMEM;

    *to = (struct column){ .type = COL_HELD, .held = s, .cells = &smiles_column_cells };
    for (size_t i = 0; i < n && rc == ST_OK; i++)
        text[i] = from->text[row != NULL ? row[i] : i];
    if (rc == ST_OK)
        rc = keep_texts(s, text, n, err);
    free(text);
    if (rc == ST_OK)
        rc = row != NULL ? counts_cells.take(c, row, n, &counts, err)
                         : counts_cells.copy(c, n, &counts, err);
    to->missing = counts.missing;
    if (rc == ST_OK)
        move_counts(&counts, s);
    else
        table_column_clear(&counts);
    s = rc == ST_OK ? s : NULL;
    if (s == NULL)
        return rc;
    s->same = mem_calloc(n + 1, sizeof *s->same, "molecules", err);
    s->how = s->same != NULL ? mem_strdup(from->how, err) : NULL;
    s->version = s->how != NULL ? mem_strdup(from->version, err) : NULL;
    for (size_t i = 0; i < n && s->same != NULL; i++) {
        s->same[i] = from->same[row != NULL ? row[i] : i];
        s->unread.n += s->text[i] != NULL && s->counts.missing[i];
    }
    if (row == NULL)
        s->unread = from->unread;
    return s->version != NULL ? ST_OK : ST_NOMEM;
}

enum status smiles_column_recount(const struct column *c, size_t row, size_t n,
                                  struct column *counts, struct column *to, struct err *err)
{
    size_t *rows = mem_calloc(n + 1, sizeof *rows, "molecules", err);

    for (size_t i = 0; rows != NULL && i < n; i++)
        rows[i] = row;
    const enum status rc = rows != NULL ? take_cells(c, rows, n, to, err) : ST_NOMEM;
    free(rows);
    if (rc != ST_OK)
        return rc;
    counts_clear(&own(to)->counts);
    move_counts(counts, own(to));
    return ST_OK;
}

static enum status copy_cells(const struct column *c, size_t n, struct column *to, struct err *err)
{
    return take_cells(c, NULL, n, to, err);
}

static size_t cells_bytes(const struct column *c, size_t n)
{
    size_t bytes = counts_cells.bytes(c, n) + n * (sizeof *own(c)->text + sizeof *own(c)->same);

    for (size_t i = 0; i < n; i++)
        bytes += own(c)->text[i] != NULL ? strlen(own(c)->text[i]) + 1 : 0;
    return bytes;
}

static size_t row_bytes(const struct column *c)
{
    return counts_cells.row_bytes(c);
}

static bool cells_out(const struct column *c)
{
    return counts_cells.is_out(c);
}

const struct cell_ops smiles_column_cells = {
    .word = cell_word,
    .take = take_cells,
    .copy = copy_cells,
    .free = free_cells,
    .bytes = cells_bytes,
    .row_bytes = row_bytes,
    .is_out = cells_out,
};

/* Making. */

enum status smiles_column_make(size_t n, const char *const *text, struct molecule_rows *rows,
                               struct column *to, struct err *err)
{
    struct smiles_column *s = mem_calloc(1, sizeof *s, "molecules", err);
    struct column counts = { 0 };
    struct buf how = { 0 };

    *to = (struct column){ .type = COL_HELD, .held = s, .cells = &smiles_column_cells };
    enum status rc = s != NULL ? keep_texts(s, text, n, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = fingerprint_rows_column(&rows->counts, &counts, err);
    to->missing = counts.missing;
    if (rc == ST_OK)
        move_counts(&counts, s);
    else
        table_column_clear(&counts);
    if (rc != ST_OK)
        return rc;
    fingerprint_words(&rows->how, &how);
    s->how = buf_take(&how);
    s->version = mem_strdup(rows->how.lingo ? "" : rows->version, err);
    s->unread = rows->unread;
    s->same = rows->same;
    rows->same = NULL;
    return s->how != NULL && s->version != NULL ? ST_OK : err_nomem(err, 64, "molecules");
}

const char **smiles_column_texts(const struct table *t, const struct column *c, struct err *err)
{
    const char **text = mem_calloc(t->n + 1, sizeof *text, "molecules", err);

    for (size_t i = 0; i < t->n && text != NULL; i++)
        text[i] = smiles_column_is(c) ? own(c)->text[i] : column_word(c, i);
    return text;
}

/* Telling. */

void smiles_column_tell(const struct table *t, const struct column *c,
                        const struct molecule_unread *u, struct buf *out)
{
    if (u->n == 0)
        return;
    buf_printf(out, "%zu molecule%s of ", u->n, u->n == 1 ? "" : "s");
    text_safe(out, c->name, 40);
    buf_printf(out, " cannot be read and %s missing cells: ", u->n == 1 ? "has" : "have");
    for (size_t k = 0; k < MOLECULE_ROWS_TOLD && k < u->n; k++) {
        const size_t row = u->row[k];
        const char *text = smiles_column_is(c) ? own(c)->text[row] : column_word(c, row);
        buf_printf(out, "%srow %zu (", k > 0 ? "; " : "", row + 1);
        const char *name = NULL;
        for (size_t j = 0; j < t->ncols && name == NULL; j++)
            if (&t->col[j] != c && (t->col[j].type == COL_TEXT || t->col[j].type == COL_CATEGORY))
                name = column_word(&t->col[j], row);
        if (name != NULL) {
            text_safe(out, name, 40);
            buf_puts(out, ", ");
        }
        buf_putc(out, '\'');
        text_safe(out, text != NULL ? text : "", 40);
        buf_putc(out, '\'');
        if (t->first_line > 0)
            buf_printf(out, ", line %zu", t->first_line + row);
        buf_puts(out, "): ");
        text_safe(out, u->reason[k], 0);
    }
    if (u->n > MOLECULE_ROWS_TOLD)
        buf_puts(out, "; ..");
}

/* Repeated molecules. */

struct place { uint64_t same; size_t row; };

static int by_same(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->same != y->same)
        return x->same > y->same ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Rows a to b hold one molecule. */
static void count_group(const struct place *p, size_t a, size_t b, const struct column *y,
                        const uint8_t *part, struct smiles_column_repeats *out, size_t *shared)
{
    double low = INFINITY, high = -INFINITY;
    size_t test = 0;
    bool train = false;

    for (size_t k = a; k < b; k++) {
        const double v = y != NULL ? column_at(y, p[k].row) : NAN;
        low = v < low ? v : low;
        high = v > high ? v : high;
        train |= part != NULL && part[p[k].row] == 0;
        test += part != NULL && part[p[k].row] == 2;
    }
    if (b - a > 1) {
        out->molecules++;
        out->rows += b - a;
        out->differ += high > low;
    }
    *shared += train ? test : 0;
}

enum status smiles_column_repeated(const struct column *c, size_t n, const struct column *y,
                                   const uint8_t *part, struct smiles_column_repeats *out,
                                   size_t *shared, struct err *err)
{
    struct place *p = mem_calloc(n + 1, sizeof *p, "molecules", err);
    size_t m = 0;

    *out = (struct smiles_column_repeats){ 0 };
    *shared = 0;
    if (p == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (own(c)->same[i] != 0)
            p[m++] = (struct place){ own(c)->same[i], i };
    qsort(p, m, sizeof *p, by_same);
    for (size_t a = 0, b; a < m; a = b) {
        for (b = a + 1; b < m && p[b].same == p[a].same; b++)
            ;
        count_group(p, a, b, y, part, out, shared);
    }
    free(p);
    return ST_OK;
}
