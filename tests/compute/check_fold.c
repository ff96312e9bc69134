/* tests/compute/check_fold.c -- sums that do not depend on an order (compute/fold.h): the same bits
 * for permutations and for any grouping, and errors against exact sums in integers. */
#include "compute/fold.h"

#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS = 4096, SUMS = 16, LIMBS = 80, BIAS = 1100, LIMB = 32 };

/* An exact sum: sum of limb[i] 2^(32 i - BIAS). */
struct exact { int64_t limb[LIMBS]; };

static void exact_add(struct exact *e, double v)
{
    int power;
    const int64_t m = (int64_t)ldexp(frexp(v, &power), 53); /* v = m 2^(power - 53) */
    const unsigned at = (unsigned)(power - 53 + BIAS), i = at / LIMB, shift = at % LIMB;
    const int64_t sign = m < 0 ? -1 : 1;
    uint64_t low = (uint64_t)(m * sign);

    /* The mantissa, shifted, lies in three limbs. */
    e->limb[i] += sign * (int64_t)((low << shift) & 0xffffffffu);
    low = shift ? low >> (LIMB - shift) : low >> LIMB;
    e->limb[i + 1] += sign * (int64_t)(low & 0xffffffffu);
    e->limb[i + 2] += sign * (int64_t)(low >> LIMB);
}

/* The exact sum less v. */
static double exact_less(struct exact e, double v)
{
    long double sum = 0.0L;

    exact_add(&e, -v);
    for (size_t i = 0; i + 1 < LIMBS; i++) { /* carries: limbs in [0, 2^32), the last with a sign */
        int64_t carry = e.limb[i] / ((int64_t)1 << LIMB), left = e.limb[i] % ((int64_t)1 << LIMB);
        if (left < 0)
            left += (int64_t)1 << LIMB, carry--;
        e.limb[i] = left;
        e.limb[i + 1] += carry;
    }
    if (e.limb[LIMBS - 1] < 0) { /* the negative of it, so that the leading limbs do not cancel */
        for (size_t i = 0; i < LIMBS; i++)
            e.limb[i] = -e.limb[i];
        for (size_t i = 0; i + 1 < LIMBS; i++)
            if (e.limb[i] < 0)
                e.limb[i] += (int64_t)1 << LIMB, e.limb[i + 1]--;
    }
    for (size_t i = LIMBS; i-- > 0;)
        sum += ldexpl((long double)e.limb[i], (int)(i * LIMB) - BIAS);
    return (double)sum;
}

/* Terms of very different size and either sign, TERMS x SUMS, and their exact sums. */
struct problem { double s[TERMS][SUMS], most[SUMS], C[SUMS]; struct exact exact[SUMS]; };

static struct problem *problem_make(double spread)
{
    struct problem *p = calloc(1, sizeof *p);

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < TERMS; i++)
        for (size_t j = 0; j < SUMS; j++) {
            const size_t at = i * SUMS + j;
            p->s[i][j] = rng_normal(5, rng_stream(RNG_TEST, 1), at) *
                         exp(spread * rng_normal(5, rng_stream(RNG_TEST, 2), at));
            exact_add(&p->exact[j], p->s[i][j]);
        }
    for (size_t i = 0; i < TERMS; i++)
        fold_bound(SUMS, p->s[i], p->most);
    memcpy(p->C, p->most, sizeof p->C);
    fold_units(SUMS, TERMS, p->C);
    return p;
}

struct sums { double one[SUMS], two[SUMS], rest[SUMS]; };

static void add_to(const struct problem *p, size_t i, struct sums *t)
{
    fold_add(SUMS, p->s[i], p->C, t->one);
    fold_add_both(SUMS, TERMS, p->s[i], p->C, t->two, t->rest);
}

START_TEST(permutations_and_groups_have_the_same_bits)
{
    struct problem *p = problem_make(6.0);
    struct sums first = { .one = { 0 } };
    size_t order[TERMS], differ = 0;
    double plain[SUMS] = { 0 }, turned[SUMS] = { 0 };

    for (size_t i = 0; i < TERMS; i++)
        add_to(p, i, &first);
    ck_assert(memcmp(first.one, first.two, sizeof first.one) == 0);
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct sums all = { .one = { 0 } };
        rng_permutation(seed, rng_stream(RNG_TEST, 3), TERMS, order);
        /* Groups of 1, 2, 4, ... ranks, each summed apart; the groups are added from the last. */
        const size_t groups = (size_t)1 << seed % 12;
        for (size_t g = groups; g-- > 0;) {
            struct sums part = { .one = { 0 } };
            for (size_t i = TERMS * g / groups; i < TERMS * (g + 1) / groups; i++)
                add_to(p, order[i], &part);
            for (size_t j = 0; j < SUMS; j++) {
                all.one[j] += part.one[j];
                all.two[j] += part.two[j];
                all.rest[j] += part.rest[j];
            }
        }
        ck_assert(memcmp(&all, &first, sizeof all) == 0);
    }
    /* Plain sums are not so: the test sees a difference. */
    for (size_t i = 0; i < TERMS; i++)
        for (size_t j = 0; j < SUMS; j++) {
            plain[j] += p->s[i][j];
            turned[j] += p->s[TERMS - 1 - i][j];
        }
    for (size_t j = 0; j < SUMS; j++)
        differ += plain[j] != turned[j];
    ck_assert_uint_ge(differ, SUMS / 2);
    free(p);
}
END_TEST

START_TEST(errors_are_those_of_the_header)
{
    static const double spread[] = { 0.0, 2.0, 8.0 };
    struct problem *p = problem_make(spread[_i]);
    struct sums t = { .one = { 0 } };

    for (size_t i = 0; i < TERMS; i++)
        add_to(p, i, &t);
    for (size_t j = 0; j < SUMS; j++) {
        const double one = fabs(exact_less(p->exact[j], t.one[j])) / p->most[j];
        const double both = t.two[j] + t.rest[j];
        const double two = fabs(exact_less(p->exact[j], both)) / p->most[j];
        ck_assert_msg(one <= 3e-11 * (spread[_i] > 1.0 ? 1.0 : 3.0), "one fold: %g", one);
        /* Half a unit in the last place of the sum, and the error of the remainders. */
        ck_assert_msg(two <= 0x1p-53 * fabs(both) / p->most[j] + 1e-19, "two folds: %g", two);
    }
    free(p);
}
END_TEST

START_TEST(edges)
{
    double s[6] = { 0.0, -0.0, 5e-324, 1e300, INFINITY, NAN }, most[6] = { 0 }, sum[6] = { 0 };

    fold_bound(6, s, most);
    ck_assert(most[0] == 0.0 && most[2] == 5e-324 && most[3] == 1e300);
    most[3] = s[3] = 0x1p600;
    fold_units(6, 2, most);
    fold_add(6, s, most, sum);
    fold_add(6, s, most, sum);
    ck_assert(sum[0] == 0.0 && sum[1] == 0.0 && sum[2] == 1e-323 && sum[3] == 0x1p601);
    ck_assert(!isfinite(sum[4]) && isnan(sum[5]));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fold");
    TCase *t = tcase_create("sums");

    tcase_add_test(t, permutations_and_groups_have_the_same_bits);
    tcase_add_loop_test(t, errors_are_those_of_the_header, 0, 3);
    tcase_add_test(t, edges);
    suite_add_tcase(s, t);
    return support_run(s);
}
