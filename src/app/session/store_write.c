/* app/session/store_write.c -- how each record of the queue becomes rows and arrays of the file. */
#include "app/session/store_write.h"

#include "app/session/store_impl.h"
#include "base/mem.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* numbers per part; rows of a factor of 1 MiB */
enum { PER_PART = SDB_PART / sizeof(double), SMALL_FACTOR = 512 };

static enum status put_doubles(struct sdb *db, const char *owner, const char *what, const double *v,
                               size_t n, struct err *err)
{
    enum status rc = store_db_drop_blob(db, owner, what, err);
    double *part = NULL;

    if (rc == ST_OK && !(part = mem_calloc(PER_PART, sizeof *part, "a part of a model", err)))
        rc = ST_NOMEM;
    for (size_t at = 0, k = 0; rc == ST_OK && (at < n || k == 0); at += PER_PART, k++) {
        const size_t m = n - at < PER_PART ? n - at : PER_PART;
        memcpy(part, v + at, m * sizeof *v);
        store_pack_doubles(part, m);
        rc = store_db_put_part(db, owner, what, (int64_t)k, part, m * sizeof *v, err);
    }
    free(part);
    return rc;
}

/* A large factor is kept in single precision, which halves the session, if no standard deviation
 * changes by more than 1e-6 of itself for that: by a fifth of it for the rows that are tried. */
static const double SINGLE_MOST = 2e-7;
enum { WEIGH_PARTS = 4 };

bool store_write_weigh(struct op *op)
{
    if (op->weigh.parts >= WEIGH_PARTS || op->model->kind->exact)
        return false; /* of an exact model a variance is a difference: it needs every bit */
    const double loss = model_single_loss(op->model, op->weigh.parts);
    op->weigh.single = loss <= SINGLE_MOST;
    op->weigh.parts = op->weigh.single ? op->weigh.parts + 1 : WEIGH_PARTS;
    return true;
}

/* Rounds n numbers to single precision, little-endian, in the same place. */
static void pack_singles(double *v, size_t n)
{
    unsigned char *out = (unsigned char *)v;

    for (size_t i = 0; i < n; i++) {
        const float f = (float)v[i];
        uint32_t u;
        memcpy(&u, &f, sizeof u);
        u = htole32(u);
        memcpy(out + i * sizeof u, &u, sizeof u);
    }
}

/* Fills one part with the next elements of the lower triangle of the column-major factor, column by
 * column. Returns how many there are. */
static size_t next_of_factor(struct op *op, double *part)
{
    const struct model *m = op->model;
    size_t fill = 0;

    while (fill < PER_PART && op->at.column < m->Mv) {
        const size_t j = op->at.column, left = m->Mv - j - op->at.row;
        const size_t take = left < PER_PART - fill ? left : PER_PART - fill;
        memcpy(part + fill, m->L + j * m->Mv + j + op->at.row, take * sizeof *part);
        fill += take;
        op->at.row += take;
        if (take == left) {
            op->at.column++;
            op->at.row = 0;
        }
    }
    return fill;
}

enum status store_write_factor(struct sdb *db, struct op *op, size_t parts, struct err *err)
{
    double *part = mem_calloc(PER_PART, sizeof *part, "a part of a model", err);
    const bool single = op->weigh.single;
    enum status rc = part ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && op->at.part == 0)
        rc = store_db_drop_blob(db, op->text[0], STORE_FACTOR, err);
    if (rc == ST_OK && op->at.part == 0)
        rc = store_db_drop_blob(db, op->text[0], STORE_FACTOR_SINGLE, err);

    for (size_t k = 0; rc == ST_OK && k < parts && op->at.column < op->model->Mv; k++) {
        const size_t n = next_of_factor(op, part);
        if (single)
            pack_singles(part, n);
        else
            store_pack_doubles(part, n);
        rc = store_db_put_part(db, op->text[0], single ? STORE_FACTOR_SINGLE : STORE_FACTOR,
                               op->at.part++, part, n * (single ? sizeof(float) : sizeof *part),
                               err);
    }
    free(part);
    return rc;
}

bool store_write_bulky(const struct op *op)
{
    return op->kind == OP_FACTOR && op->model->Mv > SMALL_FACTOR;
}

