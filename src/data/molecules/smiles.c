/* data/molecules/smiles.c -- columns made from SMILES (smiles.h). */
#include "data/molecules/smiles.h"

#include "data/molecules/smiles_column.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct making {
    const struct table *t;
    const struct column *smiles;
    size_t n; /* molecules */
    bool described, counted; /* which columns are wanted */
    struct molecule_rows rows;
};

/* Which column. */

bool smiles_asked(const struct import_opts *opts)
{
    return opts->descriptors > 0 || opts->fingerprint != NULL;
}

static enum status find(const struct table *t, const struct import_opts *opts, size_t *j,
                        struct err *err)
{
    const char *name = opts->smiles != NULL ? opts->smiles : "smiles";
    char quoted[64];

    for (*j = 0; *j < t->ncols; ++*j)
        if (opts->smiles != NULL ? strcmp(t->col[*j].name, name) == 0
                                 : strcasecmp(t->col[*j].name, name) == 0)
            break;
    if (*j == t->ncols) {
        err_named(err, ST_NOT_FOUND, "smiles",
                  "no column is called %s, which would hold the SMILES",
                  text_quoted(name, quoted, sizeof quoted));
        err_hint(err, "open FILE smiles=COLUMN fingerprint=morgan");
        return ST_NOT_FOUND;
    }
    if (t->col[*j].type != COL_REAL)
        return ST_OK;
    err_named(err, ST_NOT_FOUND, "smiles", "column %s holds numbers and no SMILES",
              text_quoted(name, quoted, sizeof quoted));
    err_hint(err, "open FILE smiles=COLUMN fingerprint=morgan");
    return ST_NOT_FOUND;
}

enum status smiles_types(const struct table *t, const struct import_opts *opts, char **types,
                         struct err *err)
{
    struct buf b = { 0 };
    size_t j;
    const enum status rc = find(t, opts, &j, err);

    *types = NULL;
    if (rc != ST_OK)
        return rc;
    if (opts->types != NULL)
        buf_printf(&b, "%s,", opts->types);
    buf_printf(&b, "#%zu=text", j + 1);
    *types = buf_take(&b);
    return *types != NULL ? ST_OK : err_nomem(err, 0, "the types of columns");
}

/* Reading the molecules. */

static enum status read_molecules(struct making *m, const struct ctl *ctl, struct err *err)
{
    const char **text = smiles_column_texts(m->t, m->smiles, err);

    if (text == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < m->t->n; i++)
        m->n += text[i] != NULL;
    m->rows.n = m->t->n;
    m->rows.text = text;
    m->rows.want = (m->described ? (uint32_t)MOLECULES_DESCRIBED : 0) |
                   (m->counted ? (uint32_t)MOLECULES_COUNTS : 0);
    const enum status rc = molecule_rows_read(&m->rows, ctl, err);
    m->rows.text = NULL;
    free(text);
    return rc;
}

/* The columns. */

static void note(const struct making *m, struct buf *out)
{
    const struct molecule_rows *r = &m->rows;
    char name[64];

    buf_printf(out, "note[molecules]: %s%s%s of %zu molecules in %s%s%s\n",
               m->described ? "ten descriptors" : "", m->described && m->counted ? " and " : "",
               m->counted ? (r->how.lingo ? "pieces of the text" : "fingerprints") : "",
               m->n - r->unread.n, text_quoted(m->smiles->name, name, sizeof name),
               *r->version ? ", by RDKit " : "", r->version);
    if (m->counted)
        buf_printf(out, "note[fingerprint]: kernel tanimoto on %s.%s compares them\n",
                   m->smiles->name, r->how.name);
    if (r->unread.n == 0)
        return;
    buf_puts(out, "warning[unreadable]: ");
    smiles_column_tell(m->t, m->smiles, &r->unread, out);
    buf_putc(out, '\n');
}

/* How many columns are added, and the name of one behind that of the SMILES. */
static size_t columns(const struct making *m)
{
    return (m->described ? (size_t)MOLECULES_DESCRIPTORS : 0) + (m->counted ? 1 : 0);
}

static const char *column_name(const struct making *m, size_t k, struct buf *room)
{
    buf_clear(room);
    buf_printf(room, "%s.%s", m->smiles->name,
               m->described && k < MOLECULES_DESCRIPTORS ? molecule_rows_descriptor(k)
                                                         : m->rows.how.name);
    return buf_str(room);
}

