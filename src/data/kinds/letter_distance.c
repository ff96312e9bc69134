/* data/kinds/letter_distance.c -- see letter_distance.h. */
#include "data/kinds/letter_distance.h"

#include "data/kinds/sequence.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Variants of one sequence differ from it in few places; unrelated sequences over 20 letters differ
 * in nineteen places of twenty. */
static const double few = 0.35;
static const double moment = 4e8; /* at most so many letters are compared */
enum { SAMPLE_LEAST = 20, SAMPLE_MOST = 1000 };

static size_t differ(const char *a, size_t na, const char *b, size_t nb)
{
    const size_t n = na < nb ? na : nb;
    size_t d = (na > nb ? na : nb) - n;

    for (size_t i = 0; i < n; i++)
        d += a[i] != b[i];
    return d;
}

/* The most frequent letter at each place among the rows, up to the place where most of them have
 * ended. */
static char *find_consensus(const struct row_distance *v, struct err *err)
{
    const struct sequences *seq = v->c->held;
    const size_t places = seq->longest;
    uint32_t(*count)[256] =
        mem_calloc(places ? places : 1, sizeof *count, "letters by position", err);
    char *consensus = count ? mem_calloc(places + 1, 1, "the consensus", err) : NULL;

    for (size_t i = 0; consensus && i < v->ntrain; i++) {
        size_t n;
        const char *s = sequence_at(seq, v->train[i], &n);
        for (size_t p = 0; p < n; p++)
            count[p][(unsigned char)s[p]]++;
    }
    for (size_t p = 0; consensus && p < places; p++) {
        size_t here = 0, best = 0;
        for (size_t c = 1; c < 256; c++) {
            here += count[p][c];
            best = count[p][c] > count[p][best] ? c : best;
        }
        if (2 * here <= v->ntrain)
            break;
        consensus[p] = (char)best;
    }
    free(count);
    return consensus;
}

/* The number of letters of a row that differ from the consensus. */
static size_t changes(const struct row_distance *v, size_t row)
{
    size_t n;
    const char *s = sequence_at(v->c->held, row, &n), *consensus = v->own;

    return differ(s, n, consensus, strlen(consensus));
}

/* The number of letters that differ from the most similar training row other than the row
 * itself. */
static size_t nearest(const struct row_distance *v, size_t row)
{
    size_t n, best = SIZE_MAX;
    const char *s = sequence_at(v->c->held, row, &n);

    for (size_t i = 0; i < v->ntrain && best > 0; i++) {
        size_t m;
        const char *t = sequence_at(v->c->held, v->train[i], &m);
        if (v->train[i] == row || (n > m ? n - m : m - n) >= best)
            continue;
        const size_t d = differ(s, n, t, m);
        best = d < best ? d : best;
    }
    return best;
}

/* A row can agree at no more positions than the shorter of both has. */
static double alike(const struct row_distance *v, size_t row)
{
    size_t n;
    double best = 0.0;
    const char *s = sequence_at(v->c->held, row, &n);

    for (size_t i = 0; i < v->ntrain && best < 1.0; i++) {
        size_t m;
        const char *t = sequence_at(v->c->held, v->train[i], &m);
        const size_t more = n > m ? n : m, less = n > m ? m : n;
        if (v->train[i] == row || more == 0 || (double)less <= best * (double)more)
            continue;
        const double same = (double)(more - differ(s, n, t, m)) / (double)more;
        best = same > best ? same : best;
    }
    return best;
}

static size_t affordable(const struct row_distance *v)
{
    const double each = (double)v->ntrain * (double)(strlen(v->own) + 16),
                 rows = moment / fmax(each, 1.0);

    return rows < SAMPLE_LEAST ? SAMPLE_LEAST : rows > SAMPLE_MOST ? SAMPLE_MOST : (size_t)rows;
}

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static enum status open_rows(struct row_distance *v, struct err *err)
{
    v->own = find_consensus(v, err);
    size_t *all = v->own ? mem_calloc(v->ntrain, sizeof *all, "letters that differ", err) : NULL;

    if (!all)
        return ST_NOMEM;
    for (size_t i = 0; i < v->ntrain; i++)
        all[i] = changes(v, v->train[i]);
    qsort(all, v->ntrain, sizeof *all, by_size);
    v->median = all[v->ntrain / 2];
    v->q99 = all[(size_t)(0.99 * (double)(v->ntrain - 1))];
    v->most = all[v->ntrain - 1];
    v->related = (double)v->median <= few * (double)strlen(v->own);
    v->affordable = affordable(v);
    free(all);
    return ST_OK;
}

const struct distance_ops letter_distance_ops = {
    .open = open_rows, .close = free, .changes = changes, .nearest = nearest,
    .alike = alike };
