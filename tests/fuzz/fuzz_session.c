/* tests/fuzz/fuzz_session.c -- the reader of sessions under any contents.
 *
 * Checksums stop random damage before it reaches the reader; a hostile file has them right.  So the
 * input is text, one row a line, that becomes a session with valid checksums:
 *     state NAME JSON | dataset ID JSON | run ID NAME JSON | script ID LINE | blob OWNER WHAT HEX
 * and anything that is no such text is taken as the bytes of the file itself.  Held to: it opens or
 * is refused with a reason, and then commands that look at everything work.  Built two ways: with
 * libFuzzer
 *     clang -g -fsanitize=fuzzer,address,undefined -DLIBFUZZER ...
 * and, in `make check`, with a main that runs the corpus and mutations of it by a fixed generator.
 */
#include "fuzz.h"

#include "app/session/store.h"
#include "app/session/store_impl.h"
#include "store_support.h"

#include <inttypes.h>
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

/* The digits of `text` as bytes, in place. */
static size_t from_hex(char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i] && text[i + 1]; i += 2, n++) {
        char two[3] = { text[i], text[i + 1], '\0' }, *end;
        const unsigned long byte = strtoul(two, &end, 16);
        if (*end)
            break;
        text[n] = (char)byte;
    }
    return n;
}

/* One row; false when the line is none. */
static bool put_row(struct sdb *db, char *line)
{
    char *word[4];
    size_t n = 0;

    for (char *p = line; n < 4; p++) {
        word[n++] = p;
        if (n == 4 || !(p = strchr(p, ' ')))
            break;
        *p = '\0';
    }
    if (n < 3)
        return false;
    const int64_t id = strtoll(word[1], NULL, 10);
    if (n == 4 && (!strcmp(word[0], "state") || !strcmp(word[0], "dataset") ||
                   !strcmp(word[0], "script")))
        word[3][-1] = ' '; /* three words only */
    if (!strcmp(word[0], "state"))
        return store_db_put_state(db, word[1], word[2], NULL) == ST_OK;
    if (!strcmp(word[0], "dataset"))
        return store_db_put_dataset(db, id, word[2], NULL) == ST_OK;
    if (!strcmp(word[0], "script"))
        return store_db_put_script(db, id, word[2], NULL) == ST_OK;
    if (n == 4 && !strcmp(word[0], "run"))
        return store_db_put_run(db, id, word[2], word[3], NULL) == ST_OK;
    if (n == 4 && !strcmp(word[0], "blob"))
        return store_db_put_part(db, word[1], word[2], 0, word[3], from_hex(word[3]), NULL) ==
               ST_OK;
    return false;
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
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        else
            end = line + strlen(line);
        (void)put_row(db, line);
    }
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

/* A few changes of the kind that a reader trips over. */
static size_t mutate(uint8_t *b, size_t n, size_t cap)
{
    static const char *const bits[] = {"-1",   "0",           "1e308", "null", "[]",  "{}",
                                       "\"\"", "99999999999", "1.5",   "true", "rbf", "\\u0000",
                                       ","};

    for (size_t k = 1 + pick(3); k-- > 0 && n > 16;) {
        const size_t at = pick(n), len = pick(n - at < 40 ? n - at : 40);
        const char *bit = bits[pick(sizeof bits / sizeof *bits)];
        switch (pick(4)) {
        case 0: /* another byte */
            b[at] = (uint8_t)(32 + pick(95));
            break;
        case 1: /* a span goes */
            memmove(b + at, b + at + len, n - at - len);
            n -= len;
            break;
        case 2: /* a span twice */
            if (n + len <= cap) {
                memmove(b + at + len, b + at, n - at);
                n += len;
            }
            break;
        default: { /* a value becomes another: from the next colon on */
            uint8_t *colon = memchr(b + at, ':', n - at);
            const size_t room = colon ? n - (size_t)(colon + 1 - b) : 0;
            size_t old = 0;
            while (old < room && !strchr(",}]", colon[1 + old]))
                old++;
            if (colon && n - old + strlen(bit) <= cap) {
                memmove(colon + 1 + strlen(bit), colon + 1 + old, room - old);
                memcpy(colon + 1, bit, strlen(bit));
                n = n - old + strlen(bit);
            }
        }
        }
    }
    return n;
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
            m = mutate(b, n, n + 4096);
            LLVMFuzzerTestOneInput(b, m);
        }
        free(seed);
        free(b);
    }
    printf("1..1\nok 1 - the corpus and %zu mutations of it\n", done);
    return 0;
}
#endif
