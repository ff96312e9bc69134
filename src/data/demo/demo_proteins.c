/* data/demo/demo_proteins.c -- variants of one protein with a known activity: `demo proteins`.
 *
 * One to ten letters of a sequence of 60 are changed. A change reduces the stability by the
 * difference between the new and the old letter in hydropathy, size, polarity and charge, times how
 * deep in the fold its position lies. Nine pairs of positions are in contact: changing both does
 * not cost the sum of the two. The activity is a sigmoid of the remaining stability, as in a real
 * screen: most variants with one change are fine, and most with ten are dead. */
#include "data/demo/demo_proteins.h"

#include "data/kinds/kind.h"
#include "data/kinds/letters.h"
#include "base/mem.h"
#include "base/spill.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 60, MOST = 10, DRAWS = 64, STREAM_CHANGES = 2, STREAM_NOISE = 3 };
/* Made up: helices with the usual period, not a natural protein. */
static const char parent[LENGTH + 1] =
    "MKELLRAIEEAVKKLGVDPSTAREIAEKLLEEGNVEVRVDGTTFRFESPEEAARFLAEFV";
/* The probability of 1, 2, .. changed letters. */
static const double often[MOST] = { 0.10, 0.20, 0.20, 0.15, 0.12, 0.08, 0.06, 0.04, 0.03, 0.02 };
static const struct { int a, b; double cost; } contact[] = {
    { 3, 27, -1.6 }, { 4, 23, 1.4 }, { 7, 30, -1.2 }, { 11, 20, 1.8 }, { 12, 57, -1.5 },
    { 15, 38, 1.3 }, { 24, 46, -1.8 }, { 36, 44, 1.5 }, { 40, 53, -1.3 },
};
static const double stability = 3.2, highest = 4.0, per_distance = 0.42;

const char *proteins_parent_for_tests(void)
{
    return parent;
}

/* Depth of a position from 0 (outside) to 1 (in the core): one side of each helix, more in the
 * middle. */
static double depth(size_t p)
{
    const double side = 0.5 + 0.5 * cos(2.0 * M_PI * ((double)p - 3.0) / 3.6);
    const double middle = 1.0 - pow(fabs((double)p - 29.5) / 34.0, 4.0);

    return side * side * middle;
}

static double letter_distance(const struct letters *l, char a, char b)
{
    const char *x = strchr(l->order, a), *y = strchr(l->order, b);
    double d = 0.0;

    for (size_t c = 0; x && y && c < l->channels; c++) {
        const double e = l->value[(size_t)(x - l->order) * l->channels + c] -
                         l->value[(size_t)(y - l->order) * l->channels + c];
        d += e * e;
    }
    return d;
}

static double activity_of(const struct letters *l, const char *s)
{
    double left = stability;

    for (size_t p = 0; p < LENGTH; p++)
        if (s[p] != parent[p])
            left -= per_distance * (0.15 + depth(p)) * letter_distance(l, s[p], parent[p]);
    for (size_t k = 0; k < sizeof contact / sizeof *contact; k++)
        if (s[contact[k].a] != parent[contact[k].a] && s[contact[k].b] != parent[contact[k].b])
            left -= contact[k].cost;
    return highest / (1.0 + exp(-left));
}

enum status proteins_activity_for_tests(const char *sequence, double *activity, struct err *err)
{
    struct letters l = { 0 };
    const enum status rc = letters_find("scales", &l, err);

    if (rc == ST_OK && strlen(sequence) == LENGTH)
        *activity = activity_of(&l, sequence);
    letters_free(&l);
    return rc != ST_OK || strlen(sequence) == LENGTH
               ? rc : err_set(err, ST_RANGE, "%zu letters, not %d", strlen(sequence), LENGTH);
}

/* Draws variant i, which is the same for any number of variants. Returns how many letters
 * differ. */
static size_t vary(uint64_t seed, size_t i, const struct letters *l, char *s)
{
    const uint64_t stream = rng_stream(RNG_DEMO, STREAM_CHANGES);
    uint64_t at = (uint64_t)i * DRAWS;
    double u = rng_uniform(seed, stream, at++);
    size_t n = 1;

    for (; n < MOST && u >= often[n - 1]; n++)
        u -= often[n - 1];
    memcpy(s, parent, LENGTH + 1);
    for (size_t k = 0;
         /* a position drawn twice is drawn again; 64 draws are far more than ten positions need. */
         k < n;) {
        const size_t p = (size_t)(rng_uniform(seed, stream, at++) * LENGTH);
        const char c = l->order[(size_t)(rng_uniform(seed, stream, at++) * 20.0)];
        if (at >= (uint64_t)(i + 1) * DRAWS - 2)
            return k;
        if (s[p] == parent[p] && c != parent[p])
            s[p] = c, k++;
    }
    return n;
}

/* Allocates the words of n rows for column c in one block. */
static enum status words(struct column *c, size_t n, size_t room, struct err *err)
{
    c->type = COL_TEXT;
    spill_free(c->v);
    c->v = NULL;
    c->text = mem_calloc(n, sizeof *c->text, "generated data", err);
    c->arena = c->text ? mem_calloc(n, room, "generated data", err) : NULL;
    for (size_t i = 0; c->arena && i < n; i++)
        c->text[i] = c->arena + i * room;
    return c->arena ? ST_OK : ST_NOMEM;
}

static enum status split_words(struct column *c, size_t n, struct err *err)
{
    c->type = COL_CATEGORY;
    spill_free(c->v);
    c->v = NULL;
    c->nlevels = 2;
    c->level = mem_calloc(2, sizeof *c->level, "generated data", err);
    c->arena = c->level ? mem_strdup("train test", err) : NULL;
    c->code = c->arena ? spill_array(n, sizeof *c->code, "generated data", err) : NULL;
    if (!c->code)
        return ST_NOMEM;
    c->arena[5] = '\0';
    c->level[0] = c->arena;
    c->level[1] = c->arena + 6;
    return ST_OK;
}

enum status proteins_make(struct table *t, const struct demo_opts *o, struct err *err)
{
    struct letters l = { 0 };
    enum status rc = letters_find("scales", &l, err);

    if (rc == ST_OK)
        rc = words(&t->col[0], o->n, LENGTH + 1, err);
    if (rc == ST_OK)
        rc = split_words(&t->col[3], o->n, err);
    for (size_t i = 0; rc == ST_OK && i < o->n; i++) {
        char *s = t->col[0].text[i];
        const size_t n = vary(o->seed, i, &l, s);
        t->col[2].v[i] = (double)n;
        t->col[3].code[i] = n > PROTEINS_FEW;
        t->col[1].v[i] = activity_of(&l, s) +
                         o->noise * rng_normal(o->seed, rng_stream(RNG_DEMO, STREAM_NOISE), i);
    }
    letters_free(&l);
    return rc == ST_OK ? kind_find_columns(t, "sequence=sequence", err) : rc;
}
