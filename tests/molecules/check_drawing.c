/* tests/molecules/check_drawing.c -- drawings of molecules: the text against values written down by
 * hand, counts without an atom, and any other text refused. */
#include "data/molecules/drawing.h"
#include "support.h"

#include <check.h>
#include <math.h>

/* Propan-1-ol without its hydrogens, C-C-C-O, and environments by hand: radius 0 of each atom, the
 * two in the middle of the chain alike, and radius 1 of atoms 1 and 3. */
static const char text[] = "a C 0 3 0 0;a C 0 2 866 500;a C 0 2 1732 0;a O -1 1 2598 -500;"
                           "b 0 1 1;b 1 2 1;b 2 3 2;"
                           "e 10 0 0;e 20 1 0;e 20 2 0;e 4294967295 3 0;e 30 0 1;e 25 2 1;";

static void check_counts(const struct drawing *d, size_t without, bool bits, size_t n,
                         const struct count *want)
{
    struct count got[6];
    struct err err = { 0 };

    ck_assert_uint_eq(drawing_counts(d, without, bits, got, &err), n);
    for (size_t i = 0; i < n; i++)
        ck_assert(got[i].place == want[i].place && got[i].value == want[i].value);
}

START_TEST(counts_without_an_atom)
{
    struct drawing d;
    struct err err = { 0 };

    ck_assert_int_eq(drawing_parse_for_tests(text, &d, &err), ST_OK);
    ck_assert(d.atoms == 4 && d.bonds == 3 && d.environments == 6);
    ck_assert_str_eq(d.atom[3].element, "O");
    ck_assert(d.atom[3].charge == -1 && d.atom[3].hydrogens == 1 && d.bond[2].order == 2);
    ck_assert(fabs(d.atom[3].x - 2.598) < 1e-12 && fabs(d.atom[3].y + 0.5) < 1e-12);
    check_counts(&d, SIZE_MAX, false, 5, (const struct count[]){ { 1, 10, 0 }, { 2, 20, 0 },
                 { 1, 25, 0 }, { 1, 30, 0 }, { 1, 4294967295u, 0 } });
    check_counts(&d, SIZE_MAX, true, 5, (const struct count[]){ { 1, 10, 0 }, { 1, 20, 0 },
                 { 1, 25, 0 }, { 1, 30, 0 }, { 1, 4294967295u, 0 } });
    /* without the oxygen that of atom 2 with radius 1 goes, too */
    check_counts(&d, 3, false, 3, (const struct count[]){ { 1, 10, 0 }, { 2, 20, 0 },
                 { 1, 30, 0 } });
    /* without atom 1 both of radius 1 go */
    check_counts(&d, 1, false, 3, (const struct count[]){ { 1, 10, 0 }, { 1, 20, 0 },
                 { 1, 4294967295u, 0 } });
    drawing_free(&d);
}
END_TEST

START_TEST(other_texts)
{
    static const char *const bad[] = {
        "", "a C 0 3 0 0", "a C 0 3 0;", "a C+ 0 3 0 0;", "b 0 1 1;", "a C 0 3 0 0;b 0 1 1;",
        "a C 0 3 0 0;e 1 1 0;", "a C 0 3 0 0;e 1 0 17;", "a C 0 3 0 0;;", "a C 0 3 0 0;x 1;",
        "a C 0 3 0 0;a C 0 3 1 1;b 0 1 5;", "a C 0 3 0 0 0;", "a C 0 3 999999999 0;",
        "a C 0 3 0 0;e 1 99999999 0;",
        "a C 0 3 0 0                                                                      0;",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct drawing d;
        struct err err = { 0 };
        ck_assert_msg(drawing_parse_for_tests(bad[i], &d, &err) == ST_FORMAT, "%s", bad[i]);
        ck_assert_str_ne(err.msg, "");
        drawing_free(&d);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("drawing");
    TCase *c = tcase_create("text");

    tcase_add_test(c, counts_without_an_atom);
    tcase_add_test(c, other_texts);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_run(suite());
}
