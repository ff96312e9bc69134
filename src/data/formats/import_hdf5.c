/* data/formats/import_hdf5.c -- HDF5 files, if the module for them was built (hdf5_calls.h): a
 * two-dimensional dataset of numbers as inputs, and a one-dimensional one with as many rows as
 * target.
 *
 * Files are treated purely as data: no filter is loaded from outside, and nothing is read that a
 * file stores in another file. */
#include "config.h"

#include "data/formats/format.h"
#include "data/formats/hdf5_calls.h"
#include "data/formats/import_npy.h"

#include "base/mem.h"
#include "base/module.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 200, BLOCK_BYTES = 4 << 20 };

struct sets {
    struct hdf5_set s[MOST_SETS];
    size_t n;
};

struct source_set {
    int64_t id;
    const struct hdf5_set *s;
    size_t first; /* its first column in the table */
    size_t cols;
    bool nan_missing;
};

/* The library. */

static const struct module hdf5 = { .file = "libgpdesk-hdf5.so",
                                    .variable = "GPDESK_HDF5_MODULE",
                                    .entry = HDF5_CALLS_ENTRY,
                                    .abi = HDF5_CALLS_ABI };
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* NULL, with the reason: there is no module, or it cannot be opened. */
static const struct hdf5_calls *library(struct err *err)
{
    static const struct hdf5_calls *found;
    struct buf path = { 0 };

    pthread_mutex_lock(&opening);
    if (!found && module_path(&hdf5, &path))
        found = module_open(&hdf5, buf_str(&path), err);
    else if (!found)
        err_set(err, path.failed ? ST_NOMEM : ST_NOT_FOUND, "this gpdesk was built without HDF5");
    const struct hdf5_calls *calls = found;
    pthread_mutex_unlock(&opening);
    buf_free(&path);
    return calls;
}

const char *import_hdf5_version(void)
{
    struct buf path = { 0 };
    const bool there = module_path(&hdf5, &path);

    buf_free(&path);
    return there ? HDF5_VERSION : NULL;
}

static enum status no_library(const char *name, const struct err *why, struct err *err)
{
    if (why->code == ST_NOMEM)
        return err_set(err, ST_NOMEM, "%s", why->msg);
    err_named(err, ST_FORMAT, "hdf5", "%s is an HDF5 file, and %.300s", name, why->msg);
    err_hint(err, "apt-get install libhdf5-dev, and build again; or numpy.save(FILE, dataset[:])");
    return ST_FORMAT;
}

/* Finding datasets in the file. */

static void take_set(void *ctx, const struct hdf5_set *s)
{
    struct sets *l = ctx;

    if (l->n < MOST_SETS)
        l->s[l->n++] = *s;
}

static const struct hdf5_set *find(const struct sets *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->s[i].name, *name == '/' ? name + 1 : name) == 0)
            return &l->s[i];
    return NULL;
}

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

/* The only dataset that fits, or the only one with a typical name. rows 0: any number. */
static const struct hdf5_set *guess(const struct sets *l, int rank, uint64_t rows,
                                    const char *const *names)
{
    const struct hdf5_set *one = NULL, *named = NULL;
    size_t n = 0, m = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct hdf5_set *s = &l->s[i];
        if (s->rank != rank || (rows != 0 && s->dim[0] != rows))
            continue;
        one = s;
        n++;
        for (const char *const *w = names; *w != NULL; w++)
            if (strcasecmp(base_of(s->name), *w) == 0) {
                named = s;
                m++;
            }
    }
    return n == 1 ? one : m == 1 ? named : NULL;
}

static void list_words(const struct sets *l, struct buf *b)
{
    for (size_t i = 0; i < l->n && i < 8; i++) {
        buf_puts(b, i ? ", " : "");
        text_safe(b, l->s[i].name, 40);
        if (l->s[i].rank == 2)
            buf_printf(b, " (%llu x %llu)", (unsigned long long)l->s[i].dim[0],
                       (unsigned long long)l->s[i].dim[1]);
        else
            buf_printf(b, " (%llu)", (unsigned long long)l->s[i].dim[0]);
    }
    if (l->n > 8)
        buf_puts(b, ", ...");
}

