/* tests/molecules/check_smiles.c -- the grammar of SMILES, and columns of them: rows that are
 * copied, left out and added keep their counts, and equal molecules are found. */
#include "data/kinds/kind.h"
#include "data/molecules/molecule_step.h"
#include "data/molecules/smiles_column.h"
#include "data/molecules/smiles_syntax.h"
#include "data/prepare.h"
#include "support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the documents of OpenSMILES and of RDKit. */
static const char *const good[] = {
    "C", "CCO", "c1ccccc1", "C1CCC1C", "[13CH4]", "[NH4+]", "[Fe++]", "[OH3+]", "F/C=C/F",
    "N[C@@H](C)C(=O)O", "[Na+].[Cl-]", "C%12CC%12", "C%(123)CC%(123)", "C(C)(C)C", "[2H]O[2H]",
    "O=C=O", "C#N", "[cH]1[cH][cH][cH][cH][cH]1", "[Cu+2]", "C1=CC=CC=C1", "*CC*", "[*:1]CC",
    "[#6]", "[NH3]->[Cu]", "ClCCBr", "[se]1cccc1", "C1CC2CC1CC2", "[U@OH25](C)(N)(F)Cl",
    "  CCO ", "C0CC0", "[C@TH1](F)(Cl)(Br)I", "CC(=O)Oc1ccccc1C(=O)O", "[Rh-](Cl)(Cl)", "C$C",
};
static const struct { const char *text; size_t at; } bad[] = {
    { "", 0 },         { "   ", 0 },       { "((((", 1 },    { "C1CC", 0 },   { "C(C", 0 },
    { "CC)", 3 },      { "C()C", 3 },      { "[CH4", 1 },    { "C[Xx]", 3 },  { "C==O", 3 },
    { "=C", 1 },       { "C=", 0 },        { "C.", 0 },      { "C..C", 3 },   { "1CC1", 1 },
    { "C%1CC%1", 2 },  { "word", 1 },      { "CC C", 3 },    { "C\tC", 2 },   { "C(=)C", 4 },
    { "C\x01", 2 },    { "\xc3\xa9", 1 },  { "[C;N]", 3 },   { "C((C))C", 3 },
};

START_TEST(grammar_of_smiles)
{
    size_t at;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(smiles_syntax_wrong(good[i], strlen(good[i]), &at) == NULL, "%s: %s",
                      good[i], smiles_syntax_wrong(good[i], strlen(good[i]), &at));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(smiles_syntax_wrong(bad[i].text, strlen(bad[i].text), &at) != NULL, "%s",
                      bad[i].text);
        ck_assert_msg(at == bad[i].at, "%s: %zu, not %zu", bad[i].text, at, bad[i].at);
    }
    ck_assert_ptr_nonnull(smiles_syntax_wrong("C\0C", 3, &at));
    ck_assert_uint_eq(at, 2);
    ck_assert_ptr_nonnull(smiles_syntax_wrong("[C\0]", 4, &at));
    /* what ends too early is wrong at the end */
    ck_assert_ptr_nonnull(smiles_syntax_wrong("[13", 3, &at));
    ck_assert_uint_eq(at, 0);
}
END_TEST

/* A megabyte, deep nesting and every ring number end soon and within the text. */
START_TEST(grammar_has_limits)
{
    const size_t n = (size_t)1 << 20;
    char *s = malloc(n + 1);
    size_t at;

    ck_assert_ptr_nonnull(s);
    memset(s, 'C', n);
    ck_assert_ptr_null(smiles_syntax_wrong(s, n, &at));
    for (size_t i = 1; i < n; i += 2)
        s[i] = '(';
    ck_assert_ptr_nonnull(smiles_syntax_wrong(s, n, &at));
    ck_assert_uint_eq(at, 2 * 4096 + 2);
    for (size_t i = 0, k = 0; i + 7 < n; i += 7, k++)
        memcpy(s + i, k % 2 ? "C%(777)" : "C%(888)", 7);
    memset(s + n / 7 * 7, 'C', n - n / 7 * 7);
    (void)smiles_syntax_wrong(s, n, &at);
    ck_assert_uint_le(at, n);
    free(s);
}
END_TEST

