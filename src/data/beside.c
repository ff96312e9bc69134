/* data/beside.c -- see beside.h. */
#include "data/beside.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* FORMAT unless the rows and names of both tables go together. */
static enum status suits(const struct table *t, const struct table *of, const char *file,
                         struct err *err)
{
    char name[64];

    if (of->n != t->n) {
        err_named(err, ST_FORMAT, "beside", "%.200s has %zu rows, the table beside it %zu", file,
                  of->n, t->n);
        err_hint(err, "name a table whose rows are in the order of the first one");
        return ST_FORMAT;
    }
    for (size_t j = 0; j < of->ncols; j++)
        if (table_find(t, of->col[j].name) != SIZE_MAX) {
            err_named(err, ST_FORMAT, "beside", "column %s is in both tables",
                      text_quoted(of->col[j].name, name, sizeof name));
            err_hint(err, "give it another name in the first line of %.200s", file);
            return ST_FORMAT;
        }
    return ST_OK;
}

/* What tells whether the file has changed says so of both. */
static void add_checksum(struct table *t, const struct table *of)
{
    const size_t n = strlen(t->checksum), m = strlen(of->checksum);

    if (n == 0 || m == 0 || n + m + 2 > sizeof t->checksum)
        return;
    t->checksum[n] = '+';
    memcpy(t->checksum + n + 1, of->checksum, m + 1);
}

static void note(const struct table *of, const char *file, struct buf *notes)
{
    struct buf path = { 0 };

    text_safe(&path, file, 120);
    buf_printf(notes, "note[beside]: %zu column%s of %s\n", of->ncols, of->ncols == 1 ? "" : "s",
               buf_str(&path));
    buf_puts(notes, of->notes);
    buf_free(&path);
}

enum status beside_append(struct table *t, struct table *of, const struct import_opts *opts,
                          const struct ctl *ctl, struct err *err)
{
    const size_t had = t->ncols - t->targets, all = t->ncols + of->ncols;
    struct buf notes = { 0 };
    enum status rc = suits(t, of, opts->beside, err);
    struct column *col = rc == ST_OK ? mem_calloc(all, sizeof *col, "columns", err) : NULL;

    if (col == NULL)
        return rc != ST_OK ? rc : ST_NOMEM;
    memcpy(col, t->col, had * sizeof *col);
    memcpy(col + had, of->col, of->ncols * sizeof *col);
    memcpy(col + had + of->ncols, t->col + had, t->targets * sizeof *col);
    memset(of->col, 0, of->ncols * sizeof *col);
    free(t->col);
    t->col = col;
    t->ncols = all;
    add_checksum(t, of);
    note(of, opts->beside, &notes);
    rc = table_add_notes(t, &notes, err);
    buf_free(&notes);
    return rc == ST_OK ? table_finish(t, ctl, err) : rc;
}

const struct import_option beside_options[] = {
    { .name = "beside", .type = IMPORT_PATH, .flags = IMPORT_NEW_DATA, .place = 8,
      .field = offsetof(struct import_opts, beside),
      .help = "a table file with as many rows in the same order: its columns are added" },
    { .name = NULL },
};