static enum status choose(const struct sets *l, const char *name, const struct import_opts *o,
                          const struct hdf5_set **x, const struct hdf5_set **y, struct err *err)
{
    static const char *const xs[] = {"x", "inputs", "features", "data", NULL};
    static const char *const ys[] = {"y", "target", "targets", "outputs", "labels", NULL};
    struct buf b = {0};

    *x = o->inputs != NULL ? find(l, o->inputs) : guess(l, 2, 0, xs);
    *y = *x == NULL ? NULL : o->target != NULL ? find(l, o->target) : guess(l, 1, (*x)->dim[0], ys);
    list_words(l, &b);
    enum status rc = ST_OK;
    if (l->n == 0)
        rc = err_named(err, ST_FORMAT, "hdf5",
                       "%s holds no dataset of numbers with one or two dimensions", name);
    else if (*x == NULL) {
        rc = err_named(err, ST_FORMAT, "hdf5", "%s: %s%.40s%s among %s", name,
                       o->inputs != NULL ? "there is no dataset "
                                         : "which dataset holds the inputs is not clear",
                       o->inputs != NULL ? o->inputs : "", o->inputs != NULL ? "" : ",",
                       buf_str(&b));
        err_hint(err, "open FILE inputs=NAME target=NAME");
    } else if (*y != NULL && (*y)->dim[0] != (*x)->dim[0]) {
        rc = err_named(err, ST_FORMAT, "hdf5", "%s: dataset %.60s has %llu rows, %.60s has %llu",
                       name, (*x)->name, (unsigned long long)(*x)->dim[0], (*y)->name,
                       (unsigned long long)(*y)->dim[0]);
    } else if (*y == *x) {
        *y = NULL; /* the target is one of its columns */
    }
    buf_free(&b);
    return rc;
}

/* Reading. */

static enum status broken(const char *name, const struct hdf5_set *s, unsigned long long row,
                          struct err *err)
{
    return err_named(err, ST_FORMAT, "hdf5",
                     "%s: dataset %.60s cannot be read from row %llu on: the file "
                     "is damaged, or packed in a way that this library does not know",
                     name, s->name, row + 1);
}

static enum status take_block(const struct source_set *q, const char *name, const double *v,
                              uint64_t row, uint64_t n, struct table *t, bool *rounded,
                              struct err *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q->cols; j++) {
            struct column *c = &t->col[q->first + j];
            const double x = v[i * q->cols + j];
            if (!isfinite(x)) {
                if (!(q->nan_missing && isnan(x))) {
                    err_named(err, ST_FORMAT, "not-finite",
                              "%s, dataset %.60s, row %llu, column %zu: %s is "
                              "not a finite number",
                              name, q->s->name, (unsigned long long)(row + i + 1), j + 1,
                              isnan(x) ? "nan"
                              : x > 0  ? "inf"
                                       : "-inf");
                    if (isnan(x))
                        err_hint(err, "open FILE missing=nan");
                    return ST_FORMAT;
                }
                c->missing++;
            } else if (x != nearbyint(x)) {
                c->integers = false;
            }
            *rounded |= q->s->whole && fabs(x) > 9007199254740992.0;
            c->v[row + i] = x;
        }
    spill_used(n * q->cols * sizeof *v);
    return ST_OK;
}

static enum status read_set(const struct hdf5_calls *calls, const struct source_set *q,
                            const char *name, const struct ctl *ctl, struct table *t, bool *rounded,
                            struct err *err)
{
    const uint64_t rows = q->s->dim[0], most = BLOCK_BYTES / (q->cols * sizeof(double));
    const uint64_t step = most > 0 ? most : 1;
    double *v = mem_calloc(step * q->cols, sizeof *v, "a block of rows", err);
    enum status rc = v != NULL ? ST_OK : ST_NOMEM;

    for (uint64_t r = 0; r < rows && rc == ST_OK; r += step) {
        const uint64_t n = rows - r < step ? rows - r : step;
        if (ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "reading %s was stopped", name);
        else if (!calls->rows(q->id, q->s, r, n, v))
            rc = broken(name, q->s, (unsigned long long)r, err);
        else
            rc = take_block(q, name, v, r, n, t, rounded, err);
        ctl_tell(ctl, PHASE_READ, (size_t)r, (size_t)rows, NAN);
    }
    free(v);
    return rc;
}

/* A small file can claim any number of rows that were never written. */
static enum status check_size(const char *name, const struct hdf5_set *s, uint64_t size,
                              struct err *err)
{
    const double bytes = 8.0 * (double)s->dim[0] * (double)s->dim[1];

    if (s->dim[0] == 0 || s->dim[1] == 0)
        return err_named(err, ST_FORMAT, "empty", "%s: dataset %.60s is empty", name, s->name);
    if (s->dim[1] > IMPORT_MAX_COLS)
        return err_named(err, ST_FORMAT, "limit",
                         "%s: dataset %.60s has %llu columns; the limit is %zu", name, s->name,
                         (unsigned long long)s->dim[1], IMPORT_MAX_COLS);
    if (bytes > (double)IMPORT_BOMB_BYTES && bytes > IMPORT_BOMB_RATIO * (double)size)
        return err_named(err, ST_FORMAT, "bomb",
                         "%s: dataset %.60s tells of %llu x %llu numbers, over %u "
                         "times the size of the file: refused",
                         name, s->name, (unsigned long long)s->dim[0],
                         (unsigned long long)s->dim[1], IMPORT_BOMB_RATIO);
    return ST_OK;
}

struct opened { /* a file */
    const struct hdf5_calls *calls;
    int64_t file;
    const char *name;
};

