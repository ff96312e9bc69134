/* data/encoding_column.c -- see encoding_column.h. */
#include "data/encoding_column.h"

#include "base/mem.h"
#include "base/text.h"

struct enc_col *encoding_column_add(struct encoding_fitting *f, const char *column,
                                    enum enc_kind kind)
{
    struct encoding *e = f->e;
    void *p = e->col;
    enum status rc = mem_grow(&p, &f->cap, e->ncol + 1, sizeof *e->col, "an encoding", f->err);
    e->col = p;
    char *name = rc == ST_OK ? mem_strdup(column, f->err) : NULL;
    if (name == NULL)
        return NULL;
    e->col[e->ncol] = (struct enc_col){ .column = name, .kind = kind, .sd = 1.0 };
    return &e->col[e->ncol++];
}

void encoding_column_constant(struct encoding_fitting *f, const char *name)
{
    if (f->constants++ == 0)
        text_quoted(name, f->first_constant, sizeof f->first_constant);
}
