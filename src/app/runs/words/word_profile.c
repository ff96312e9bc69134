/* app/runs/words/word_profile.c -- see word_profile.h.
 *
 * An unknown letter takes out the words that cover it and no others, so that the sum of their
 * weights is the difference that it makes.  With norm=cosine the function times the length of the
 * row is linear in counts, and weights are those of words in this row. */
#include "app/runs/words/word_profile.h"

#include "base/mem.h"
#include "compute/models/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 5, LETTERS_SHOWN = 30 };

bool word_profile_has(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        if (!l->ops || !l->ops->words || k->term[t].times || (l->cosine && k->nterms > 1))
            return false;
    }
    return k->nterms > 0;
}

/* The length of each of the rows; all are 1 without norm=cosine. */
static enum status lengths_of(const struct kernel *k, const struct source *rows, double *length,
                              struct err *err)
{
    const struct layer *l = &k->term[0].layer;
    double *x = l->cosine ? exact_inputs(rows, err) : NULL;

    if (l->cosine && !x)
        return err_status(err);
    for (size_t i = 0; i < rows->n; i++) {
        const double *row = x + i * rows->d;
        length[i] = x ? l->ops->words->length(l, row + layer_first(l, row)) : 1.0;
    }
    free(x);
    return ST_OK;
}

enum status word_profile_make(const struct kernel *k, const struct source *rows, const double *mean,
                              struct word_profile *w, struct err *err)
{
    const size_t p = w->positions, variants = w->letters * p;
    double *length = mem_calloc(rows->n, sizeof *length, "a profile", err);

    w->weight = length ? mem_calloc(p + variants + 1, sizeof *w->weight, "a profile", err) : NULL;
    enum status rc = w->weight ? lengths_of(k, rows, length, err) : ST_NOMEM;
    for (size_t t = 0; t < k->nterms; t++)
        w->placed |= k->term[t].layer.ops->counted == COUNTED_PLACES;
    if (rc == ST_OK) {
        const double *gone = mean + 1 + variants, *left = length + 1 + variants;
        w->with = w->weight + p;
        for (size_t i = 0; i < p; i++)
            w->weight[i] = mean[0] - gone[i] * left[i] / length[0];
        for (size_t i = 0; i < variants; i++)
            w->with[i] = mean[1 + i] - gone[i % p] * left[i % p] / length[1 + i];
    }
    free(length);
    return rc;
}

void word_profile_free(struct word_profile *w)
{
    free(w->weight);
    *w = (struct word_profile){ 0 };
}

/* Position k of the heaviest ones, ascending in k from the heaviest: `before` those so far. */
static size_t next_heaviest(const struct word_profile *w, const size_t *before, size_t k)
{
    size_t most = SIZE_MAX;

    for (size_t i = 0; i < w->positions; i++) {
        bool used = false;
        for (size_t j = 0; j < k; j++)
            used |= before[j] == i;
        if (!used && (most == SIZE_MAX || fabs(w->weight[i]) > fabs(w->weight[most])))
            most = i;
    }
    return most;
}

void word_profile_record(const struct word_profile *w, struct rec *rec)
{
    size_t named[NAMED];

    rec_str(rec, "profile_unit", w->unit);
    rec_array(rec, "profile");
    for (size_t i = 0; i < w->positions; i++) {
        const char letter[2] = { w->own[i], '\0' };
        rec_item(rec);
        rec_int(rec, "position", (int64_t)i + 1);
        rec_str(rec, "letter", letter);
        rec_num(rec, "weight", w->weight[i]);
        if (w->placed) {
            rec_array(rec, "letters");
            for (size_t c = 0; c < w->letters; c++) {
                const char other[2] = { w->letter[c], '\0' };
                rec_item(rec);
                rec_str(rec, "letter", other);
                rec_num(rec, "weight", w->with[c * w->positions + i]);
                rec_close(rec);
            }
            rec_array_close(rec);
        }
        rec_close(rec);
    }
    rec_array_close(rec);
    rec_text(rec, "\n  the words over a letter weigh most at ");
    for (size_t k = 0; k < NAMED && k < w->positions; k++) {
        named[k] = next_heaviest(w, named, k);
        rec_text(rec, "%s%c%zu %+.4g", k ? ", " : "", w->own[named[k]], named[k] + 1,
                 w->weight[named[k]]);
    }
    rec_text(rec, "  (plot profile)");
}

/* A letter by position. */
static bool draw_letters(const struct word_profile *w, const double *x, struct figure *f,
                         struct err *err)
{
    double *y = mem_calloc(w->letters, sizeof *y, "plot", err);
    char (*word)[2] = y ? mem_calloc(w->letters, sizeof *word, "plot", err) : NULL;
    const char **name = word ? mem_calloc(w->letters, sizeof *name, "plot", err) : NULL;

    for (size_t c = 0; name && c < w->letters; c++) {
        y[c] = (double)c;
        word[c][0] = w->letter[c];
        name[c] = word[c];
    }
    const struct figure_surface of = { w->positions, w->letters, x, y, w->with };
    const bool ok = name && figure_label(f, "position", "letter", err) == ST_OK &&
                    figure_add_signed(f, "raises the mean", "lowers the mean", &of, err) ==
                        ST_OK &&
                    figure_names(&f->y, w->letters, name, err) == ST_OK;
    free(y);
    free(word);
    free((void *)name);
    return ok;
}

/* The row's letters along the axis where there is room for them. */
static bool draw_row(const struct word_profile *w, double *x, struct figure *f, struct err *err)
{
    const size_t n = w->positions <= LETTERS_SHOWN ? w->positions : 0;
    char word[LETTERS_SHOWN][2] = { { 0 } };
    const char *name[LETTERS_SHOWN];
    char unit[96];

    for (size_t i = 0; i < n; i++) {
        x[i] -= 1.0; /* names have places from 0 */
        word[i][0] = w->own[i];
        name[i] = word[i];
    }
    snprintf(unit, sizeof unit, "weight, %s", w->unit);
    return figure_label(f, n ? "letter" : "position", unit, err) == ST_OK &&
           figure_add(f, "", MARK_BARS, w->positions, x, w->weight, err) &&
           (n == 0 || figure_names(&f->x, n, name, err) == ST_OK);
}

struct figure *word_profile_draw(const struct word_profile *w, const char *title, struct err *err)
{
    double *x = mem_calloc(w->positions + 1, sizeof *x, "plot", err);
    struct figure *f = x ? figure_new("profile", title, err) : NULL;

    for (size_t i = 0; f && i < w->positions; i++)
        x[i] = (double)i + 1.0;
    bool ok = f && (w->placed ? draw_letters(w, x, f, err) : draw_row(w, x, f, err));
    free(x);
    if (ok && w->positions > 0) {
        const size_t most = next_heaviest(w, NULL, 0);
        ok = figure_verdict(f, err, "the words over %c at position %zu weigh most, %.3g in all",
                            w->own[most], most + 1, w->weight[most]) == ST_OK;
    }
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}
