/* data/molecules/smiles.c -- columns made from SMILES (smiles.h). */
#include "data/molecules/smiles.h"

#include "data/molecules/fingerprint.h"
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
    bool described, counted; /* which columns are wanted */
    double *v[MOLECULES_DESCRIPTORS]; /* of each row */
    struct fingerprint how;
    struct fingerprint_rows counts;
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

    if (one->state != MOLECULE_READ) {
        note_unread(&m->unread, m->row[i], one->reason);
        return ST_OK;
    }
    for (size_t k = 0; k < MOLECULES_DESCRIPTORS && m->described; k++)
        if (isfinite(one->descriptor[k]))
            m->v[k][m->row[i]] = one->descriptor[k];
    return m->counted && !m->how.lingo
               ? fingerprint_rows_add(&m->counts, m->row[i], one->pairs, one->places, one->counts,
                                      err)
               : ST_OK;
}

/* The pieces of each text, which need no RDKit. */
static enum status count_pieces(struct making *m, const struct ctl *ctl, struct err *err)
{
    struct lingo l = { 0 };
    enum status rc = ST_OK;

    for (size_t i = 0; i < m->n && rc == ST_OK; i++) {
        const char *s = column_word(m->smiles, m->row[i]);
        rc = lingo_counts(s, strlen(s), m->how.length, &l, err);
        if (rc == ST_OK)
            rc = fingerprint_rows_add(&m->counts, m->row[i], l.n, (const unsigned char *)l.place,
                                      (const unsigned char *)l.count, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped after %zu of %zu molecules", i, m->n);
    }
    lingo_free(&l);
    return rc;
}

static enum status make_room(struct making *m, struct err *err)
{
    const size_t n = m->t->n;

    m->row = mem_calloc(n + 1, sizeof *m->row, "molecules", err);
    if (m->row == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (column_word(m->smiles, i) != NULL)
            m->row[m->n++] = i;
    for (size_t k = 0; k < MOLECULES_DESCRIPTORS && m->described; k++) {
        m->v[k] = mem_calloc(n + 1, sizeof **m->v, "descriptors", err);
        if (m->v[k] == NULL)
            return ST_NOMEM;
        for (size_t i = 0; i < n; i++)
            m->v[k][i] = NAN;
    }
    return m->counted ? fingerprint_rows_init(&m->counts, n, err) : ST_OK;
}

/* What RDKit is asked: 0 if it is not needed. */
static uint32_t wanted(const struct making *m)
{
    return (m->described ? (uint32_t)MOLECULES_DESCRIBED : 0) |
           (m->counted && !m->how.lingo ? (uint32_t)MOLECULES_COUNTS : 0);
}

static enum status read_molecules(struct making *m, const struct ctl *ctl, struct err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct molecules_limits limits = {
        .helpers = cores < 1 ? 1 : cores > HELPERS_MOST ? HELPERS_MOST : (size_t)cores };
    struct molecules_ask ask = m->how.ask;
    enum status rc = make_room(m, err);

    ask.want = wanted(m);
    const struct molecules_list list = { m->n, m, text_at, take };
    if (rc == ST_OK && ask.want != 0)
        rc = molecules_read(&list, &ask, &limits, ctl, err);
    if (rc == ST_OK && m->counted && m->how.lingo)
        rc = count_pieces(m, ctl, err);
    return rc;
}

/* The columns. */

static enum status note(const struct making *m, struct buf *out, struct err *err)
{
    const struct unread *u = &m->unread;
    char version[MOLECULES_REASON_MOST + 1] = "", name[64];
    const enum status rc =
        wanted(m) != 0 ? molecules_version(version, sizeof version, err) : ST_OK;

    if (rc != ST_OK)
        return rc;
    buf_printf(out, "note[molecules]: %s%s%s of %zu molecules in %s%s%s\n",
               m->described ? "ten descriptors" : "", m->described && m->counted ? " and " : "",
               m->counted ? (m->how.lingo ? "pieces of the text" : "fingerprints") : "",
               m->n - u->n, text_quoted(m->smiles->name, name, sizeof name),
               *version ? ", by RDKit " : "", version);
    if (m->counted)
        buf_printf(out, "note[fingerprint]: kernel tanimoto on %s.%s compares them\n",
                   m->smiles->name, m->how.name);
    if (u->n == 0)
        return ST_OK;
    buf_printf(out, "warning[unreadable]: %zu molecule%s cannot be read and %s missing cells: ",
               u->n, u->n == 1 ? "" : "s", u->n == 1 ? "has" : "have");
    for (size_t k = 0; k < TOLD && k < u->n; k++) {
        buf_puts(out, k > 0 ? "; " : "");
        table_where(m->t, m->smiles, u->row[k], out);
        buf_puts(out, ": ");
        text_safe(out, u->reason[k], 0);
    }
    buf_puts(out, u->n > TOLD ? "; ..\n" : "\n");
    return ST_OK;
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
               m->described && k < MOLECULES_DESCRIPTORS ? descriptor[k] : m->how.name);
    return buf_str(room);
}

/* Makes column k of those that are added; of numbers it takes the array. */
static enum status fill(struct making *m, size_t k, struct column *c, struct err *err)
{
    struct buf name = { 0 };
    enum status rc = ST_OK;

    if (m->described && k < MOLECULES_DESCRIPTORS) {
        *c = (struct column){ .type = COL_REAL, .v = m->v[k], .integers = true };
        m->v[k] = NULL;
        for (size_t i = 0; i < m->t->n; i++) {
            c->missing += isnan(c->v[i]);
            c->integers = c->integers && (isnan(c->v[i]) || c->v[i] == floor(c->v[i]));
        }
    } else {
        rc = fingerprint_rows_column(&m->counts, c, err);
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
        rc = fingerprint_parse(opts->fingerprint, &m.how, err);
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
    fingerprint_rows_free(&m.counts);
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
    { .name = NULL },
};
