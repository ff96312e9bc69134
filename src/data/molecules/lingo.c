/* data/molecules/lingo.c -- counts of the pieces of a SMILES (lingo.h). */
#include "data/molecules/lingo.h"

#include "base/fnv.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool digit(const char *s, size_t n, size_t i)
{
    return i < n && s[i] >= '0' && s[i] <= '9';
}

/* Writes the letters of a text, which are at most as many as its characters.  Returns how many. */
static size_t letters(const char *s, size_t n, char *out)
{
    bool bracket = false;
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        const char next = i + 1 < n ? s[i + 1] : '\0';
        bracket = s[i] == '[' || (bracket && s[i] != ']');
        if ((s[i] == 'C' && next == 'l') || (s[i] == 'B' && next == 'r')) {
            out[k++] = s[i] == 'C' ? 'L' : 'R'; /* neither stands for an element */
            i++;
        } else if (!bracket && s[i] == '%' && digit(s, n, i + 1) && digit(s, n, i + 2)) {
            out[k++] = '0';
            i += 2;
        } else {
            out[k++] = !bracket && digit(s, n, i) ? '0' : s[i];
        }
    }
    return k;
}

/* Up to four letters as they are; more by the hash of Fowler, Noll and Vo with 64 bits, folded. */
static uint32_t place_of(const char *piece, size_t n)
{
    uint32_t packed = 0;

    if (n <= 4) {
        for (size_t i = 0; i < n; i++)
            packed = packed << 8 | (unsigned char)piece[i];
        return packed;
    }
    const uint64_t h = fnv_bytes(FNV_START, piece, n);
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static int by_place(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

enum status lingo_counts(const char *text, size_t n, size_t length, struct lingo *out,
                         struct err *err)
{
    out->n = 0;
    if (length == 0 || length > LINGO_LENGTH_MOST) {
        err_set(err, ST_RANGE, "lingo(length=%zu): expected 1 to %d", length, LINGO_LENGTH_MOST);
        err_hint(err, "cols COLUMN encoding=lingo(length=4)");
        return ST_RANGE;
    }
    if (n == 0)
        return ST_OK;
    enum status rc = mem_grow((void **)&out->place, &out->places_cap, n, sizeof *out->place,
                              "pieces of a SMILES", err);
    if (rc == ST_OK)
        rc = mem_grow((void **)&out->count, &out->counts_cap, n, sizeof *out->count,
                      "pieces of a SMILES", err);
    if (rc != ST_OK)
        return rc;
    char *spelled = (char *)out->count; /* room for the letters, until they are counted */
    const size_t k = letters(text, n, spelled);
    const size_t pieces = k > length ? k - length + 1 : 1;
    for (size_t i = 0; i < pieces; i++)
        out->place[i] = place_of(spelled + i, k < length ? k : length);
    qsort(out->place, pieces, sizeof *out->place, by_place);
    for (size_t i = 0; i < pieces; i++) {
        if (out->n == 0 || out->place[i] != out->place[out->n - 1]) {
            out->place[out->n] = out->place[i];
            out->count[out->n++] = 0;
        }
        out->count[out->n - 1]++;
    }
    return ST_OK;
}

void lingo_free(struct lingo *l)
{
    free(l->place);
    free(l->count);
    *l = (struct lingo){ 0 };
}
