/* data/formats/import_hdf5.c -- HDF5 files, if the library was found at build time: a
 * two-dimensional dataset of numbers as inputs, and a one-dimensional one with as many rows as
 * target.
 *
 * Files are treated purely as data: no filter is loaded from outside, and nothing is read that a
 * file stores in another file. */
#include "config.h"

#include "data/formats/format.h"
#include "data/formats/import_npy.h"

#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_HDF5

const char *import_hdf5_version(void)
{
    return NULL;
}

static enum status read_hdf5(struct inbuf *in, const struct import_opts *o,
                             const struct ctl *ctl, struct table *t, struct err *err)
{
    (void)o, (void)ctl, (void)t;
    err_named(err, ST_FORMAT, "hdf5", "%s is an HDF5 file, and this gpdesk was built without HDF5",
              stream_name(in->st));
    err_hint(err, "apt-get install libhdf5-dev, and build again; or numpy.save(FILE, dataset[:])");
    return ST_FORMAT;
}

#else

#include <hdf5.h>

enum { MOST_SETS = 200, NAME = 200, BLOCK_BYTES = 4 << 20 };

struct set {            /* a dataset of numbers */
    char name[NAME];    /* its path inside the file */
    hsize_t dim[2];
    int rank;
    bool whole;         /* 8-byte integers: beyond 2^53 they are rounded */
};

struct sets {
    struct set s[MOST_SETS];
    size_t n;
};

struct source_set {
    hid_t id;
    const struct set *s;
    size_t first;       /* its first column in the table */
    size_t cols;
    bool nan_missing;
};

const char *import_hdf5_version(void)
{
    static char words[32];
    unsigned a, b, c;

    if (H5get_libversion(&a, &b, &c) < 0)
        return "?";
    snprintf(words, sizeof words, "%u.%u.%u", a, b, c);
    return words;
}

/* Finding datasets in the file. */

/* Accepts numbers of one or two dimensions that are stored in this very file. */
static bool describe(hid_t id, struct set *s)
{
    const hid_t type = H5Dget_type(id), space = H5Dget_space(id), made = H5Dget_create_plist(id);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    hsize_t dim[2] = { 0, 1 };
    bool good = (class == H5T_INTEGER || class == H5T_FLOAT) && made >= 0 &&
                H5Pget_external_count(made) == 0 && H5Pget_layout(made) != H5D_VIRTUAL;

    s->rank = good && space >= 0 ? H5Sget_simple_extent_ndims(space) : 0;
    good = good && (s->rank == 1 || s->rank == 2) &&
           H5Sget_simple_extent_dims(space, dim, NULL) == s->rank;
    s->dim[0] = dim[0];
    s->dim[1] = s->rank == 2 ? dim[1] : 1;
    s->whole = class == H5T_INTEGER && H5Tget_size(type) > 6;
    if (made >= 0)
        H5Pclose(made);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return good;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    struct sets *l = ctx;

    if (info->type != H5L_TYPE_HARD || l->n == MOST_SETS || strlen(name) >= NAME)
        return 0;
    const hid_t id = H5Dopen2(group, name, H5P_DEFAULT); /* fails for anything but a dataset */
    struct set s = { .rank = 0 };
    if (id < 0)
        return 0;
    if (describe(id, &s)) {
        strcpy(s.name, name);
        l->s[l->n++] = s;
    }
    H5Dclose(id);
    return 0;
}