static enum status put_small_factor(struct sdb *db, const struct op *op, struct err *err)
{
    struct op all = *op; /* start again each time that the list is tried */

    return store_write_bulky(op) ? ST_OK : store_write_factor(db, &all, SIZE_MAX, err);
}

static enum status put_model(struct sdb *db, const struct op *op, struct err *err)
{
    const struct model *m = op->model;
    enum status rc = put_doubles(db, op->text[0], "w", m->w, m->t * m->M, err);

    if (rc == ST_OK && m->S)
        rc = put_doubles(db, op->text[0], "a", m->a, m->S * m->M, err);
    if (rc == ST_OK && m->X)
        rc = put_doubles(db, op->text[0], "X", m->X, m->M * m->d, err);
    if (rc == ST_OK && m->ncv)
        rc = put_doubles(db, op->text[0], "cv", m->cv, m->ncv_errors, err);
    if (rc == ST_OK && m->ncv)
        rc = put_doubles(db, op->text[0], "cv_w", m->cv_w, m->ncv * m->t * m->M, err);
    if (rc == ST_OK && m->spread)
        rc = put_doubles(db, op->text[0], "spread", m->spread, m->t * (m->nspread + 1), err);
    if (rc == ST_OK && m->row_scale)
        rc = put_doubles(db, op->text[0], "row_scale", m->row_scale, m->M, err);
    if (rc == ST_OK && m->origin)
        rc = put_doubles(db, op->text[0], "origin", m->origin, m->M, err);
    if (rc == ST_OK && m->nrounds)
        rc = put_doubles(db, op->text[0], "rounds", m->rounds, MODEL_ROUND * m->nrounds, err);
    if (rc == ST_OK && m->state)
        rc = put_doubles(db, op->text[0], STORE_STATE, m->state, m->nstate, err);
    return rc;
}

/* Replaces a blob by n bytes, in parts. */
static enum status put_bytes(struct sdb *db, const struct op *op, struct err *err)
{
    enum status rc = store_db_drop_blob(db, op->text[0], op->text[1], err);

    for (size_t at = 0, k = 0; rc == ST_OK && (at < op->n || k == 0); at += SDB_PART, k++)
        rc =
            store_db_put_part(db, op->text[0], op->text[1], (int64_t)k, (const char *)op->data + at,
                              op->n - at < SDB_PART ? op->n - at : SDB_PART, err);
    return rc;
}

enum status store_write_op(struct sdb *db, const struct op *op, struct err *err)
{
    char *const *t = op->text;

    switch (op->kind) {
    case OP_COMMAND:
        return store_db_put_command(db, op->id, t[0], t[1], op->seconds, err);
    case OP_SCRIPT:
        return store_db_put_script(db, op->id, t[0], err);
    case OP_STATE:
        return store_db_put_state(db, t[0], t[1], err);
    case OP_META:
        return store_db_put_meta(db, t[0], t[1], err);
    case OP_DATASET:
        return store_db_put_dataset(db, op->id, t[0], err);
    case OP_RUN:
        return store_db_put_run(db, op->id, t[0], t[1], err);
    case OP_BLOB:
        return put_bytes(db, op, err);
    case OP_PART:
        return store_db_put_part(db, t[0], t[1], op->id, op->data, op->n, err);
    case OP_DROP:
        return store_db_drop_blob(db, t[0], t[1], err);
    case OP_MODEL:
        return put_model(db, op, err);
    case OP_MESSAGE:
        return store_db_put_message(db, op->id, t[0], t[1], t[2], t[3], err);
    case OP_SNAPSHOT:
        return store_db_put_snapshot(db, op->id, t[0], err);
    case OP_PAST:
        return store_db_put_past(db, op->id, op->data, err);
    case OP_FORGET:
        return store_db_forget_run(db, t[0], err);
    case OP_FACTOR:
        return put_small_factor(db, op, err);
    case OP_FLUSH:
    case OP_COPY:
    case OP_VISIT:
        break;
    }
    return ST_OK;
}

size_t store_write_bytes(const struct op *op)
{
    const struct model *m = op->kind == OP_MODEL ? op->model : NULL;

    return op->n + (m ? (m->t + m->S) * m->M * sizeof(double) : 0);
}
