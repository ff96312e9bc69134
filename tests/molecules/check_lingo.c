/* tests/molecules/check_lingo.c -- LINGO counts of SMILES, against pieces cut from letters that
 * were written down by hand. */
#include "data/molecules/lingo.h"
#include "support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pieces of a text whose letters are given, counted one by one without sorting or hashing. */
static void check_lingo(const char *text, const char *letters, size_t length)
{
    struct lingo l = { 0 };
    struct err err = { 0 };
    size_t total = 0;
    const size_t k = strlen(letters), pieces = k == 0 ? 0 : k > length ? k - length + 1 : 1;

    ck_assert_int_eq(lingo_counts(text, strlen(text), length, &l, &err), ST_OK);
    for (size_t i = 0; i < l.n; i++) {
        total += l.count[i];
        ck_assert(i == 0 || l.place[i] > l.place[i - 1]);
    }
    ck_assert_uint_eq(total, pieces);
    for (size_t i = 0; i < pieces; i++) {
        const size_t n = k < length ? k : length;
        uint32_t place = 0, times = 0;
        for (size_t j = 0; j < n; j++)
            place = place * 256 + (unsigned char)letters[i + j];
        for (size_t j = 0; j < pieces; j++)
            times += strncmp(letters + i, letters + j, n) == 0;
        if (length > 4)
            continue;
        size_t at = 0;
        while (at < l.n && l.place[at] != place)
            at++;
        ck_assert_msg(at < l.n && l.count[at] == times, "%s: %.*s", text, (int)n, letters + i);
    }
    lingo_free(&l);
}

/* The letters were written down by hand. */
START_TEST(lingo_pieces)
{
    static const char *const text[][2] = {
        { "", "" },
        { "C", "C" },
        { "CCO", "CCO" },
        { "CCCCCC", "CCCCCC" },
        { "Clc1ccccc1Br", "Lc0ccccc0R" },
        { "C1CC2CCC1C2", "C0CC0CCC0C0" },
        { "C%12CCCCC%12", "C0CCCCC0" },
        { "C%1", "C%0" },
        { "[13CH4]C1CC1[NH3+]", "[13CH4]C0CC0[NH3+]" },
        { "[Cl-].[Br-]", "[L-].[R-]" },
        { "[Fe+2]", "[Fe+2]" },
        { "CC[C@@H](Cl)Br", "CC[C@@H](L)R" },
    };

    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        for (size_t length = 1; length <= 6; length++)
            check_lingo(text[i][0], text[i][1], length);
}
END_TEST

/* Equal for texts that differ in the numbers of rings alone; different where a letter differs. */
START_TEST(lingo_distinguishes)
{
    static const char *const text[] = { "C1CCCC1CCC", "C3CCCC3CCC", "C1CCCC1CCN" };
    struct lingo l[3] = { 0 };
    struct err err = { 0 };

    for (size_t length = 3; length <= LINGO_LENGTH_MOST; length++) {
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(lingo_counts(text[i], 10, length, &l[i], &err), ST_OK);
        ck_assert_uint_eq(l[0].n, l[1].n);
        ck_assert_int_eq(memcmp(l[0].place, l[1].place, l[0].n * sizeof(uint32_t)), 0);
        ck_assert(l[0].n != l[2].n ||
                  memcmp(l[0].place, l[2].place, l[0].n * sizeof(uint32_t)) != 0);
    }
    ck_assert_int_eq(lingo_counts("C", 1, 0, &l[0], &err), ST_RANGE);
    ck_assert_int_eq(lingo_counts("C", 1, LINGO_LENGTH_MOST + 1, &l[0], &err), ST_RANGE);
    for (size_t i = 0; i < 3; i++)
        lingo_free(&l[i]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("lingo");
    TCase *c = tcase_create("pieces");

    tcase_add_test(c, lingo_pieces);
    tcase_add_test(c, lingo_distinguishes);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_run(suite());
}
