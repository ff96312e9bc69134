/* tests/fuzz/fuzz_session.c -- the reader of session files under any contents.
 *
 * Checksums stop random damage before it reaches the reader; a hostile file has them right.  So the
 * input is the text of rows.h, which becomes a session with valid checksums, and anything that is
 * no such text is taken as the bytes of the file itself.  Held to: it opens or is refused with a
 * reason, and then commands that look at everything work.  Files make it slow: fuzz_rows.c reads
 * the same rows in memory.  Built two ways: with libFuzzer
 *     clang -g -fsanitize=fuzzer,address,undefined -DLIBFUZZER ...
 * and, in `make check`, with a main that runs the corpus and mutations of it by a fixed generator.
 */
#include "fuzz.h"

#include "app/session/store.h"
#include "app/session/store_impl.h"
#include "rows.h"
#include "store_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[200];

static void fail(const char *why)
{
    fprintf(stderr, "fuzz_session: %s\n", why);
    abort();
}

static void clean(void)
{
    char other[256];

    unlink(path);
    snprintf(other, sizeof other, "%s-wal", path);
    unlink(other);
    snprintf(other, sizeof other, "%s-journal", path);
    unlink(other);
}

static void write_rows(char *text)
{
    bool fresh;
    struct sdb *db = store_db_open(path, SDB_CREATE, &fresh, NULL);

    if (!db)
        fail("no session can be made");
    if (store_db_begin(db, NULL) != ST_OK)
        fail("no transaction");
    rows_put(db, text);
    if (store_db_commit(db, NULL) != ST_OK)
        store_db_rollback(db);
    store_db_close(db);
}

static bool is_rows(const uint8_t *data, size_t n)
{
    return !memchr(data, '\0', n) &&
           ((n > 4 && !memcmp(data, "run ", 4)) || (n > 6 && !memcmp(data, "state ", 6)) ||
            (n > 8 && !memcmp(data, "dataset ", 8)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct desk d;
    struct err err = { 0 };
    char *text = malloc(n + 1);

    if (!*path)
        snprintf(path, sizeof path, "%s/fuzz_session-%ld.gpd",
                 getenv("TMPDIR")           ? getenv("TMPDIR")
                 : access("/dev/shm", W_OK) ? "/tmp"
                                            : "/dev/shm",
                 (long)getpid()); /* in memory: the test is about reading, not about disks */
    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    clean();
    if (is_rows(data, n)) {
        write_rows(text);
    } else {
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(data, 1, n, f) != n)
            fail("no file can be written");
        fclose(f);
    }
    free(text);
    if (desk_open(&d, path, &err) != ST_OK) {
        if (!err.msg[0])
            fail("refused without a reason");
    } else {
        /* Whatever was believed is used. */
        (void)desk_run(&d, "runs; data; get; kernel; script all=yes; script");
        (void)desk_run(&d, "describe residual; describe nmll");
        (void)desk_run(&d, "show run:r1; show run:t1; compare r1 t1");
        (void)desk_run(&d, "predict");
    }
    desk_close(&d);
    clean();
    return 0;
}

#ifndef LIBFUZZER
static uint64_t state = 88172645463325252u;
static size_t pick(size_t n) /* xorshift64: fixed, so that a failure repeats */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? (size_t)(state % n) : 0;
}

static uint8_t *load(const char *name, size_t *n)
{
    enum { MOST = 1 << 20 };
    FILE *f = fopen(name, "rb");
    uint8_t *b = malloc(2 * MOST);

    if (!f || !b)
        fail(name);
    *n = fread(b, 1, MOST, f);
    fclose(f);
    return b;
}

int main(int argc, char **argv)
{
    static const char *const own[] = { "small", "exact", "lies" };
    const char *top = getenv("top_srcdir"), *runs = getenv("FUZZ_RUNS");
    const int mutations = runs ? atoi(runs) : 60;
    char name[300];
    size_t done = 0;

    const size_t files = argc > 1 ? (size_t)argc - 1 : sizeof own / sizeof *own;
    for (size_t i = 0; i < files || (argc == 1 && fuzz_goes_on(i, files));
         i++) { /* each, once more while there is time */
        const size_t which = i % files;
        snprintf(name, sizeof name, "%s/tests/fuzz/corpus/session/%s.rows", top ? top : ".",
                 own[which % (sizeof own / sizeof *own)]);
        size_t n, m;
        uint8_t *seed = load(argc > 1 ? argv[which + 1] : name, &n), *b = malloc(n + 4096);
        if (!b)
            fail("out of memory");
        LLVMFuzzerTestOneInput(seed, n);
        for (int k = 0; k < mutations && argc == 1; k++, done++) {
            memcpy(b, seed, n);
            m = rows_mutate(b, n, n + 4096, pick);
            LLVMFuzzerTestOneInput(b, m);
        }
        free(seed);
        free(b);
    }
    printf("1..1\nok 1 - the corpus and %zu mutations of it\n", done);
    return 0;
}
#endif