static const struct set *find(const struct sets *l, const char *name)
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
static const struct set *guess(const struct sets *l, int rank, hsize_t rows,
                               const char *const *names)
{
    const struct set *one = NULL, *named = NULL;
    size_t n = 0, m = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct set *s = &l->s[i];
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
                          const struct set **x, const struct set **y, struct err *err)
{
    static const char *const xs[] = { "x", "inputs", "features", "data", NULL };
    static const char *const ys[] = { "y", "target", "targets", "outputs", "labels", NULL };
    struct buf b = { 0 };

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

static enum status broken(const char *name, const struct set *s, unsigned long long row,
                          struct err *err)
{
    return err_named(err, ST_FORMAT, "hdf5",
                     "%s: dataset %.60s cannot be read from row %llu on: the file "
                     "is damaged, or packed in a way that this library does not know",
                     name, s->name, row + 1);
}

static enum status take_block(const struct source_set *q, const char *name, const double *v,
                              hsize_t row, hsize_t n, struct table *t, bool *rounded,
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

static enum status read_set(const struct source_set *q, const char *name, const struct ctl *ctl,
                            struct table *t, bool *rounded, struct err *err)
{
    const hsize_t rows = q->s->dim[0], most = BLOCK_BYTES / (q->cols * sizeof(double));
    const hsize_t step = most > 0 ? most : 1;
    double *v = mem_calloc(step * q->cols, sizeof *v, "a block of rows", err);
    const hid_t file = H5Dget_space(q->id);
    enum status rc = v != NULL ? ST_OK : ST_NOMEM;

    for (hsize_t r = 0; r < rows && rc == ST_OK; r += step) {
        const hsize_t n = rows - r < step ? rows - r : step;
        const hsize_t start[2] = { r, 0 }, count[2] = { n, q->cols };
        const hid_t mem = H5Screate_simple(q->s->rank, count, NULL);
        if (ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "reading %s was stopped", name);
        else if (file < 0 || mem < 0 ||
                 H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
                 H5Dread(q->id, H5T_NATIVE_DOUBLE, mem, file, H5P_DEFAULT, v) < 0)
            rc = broken(name, q->s, (unsigned long long)r, err);
        else
            rc = take_block(q, name, v, r, n, t, rounded, err);
        if (mem >= 0)
            H5Sclose(mem);
        ctl_tell(ctl, PHASE_READ, (size_t)r, (size_t)rows, NAN);
    }
    if (file >= 0)
        H5Sclose(file);
    free(v);
    return rc;
}

/* A small file can claim any number of rows that were never written. */
static enum status check_size(const char *name, const struct set *s, uint64_t size, struct err *err)
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

static enum status make_table(hid_t file, const char *name, const struct import_opts *o,
                              const struct ctl *ctl, const struct set *x, const struct set *y,
                              struct table *t, struct err *err)
{
    struct source_set q[2] = {
        {.s = x, .cols = (size_t)x->dim[1]},
        {.s = y, .first = (size_t)x->dim[1], .cols = y ? (size_t)y->dim[1] : 0}};
    struct buf line = { 0 };
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
        q[i].id = H5Dopen2(file, q[i].s->name, H5P_DEFAULT);
        rc = q[i].id < 0 ? broken(name, q[i].s, 0, err)
                         : read_set(&q[i], name, ctl, t, &rounded, err);
        if (q[i].id >= 0)
            H5Dclose(q[i].id);
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

static enum status read_hdf5(struct inbuf *in, const struct import_opts *o,
                             const struct ctl *ctl, struct table *t, struct err *err)
{
    const char *name = stream_name(in->st);
    const struct set *x = NULL, *y = NULL;
    struct sets *l;

    if (*t->path != '/' || *stream_packing(in->st) != '\0') {
        err_named(err, ST_FORMAT, "hdf5", "%s: HDF5 is read from a plain file only", name);
        err_hint(err, "unpack it, and give the file's name");
        return ST_FORMAT;
    }
    /* After a damaged file its exit handler would print errors; nothing is left open. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* otherwise it prints errors on the screen */
    H5PLset_loading_state(0);
    const hid_t file = H5Fopen(t->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        H5Eclear2(H5E_DEFAULT);
        return err_named(err, ST_FORMAT, "hdf5",
                         "%s begins as an HDF5 file, but is damaged or cut short", name);
    }
    enum status rc =
        (l = mem_calloc(1, sizeof *l, "a list of datasets", err)) != NULL ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, l) < 0)
        rc = err_named(err, ST_FORMAT, "hdf5", "%s: its list of datasets is damaged", name);
    if (rc == ST_OK)
        rc = choose(l, name, o, &x, &y, err);
    if (rc == ST_OK)
        rc = check_size(name, x, stream_size(in->st), err);
    if (rc == ST_OK && y != NULL)
        rc = check_size(name, y, stream_size(in->st), err);
    if (rc == ST_OK)
        rc = make_table(file, name, o, ctl, x, y, t, err);
    H5Fclose(file);
    H5Eclear2(H5E_DEFAULT); /* clears the error stack of this thread before it ends */
    free(l);
    return rc == ST_OK ? drain(in, err) : rc;
}

#endif

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
