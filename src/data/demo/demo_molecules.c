/* data/demo/demo_molecules.c -- clouds of atoms with a known energy: `demo molecules`.
 *
 * There are atoms of four kinds. Each new one is near one earlier atom and not near any other. The
 * energy is the sum over all pairs of e_ab ((1/d)^12 - 2 (1/d)^6), a Lennard-Jones potential whose
 * depth depends on the two kinds, plus noise. */
#include "data/demo/demo_molecules.h"

#include "base/spill.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = MOLECULES_KINDS, FEWEST = 5, MOST = 20, DRAWS = 65536 };
/* Depth of the potential for each pair of kinds: chosen once, between weak and strong. */
static const double depth[KINDS][KINDS] = {
    { 0.25, 0.45, 0.60, 0.35 },
    { 0.45, 1.00, 1.20, 0.80 },
    { 0.60, 1.20, 1.60, 1.05 },
    { 0.35, 0.80, 1.05, 0.55 },
};
static const double closest = 0.95,
                    /* Minimum distance to all others; range of distances to the neighbour. */
                    nearest[2] = {0.98, 1.35};

struct molecule { size_t n; unsigned char kind[MOST]; double at[MOST][3]; };
struct dice { uint64_t seed, stream, at; };

static double roll(struct dice *d, double lo, double hi)
{
    return lo + (hi - lo) * rng_uniform(d->seed, d->stream, d->at++);
}

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

/* Places the next atom beside an earlier one, at least `closest` away from all others. */
static void place(struct dice *d, struct molecule *m)
{
    double *p = m->at[m->n];

    for (bool good = false; !good;) {
        const size_t beside = (size_t)roll(d, 0.0, (double)m->n);
        const double r = roll(d, nearest[0], nearest[1]), z = roll(d, -1.0, 1.0),
                     turn = roll(d, 0.0, 2.0 * M_PI);
        p[0] = m->at[beside][0] + r * sqrt(1.0 - z * z) * cos(turn);
        p[1] = m->at[beside][1] + r * sqrt(1.0 - z * z) * sin(turn);
        p[2] = m->at[beside][2] + r * z;
        good = true;
        for (size_t i = 0; good && i < m->n; i++)
            good = distance(p, m->at[i]) >= closest;
    }
    m->n++;
}

/* Draws molecule i, which is the same for any number of molecules. */
static void draw(uint64_t seed, size_t i, struct molecule *m)
{
    struct dice d = { seed, rng_stream(RNG_DEMO, 0), (uint64_t)i * DRAWS };
    const size_t n = FEWEST + (size_t)roll(&d, 0.0, (double)(MOST - FEWEST + 1));

    *m = (struct molecule){ .n = 1 };
    while (m->n < n)
        place(&d, m);
    for (size_t k = 0; k < n; k++)
        m->kind[k] = (unsigned char)roll(&d, 0.0, (double)KINDS);
}

double molecules_energy(size_t n, const unsigned char *kind, const double (*at)[3])
{
    double e = 0.0;

    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            const double r2 = 1.0 / pow(distance(at[a], at[b]), 2.0), r6 = r2 * r2 * r2;
            e += depth[kind[a]][kind[b]] * (r6 * r6 - 2.0 * r6);
        }
    return e;
}

static enum status make_room(struct table *t, size_t rows, struct err *err)
{
    t->n = rows;
    for (size_t j = 0; j < t->ncols; j++) {
        spill_free(t->col[j].v);
        t->col[j].v = spill_array(rows, sizeof *t->col[j].v, "generated data", err);
        if (!t->col[j].v)
            return ST_NOMEM;
    }
    return ST_OK;
}

enum status molecules_make(struct table *t, const struct demo_opts *o, struct err *err)
{
    struct molecule m;
    size_t atoms = 0, row = 0;

    for (size_t i = 0; i < o->n; i++) {
        draw(o->seed, i, &m);
        atoms += m.n;
    }
    const enum status rc = make_room(t, atoms, err);
    for (size_t i = 0; rc == ST_OK && i < o->n; i++) {
        size_t count[KINDS] = { 0 };
        draw(o->seed, i, &m);
        const double e = molecules_energy(m.n, m.kind, (const double (*)[3])m.at) +
                         o->noise * rng_normal(o->seed, rng_stream(RNG_DEMO, 1), i);
        for (size_t k = 0; k < m.n; k++)
            count[m.kind[k]]++;
        for (size_t k = 0; k < m.n; k++, row++) {
            const double cell[] = {(double)i + 1.0, m.kind[k] + 1.0, m.at[k][0],
                                   m.at[k][1],      m.at[k][2],      e};
            for (size_t j = 0; j < sizeof cell / sizeof *cell; j++)
                t->col[j].v[row] = cell[j];
            for (size_t j = 0; j < KINDS; j++)
                t->col[6 + j].v[row] = (double)count[j];
        }
    }
    return rc;
}
