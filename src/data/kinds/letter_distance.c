/* data/kinds/letter_distance.c -- see letter_distance.h. */
#include "data/kinds/letter_distance.h"

#include "data/table.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Variants of one sequence differ from it in few places; unrelated ones of 20 letters in nineteen
 * of twenty. */
static const double few = 0.35;
static const double moment = 4e8; /* letters compared, at most */
enum { SAMPLE_LEAST = 20, SAMPLE_MOST = 1000 };

static size_t differ(const char *a, size_t na, const char *b, size_t nb)
{
    const size_t n = na < nb ? na : nb;
    size_t d = (na > nb ? na : nb) - n;

    for (size_t i = 0; i < n; i++)
        d += a[i] != b[i];
    return d;
}

static const struct sequences *input_of(const struct dataset *d)
{
    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->table->col[j].type == COL_SEQUENCE && d->role[j] == ROLE_INPUT &&
            !d->table->col[j].seq->nodes)
            return d->table->col[j].seq;
    return NULL;
}

/* The most frequent letter of each place among the rows, up to where most of them have ended. */
static enum status find_consensus(struct letter_distance *v, struct err *err)
{
    const size_t places = v->seq->longest;
    uint32_t(*count)[256] =
        mem_calloc(places ? places : 1, sizeof *count, "letters by position", err);

    v->consensus = count ? mem_calloc(places + 1, 1, "the consensus", err) : NULL;
    for (size_t i = 0; v->consensus && i < v->ntrain; i++) {
        size_t n;
        const char *s = sequence_at(v->seq, v->train[i], &n);
        for (size_t p = 0; p < n; p++)
            count[p][(unsigned char)s[p]]++;
    }
    for (size_t p = 0; v->consensus && p < places; p++) {
        size_t here = 0, best = 0;
        for (size_t c = 1; c < 256; c++) {
            here += count[p][c];
            best = count[p][c] > count[p][best] ? c : best;
        }
        if (2 * here <= v->ntrain)
            break;
        v->consensus[v->length++] = (char)best;
    }
    free(count);
    return v->consensus ? ST_OK : ST_NOMEM;
}

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

enum status letter_distance_open(const struct dataset *d, struct letter_distance *v,
                                 struct err *err)
{
    *v = (struct letter_distance){ .seq = input_of(d) };
    if (!v->seq)
        return err_set(err, ST_NOT_FOUND, "no input is a sequence of letters");
    enum status rc = dataset_rows(d, PART_TRAIN, &v->train, &v->ntrain, err);
    if (rc == ST_OK && v->ntrain == 0)
        rc = err_set(err, ST_STATE, "there are no training rows");
    if (rc == ST_OK)
        rc = find_consensus(v, err);
    size_t *all =
        rc == ST_OK ? mem_calloc(v->ntrain, sizeof *all, "letters that differ", err) : NULL;
    if (rc == ST_OK && !all)
        rc = ST_NOMEM;
    if (rc == ST_OK) {
        for (size_t i = 0; i < v->ntrain; i++)
            all[i] = letter_distance_changes(v, v->train[i]);
        qsort(all, v->ntrain, sizeof *all, by_size);
        v->median = all[v->ntrain / 2];
        v->q99 = all[(size_t)(0.99 * (double)(v->ntrain - 1))];
        v->most = all[v->ntrain - 1];
        v->related = (double)v->median <= few * (double)v->length;
    }
    free(all);
    if (rc != ST_OK)
        letter_distance_free(v);
    return rc;
}

void letter_distance_free(struct letter_distance *v)
{
    free(v->train);
    free(v->consensus);
    *v = (struct letter_distance){ .seq = NULL };
}

size_t letter_distance_changes(const struct letter_distance *v, size_t row)
{
    size_t n;
    const char *s = sequence_at(v->seq, row, &n);

    return differ(s, n, v->consensus, v->length);
}

size_t letter_distance_nearest(const struct letter_distance *v, size_t row)
{
    size_t n, best = SIZE_MAX;
    const char *s = sequence_at(v->seq, row, &n);

    for (size_t i = 0; i < v->ntrain && best > 0; i++) {
        size_t m;
        const char *t = sequence_at(v->seq, v->train[i], &m);
        if (v->train[i] == row || (n > m ? n - m : m - n) >= best)
            continue;
        const size_t d = differ(s, n, t, m);
        best = d < best ? d : best;
    }
    return best;
}

size_t letter_distance_affordable(const struct letter_distance *v)
{
    const double each = (double)v->ntrain * (double)(v->length + 16),
                 rows = moment / fmax(each, 1.0);

    return rows < SAMPLE_LEAST ? SAMPLE_LEAST : rows > SAMPLE_MOST ? SAMPLE_MOST : (size_t)rows;
}

/* Median of the distances of a sample of rows, evenly spread, to their nearest training rows. */
static size_t median_nearest(const struct letter_distance *v, const size_t *row, size_t n,
                             size_t *room)
{
    const size_t most = letter_distance_affordable(v), m = n < most ? n : most;
    size_t got = 0;

    for (size_t i = 0; i < m; i++) {
        const size_t d =
            letter_distance_nearest(v, row[(size_t)((double)i * (double)n / (double)m)]);
        if (d != SIZE_MAX)
            room[got++] = d;
    }
    qsort(room, got, sizeof *room, by_size);
    return got ? room[got / 2] : 0;
}

enum status letter_distance_compare(const struct dataset *d, const size_t *row, size_t n,
                                    struct variants_look *look, struct err *err)
{
    struct letter_distance v;

    *look = (struct variants_look){ .have = false };
    if (n == 0 || !input_of(d))
        return ST_OK;
    enum status rc = letter_distance_open(d, &v, err);
    if (rc != ST_OK)
        return rc;
    size_t *room = mem_calloc(n > SAMPLE_MOST ? n : SAMPLE_MOST, sizeof *room,
                              "letters that differ", err),
           beyond = 0;
    if (!room) {
        letter_distance_free(&v);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        room[i] = letter_distance_changes(&v, row[i]);
        beyond += room[i] > v.q99;
    }
    qsort(room, n, sizeof *room, by_size);
    *look = (struct variants_look){.have = true,
                                   .related = v.related,
                                   .median = room[n / 2],
                                   .most = room[n - 1],
                                   .train_median = v.median,
                                   .train_most = v.most,
                                   .beyond = (double)beyond / (double)n};
    look->nearest = median_nearest(&v, row, n, room);
    look->train_nearest = median_nearest(&v, v.train, v.ntrain, room);
    free(room);
    letter_distance_free(&v);
    return ST_OK;
}

/* Of honest halves of one sample one row in a hundred is beyond 99 % of the others. */
bool letter_distance_same(const struct variants_look *l)
{
    const double near = (double)l->nearest, own = fmax(1.0, (double)l->train_nearest);

    return near <= 1.5 * own && !(l->related && l->beyond > 0.1);
}
