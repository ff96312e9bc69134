/* tests/fuzz/fuzz_session.c -- the reader of session files under any contents.
 *
 * Checksums stop random damage before it reaches the reader; a hostile file has them right.  So the
 * input is the text of rows.h, which becomes a session with valid checksums, and anything that is
 * no such text is taken as the bytes of the file itself.  Held to: it opens or is refused with a
 * reason, and then commands that look at everything work.  Files make it slow: fuzz_rows.c reads
 * the same rows in memory. */
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

static uint64_t state;

static size_t draw(size_t below) /* xorshift64: fixed, so that a failure repeats */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (size_t)(state % below) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    state = 88172645463325252u + seed;
    return rows_mutate(data, n, most, draw);
}
