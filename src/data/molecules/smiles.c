/* data/molecules/smiles.c -- columns made from SMILES (smiles.h). */
#include "data/molecules/smiles.h"

#include "data/molecules/molecules.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { TOLD = 3, HELPERS_MOST = 4 };

/* The first molecules that could not be read, in the order of their rows. */
struct unread {
    size_t n; /* how many there are */
    size_t row[TOLD];
    char reason[TOLD][MOLECULES_REASON_MOST + 1];
};
struct making {
    const struct table *t;
    const struct column *smiles;
    size_t *row; /* of each molecule: rows with a missing cell are left out */
    size_t n;
    double *v[MOLECULES_DESCRIPTORS]; /* of each row */
    struct unread unread;
};

static const char *const descriptor[] = {
#define NAME(word, words) word,
    MOLECULES_DESCRIPTOR_ROWS(NAME)
#undef NAME
};

/* Which column. */

bool smiles_asked(const struct import_opts *opts)
{
    return opts->descriptors > 0;
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
        err_hint(err, "open FILE smiles=COLUMN descriptors=yes");
        return ST_NOT_FOUND;
    }
    if (t->col[*j].type != COL_REAL)
        return ST_OK;
    err_named(err, ST_NOT_FOUND, "smiles", "column %s holds numbers and no SMILES",
              text_quoted(name, quoted, sizeof quoted));
    err_hint(err, "open FILE smiles=COLUMN descriptors=yes");
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

static const char *text_at(void *ctx, size_t i, size_t *length)
{
    const struct making *m = ctx;
    const char *s = column_word(m->smiles, m->row[i]);

    *length = strlen(s);
    return s;
}

/* Answers come in any order. */
static void note_unread(struct unread *u, size_t row, const char *reason)
{
    size_t k = u->n < TOLD ? u->n : TOLD;

    u->n++;
    while (k > 0 && u->row[k - 1] > row)
        k--;
    if (k == TOLD)
        return;
    for (size_t i = TOLD - 1; i > k; i--) {
        u->row[i] = u->row[i - 1];
        memcpy(u->reason[i], u->reason[i - 1], sizeof u->reason[i]);
    }
    u->row[k] = row;
    snprintf(u->reason[k], sizeof u->reason[k], "%s", reason);
}

static enum status take(void *ctx, size_t i, const struct molecule *one, struct err *err)
{
    struct making *m = ctx;

    (void)err;
    if (one->state != MOLECULE_READ) {
        note_unread(&m->unread, m->row[i], one->reason);
        return ST_OK;
    }
    for (size_t k = 0; k < MOLECULES_DESCRIPTORS; k++)
        if (isfinite(one->descriptor[k]))
            m->v[k][m->row[i]] = one->descriptor[k];
    return ST_OK;
}

