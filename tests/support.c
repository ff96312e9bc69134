/* tests/support.c -- see support.h. */
#include "support.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77 };

int support_run(struct Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* The places where the collection may lie, tried in order. */
static bool try_root(const char *root, const char *up, const char *path, char *out, size_t len)
{
    if (!root || !*root)
        return false;
    const int n = snprintf(out, len, "%s%s/%s", root, up, path);
    return n > 0 && (size_t)n < len && access(out, R_OK) == 0;
}

const char *support_shared(const char *path)
{
    char found[PATH_MAX];

    if (!try_root(getenv("GPDESK_SHARED"), "", path, found, sizeof found) &&
        !try_root(getenv("top_srcdir"), "/../shared", path, found, sizeof found) &&
        !try_root(getenv("srcdir"), "/../shared", path, found, sizeof found) &&
        !try_root("..", "/shared", path, found, sizeof found) &&
        !try_root("../..", "/shared", path, found, sizeof found))
        return NULL;
    /* Kept, and kept reachable, until the program ends. */
    static struct kept {
        struct kept *next;
        char path[PATH_MAX];
    } *all;
    struct kept *k = calloc(1, sizeof *k);
    if (!k || !realpath(found, k->path)) {
        perror(found);
        abort();
    }
    k->next = all;
    all = k;
    return k->path;
}

void support_need(const char *path)
{
    if (support_shared(path))
        return;
    printf("../shared/%s is absent\n", path);
    fflush(stdout);
    exit(SKIPPED);
}

/* Adds the name to the list of this run, for tests/scripts/golden.sh; one write, as others do the
 * same. */
static void golden_note(const char *name)
{
    const char *list = getenv("GPDESK_GOLDEN_LIST");
    FILE *f = list ? fopen(list, "a") : NULL;

    if (f == NULL)
        return;
    fprintf(f, "%s %s\n", name, tcase_name() ? tcase_name() : "before the tests");
    fclose(f);
}

static FILE *golden_open(const char *name)
{
    char path[256];
    golden_note(name);
    snprintf(path, sizeof path, "golden/%s.csv", name);
    const char *full = support_shared(path);
    if (!full) {
        fprintf(stderr, "../shared/%s is absent\n", path);
        exit(SKIPPED);
    }
    FILE *f = fopen(full, "r");
    ck_assert_msg(f != NULL, "%s: %s", full, strerror(errno));
    return f;
}

double *support_golden(const char *name, size_t *rows, size_t *cols)
{
    FILE *f = golden_open(name);
    char *line = NULL;
    size_t cap = 0;

    ck_assert_msg(getline(&line, &cap, f) > 0, "golden %s: empty", name);
    const char *r = strstr(line, "rows="), *c = strstr(line, "cols=");
    ck_assert_msg(r && c && sscanf(r, "rows=%zu", rows) == 1 && sscanf(c, "cols=%zu", cols) == 1,
                  "golden %s: first line lacks rows= cols=", name);
    double *v = calloc(*rows * *cols + 1, sizeof *v);
    ck_assert(v != NULL);
    for (size_t i = 0; i < *rows; i++) {
        ck_assert_msg(getline(&line, &cap, f) > 0, "golden %s: ends at row %zu", name, i);
        char *p = line;
        for (size_t j = 0; j < *cols; j++) {
            char *end;
            v[i * *cols + j] = strtod(p, &end);
            ck_assert_msg(end != p && (j + 1 == *cols || *end == ','),
                          "golden %s: row %zu column %zu is not a number", name, i, j);
            p = end + 1;
        }
    }
    free(line);
    fclose(f);
    return v;
}

double support_golden_scalar(const char *name, const char *key)
{
    FILE *f = golden_open(name);
    const size_t n = strlen(key);
    char *line = NULL;
    size_t cap = 0;
    double value = NAN;
    bool found = false;

    while (!found && getline(&line, &cap, f) > 0)
        if (strncmp(line, key, n) == 0 && line[n] == ',') {
            value = strtod(line + n + 1, NULL);
            found = true;
        }
    free(line);
    fclose(f);
    ck_assert_msg(found, "golden %s: no key %s", name, key);
    return value;
}

char **support_golden_strings(const char *name, size_t *n)
{
    FILE *f = golden_open(name);
    char **list = NULL, *line = NULL;
    size_t cap = 0;

    *n = 0;
    for (ssize_t len; (len = getline(&line, &cap, f)) > 0;) {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\r\n")] = '\0';
        list = realloc(list, (*n + 2) * sizeof *list);
        ck_assert(list != NULL);
        list[(*n)++] = strdup(line);
        list[*n] = NULL;
    }
    free(line);
    fclose(f);
    ck_assert_msg(*n > 0, "golden %s: no strings", name);
    return list;
}

void support_strings_free(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
}

void splitmix_init(struct splitmix *g, uint64_t seed)
{
    *g = (struct splitmix){ .state = seed };
}

uint64_t splitmix_next(struct splitmix *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double splitmix_uniform(struct splitmix *g)
{
    return (double)(splitmix_next(g) >> 11) * 0x1p-53;
}

double splitmix_normal(struct splitmix *g)
{
    if (g->have_spare) {
        g->have_spare = false;
        return g->spare;
    }
    const double u1 = splitmix_uniform(g), u2 = splitmix_uniform(g);
    const double radius = sqrt(-2 * log1p(-u1));
    g->spare = radius * sin(2 * M_PI * u2);
    g->have_spare = true;
    return radius * cos(2 * M_PI * u2);
}

char *support_tmpdir(void)
{
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/gpdesk-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) {
        perror(path);
        abort();
    }
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void support_rmdir(char *dir)
{
    if (!dir)
        return;
    if (nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        perror(dir);
        abort();
    }
    free(dir);
}

const char *support_path(const char *dir, const char *name)
{
    static char ring[8][PATH_MAX];
    static unsigned next;
    char *out = ring[next++ % 8];
    snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return out;
}

void support_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

bool support_close(double a, double b, double tol)
{
    return fabs(a - b) <= tol * (1 + fabs(b));
}

/* A file of this build by its whole path, in *out or not at all. */
static bool built(const char *name, char out[4096])
{
    const char *top = getenv("top_builddir");
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", top ? top : ".", name);
    return realpath(path, out) != NULL;
}

bool support_module(const char *variable, const char *file)
{
    char path[4096];

    return built(file, path) && setenv(variable, path, 1) == 0;
}

bool support_crew(enum support_crew by)
{
    static char *path;
    char module[4096], starter[4096], both[16384];

    path = path ? path : strdup(getenv("PATH"));
    setenv("PATH", path, 1);
    if (by == SUPPORT_SOCKETS) {
        ck_assert(built("tests/crew/sockets.so", module) && built("tests/crew", starter));
        snprintf(both, sizeof both, "%s:%s", starter, path);
        setenv("PATH", both, 1);
        setenv("GPDESK_MPI_MODULE", module, 1);
        return true;
    }
    if (!built("libgpdesk-mpi.so", module) || system("mpirun --version >/dev/null 2>&1") != 0)
        return false; /* tests/scripts/ranks/mpi.sh says so */
    setenv("GPDESK_MPI_MODULE", module, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    return true;
}
