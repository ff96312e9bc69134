/* app/runs/molecules/molecule_list.c -- see molecule_list.h.  RDKit says where the atoms are; the
 * grid, the letters and the escaping are those of sketch.h. */
#include "app/runs/molecules/molecule_list.h"

#include "app/runs/alike.h"
#include "app/runs/molecules/molecule_sketch.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES = 3, WORDS = 35,  /* columns of text below a molecule */
    CELL_W = 230, CELL_H = 180, LINE = 17, TITLE = 40, ACROSS = 4, GAP = 16,
    NAMED = 22, SPELLED = 18 /* columns of name and SMILES on a screen of text */
};
static const char *const sources[] = { "pick", "neighbours", "cliffs", "rows" };
enum { SOURCES = sizeof sources / sizeof *sources };

struct item { char *smiles, *line[LINES]; double value; };
struct molecule_list {
    char *title, *value;
    const char *from;
    bool pairs;
    struct item at[MOLECULE_LIST_SHOWN];
    size_t n, all;
};

/* The last list of each command; last: whose is the newest; SOURCES: none. */
struct lists { struct molecule_list *of[SOURCES]; size_t last; };

void molecule_list_free(void *list)
{
    struct molecule_list *l = list;

    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].smiles);
        for (size_t k = 0; k < LINES; k++)
            free(l->at[i].line[k]);
    }
    free(l->title);
    free(l->value);
    free(l);
}

static void *lists_make(struct err *err)
{
    struct lists *s = mem_calloc(1, sizeof *s, "the workspace", err);

    if (s)
        s->last = SOURCES;
    return s;
}

static void lists_free(void *state)
{
    struct lists *s = state;

    for (size_t i = 0; s && i < SOURCES; i++)
        molecule_list_free(s->of[i]);
    free(s);
}

const struct owner molecule_list_owner = { .name = "molecules", .make = lists_make,
                                           .free = lists_free };

struct molecule_list *molecule_list_new(const char *from, const char *title, const char *value,
                                        bool pairs, struct err *err)
{
    struct molecule_list *l = mem_calloc(1, sizeof *l, "molecules", err);

    if (!l)
        return NULL;
    l->from = from;
    l->pairs = pairs;
    l->title = mem_strdup(title, err);
    l->value = l->title ? mem_strdup(value, err) : NULL;
    if (l->value)
        return l;
    molecule_list_free(l);
    return NULL;
}

enum status molecule_list_add(struct molecule_list *l, const struct molecule_item *from,
                              struct err *err)
{
    l->all++;
    if (l->n == MOLECULE_LIST_SHOWN)
        return ST_OK;
    struct item *to = &l->at[l->n++];
    *to = (struct item){ .value = from->value, .smiles = mem_strdup(from->smiles, err) };
    bool ok = to->smiles != NULL;
    for (size_t k = 0; ok && k < LINES; k++)
        ok = (to->line[k] = mem_strdup(from->line[k] ? from->line[k] : "", err)) != NULL;
    return ok ? ST_OK : ST_NOMEM;
}

void molecule_list_keep(struct workspace *ws, struct molecule_list *l)
{
    struct lists *s = owner_state(ws, &molecule_list_owner);

    for (size_t i = 0; s && l && i < SOURCES; i++)
        if (!strcmp(l->from, sources[i])) {
            molecule_list_free(s->of[i]);
            s->of[i] = l;
            s->last = i;
            return;
        }
    molecule_list_free(l);
}

static struct molecule_list *copy(const struct molecule_list *from, struct err *err)
{
    struct molecule_list *l = molecule_list_new(from->from, from->title, from->value, from->pairs,
                                                err);

    for (size_t i = 0; l && i < from->n; i++) {
        const struct item *k = &from->at[i];
        const struct molecule_item item = { k->smiles, { k->line[0], k->line[1], k->line[2] },
                                            k->value };
        if (molecule_list_add(l, &item, err) != ST_OK) {
            molecule_list_free(l);
            return NULL;
        }
    }
    if (l)
        l->all = from->all;
    return l;
}

enum status molecule_list_last(struct workspace *ws, const char *from, void **out, struct err *err)
{
    const struct lists *s = owner_state(ws, &molecule_list_owner);
    size_t i = s && !from ? s->last : 0;

    while (from && i < SOURCES && strcmp(from, sources[i]) != 0)
        i++;
    *out = s && i < SOURCES && s->of[i] ? copy(s->of[i], err) : NULL;
    if (*out)
        return ST_OK;
    if (s && i < SOURCES && s->of[i])
        return ST_NOMEM;
    err_named(err, ST_STATE, "no-plot", "there are no molecules to draw yet: %s",
              from ? "this command has told of none" : "no command has told of any");
    err_hint(err, "pick FILE  |  neighbours row:12  |  cliffs, then plot molecules  |  plot "
             "molecules row:12 row:15");
    return ST_STATE;
}

/* Drawing. */