/* Makes column k of those that are added; of numbers it takes the array. */
static enum status fill(struct making *m, size_t k, struct column *c, struct err *err)
{
    struct buf name = { 0 };
    enum status rc = ST_OK;

    if (m->described && k < MOLECULES_DESCRIPTORS) {
        *c = (struct column){ .type = COL_REAL, .v = m->rows.v[k], .integers = true };
        m->rows.v[k] = NULL;
        for (size_t i = 0; i < m->t->n; i++) {
            c->missing += isnan(c->v[i]);
            c->integers = c->integers && (isnan(c->v[i]) || c->v[i] == floor(c->v[i]));
        }
    } else {
        rc = fingerprint_rows_column(&m->rows.counts, c, err);
    }
    c->named = true;
    column_name(m, k, &name);
    c->name = buf_take(&name);
    return rc != ST_OK || c->name != NULL ? rc : err_nomem(err, 0, "the name of a column");
}

/* No column of the table may have the name of one of ours. */
static enum status names_free(const struct making *m, struct err *err)
{
    struct buf name = { 0 };
    enum status rc = ST_OK;

    for (size_t k = 0; k < columns(m) && rc == ST_OK; k++) {
        if (table_find(m->t, column_name(m, k, &name)) == SIZE_MAX)
            continue;
        rc = err_named(err, ST_FORMAT, "smiles", "the file has a column %.80s already",
                       buf_str(&name));
        err_hint(err, "open FILE   (without descriptors= and fingerprint=)");
    }
    buf_free(&name);
    return rc;
}

/* Puts the columns before column j. */
static enum status insert(struct table *t, size_t j, struct making *m, struct err *err)
{
    const size_t more = columns(m), all = t->ncols + more;
    struct column *col = mem_calloc(all, sizeof *col, "columns", err);
    enum status rc = col != NULL ? ST_OK : ST_NOMEM;

    for (size_t k = 0; k < more && rc == ST_OK; k++)
        rc = fill(m, k, &col[j + k], err);
    if (rc != ST_OK) {
        for (size_t k = 0; k < more && col != NULL; k++)
            table_column_clear(&col[j + k]);
        free(col);
        return rc;
    }
    memcpy(col, t->col, j * sizeof *col);
    memcpy(col + j + more, t->col + j, (t->ncols - j) * sizeof *col);
    free(t->col);
    t->col = col;
    t->ncols = all;
    return ST_OK;
}

enum status smiles_append(struct table *t, const struct import_opts *opts, const struct ctl *ctl,
                          struct err *err)
{
    struct making m = { .t = t, .described = opts->descriptors > 0,
                        .counted = opts->fingerprint != NULL };
    struct buf notes = { 0 };
    size_t j;
    enum status rc = find(t, opts, &j, err);

    if (rc == ST_OK && m.counted)
        rc = fingerprint_parse(opts->fingerprint, "fingerprint", &m.rows.how, err);
    if (rc == ST_OK && t->col[j].type == COL_CATEGORY)
        rc = table_column_to_text(&t->col[j], t->n, err);
    if (rc == ST_OK) {
        m.smiles = &t->col[j];
        rc = names_free(&m, err);
    }
    if (rc == ST_OK)
        rc = read_molecules(&m, ctl, err);
    if (rc == ST_OK)
        note(&m, &notes);
    if (rc == ST_OK)
        rc = insert(t, j, &m, err);
    if (rc == ST_OK)
        rc = table_add_notes(t, &notes, err);
    if (rc == ST_OK)
        rc = table_finish(t, ctl, err);
    molecule_rows_free(&m.rows);
    buf_free(&notes);
    return rc;
}

const struct import_option smiles_options[] = {
    { .name = "smiles", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 9,
      .field = offsetof(struct import_opts, smiles),
      .help = "the column of SMILES for the two options below (default: the one called smiles)" },
    { .name = "fingerprint", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 9,
      .field = offsetof(struct import_opts, fingerprint),
      .help = "add counts of molecules: morgan(radius=2,size=0), by RDKit, or lingo(length=4)" },
    { .name = "descriptors", .type = IMPORT_SWITCH, .flags = IMPORT_NEW_DATA, .place = 10,
      .field = offsetof(struct import_opts, descriptors),
      .help = "add ten descriptors of the molecules in the column of SMILES, by RDKit" },
    { .name = "invalid", .type = IMPORT_CHOICE, .place = 10, .choices = "missing|stop",
      .field = offsetof(struct import_opts, invalid),
      .help = "molecules that cannot be read: missing cells, or stop at once" },
    { .name = NULL },
};