static enum status make_table(const struct opened *f, const struct import_opts *o,
                              const struct ctl *ctl, const struct hdf5_set *x,
                              const struct hdf5_set *y, struct table *t, struct err *err)
{
    const char *name = f->name;
    struct source_set q[2] = {
        {.s = x, .cols = (size_t)x->dim[1]},
        {.s = y, .first = (size_t)x->dim[1], .cols = y ? (size_t)y->dim[1] : 0}};
    struct buf line = {0};
    bool rounded = false;
    enum status rc = npy_check_memory(name, (size_t)x->dim[0], q[0].cols + q[1].cols, o, err);
    struct column *col =
        rc == ST_OK ? mem_calloc(q[0].cols + q[1].cols, sizeof *col, "columns", err) : NULL;

    if (col == NULL)
        return rc != ST_OK ? rc : ST_NOMEM;
    free(t->col);
    t->col = col;
    t->n = (size_t)x->dim[0];
    t->ncols = q[0].cols + q[1].cols;
    t->targets = q[1].cols;
    rc = npy_columns(t, 0, q[0].cols, "x", NULL, err);
    if (rc == ST_OK && y != NULL)
        rc = npy_columns(t, q[0].cols, q[1].cols, o->target != NULL ? o->target : base_of(y->name),
                         NULL, err);
    for (size_t i = 0; i < (y != NULL ? 2u : 1u) && rc == ST_OK; i++) {
        q[i].nan_missing = npy_nan_is_missing(o);
        q[i].id = f->calls->set_open(f->file, q[i].s);
        rc = q[i].id < 0 ? broken(name, q[i].s, 0, err)
                         : read_set(f->calls, &q[i], name, ctl, t, &rounded, err);
        if (q[i].id >= 0)
            f->calls->set_close(q[i].id);
    }
    buf_puts(&line, "HDF5, inputs from ");
    text_safe(&line, x->name, 60);
    if (y != NULL) {
        buf_puts(&line, ", target from ");
        text_safe(&line, y->name, 60);
    }
    if (rc == ST_OK)
        rc = npy_words(t, &line, rounded, false, err);
    buf_free(&line);
    return rc;
}

/* The library opens the file by name; our stream is read to its end for the checksum. */
static enum status drain(struct inbuf *in, struct err *err)
{
    size_t got = 1;
    enum status rc = ST_OK;

    while (rc == ST_OK && got > 0)
        rc = stream_read(in->st, in->b, in->cap, &got, err);
    in->pos = in->len = 0;
    return rc;
}

static enum status read_opened(const struct opened *f, struct inbuf *in,
                               const struct import_opts *o, const struct ctl *ctl, struct table *t,
                               struct err *err)
{
    const struct hdf5_set *x = NULL, *y = NULL;
    struct sets *l = mem_calloc(1, sizeof *l, "a list of datasets", err);
    enum status rc = l != NULL ? ST_OK : ST_NOMEM;

    if (rc == ST_OK && !f->calls->list(f->file, take_set, l))
        rc = err_named(err, ST_FORMAT, "hdf5", "%s: its list of datasets is damaged", f->name);
    if (rc == ST_OK)
        rc = choose(l, f->name, o, &x, &y, err);
    if (rc == ST_OK)
        rc = check_size(f->name, x, stream_size(in->st), err);
    if (rc == ST_OK && y != NULL)
        rc = check_size(f->name, y, stream_size(in->st), err);
    if (rc == ST_OK)
        rc = make_table(f, o, ctl, x, y, t, err);
    free(l);
    return rc;
}

static enum status read_hdf5(struct inbuf *in, const struct import_opts *o, const struct ctl *ctl,
                             struct table *t, struct err *err)
{
    struct err why = {0};
    struct opened f = {.calls = library(&why), .name = stream_name(in->st)};

    if (f.calls == NULL)
        return no_library(f.name, &why, err);
    if (*t->path != '/' || *stream_packing(in->st) != '\0') {
        err_named(err, ST_FORMAT, "hdf5", "%s: HDF5 is read from a plain file only", f.name);
        err_hint(err, "unpack it, and give the file's name");
        return ST_FORMAT;
    }
    f.file = f.calls->open(t->path);
    if (f.file < 0)
        return err_named(err, ST_FORMAT, "hdf5",
                         "%s begins as an HDF5 file, but is damaged or cut short", f.name);
    const enum status rc = read_opened(&f, in, o, ctl, t, err);
    f.calls->close(f.file);
    return rc == ST_OK ? drain(in, err) : rc;
}

static bool sniff(const struct inbuf *in)
{
    return in->len >= 8 && memcmp(in->b, "\x89HDF\r\n\x1a\n", 8) == 0;
}

static const struct import_option options[] = {
    { .name = "inputs", .type = IMPORT_WORD, .flags = IMPORT_NEW_DATA, .place = 6,
      .field = offsetof(struct import_opts, inputs), .help = "HDF5: the dataset of the inputs" },
    { .name = NULL },
};

const struct format import_hdf5_format = {
    .name = "HDF5", .sniff = sniff, .read = read_hdf5, .options = options };