static void put_item(struct sketch *to, const struct molecule_list *l, size_t i,
                     const struct drawing *d, double x, double y)
{
    const struct item *k = &l->at[i];

    if (d->atoms > 0)
        molecule_sketch(to, d, &(struct molecule_box){ x, y + CELL_H / 2.0, CELL_W, CELL_H },
                        NULL);
    else
        sketch_words(to, x, y + CELL_H / 2.0, 12, WORDS, "RDKit cannot read it");
    for (size_t r = 0; r < LINES; r++)
        if (*k->line[r])
            sketch_words(to, x, y + CELL_H + LINE * ((double)r + 0.5), r ? 12 : 13, WORDS,
                         k->line[r]);
}

static enum status draw(const struct molecule_list *l, const struct drawing *d, struct figure *f,
                        struct err *err)
{
    const size_t across = l->n < ACROSS ? l->n : ACROSS, down = (l->n + across - 1) / across;
    const double cell = CELL_H + LINE * LINES + GAP, wide = CELL_W * (double)across + GAP;
    struct sketch *to = sketch_new(wide, TITLE + cell * (double)down, err);

    if (!to)
        return ST_NOMEM;
    sketch_words(to, wide / 2, TITLE / 2.0, 15, (size_t)(wide / 9), l->title);
    for (size_t i = 0; i < l->n; i++) {
        const double x = GAP / 2.0 + CELL_W * ((double)(i % across) + 0.5),
                     y = TITLE + cell * (double)(i / across);
        put_item(to, l, i, &d[i], x, y);
        if (l->pairs && i % 2 == 1) /* a line holds the two of a pair together */
            sketch_line(to, &(struct sketch_line){ x - 1.4 * CELL_W, y + cell - GAP / 2.0,
                                                   x + 0.4 * CELL_W, y + cell - GAP / 2.0,
                                                   false });
    }
    return sketch_into(to, f, err);
}

/* A line of a screen of text for each molecule: name, shortened SMILES, and what stands below. */
static enum status list(const struct molecule_list *l, struct figure *f, struct err *err)
{
    struct buf b = { 0 };

    text_safe(&b, l->title, 0);
    buf_putc(&b, '\n');
    for (size_t i = 0; i < l->n; i++) {
        const struct item *k = &l->at[i];
        const char *const cell[] = { k->line[0], k->smiles };
        buf_printf(&b, "%s%3zu  ", l->pairs && i > 0 && i % 2 == 0 ? "\n" : "", i + 1);
        for (size_t c = 0; c < 2; c++) {
            const size_t room = c == 0 ? NAMED : SPELLED;
            struct buf safe = { 0 };
            text_safe(&safe, cell[c], room);
            const size_t w = text_width(buf_str(&safe));
            buf_printf(&b, "%s%*s ", buf_str(&safe), (int)(w < room ? room - w : 0), "");
            buf_free(&safe);
        }
        for (size_t r = 1; r < LINES; r++)
            if (*k->line[r]) {
                text_safe(&b, k->line[r], 0);
                buf_puts(&b, "  ");
            }
        buf_putc(&b, '\n');
    }
    f->listing = buf_take(&b);
    return f->listing ? ST_OK : err_nomem(err, 0, "a list of molecules");
}

static bool add_bars(const struct molecule_list *l, struct figure *f, struct err *err)
{
    double x[MOLECULE_LIST_SHOWN], y[MOLECULE_LIST_SHOWN];

    for (size_t i = 0; i < l->n; i++) {
        x[i] = (double)i + 1.0;
        y[i] = isfinite(l->at[i].value) ? l->at[i].value : 0.0;
    }
    return figure_add(f, "", MARK_BARS, l->n, x, y, err) != NULL;
}

static char *undrawn(const struct err *why, struct err *err)
{
    struct buf b = { 0 };

    buf_printf(&b, "RDKit draws molecules, and %s%s%s", why->msg, *why->hint ? " try: " : "",
               why->hint);
    char *s = buf_take(&b);
    if (!s)
        err_nomem(err, 0, "a plot");
    return s;
}

struct figure *molecule_list_figure(void *work, struct job *job, struct err *err)
{
    const struct molecule_list *l = work;
    const char *smiles[MOLECULE_LIST_SHOWN];
    struct drawing d[MOLECULE_LIST_SHOWN];
    struct err why = { 0 };

