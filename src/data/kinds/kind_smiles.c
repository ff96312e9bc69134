/* data/kinds/kind_smiles.c -- columns of SMILES.  The cells are molecules; kernels read the counts
 * that were made of them, and all about counts is kind_counts.c.
 *
 * A column is read with counts of the pieces of its text, which need no RDKit; `open` and `cols
 * encoding=` make others by the step of data/molecules/molecule_step.h. */
#include "data/kinds/kind.h"

#include "data/encoding_column.h"
#include "data/molecules/drawing.h"
#include "data/molecules/molecule_step.h"
#include "data/molecules/smiles_column.h"
#include "data/molecules/smiles_syntax.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LOOKED = 200 }; /* cells that are read before a column is taken for one of SMILES */
static const struct kind_number numbers[] = { { "molecule", true }, { NULL, 0 } };

/* True for names like smiles, SMILES, canonical_smiles, smiles_parent. */
static bool is_named(const char *name)
{
    return strcasestr(name, "smiles") != NULL;
}

/* The name says so, and of evenly spaced cells at least half are a SMILES by the grammar. */
static bool guess(const struct table *t, size_t j)
{
    const struct column *c = &t->col[j];
    const size_t n = t->n < LOOKED ? t->n : LOOKED;
    size_t read = 0, good = 0, at;

    for (size_t k = 0; is_named(c->name) && k < n; k++) {
        const char *w = column_word(c, (size_t)((double)k * (double)t->n / (double)n));
        read += w != NULL;
        good += w != NULL && smiles_syntax_wrong(w, strlen(w), &at) == NULL;
    }
    return good > 0 && 2 * good >= read;
}

static enum status make(const struct table *t, size_t j, struct column *to, struct err *err)
{
    struct molecule_rows rows = { .n = t->n, .want = MOLECULES_COUNTS };
    const char **text = smiles_column_texts(t, &t->col[j], err);

    if (text == NULL)
        return ST_NOMEM;
    rows.text = text;
    enum status rc = fingerprint_parse("lingo", "encoding", &rows.how, err);
    if (rc == ST_OK)
        rc = molecule_rows_read(&rows, NULL, err);
    if (rc == ST_OK)
        rc = smiles_column_make(t->n, text, &rows, to, err);
    rows.text = NULL;
    molecule_rows_free(&rows);
    free(text);
    return rc;
}

static void note(const struct table *t, const struct column *c, struct buf *notes)
{
    buf_puts(notes, "note[smiles]: column '");
    text_safe(notes, c->name, 40);
    buf_printf(notes, "' holds %zu molecule%s as SMILES (kernel tanimoto compares them)\n",
               t->n - c->missing, t->n - c->missing == 1 ? "" : "s");
}

/* Counts, as kind_counts.c reads them. */

static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    return kind_counts.fit(f, c);
}

static enum status coding(const struct column *c, const char *word, struct err *err)
{
    struct fingerprint how;

    (void)c;
    return strcmp(word, "onehot") == 0 ? ST_OK : fingerprint_parse(word, "encoding", &how, err);
}

static size_t length(const struct column *c, size_t row)
{
    return kind_counts.length(c, row);
}

static size_t longest(const struct column *c)
{
    return kind_counts.longest(c);
}

static enum status fit_positions(struct encoding_fitting *f, struct enc_held *held,
                                 const struct column *c)
{
    return kind_counts.fit_positions(f, held, c);
}

static void positions(const struct enc_held *e, const struct column *c, const void *map, size_t row,
                      size_t room, double *x)
{
    kind_counts.positions(e, c, map, row, room, x);
}

static enum status map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    return kind_counts.map(e, g, err);
}

static enum cell_state judge(const struct encoding *e, const struct encode_group *g, size_t row)
{
    return kind_counts.judge(e, g, row);
}

static void encode_counts(const struct encoding *e, const struct encode_group *g, size_t row,
                          double *x, size_t *cut)
{
    kind_counts.encode(e, g, row, x, cut);
}

static const char *check(struct enc_held *held)
{
    return kind_counts.check(held);
}

static bool suits(const struct enc_held *held, const struct enc_col *col)
{
    return kind_counts.suits(held, col);
}

/* Examining rows: of a fingerprint by RDKit atom by atom, of pieces of text piece by piece. */

/* True if an atom can be left out; RANGE, UNSUPPORTED, NOT_FOUND, BACKEND, IO with *err. */
static enum status draw(const struct column *c, size_t row, struct fingerprint *how,
                        struct drawing *d, struct err *err)
{
    const struct smiles_column *s = smiles_column_of(c);
    const enum status rc = fingerprint_parse(s->how, "encoding", how, err);

    *d = (struct drawing){ 0 };
    return rc == ST_OK && !how->lingo ? drawing_read(s->text[row], how, d, err) : rc;
}

static char *atom_names(const struct drawing *d, struct err *err)
{
    struct buf out = { 0 };

    for (size_t i = 0; i < d->atoms; i++)
        buf_printf(&out, "%s%s%zu", i > 0 ? "\n" : "", d->atom[i].element, i + 1);
    char *names = buf_take(&out);
    if (names == NULL)
        err_nomem(err, 0, "names");
    return names;
}

