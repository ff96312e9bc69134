/* data/encoding_column.c -- see encoding_column.h. */
#include "data/encoding_column.h"

#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/text.h"

struct enc_col *encoding_column_add(struct encoding_fitting *f, const struct row_kind *of,
                                    const struct column *c, enum enc_kind kind)
{
    struct encoding *e = f->e;
    void *p = e->col;
    enum status rc = mem_grow(&p, &f->cap, e->ncol + 1, sizeof *e->col, "an encoding", f->err);
    e->col = p;
    char *name = rc == ST_OK ? mem_strdup(c->name, f->err) : NULL;
    if (name == NULL)
        return NULL;
    e->col[e->ncol] = (struct enc_col){ .column = name, .kind = kind, .of = of, .sd = 1.0 };
    return &e->col[e->ncol++];
}

struct enc_col *encoding_column_cell(struct encoding_fitting *f, const struct row_kind *of,
                                     const struct column *c, unsigned number, const char *level)
{
    struct enc_col *e = encoding_column_add(f, of, c, ENC_CELL);

    if (e == NULL || (e->level = mem_strdup(level, f->err)) == NULL)
        return NULL;
    e->number = number;
    return e;
}

struct enc_held *encoding_column_keep(struct encoding_fitting *f, const struct row_kind *kind,
                                      const struct column *c)
{
    struct encoding *e = f->e;
    void *p = e->held;
    enum status rc =
        mem_grow(&p, &f->held_cap, e->nheld + 1, sizeof *e->held, "an encoding", f->err);
    e->held = p;
    char *name = rc == ST_OK ? mem_strdup(c->name, f->err) : NULL;
    if (name == NULL)
        return NULL;
    struct enc_held *h = &e->held[e->nheld++];
    *h = (struct enc_held){ .column = name, .kind = kind };
    h->state = kind->state_bytes > 0 ? mem_calloc(1, kind->state_bytes, "an encoding", f->err)
                                     : NULL;
    return h->state != NULL || kind->state_bytes == 0 ? h : NULL;
}

void encoding_column_constant(struct encoding_fitting *f, const char *name)
{
    if (f->constants++ == 0)
        text_quoted(name, f->first_constant, sizeof f->first_constant);
}
