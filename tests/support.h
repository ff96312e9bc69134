/* tests/support.h -- what the Check programs share: shared files, golden values, a reproducible
 * generator, a temporary directory, the runner. */
#ifndef GPDESK_TESTS_SUPPORT_H
#define GPDESK_TESTS_SUPPORT_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Check writes each assertion that holds to a file, so that it knows where a test was when it
 * crashed, and moves 8 KiB for each as it reads them.  In loops that took longer than the tests
 * themselves.  Here a thread tells each place once. */
#define _mark_point(file, line)                                                                    \
    ({                                                                                             \
        static _Thread_local bool told_check;                                                      \
        told_check ? (void)0 : (told_check = true, (_mark_point)(file, line));                     \
    })

/* So many draws of a test whose bounds follow from their number: a quarter under a sanitizer, to
 * which one draw is like the next. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SUPPORT_DRAWS(n) ((n) / 4)
#else
#define SUPPORT_DRAWS(n) (n)
#endif

struct Suite;
/* Runs the suite with TAP on stdout; returns main's exit status.  Frees the suite. */
int support_run(struct Suite *);

/* True if processes that share the rows as one (compute/ranks/crew.h) can be started so: by MPI,
 * where the environment then names the module of this build and lets root and more processes than
 * slots through; or by tests/crew/mpirun.c in its place, which is always here. */
enum support_crew { SUPPORT_MPI, SUPPORT_SOCKETS, SUPPORT_CREWS };
bool support_crew(enum support_crew);
/* Names a module of this build (base/module.h) in its variable of the environment; false: it was
 * not built. */
bool support_module(const char *variable, const char *file);
/* Absolute path of a file of the shared collection ("golden/x.csv", "data/kin40k/data.csv.gz"), or
 * NULL when it is absent.  Looked for under $GPDESK_SHARED, else ../shared of the source tree.
 * The string lives until the program ends. */
const char *support_shared(const char *path);
/* For main: ends the program as skipped (status 77, with the reason) when it is absent. */
void support_need(const char *path);

/* Reads ../shared/golden/NAME.csv ("# name rows=R cols=C note" first): R x C row-major doubles,
 * freed by the caller.  Absent: ends the (forked) test with status 77, which counts as skipped.
 * Malformed: fails the test. */
double *support_golden(const char *name, size_t *rows, size_t *cols);
/* One value of a `key,value` file (*_scalars, *_value, splitmix_*). */
double support_golden_scalar(const char *name, const char *key);
/* The lines of a *_strings file: NULL-terminated, freed with support_strings_free. */
char **support_golden_strings(const char *name, size_t *n);
void support_strings_free(char **);

/* The generator of ../shared/golden/README.md: splitmix64; normals by Box-Muller in pairs. */
struct splitmix {
    uint64_t state;
    bool have_spare;
    double spare;
};
void splitmix_init(struct splitmix *, uint64_t seed);
uint64_t splitmix_next(struct splitmix *);
double splitmix_uniform(struct splitmix *); /* [0, 1): the top 53 bits */
double splitmix_normal(struct splitmix *);

/* A fresh directory under $TMPDIR; removed with all it holds by support_rmdir. Both abort on
 * failure.  The string is freed by support_rmdir. */
char *support_tmpdir(void);
void support_rmdir(char *dir);
/* "dir/name", in one of eight rotating buffers. */
const char *support_path(const char *dir, const char *name);
/* Writes n bytes to a file; fails the test when it cannot. */
void support_write(const char *path, const void *bytes, size_t n);

/* |a - b| <= tol (1 + |b|): the T12 and T10 classes of the golden files. */
bool support_close(double a, double b, double tol);

/* A sanitizer takes memory of its own. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SUPPORT_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUPPORT_SANITIZED 1
#endif
#endif

#endif
