/* data/kinds/kind_smiles.c -- columns of SMILES.  The cells are molecules; kernels read the counts
 * that were made of them, and all about counts is kind_counts.c.
 *
 * A column is read with counts of the pieces of its text, which need no RDKit; `open` and `cols
 * encoding=` make others by the step of data/molecules/molecule_step.h. */
#include "data/kinds/kind.h"

#include "data/encoding_column.h"
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
    .example = "smiles\nCCO\nc1ccccc1\nCC(=O)O\nClCCBr\nC[C@H](N)C(=O)O\n",
};
