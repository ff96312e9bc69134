/* tests/compute/check_threads.c -- whose threads there are: ours and no others, whatever the
 * environment asks of OpenBLAS. */
#include "compute/linalg/blas.h"
#include "compute/pool.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    size_t n = 0;

    if (!d) {
        puts("no /proc here");
        exit(77);
    }
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* The kernel lists a thread for a moment after it has been joined: counts again for up to 10 s. */
static size_t threads_left(size_t wanted)
{
    size_t n = threads_now();

    for (int i = 0; i < 2000 && n > wanted; i++) {
        usleep(5000);
        n = threads_now();
    }
    return n;
}

/* A product, a factorisation and a solve, each of a size for which OpenBLAS would split its work.
 */
static void dense_steps(struct pool *pool)
{
    enum { n = 700 };
    double *A = calloc(2 * n * n, sizeof *A), *B = A + n * n;

    ck_assert_ptr_nonnull(A);
    for (size_t i = 0; i < n * n; i++)
        B[i] = (double)(i * 2654435761U % 1009) / 1009.0;
    ck_assert(blas_dgram(pool, n, n, B, n, A, n, NULL) == ST_OK);
    for (size_t i = 0; i < n; i++)
        A[i * n + i] += n;
    ck_assert(blas_dpotrf(pool, n, A, n, NULL, NULL, NULL) == ST_OK);
    ck_assert(blas_dtrsm(pool, false, n, n, A, n, B, n, NULL) == ST_OK);
    ck_assert(blas_dpotri(pool, n, A, n, NULL) == ST_OK);
    blas_dgemm1(false, false, n, n, n, 1.0, B, n, B, n, 0.0, A, n);
    free(A);
}

static size_t alone; /* threads without any of OpenBLAS: sanitizers may have one */

START_TEST(no_thread_but_ours)
{
    blas_init();
    ck_assert_uint_eq(threads_left(alone), alone);
    dense_steps(NULL);
    ck_assert_uint_eq(threads_left(alone), alone);
    struct pool *pool = pool_new(3, NULL);
    ck_assert_uint_eq(threads_left(alone + 2), alone + 2);
    dense_steps(pool);
    ck_assert_uint_eq(threads_left(alone + 2), alone + 2);
    pool_free(pool);
    blas_init(); /* again, and after its threads have gone */
    dense_steps(NULL);
    ck_assert_uint_eq(threads_left(alone), alone);
}
END_TEST

static void start_anew(char **argv)
{
    execv("/proc/self/exe", argv);
    puts("no /proc here");
    exit(77);
}

/* OpenBLAS reads its variables when it is loaded, and starts its threads then: the program is
 * started anew, once with none of them, to be counted, and once without a word. */
int main(int argc, char **argv)
{
    const char *blas = getenv("OPENBLAS_NUM_THREADS"), *counted = getenv("CHECK_THREADS_ALONE");
    char text[24];

    (void)argc;
#ifdef __SANITIZE_THREAD__
    puts("the sanitizer starts a thread of its own with the first of another's");
    return 77;
#endif
    if (!counted && (!blas || strcmp(blas, "1") != 0)) {
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        start_anew(argv);
    }
    if (!counted) {
        snprintf(text, sizeof text, "%zu", threads_now());
        setenv("CHECK_THREADS_ALONE", text, 1);
        unsetenv("OPENBLAS_NUM_THREADS");
        start_anew(argv);
    }
    alone = strtoull(counted, NULL, 10);
    Suite *s = suite_create("threads");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_thread_but_ours);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK); /* a fork sends OpenBLAS's threads home by itself */
    srunner_set_tap(r, "-");
    srunner_run_all(r, CK_SILENT);
    srunner_free(r);
    return 0;
}
