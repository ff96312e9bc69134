/* data/demo/demo_motifs.c -- strings of 100 letters with a planted word: `demo motifs`.
 *
 * There is a library of 100 random words of five letters of DNA. Each string has one of them, with
 * 0 to 10 copies that do not overlap; all other letters are random. The count is how often that
 * word occurs, chance included; many says whether that is more than five times. A kernel that
 * counts words of five letters can learn it, and what other words of the library do in a string by
 * chance is its noise. */
#include "data/demo/demo_motifs.h"

#include "base/mem.h"
#include "base/spill.h"
#include "compute/rng.h"
#include "data/kinds/kind.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 100, WORD = 5, WORDS = 100, COPIES = 10,
       STREAM_LIBRARY = 20, STREAM_LETTERS = 21, STREAM_PLACES = 22, STREAM_NOISE = 23 };
static const char dna[] = "ACGT";

/* Fills s with letters of the string, and the copies of its word: a random choice of slots among
 * those that remain when each copy is shrunk to one. */
static void plant(uint64_t seed, size_t i, char *s, const char *word, size_t copies)
{
    const size_t slots = LENGTH - (WORD - 1) * copies;
    size_t left = copies, at = 0;

    for (size_t k = 0; k < slots; k++) {
        const uint64_t draw = rng_below(seed, rng_stream(RNG_DEMO, STREAM_PLACES),
                                        (uint64_t)i * LENGTH + k, slots - k);
        if (draw < left) {
            memcpy(s + at, word, WORD);
            at += WORD;
            left--;
        } else {
            s[at] = dna[rng_below(seed, rng_stream(RNG_DEMO, STREAM_LETTERS),
                                  (uint64_t)i * LENGTH + at, 4)];
            at++;
        }
    }
    s[LENGTH] = '\0';
}

static double occurrences(const char *s, const char *word)
{
    double n = 0.0;

    for (size_t p = 0; p + WORD <= LENGTH; p++)
        n += memcmp(s + p, word, WORD) == 0;
    return n;
}

/* The words of n rows in one block. */
static enum status words(struct column *c, size_t n, struct err *err)
{
    c->type = COL_TEXT;
    spill_free(c->v);
    c->v = NULL;
    c->text = mem_calloc(n, sizeof *c->text, "generated data", err);
    c->arena = c->text ? mem_calloc(n, LENGTH + 1, "generated data", err) : NULL;
    for (size_t i = 0; c->arena && i < n; i++)
        c->text[i] = c->arena + i * (LENGTH + 1);
    return c->arena ? ST_OK : ST_NOMEM;
}

enum status motifs_make(struct table *t, const struct demo_opts *o, struct err *err)
{
    char library[WORDS][WORD];
    const enum status rc = words(&t->col[0], o->n, err);

    for (size_t w = 0; w < WORDS; w++)
        for (size_t k = 0; k < WORD; k++)
            library[w][k] = dna[rng_below(o->seed, rng_stream(RNG_DEMO, STREAM_LIBRARY),
                                          w * WORD + k, 4)];
    for (size_t i = 0; rc == ST_OK && i < o->n; i++) {
        const uint64_t stream = rng_stream(RNG_DEMO, STREAM_LIBRARY), at = (uint64_t)(i + 1) * 4096;
        const char *word = library[rng_below(o->seed, stream, at, WORDS)];
        const size_t copies = (size_t)rng_below(o->seed, stream, at + 1, COPIES + 1);
        plant(o->seed, i, t->col[0].text[i], word, copies);
        const double n = occurrences(t->col[0].text[i], word);
        t->col[1].v[i] = n + o->noise * rng_normal(o->seed, rng_stream(RNG_DEMO, STREAM_NOISE), i);
        t->col[2].v[i] = n > MOTIFS_MANY;
    }
    return rc == ST_OK ? kind_find_columns(t, "sequence=sequence", err) : rc;
}