    for (size_t i = 0; i < l->n; i++) {
        smiles[i] = l->at[i].smiles;
        d[i] = (struct drawing){ 0 };
    }
    /* Without RDKit a screen of text lists them all the same. */
    const enum status drawn = drawing_read_all(smiles, l->n, d, &job->ctl, &why);
    struct figure *f = drawn == ST_CANCELLED ? NULL : figure_new("molecules", l->title, err);
    bool ok = f && figure_label(f, "molecule", l->value, err) == ST_OK && add_bars(l, f, err) &&
              list(l, f, err) == ST_OK;
    if (ok && drawn == ST_OK)
        ok = draw(l, d, f, err) == ST_OK;
    else if (ok && why.code == ST_NOMEM)
        ok = false;
    else if (ok)
        ok = (f->undrawn = undrawn(&why, err)) != NULL;
    if (ok && l->all > l->n)
        ok = figure_verdict(f, err, "the first %zu of %zu", l->n, l->all) == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "%zu molecules%s", l->n,
                            drawn == ST_OK ? " (out=FILE.svg or .png draws them)"
                                           : " (drawn where gpdesk is built with RDKit)") == ST_OK;
    for (size_t i = 0; i < l->n; i++)
        drawing_free(&d[i]);
    if (ok)
        return f;
    if (drawn == ST_CANCELLED || (err && err->code == ST_OK))
        *err = why;
    figure_free(f);
    return NULL;
}

/* What the commands need to know of a table. */

size_t molecule_list_column(const struct dataset *d)
{
    for (size_t j = 0; d && j < d->table->ncols; j++)
        if (smiles_column_is(&d->table->col[j]) && d->role[j] == ROLE_INPUT)
            return j;
    return SIZE_MAX;
}

static const char *name_of(const struct table *t, size_t row, size_t but)
{
    for (size_t j = 0; j < t->ncols; j++)
        if (j != but && t->col[j].type == COL_TEXT && column_word(&t->col[j], row))
            return column_word(&t->col[j], row);
    return "";
}

/* Rows. */

static double cell_of(const struct table *t, size_t row, size_t j)
{
    return j != SIZE_MAX && t->col[j].type == COL_REAL ? column_at(&t->col[j], row) : (double)NAN;
}

/* Tanimoto's similarity of n rows to the first of them. */
static enum status alike_to_first(const struct counts *c, const size_t *row, size_t n, double *out,
                                  struct err *err)
{
    const struct alike_rows first = { c, row, 1 }, all = { c, row, n };
    const struct alike_ask ask = { .a = &first, .b = &all };
    struct alike_pairs pairs;
    const enum status rc = alike_compare(&ask, &pairs, NULL, NULL, err);

    for (size_t i = 0; i < n; i++)
        out[i] = row[i] == row[0] ? 1.0 : 0.0;
    for (size_t k = 0; rc == ST_OK && k < pairs.n; k++)
        out[pairs.at[k].b] = pairs.at[k].similarity;
    free(pairs.at);
    return rc;
}

void molecule_list_head(const struct table *t, size_t row, size_t smiles,
                        char out[MOLECULE_LIST_HEAD])
{
    enum { NAME = 22 };
    struct buf name = { 0 };

    text_safe(&name, name_of(t, row, smiles), NAME);
    if (name.len)
        snprintf(out, MOLECULE_LIST_HEAD, "%s (row %zu)", buf_str(&name), row + 1);
    else
        snprintf(out, MOLECULE_LIST_HEAD, "row %zu", row + 1);
    buf_free(&name);
}

enum status molecule_list_of_rows(const struct dataset *d, const char *target, const size_t *row,
                                  size_t n, void **out, struct err *err)
{
    const struct table *t = d->table;
    const size_t j = molecule_list_column(d), y = target ? table_find(t, target) : SIZE_MAX;
    double alike[MOLECULE_LIST_SHOWN];
    enum status rc = ST_OK;

    *out = NULL;
    if (j == SIZE_MAX) {
        err_set(err, ST_STATE, "the data have no molecules");
        err_hint(err, "cols NAME type=smiles");
        return ST_STATE;
    }
    for (size_t i = 0; rc == ST_OK && i < n; i++)
        if (row[i] >= t->n)
            rc = err_set(err, ST_RANGE, "row %zu: the data have %zu rows", row[i] + 1, t->n);
        else if (column_missing(&t->col[j], row[i]))
            rc = err_set(err, ST_STATE, "row %zu has no molecule that can be read", row[i] + 1);
    if (rc == ST_OK)
        rc = alike_to_first(counts_of(&t->col[j]), row, n, alike, err);
    struct molecule_list *l =
        rc == ST_OK ? molecule_list_new("rows", "Molecules by their rows",
                                        "similarity to the first", false, err) : NULL;
    for (size_t i = 0; l && rc == ST_OK && i < n; i++) {
        char head[MOLECULE_LIST_HEAD], value[64] = "", like[64] = "";
        const double v = cell_of(t, row[i], y);
        molecule_list_head(t, row[i], j, head);
        if (isfinite(v))
            snprintf(value, sizeof value, "target %.4g", v);
        if (i > 0)
            snprintf(like, sizeof like, "similarity %.3f", alike[i]);
        const char *text = smiles_column_of(&t->col[j])->text[row[i]];
        rc = molecule_list_add(l, &(struct molecule_item){ text, { head, value, like }, alike[i] },
                               err);
    }
    if (l && rc == ST_OK) {
        *out = l;
        return ST_OK;
    }
    molecule_list_free(l);
    return rc == ST_OK ? ST_NOMEM : rc;
}
