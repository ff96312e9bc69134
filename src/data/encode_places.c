/* data/encode_places.c -- see encode_places.h.  Numbers that are read in place lie in their NPY
 * files; those of a table that was parsed lie in the cache's files, one for each column. */
#include "data/encode_places.h"

#include "data/cache.h"
#include "data/kinds/kind.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Levels of more categories than that are not worth the time to find them; their rows are sent. */
#define LEVELS_COMPARED 1e6

struct places {
    struct source_places base; /* the first member: encode_places_free gets it */
    struct source_file *file;
    struct source_input *input;
    size_t cap;
};

void encode_places_free(struct source_places *base)
{
    struct places *p = (struct places *)base;

    if (p == NULL)
        return;
    for (size_t i = 0; i < p->base.nfiles; i++)
        free((char *)(uintptr_t)p->file[i].path);
    free(p->file);
    free(p->input);
    free(p);
}

/* Appends a file and a copy of its path. */
static bool add_file(struct places *p, const struct source_file *f)
{
    void *list = p->file;
    const enum status rc = mem_grow(&list, &p->cap, p->base.nfiles + 1, sizeof *f, "files", NULL);

    p->file = list;
    p->base.file = list;
    char *path = rc == ST_OK ? mem_strdup(f->path, NULL) : NULL;
    if (path == NULL)
        return false;
    p->file[p->base.nfiles] = *f;
    p->file[p->base.nfiles++].path = path;
    return true;
}

/* The files of column j of a table, where `in` says which they are; those of an array are added
 * once for all of its neighbouring columns. */
static bool add_column(struct places *p, const struct table *t, size_t j,
                       const struct mapped_array **before, struct source_input *in)
{
    const struct column *c = &t->col[j];
    struct source_file f;
    struct buf path = { 0 };
    bool good = true;

    if (c->type == COL_REAL && c->in != NULL) {
        if (c->in != *before) {
            in->file = (uint32_t)p->base.nfiles;
            for (size_t i = 0; good && mapped_array_file(c->in, i, &f); i++)
                good = add_file(p, &f);
            in->files = (uint32_t)p->base.nfiles - in->file;
        }
        *before = c->in;
        in->column = (uint32_t)c->incol;
        return good;
    }
    while (t->col[j].lent && t->base != NULL && j < t->base->ncols)
        t = t->base;
    if (t->kept == NULL || t->col[j].lent || !cache_file(t->kept, j, c, t->n, &path, &f))
        return false;
    *before = NULL;
    *in = (struct source_input){ .file = (uint32_t)p->base.nfiles, .files = 1 };
    f.path = buf_str(&path);
    good = !path.failed && add_file(p, &f);
    buf_free(&path);
    return good;
}

/* The code of a level in the table; -1: it has none. */
static double code_of(const struct column *c, const char *level)
{
    for (size_t k = 0; k < c->nlevels; k++)
        if (strcmp(c->level[k], level) == 0)
            return (double)k;
    return -1.0;
}

/* An input that is made from a column, which `in` says where it is. */
static void add_input(struct source_input *to, const struct enc_col *c, const struct column *of,
                      enum source_reads reads, const struct source_input *in)
{
    *to = *in;
    to->reads = reads;
    to->is = reads == SOURCE_IS ? code_of(of, c->level) : 0.0;
    to->fill = c->fill;
    to->mean = c->mean;
    to->sd = c->sd;
    to->limit = c->limit;
    to->constant = c->constant;
}

static bool add_inputs(struct places *p, const struct encoding *e, const struct encode_group *g,
                       const struct source_input *in)
{
    const bool levels = g->n > 0 && e->col[g->first].kind == ENC_LEVEL;

    if (levels && (g->c->type != COL_CATEGORY ||
                   (double)g->n * (double)g->c->nlevels > LEVELS_COMPARED))
        return false;
    for (size_t j = g->first; j < g->first + g->n; j++)
        add_input(&p->input[j], &e->col[j], g->c, levels ? SOURCE_IS : SOURCE_NUMBER, in);
    if (g->flag != SIZE_MAX)
        add_input(&p->input[g->flag], &e->col[g->flag], g->c, SOURCE_MISSING, in);
    return true;
}

struct source_places *encode_places(const struct encoding *e, const struct table *t,
                                    const struct encode_group *g, size_t ng, const size_t *row)
{
    struct places *p = mem_calloc(1, sizeof *p, "places of rows", NULL);
    const struct mapped_array *before = NULL;
    struct source_input in = { 0 };
    bool good = p != NULL && e->ncol > 0;

    if (good)
        p->input = mem_calloc(e->ncol, sizeof *p->input, "places of rows", NULL);
    good = good && p->input != NULL;
    for (size_t k = 0; good && k < ng; k++)
        good = g[k].row == &kind_columns && !g[k].windows && !g[k].filters && g[k].own == NULL &&
               add_column(p, t, g[k].col, &before, &in) && add_inputs(p, e, &g[k], &in);
    if (!good) {
        encode_places_free(&p->base);
        return NULL;
    }
    p->base.d = e->ncol;
    p->base.input = p->input;
    p->base.row = row;
    return &p->base;
}
