/* compute/ranks/kept.c -- see kept.h. */
#include "compute/ranks/kept.h"

#include "base/mem.h"
#include "compute/ranks/content.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_MOST = 2 };
static const size_t few_bytes = (size_t)64 << 20;

struct kept {
    struct kept *next; /* the one that was used before */
    size_t users, first, segments;
    struct kept_key key;
    void *memory;
    const double *x;
    uint64_t sum[]; /* of segments */
};

static size_t bytes_of(const struct kept *k)
{
    return (k->key.r1 - k->key.r0) * k->key.inputs * sizeof *k->x;
}

static void put_first(struct kept_store *s, struct kept *k)
{
    for (struct kept **at = &s->first; *at; at = &(*at)->next)
        if (*at == k) {
            *at = k->next;
            break;
        }
    k->next = s->first;
    s->first = k;
}

struct kept *kept_find(struct kept_store *s, const struct kept_key *want, const double **x)
{
    const size_t first = content_segment(want->n, want->r0),
                 segments = content_segment(want->n, want->r1) - first;

    for (struct kept *k = s->first; k; k = k->next) {
        if (!k->key.sum || k->key.n != want->n || k->key.inputs != want->inputs ||
            k->first > first || k->first + k->segments < first + segments ||
            memcmp(k->sum + (first - k->first), want->sum, segments * sizeof *k->sum) != 0)
            continue;
        put_first(s, k);
        k->users++;
        *x = k->x + (want->r0 - k->key.r0) * want->inputs;
        return k;
    }
    return NULL;
}

struct kept *kept_add(struct kept_store *s, const struct kept_key *key, void *memory,
                      const double *x)
{
    const size_t first = content_segment(key->n, key->r0),
                 segments = content_segment(key->n, key->r1) - first;
    struct kept *k = mem_calloc(1, sizeof *k + segments * sizeof *k->sum, "rows", NULL);

    if (!k)
        return NULL;
    k->users = 1;
    k->first = first;
    k->segments = segments;
    k->key = *key;
    k->memory = memory;
    k->x = x;
    if (key->sum) {
        memcpy(k->sum, key->sum, segments * sizeof *k->sum);
        k->key.sum = k->sum;
    }
    put_first(s, k);
    return k;
}

void kept_give(struct kept_store *s, struct kept *k)
{
    if (!k)
        return;
    k->users--;
    if (k->users == 0 && !k->key.sum)
        k->key.n = 0; /* of no use to anyone: the next kept_trim frees it */
    kept_trim(s, bytes_of(k));
}

void kept_trim(struct kept_store *s, size_t bytes)
{
    const size_t most = bytes > few_bytes ? bytes : few_bytes;
    size_t count = 0, sum = 0;

    for (struct kept **at = &s->first, *k; (k = *at) != NULL;) {
        const bool idle = k->users == 0;
        if (idle && (k->key.n == 0 || count == KEPT_MOST || bytes_of(k) > most - sum)) {
            *at = k->next;
            free(k->memory);
            free(k);
            continue;
        }
        count += idle;
        sum += idle ? bytes_of(k) : 0;
        at = &k->next;
    }
}

void kept_free_for_tests(struct kept_store *s)
{
    for (struct kept *k = s->first; k; k = k->next)
        if (k->users == 0)
            k->key.n = 0;
    kept_trim(s, 0);
}
