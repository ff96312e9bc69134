/* data/formats/import_npy.c -- NPY files (NumPy's format, versions 1 to 3): one array of numbers
 * with one or two dimensions. The header is a Python dictionary. Only what numpy.save writes is
 * understood; everything else is refused, and the error names it. All numbers are checked once;
 * those of a large plain file then stay on disk (mapped_array.h). */
#include "data/formats/import_npy.h"

#include "data/formats/format.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For smaller files, a copy costs little and is safe. */
static const double IN_PLACE_BYTES = 64 << 20;
enum { MAX_HEADER = 65536 };

static enum status malformed(const struct inbuf *in, const char *what, struct err *err)
{
    return err_named(err, ST_FORMAT, "npy", "%s: %s", stream_name(in->st), what);
}

/* The header's dictionary. */

struct text {
    const char *p, *end;
};

static void blanks(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t'))
        t->p++;
}

static bool take(struct text *t, const char *word)
{
    size_t len = strlen(word);
    blanks(t);
    if ((size_t)(t->end - t->p) < len || memcmp(t->p, word, len) != 0)
        return false;
    t->p += len;
    return true;
}

/* Copies the text between quotes to out. */
static bool take_string(struct text *t, char *out, size_t cap)
{
    blanks(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    char quote = *t->p++;
    const char *close = memchr(t->p, quote, (size_t)(t->end - t->p));
    if (close == NULL || (size_t)(close - t->p) >= cap)
        return false;
    memcpy(out, t->p, (size_t)(close - t->p));
    out[close - t->p] = '\0';
    t->p = close + 1;
    return true;
}

static bool take_size(struct text *t, size_t *out)
{
    blanks(t);
    const char *start = t->p;
    *out = 0;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (__builtin_mul_overflow(*out, (size_t)10, out) ||
            __builtin_add_overflow(*out, (size_t)(*t->p - '0'), out))
            return false;
    if (t->p == start)
        return false;
    if (t->p < t->end && *t->p == 'L') /* written by Python 2 */
        t->p++;
    return true;
}

static enum status take_descr(const struct inbuf *in, struct text *t, struct npy *h,
                              struct err *err)
{
    char d[64];
    if (!take_string(t, d, sizeof d))
        return malformed(in, "only plain numbers can be read, no records of several fields", err);
    static const char *const known[] = { "f4", "f8", "i1", "i2", "i4", "i8",
                                         "u1", "u2", "u4", "u8", "b1" };
    bool good = (d[0] == '<' || d[0] == '>' || d[0] == '|' || d[0] == '=') && strlen(d) == 3;
    for (size_t i = 0; good && i <= sizeof known / sizeof *known; i++) {
        if (i == sizeof known / sizeof *known)
            good = false;
        else if (strcmp(d + 1, known[i]) == 0)
            break;
    }
    if (strcmp(d, "|O") == 0) {
        err_named(err, ST_FORMAT, "npy",
                  "%s holds items of type '|O', pickled Python objects: they are "
                  "programs, and are never read",
                  stream_name(in->st));
        err_hint(err, "numpy.save(FILE, a.astype('f8'))");
        return ST_FORMAT;
    }
    if (!good) {
        char words[80];
        struct buf b = { 0 };
        text_safe(&b, d, 40);
        snprintf(words, sizeof words, "%s", buf_str(&b));
        buf_free(&b);
        err_named(err, ST_FORMAT, "npy", "%s holds items of type '%s'; f4 f8 i1..i8 u1..u8 and "
                  "b1 can be read", stream_name(in->st), words);
        err_hint(err, "numpy.save(FILE, a.astype('f8'))");
        return ST_FORMAT;
    }
    h->kind = d[1];
    h->size = (size_t)(d[2] - '0');
    const uint16_t one = 1;
    bool little = *(const unsigned char *)&one == 1;
    h->swap = h->size > 1 && ((d[0] == '<' && !little) || (d[0] == '>' && little));
    h->have_descr = true;
    return ST_OK;
}

static enum status take_shape(const struct inbuf *in, struct text *t, struct npy *h,
                              struct err *err)
{
    size_t dim[4], n = 0;
    if (!take(t, "("))
        return malformed(in, "the shape in the header is not a tuple", err);
    while (n < 4 && take_size(t, &dim[n])) {
        n++;
        if (!take(t, ","))
            break;
    }
    if (n == 0 || n == 4) {
        err_named(err, ST_FORMAT, "npy", "%s: the array has %s; one to three can be read",
                  stream_name(in->st), n == 0 ? "no dimension" : "four dimensions or more");
        err_hint(err, "numpy.save(FILE, a.reshape(len(a), -1))");
        return ST_FORMAT;
    }
    if (!take(t, ")"))
        return malformed(in, "the header's shape is malformed", err);
    h->rows = dim[0];
    h->cols = n >= 2 ? dim[1] : 1;
    if (n == 3 && __builtin_mul_overflow(h->cols, dim[2], &h->cols))
        return malformed(in, "the header's shape is too large", err);
    h->depth = n == 3 ? dim[2] : 0;
    h->have_shape = true;
    return ST_OK;
}

static enum status parse_header(const struct inbuf *in, struct text t, struct npy *h,
                                struct err *err)
{
    char key[32];
    if (!take(&t, "{"))
        return malformed(in, "the header is not a dictionary", err);
    while (!take(&t, "}")) {
        enum status rc = ST_OK;
        if (!take_string(&t, key, sizeof key) || !take(&t, ":"))
            return malformed(in, "the header is malformed", err);
        if (strcmp(key, "descr") == 0 && !h->have_descr) {
            rc = take_descr(in, &t, h, err);
        } else if (strcmp(key, "fortran_order") == 0 && !h->have_order) {
            h->fortran = take(&t, "True");
            if (!h->fortran && !take(&t, "False"))
                return malformed(in, "fortran_order is neither True nor False", err);
            h->have_order = true;
        } else if (strcmp(key, "shape") == 0 && !h->have_shape) {
            rc = take_shape(in, &t, h, err);
        } else {
            return malformed(in, "the header has an unknown or repeated key", err);
        }
        if (rc != ST_OK)
            return rc;
        if (!take(&t, ",") && (blanks(&t), t.p == t.end || *t.p != '}'))
            return malformed(in, "the header is malformed", err);
    }
    blanks(&t);
    if (h->depth > 0 && h->fortran)
        return malformed(in,
                         "an array of three dimensions in Fortran order; "
                         "numpy.ascontiguousarray(a) has the other",
                         err);
    if (t.p != t.end || !h->have_descr || !h->have_order || !h->have_shape)
        return malformed(in, "the header is incomplete or followed by something else", err);
    return ST_OK;
}

static enum status read_header(struct inbuf *in, struct npy *h, struct err *err)
{
    const unsigned char *b = (const unsigned char *)in->b;
    if (in->len < 12)
        return malformed(in, "the file ends inside its header", err);
    size_t start = b[6] == 1 ? 10 : 12, len = b[8] | (size_t)b[9] << 8;
    if (b[6] < 1 || b[6] > 3)
        return err_named(err, ST_FORMAT, "npy", "%s: version %d of the format; 1 to 3 can be read",
                         stream_name(in->st), b[6]);
    if (b[6] > 1)
        len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (len > MAX_HEADER)
        return malformed(in, "the header is longer than 65536 bytes", err);
    if (in->len - start < len)
        return malformed(in, "the file ends inside its header", err);
    struct text t = { in->b + start, in->b + start + len };
    in->pos = h->at = start + len;
    return parse_header(in, t, h, err);
}

/* The numbers. */

/* missing=nan is the only mark that an array of numbers can contain. */
bool npy_nan_is_missing(const struct import_opts *o)
{
    for (const char *p = o->missing; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (len == 3 && (p[0] | 32) == 'n' && (p[1] | 32) == 'a' && (p[2] | 32) == 'n')
            return true;
        p += len + (p[len] == ',');
    }
    return false;
}

static enum status not_finite(const struct inbuf *in, const struct npy *h, size_t row, size_t col,
                              double x, struct err *err)
{
    const size_t k = h->fortran ? col * h->rows + row : row * h->cols + col;

    err_named(err, ST_FORMAT, "not-finite", "%s row %zu, column %zu (byte %zu): %s is not a finite "
              "number", stream_name(in->st), row + 1, col + 1, h->at + k * h->size,
              isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    if (isnan(x))
        err_hint(err, "open FILE missing=nan");
    return ST_FORMAT;
}

static enum status ends_early(const struct inbuf *in, const struct npy *h, size_t k,
                              struct err *err)
{
    return err_named(err, ST_FORMAT, "truncated", "%s ends at byte %zu, after %zu of %zu items",
                     stream_name(in->st), h->at + k * h->size + (in->len - in->pos), k,
                     h->rows * h->cols);
}

static enum status items(struct inbuf *in, const struct npy *h, struct npy_taker *to,
                         struct err *err)
{
    const size_t total = h->rows * h->cols;
    size_t row = 0, col = 0;

    for (size_t k = 0; k < total;) {
        size_t have = (in->len - in->pos) / h->size;
        if (have == 0) {
            enum status rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
            if (rc != ST_OK)
                return rc;
            have = (in->len - in->pos) / h->size;
            if (have == 0)
                return ends_early(in, h, k, err);
        }
        const size_t end = have < total - k ? k + have : total;
        if (to->store)
            spill_used((end - k) * sizeof(double));
        for (; k < end; k++) {
            struct column *c = &to->col[col];
            const double x = npy_item(h, in->b + in->pos);
            in->pos += h->size;
            if (!isfinite(x)) {
                if (!(to->nan_missing && isnan(x)))
                    return not_finite(in, h, row, col, x, err);
                c->missing++;
            } else if (x != nearbyint(x)) {
                c->integers = false;
            }
            to->rounded |= h->kind != 'f' && h->size == 8 && fabs(x) > 9007199254740992.0;
            if (to->store)
                c->v[to->row0 + row] = x;
            if (h->fortran && ++row == h->rows)
                row = 0, col++;
            else if (!h->fortran && ++col == h->cols)
                col = 0, row++;
        }
    }
    return ST_OK;
}

enum status npy_items(struct inbuf *in, const struct npy *h, struct npy_taker *to, struct err *err)
{
    enum status rc = items(in, h, to, err);

    if (rc == ST_OK && in->pos == in->len && !in->eof)
        rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
    if (rc == ST_OK && in->pos < in->len)
        rc = err_named(err, ST_FORMAT, "npy",
                       "%s: more bytes follow the array, which ends at byte %zu",
                       stream_name(in->st), h->at + h->rows * h->cols * h->size);
    return rc;
}

static enum status check_shape(const struct inbuf *in, const struct npy *h, struct err *err)
{
    const double items = (double)h->rows * (double)h->cols;
    const uint64_t size = stream_size(in->st);

    if (h->rows == 0 || h->cols == 0)
        return err_named(err, ST_FORMAT, "empty", "%s holds an array of %zu x %zu: no data",
                         stream_name(in->st), h->rows, h->cols);
    if (h->cols > IMPORT_MAX_COLS)
        return err_named(err, ST_FORMAT, "limit", "%s has %zu columns; the limit is %zu",
                         stream_name(in->st), h->cols, IMPORT_MAX_COLS);
    if (*stream_packing(in->st) == '\0' && size > 0 &&
        items * (double)h->size + (double)h->at > (double)size)
        return err_named(err, ST_FORMAT, "truncated", "%s: the header tells of %zu x %zu items of "
                         "%zu bytes from byte %zu, the file has %" PRIu64 " bytes",
                         stream_name(in->st), h->rows, h->cols, h->size, h->at, size);
    if (items > 0x1p56)
        return err_named(err, ST_FORMAT, "limit",
                         "%s: the header tells of %zu x %zu items: no disk has "
                         "as many",
                         stream_name(in->st), h->rows, h->cols);
    return ST_OK;
}

enum status npy_header(struct inbuf *in, struct npy *h, struct err *err)
{
    const enum status rc = read_header(in, h, err);
    return rc == ST_OK ? check_shape(in, h, err) : rc;
}

/* Checks that the numbers fit into memory as doubles, if they are copied. */
enum status npy_check_memory(const char *name, size_t rows, size_t cols,
                             const struct import_opts *o, struct err *err)
{
    const size_t budget = o->mem_limit > 0 ? o->mem_limit : mem_physical();
    const double bytes = 8.0 * (double)rows * (double)cols;
    char need[32], have[32];

    if (bytes <= (double)budget || spill_active())
        return ST_OK;
    mem_format(need, sizeof need, bytes);
    mem_format(have, sizeof have, (double)budget);
    err_named(err, ST_NOMEM, "memory", "%s needs %s of memory as a table; the limit is %s", name,
              need, have);
    err_hint(err, "a smaller file, or start with --mem");
    return ST_NOMEM;
}

bool npy_in_place(double file_bytes, size_t rows, size_t cols)
{
    return file_bytes >= IN_PLACE_BYTES || !spill_fits(8.0 * (double)rows * (double)cols);
}

enum status npy_columns(struct table *t, size_t first, size_t n, const char *name,
                        struct mapped_array *in, struct err *err)
{
    for (size_t j = 0; j < n; j++) {
        struct column *c = &t->col[first + j];
        struct buf b = { 0 };
        buf_puts(&b, name);
        if (n > 1 || *name == 'x')
            buf_printf(&b, "%zu", j + 1);
        c->name = buf_take(&b);
        if (c->name == NULL)
            return err_nomem(err, 16, "a column's name");
        c->type = COL_REAL;
        c->integers = true;
        c->in = mapped_array_ref(in);
        c->incol = j;
        if (in == NULL && !(c->v = spill_array(t->n, sizeof *c->v, "a column of numbers", err)))
            return err != NULL ? err->code : ST_NOMEM;
    }
    return ST_OK;
}

enum status npy_words(struct table *t, struct buf *decisions, bool rounded, bool in_place,
                      struct err *err)
{
    struct buf notes = { 0 };

    buf_printf(&notes, "note[names]: an array has no names: the columns are x1..x%zu%s\n",
               t->ncols - t->targets,
               t->targets == 0   ? ""
               : t->targets == 1 ? " and y"
                                 : " and y1..");
    if (in_place)
        buf_puts(decisions, ", read in place");
    if (rounded)
        buf_puts(&notes, "warning[rounded]: whole numbers above 2^53 were rounded\n");
    free(t->decisions);
    free(t->notes);
    t->decisions = buf_take(decisions);
    t->notes = buf_take(&notes);
    return t->decisions == NULL || t->notes == NULL ? err_nomem(err, 64, "notes") : ST_OK;
}

static enum status read_npy(struct inbuf *in, const struct import_opts *opts,
                            const struct ctl *ctl, struct table *t, struct err *err)
{
    (void)ctl; /* the stream checks it */
    struct npy h = { 0 };
    struct npy_stamp seen;
    struct mapped_array *nb = NULL;
    struct buf line = { 0 };
    enum status rc = npy_header(in, &h, err);

    if (rc != ST_OK)
        return rc;
    const bool place = *t->path == '/' && *stream_packing(in->st) == '\0' &&
                       npy_stamp(t->path, &seen) &&
                       npy_in_place((double)stream_size(in->st), h.rows, h.cols);
    if (!place)
        rc = npy_check_memory(stream_name(in->st), h.rows, h.cols, opts, err);
    struct column *col = rc == ST_OK ? mem_calloc(h.cols, sizeof *col, "columns", err) : NULL;
    if (col == NULL)
        return rc != ST_OK ? rc : ST_NOMEM;
    free(t->col);
    t->col = col;
    t->ncols = h.cols;
    t->n = h.rows;
    t->depth = h.depth;
    if (place && (nb = mapped_array_new(h.cols, err)) == NULL)
        return ST_NOMEM;
    rc = npy_columns(t, 0, h.cols, "x", nb, err);
    struct npy_taker to = { .col = col, .store = !place, .nan_missing = npy_nan_is_missing(opts) };
    if (rc == ST_OK)
        rc = npy_items(in, &h, &to, err);
    if (rc == ST_OK && place)
        rc = mapped_array_add(nb, t->path, &h, &seen, err);
    mapped_array_unref(nb); /* the columns hold their own references */
    buf_printf(&line, "NPY, %c%zu, %s order", h.kind, h.size, h.fortran ? "Fortran" : "C");
    if (rc == ST_OK)
        rc = npy_words(t, &line, to.rounded, place, err);
    buf_free(&line);
    return rc;
}

static bool sniff(const struct inbuf *in)
{
    return in->len >= 6 && memcmp(in->b, "\x93NUMPY", 6) == 0;
}

const struct format import_npy_format = { .name = "NPY", .sniff = sniff, .read = read_npy };