static struct table *read_text(const char *text)
{
    struct table *t = NULL;
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "m.csv");
    FILE *f = fopen(path, "w");
    struct err err = { 0 };

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_msg(import_file(path, NULL, NULL, &t, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(t->first_line, 2);
    support_rmdir(dir);
    return t;
}

/* Counts of a row as text: "place:count .." */
static char *counts_text(const struct column *c, size_t row)
{
    struct buf b = { 0 };
    const struct counts *s = c->held;

    for (size_t k = s->at[row]; k < s->at[row + 1]; k++)
        buf_printf(&b, "%lu:%g ", (unsigned long)s->count[k].place, s->count[k].value);
    return buf_take(&b);
}

START_TEST(rows_keep_their_counts)
{
    struct table *t = read_text("smiles,y\nCCO,1\nCCCCCO,2\nC1CC,3\nCCO,4\nc1ccccc1,5\n,6\n");
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, "m", "y", &err);
    struct smiles_column_repeats r;
    size_t shared;
    const struct column *c = &t->col[0];

    ck_assert_ptr_eq(kind_of(c), &kind_smiles);
    ck_assert_uint_eq(c->missing, 2); /* the ring that is not closed, and the empty cell */
    ck_assert_ptr_null(column_word(c, 2));
    char *ccc = counts_text(c, 1); /* CCCC twice, CCCO once, by their letters */
    ck_assert_str_eq(ccc, "1128481603:2 1128481615:1 ");
    ck_assert_int_eq(smiles_column_repeated(c, t->n, &t->col[1], NULL, &r, &shared, &err), ST_OK);
    ck_assert(r.molecules == 1 && r.rows == 2 && r.differ == 1);
    ck_assert_msg(prepare_dataset(d, "where y > 1", NULL, NULL, &err) == ST_OK, "%s", err.msg);
    c = &d->table->col[0];
    ck_assert_uint_eq(d->table->n, 5);
    ck_assert(c->missing == 2 && smiles_column_of(c)->unread.n == 1);
    char *again = counts_text(c, 0);
    ck_assert_str_eq(again, ccc);
    ck_assert_int_eq(smiles_column_repeated(c, 5, NULL, NULL, &r, &shared, &err), ST_OK);
    ck_assert_uint_eq(r.molecules, 0);
    free(again);
    /* pieces of another length, and a row that is added: the old rows keep them */
    ck_assert_msg(prepare_dataset(d, "molecules smiles = lingo(length=5)", NULL, NULL, &err) ==
                      ST_OK, "%s", err.msg);
    static const char row[] = "row {\"id\":\"s1\",\"smiles\":\"CCCCCO\",\"y\":9}";
    ck_assert_msg(prepare_dataset(d, row, NULL, NULL, &err) == ST_OK, "%s", err.msg);
    c = &d->table->col[0];
    ck_assert_str_eq(smiles_column_of(c)->how, "lingo(length=5)");
    again = counts_text(c, 0);
    char *added = counts_text(c, 5);
    ck_assert_str_eq(again, added);
    ck_assert_str_ne(again, ccc);
    free(again);
    free(added);
    free(ccc);
    dataset_unref(d);
    table_unref(t);
}
END_TEST

/* Two steps in a row about one column are one; others are not. */
START_TEST(steps_become_one)
{
    static const char *const of[][3] = {
        { "", "molecules a = lingo", "molecules a = lingo" },
        { "molecules a = morgan(radius=2) by 1", "molecules a = scaffold descriptors by 2",
          "molecules a = morgan(radius=2,size=0) descriptors scaffold by 2" },
        { "let b = 1\nmolecules a = morgan(radius=2) scaffold by 1",
          "molecules a = lingo(length=3)",
          "let b = 1\nmolecules a = lingo(length=3) scaffold by 1" },
        { "molecules a = lingo", "molecules b = lingo",
          "molecules a = lingo\nmolecules b = lingo" },
        { "molecules a = lingo", "where a = 1", "molecules a = lingo\nwhere a = 1" },
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct buf b = { 0 };
        molecule_step_add(of[i][0], of[i][1], &b);
        ck_assert_str_eq(buf_str(&b), of[i][2]);
        buf_free(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("smiles");
    TCase *c = tcase_create("smiles");

    tcase_add_test(c, grammar_of_smiles);
    tcase_add_test(c, grammar_has_limits);
    tcase_add_test(c, rows_keep_their_counts);
    tcase_add_test(c, steps_become_one);
    suite_add_tcase(s, c);
    return support_run(s);
}
