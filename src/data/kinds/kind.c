/* data/kinds/kind.c -- the list of kinds of rows, and the steps of reading that go over it. */
#include "data/kinds/kind.h"

#include "data/formats/import.h"

#include <stdio.h>
#include <string.h>

#define KIND_ADDRESS(name, type) &name,
static const struct row_kind *const kinds[] = { KIND_ROWS(KIND_ADDRESS) };
#undef KIND_ADDRESS
enum { NKINDS = sizeof kinds / sizeof *kinds };

const struct row_kind *kind_at(size_t i)
{
    return i < NKINDS ? kinds[i] : NULL;
}

const struct row_kind *kind_find(const char *name)
{
    for (size_t k = 0; k < NKINDS; k++)
        if (strcmp(kinds[k]->name, name) == 0)
            return kinds[k];
    return NULL;
}

const struct row_kind *kind_of(const struct column *c)
{
    size_t k = 0;

    while (k + 1 < NKINDS && kinds[k]->cells != c->cells)
        k++;
    return kinds[k];
}

bool kind_number_find(const struct row_kind *k, const char *word, unsigned *number)
{
    for (*number = 0; k->numbers != NULL && k->numbers[*number].word != NULL; ++*number)
        if (strcmp(k->numbers[*number].word, word) == 0)
            return true;
    return false;
}

/* Types. */

#define KIND_TYPE(name, type) type,
static const char *const type_of[] = { KIND_ROWS(KIND_TYPE) }; /* one for each kind */
#undef KIND_TYPE

static size_t number_of(const struct row_kind *kind)
{
    size_t k = 0;

    while (kinds[k] != kind)
        k++;
    return k;
}

const char *kind_type(const struct column *c)
{
    return c->type == COL_HELD ? type_of[number_of(kind_of(c))] : kind_type_at(c->type);
}

/* The word of types= for column j, of `len` letters; NULL: none. */
static const char *said(const char *types, const struct table *t, size_t j, size_t *len)
{
    const char *name = t->col[j].name;
    const size_t n = strlen(name);
    char number[32];

    snprintf(number, sizeof number, "#%zu", j + 1);
    for (const char *p = types; p != NULL && *p != '\0';) {
        const size_t m = strcspn(p, ",");
        const char *eq = memrchr(p, '=', m);
        const size_t k = eq != NULL ? (size_t)(eq - p) : 0;
        if (eq != NULL && ((k == n && memcmp(p, name, n) == 0) ||
                           (k == strlen(number) && memcmp(p, number, k) == 0))) {
            *len = m - k - 1;
            return eq + 1;
        }
        p += m + (p[m] == ',');
    }
    return NULL;
}

/* The kind of column j: the one that types= names, or that recognises it; NULL: none. */
static const struct row_kind *choose(const struct table *t, size_t j, const char *type, size_t len)
{
    for (size_t k = 0; k < NKINDS; k++) {
        const struct row_kind *kind = kinds[k];
        if (kind->make == NULL || (kind->claims != NULL && !kind->claims(t, j)))
            continue;
        if (type != NULL ? strlen(type_of[k]) == len && memcmp(type_of[k], type, len) == 0
                         : kind->guess != NULL && kind->guess(t, j))
            return kind;
    }
    return NULL;
}

enum status kind_make(const struct table *t, size_t j, const char *type, struct column *to,
                      struct err *err)
{
    const struct row_kind *kind = choose(t, j, type, strlen(type));

    return kind != NULL ? kind->make(t, j, to, err)
                        : err_set(err, ST_USAGE, "there is no type %.40s", type);
}

enum status kind_find_columns(struct table *t, const char *types, struct err *err)
{
    struct buf notes = { 0 };
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        size_t len = 0;
        const char *type = said(types, t, j, &len);
        struct column to = { 0 };
        for (size_t k = 0; type == NULL && k < NKINDS; k++)
            if (kinds[k]->near_miss != NULL)
                kinds[k]->near_miss(t, j, &notes);
        const bool words = t->col[j].type == COL_TEXT || t->col[j].type == COL_CATEGORY;
        const struct row_kind *kind = words ? choose(t, j, type, len) : NULL;
        if (kind == NULL)
            continue;
        rc = kind->make(t, j, &to, err);
        if (rc != ST_OK) {
            table_column_clear(&to);
            break;
        }
        to.name = t->col[j].name;
        to.named = t->col[j].named;
        t->col[j].name = NULL;
        table_column_clear(&t->col[j]);
        t->col[j] = to;
        kind->note(t, &t->col[j], &notes);
    }
    if (rc == ST_OK && buf_str(&notes)[0] != '\0')
        rc = table_add_notes(t, &notes, err);
    buf_free(&notes);
    return rc;
}

enum status kind_gather(struct table **t, const struct import_opts *opts, const struct ctl *ctl,
                        struct err *err)
{
    enum status rc = ST_OK;

    for (size_t k = 0; rc == ST_OK && k < NKINDS; k++)
        if (kinds[k]->gather != NULL)
            rc = kinds[k]->gather(t, opts, ctl, err);
    return rc;
}

enum status kind_finish(struct table *t, const struct import_opts *opts, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t k = 0; rc == ST_OK && k < NKINDS; k++)
        if (kinds[k]->finish != NULL)
            rc = kinds[k]->finish(t, opts, err);
    return rc;
}