static enum status read_molecules(struct making *m, const struct ctl *ctl, struct err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct molecules_ask ask = { .want = MOLECULES_DESCRIBED };
    const struct molecules_limits limits = {
        .helpers = cores < 1 ? 1 : cores > HELPERS_MOST ? HELPERS_MOST : (size_t)cores };
    const size_t n = m->t->n;

    m->row = mem_calloc(n + 1, sizeof *m->row, "molecules", err);
    if (m->row == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (column_word(m->smiles, i) != NULL)
            m->row[m->n++] = i;
    for (size_t k = 0; k < MOLECULES_DESCRIPTORS; k++) {
        m->v[k] = mem_calloc(n + 1, sizeof **m->v, "descriptors", err);
        if (m->v[k] == NULL)
            return ST_NOMEM;
        for (size_t i = 0; i < n; i++)
            m->v[k][i] = NAN;
    }
    const struct molecules_list list = { m->n, m, text_at, take };
    return molecules_read(&list, &ask, &limits, ctl, err);
}

/* The columns. */

static enum status note(const struct making *m, struct buf *out, struct err *err)
{
    const struct unread *u = &m->unread;
    char version[MOLECULES_REASON_MOST + 1], name[64];
    const enum status rc = molecules_version(version, sizeof version, err);

    if (rc != ST_OK)
        return rc;
    buf_printf(out, "note[molecules]: %d descriptors of %zu molecules in %s, by RDKit %s\n",
               MOLECULES_DESCRIPTORS, m->n - u->n,
               text_quoted(m->smiles->name, name, sizeof name), version);
    if (u->n == 0)
        return ST_OK;
    buf_printf(out, "warning[unread]: %zu molecule%s cannot be read and %s missing cells: ", u->n,
               u->n == 1 ? "" : "s", u->n == 1 ? "has" : "have");
    for (size_t k = 0; k < TOLD && k < u->n; k++) {
        buf_puts(out, k > 0 ? "; " : "");
        table_where(m->t, m->smiles, u->row[k], out);
        buf_puts(out, ": ");
        text_safe(out, u->reason[k], 0);
    }
    buf_puts(out, u->n > TOLD ? "; ..\n" : "\n");
    return ST_OK;
}

/* Makes a column of numbers; it takes the array. */
static enum status fill(struct making *m, size_t k, struct column *c, struct err *err)
{
    struct buf name = { 0 };

    buf_printf(&name, "%s.%s", m->smiles->name, descriptor[k]);
    *c = (struct column){ .name = buf_take(&name), .type = COL_REAL, .named = true,
                          .integers = true };
    if (c->name == NULL)
        return err_nomem(err, 0, "the name of a column");
    c->v = m->v[k];
    m->v[k] = NULL;
    for (size_t i = 0; i < m->t->n; i++) {
        c->missing += isnan(c->v[i]);
        c->integers = c->integers && (isnan(c->v[i]) || c->v[i] == floor(c->v[i]));
    }
    return ST_OK;
}

/* No column of the table may have the name of one of ours. */
static enum status names_free(const struct making *m, struct err *err)
{
    struct buf name = { 0 };
    enum status rc = ST_OK;

    for (size_t k = 0; k < MOLECULES_DESCRIPTORS && rc == ST_OK; k++) {
        buf_clear(&name);
        buf_printf(&name, "%s.%s", m->smiles->name, descriptor[k]);
        if (table_find(m->t, buf_str(&name)) == SIZE_MAX)
            continue;
        rc = err_named(err, ST_FORMAT, "smiles", "the file has a column %.80s already",
                       buf_str(&name));
        err_hint(err, "open FILE   (without descriptors=yes)");
    }
    buf_free(&name);
    return rc;
}

/* Puts the columns before column j. */
static enum status insert(struct table *t, size_t j, struct making *m, struct err *err)
{
    const size_t more = MOLECULES_DESCRIPTORS, all = t->ncols + more;
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
    struct making m = { .t = t };
    struct buf notes = { 0 };
    size_t j;
    enum status rc = find(t, opts, &j, err);

    if (rc == ST_OK && t->col[j].type == COL_CATEGORY)
        rc = table_column_to_text(&t->col[j], t->n, err);
    if (rc == ST_OK) {
        m.smiles = &t->col[j];
        rc = names_free(&m, err);
    }
    if (rc == ST_OK)
        rc = read_molecules(&m, ctl, err);
    if (rc == ST_OK)
        rc = note(&m, &notes, err);
    if (rc == ST_OK)
        rc = insert(t, j, &m, err);
    if (rc == ST_OK)
        rc = table_add_notes(t, &notes, err);
    if (rc == ST_OK)
        rc = table_finish(t, ctl, err);
    for (size_t k = 0; k < MOLECULES_DESCRIPTORS; k++)
        free(m.v[k]);
    free(m.row);
    buf_free(&notes);
    return rc;
}

const struct import_option smiles_options[] = {
    { .name = "smiles", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 9,
      .field = offsetof(struct import_opts, smiles),
      .help = "the column of SMILES that descriptors= reads (default: the one called smiles)" },
    { .name = "descriptors", .type = IMPORT_SWITCH, .flags = IMPORT_NEW_DATA, .place = 10,
      .field = offsetof(struct import_opts, descriptors),
      .help = "add ten descriptors of the molecules in the column of SMILES, by RDKit" },
    { .name = NULL },
};
