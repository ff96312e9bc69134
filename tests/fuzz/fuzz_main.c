/* tests/fuzz/fuzz_main.c -- runs a fuzz entry point without libFuzzer, inside `make check`: every
 * file of the corpus as it is, then seeded mutations of them.
 *     fuzz_x DIR [seconds]     with FUZZ_KEEP set the last input stays in fuzz.bad
 * It stops after 200,000 mutations.  In a slice, FUZZ_SECONDS replaces the seconds, without such an
 * end, and FUZZ_SEED begins another sequence. */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { MAX_FILES = 2000, MAX_BYTES = 1 << 16 };

struct input {
    uint8_t *b;
    size_t n;
};

#pragma weak LLVMFuzzerCustomMutator

static struct input corpus[MAX_FILES];
static size_t nfiles;

static uint64_t state = 20261120;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void load(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    uint8_t *b = malloc(MAX_BYTES);
    if (f == NULL || b == NULL) {
        perror(path);
        exit(1);
    }
    size_t n = fread(b, 1, MAX_BYTES, f);
    fclose(f);
    corpus[nfiles++] = (struct input){ b, n };
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_all(const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.' && nfiles < MAX_FILES)
            load(dir, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

/* Changes data in place; returns the new length. */
static size_t mutate(uint8_t *data, size_t n)
{
    static const char *const piece[] = { ",", ";", "\t", "\n", "\r\n", "\"", "\"\"", "#", "-", ".",
                                         "e", "1e999", "nan", "?", "NA", "\xff", "\xef\xbb\xbf",
                                         "0", "99999999999999999999", "a", " ", "(", "}", ":" };
    for (size_t k = 1 + draw() % 5; k > 0; k--) {
        size_t at = n > 0 ? draw() % n : 0;
        const char *p = piece[draw() % (sizeof piece / sizeof *piece)];
        size_t len = strlen(p);
        switch (draw() % 6) {
        case 0:
            if (n > 0)
                data[at] = (uint8_t)draw();
            break;
        case 1:
            if (n > 0)
                memmove(data + at, data + at + 1, --n - at);
            break;
        case 2:
            if (n > 0)
                n = at;
            break;
        case 3: { /* a part of another input */
            const struct input *o = &corpus[draw() % nfiles];
            size_t from = o->n > 0 ? draw() % o->n : 0, take = o->n - from;
            take = take > MAX_BYTES - at ? MAX_BYTES - at : take;
            memcpy(data + at, o->b + from, take);
            n = at + take > n ? at + take : n;
            break;
        }
        case 4: /* said twice */
            if (n - at < MAX_BYTES - n) {
                memmove(data + n, data + at, n - at);
                n += n - at;
            }
            break;
        default:
            if (n + len < MAX_BYTES) {
                memmove(data + at + len, data + at, n - at);
                memcpy(data + at, p, len);
                n += len;
            }
        }
    }
    return n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Written before each run, so that a crash leaves its input behind. */
static void leave(const uint8_t *b, size_t n)
{
    FILE *f = fopen("fuzz.bad", "wb");
    if (f == NULL)
        return;
    fwrite(b, 1, n, f);
    fclose(f);
}

int main(int argc, char **argv)
{
    const char *base = argc > 1 ? argv[1] : getenv("FUZZ_CORPUS");
    double limit = argc > 2 ? strtod(argv[2], NULL) : 3.0;
    const bool keep = getenv("FUZZ_KEEP") != NULL;
    const char *slice = getenv("FUZZ_SECONDS"), *seed = getenv("FUZZ_SEED");
    const size_t most = slice != NULL ? SIZE_MAX : 200000;
    uint8_t *data = malloc(MAX_BYTES + 16);
    size_t runs = 0;
    limit = slice != NULL ? strtod(slice, NULL) : limit;
    state = seed != NULL ? strtoull(seed, NULL, 10) : state;
    if (base != NULL)
        load_all(base);
    if (nfiles == 0 || data == NULL) {
        printf("no corpus in %s\n", base != NULL ? base : "(none)");
        free(data);
        return 1;
    }
    for (size_t i = 0; i < nfiles; i++)
        LLVMFuzzerTestOneInput(corpus[i].b, corpus[i].n);
    for (double end = now() + limit; now() < end && runs < most; runs++) {
        const struct input *o = &corpus[draw() % nfiles];
        memcpy(data, o->b, o->n);
        size_t n = LLVMFuzzerCustomMutator != NULL
                       ? LLVMFuzzerCustomMutator(data, o->n, MAX_BYTES, (unsigned)draw())
                       : mutate(data, o->n);
        if (keep)
            leave(data, n);
        LLVMFuzzerTestOneInput(data, n);
    }
    for (size_t i = 0; i < nfiles; i++)
        free(corpus[i].b);
    free(data);
    printf("1..1\nok 1 - %zu files and %zu mutations of them\n", nfiles, runs);
    return 0;
}