/* Pieces of up to four letters are their places. */
static char *piece_names(const struct counts *s, size_t row, struct err *err)
{
    struct buf out = { 0 };

    for (size_t k = s->at[row]; k < s->at[row + 1]; k++) {
        buf_puts(&out, out.len > 0 ? "\n" : "");
        for (int shift = 24; shift >= 0; shift -= 8)
            if (s->count[k].place >> shift & 255)
                buf_putc(&out, (char)(s->count[k].place >> shift & 255));
    }
    char *names = buf_take(&out);
    if (names == NULL)
        err_nomem(err, 0, "names");
    return names;
}

static enum status variants(const struct column *c, size_t row, struct row_variants *v,
                            struct err *err)
{
    struct fingerprint how;
    struct drawing d;
    enum status rc = draw(c, row, &how, &d, err);

    *v = (struct row_variants){ .choices = 1, .leaves_out = true };
    if (rc == ST_OK && how.lingo) {
        rc = kind_counts.variants(c, row, v, err);
        v->part = "piece";
        if (rc == ST_OK && how.length <= 4) {
            free(v->names);
            v->names = piece_names(counts_of(c), row, err);
            rc = v->names != NULL ? ST_OK : ST_NOMEM;
        }
    } else if (rc == ST_OK) {
        v->positions = d.atoms;
        v->part = "atom";
        v->names = atom_names(&d, err);
        rc = v->names != NULL ? ST_OK : ST_NOMEM;
    }
    drawing_free(&d);
    return rc;
}

/* The environments have to make the counts that the column has: another RDKit may not. */
static bool agrees(const struct counts *s, size_t row, const struct count *own, size_t n)
{
    bool same = n == counts_places(s, row);

    for (size_t k = 0; same && k < n; k++)
        same = own[k].place == s->count[s->at[row] + k].place &&
               own[k].value == s->count[s->at[row] + k].value;
    return same;
}

static enum status without_atoms(const struct column *c, size_t row, const struct fingerprint *how,
                                 const struct drawing *d, struct column *to, struct err *err)
{
    const size_t rows = d->atoms + 1, wide = d->environments + 1;
    const bool bits = (how->ask.flags & MOLECULES_BITS) != 0;
    struct count *all = mem_calloc(rows * wide, sizeof *all, "counts", err);
    size_t *from = all != NULL ? mem_calloc(2 * rows, sizeof *from, "counts", err) : NULL;
    bool *missing = from != NULL ? mem_calloc(rows, sizeof *missing, "counts", err) : NULL;
    enum status rc = missing != NULL ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < rows; i++) {
        from[i] = i * wide;
        from[rows + i] = drawing_counts(d, i > 0 ? i - 1 : SIZE_MAX, bits, all + i * wide, err);
        rc = from[rows + i] != SIZE_MAX ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && !agrees(counts_of(c), row, all, from[rows])) {
        rc = err_set(err, ST_STATE, "the counts of row %zu are not those that this RDKit makes, so "
                     "its atoms cannot be told apart", row + 1);
        err_hint(err, "open the file again, then fit");
    }
    if (rc == ST_OK)
        rc = counts_gather(rows, from, from + rows, all, missing, to, err);
    free(all);
    free(from);
    free(missing);
    return rc;
}

static enum status vary(const struct column *c, size_t row, const struct row_variants *v,
                        struct column *to, struct err *err)
{
    struct fingerprint how;
    struct drawing d;
    struct column counts = { 0 };
    enum status rc = draw(c, row, &how, &d, err);

    if (rc == ST_OK && !how.lingo && d.atoms != v->positions)
        rc = err_set(err, ST_FORMAT, "the molecule was drawn twice, and not alike");
    if (rc == ST_OK)
        rc = how.lingo ? counts_leave_out(counts_of(c), row, &counts, err)
                       : without_atoms(c, row, &how, &d, &counts, err);
    if (rc == ST_OK)
        rc = smiles_column_recount(c, row, v->positions + 1, &counts, to, err);
    table_column_clear(&counts);
    drawing_free(&d);
    return rc;
}

/* Describing. */

static void words(const struct column *c, struct buf *out)
{
    buf_printf(out, "molecules as %s, ", smiles_column_of(c)->how);
    kind_counts.measure(c, out);
}

static void measure(const struct column *c, struct buf *out)
{
    words(c, out);
}

const struct row_kind kind_smiles = {
    .name = "smiles",
    .whole = "molecule",
    .part = "place",
    .several = "molecules",
    .cells = &smiles_column_cells,
    .rows = ROWS_NUMBERS | ROWS_COUNTS,
    .sole = true,
    .meek = true,
    .hollow = true,
    .guess = guess,
    .make = make,
    .note = note,
    .opened = molecule_step_opened,
    .fit = fit,
    .numbers = numbers,
    .coding = coding,
    .length = length,
    .longest = longest,
    .fit_positions = fit_positions,
    .positions = positions,
    .map = map,
    .unmap = free,
    .judge = judge,
    .encode = encode_counts,
    .check = check,
    .suits = suits,
    .words = words,
    .measure = measure,
    .reopen = "types=NAME=smiles",
    .variants = variants,
    .vary = vary,
    .example = "smiles\nCCO\nc1ccccc1\nCC(=O)O\nClCCBr\nC[C@H](N)C(=O)O\n",
};
