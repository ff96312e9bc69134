/* compute/ranks/places.c -- see places.h. */
#include "compute/ranks/places.h"

#include "base/item.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows that are read together lie at most SPARSE times as far apart as they are many; what is more
 * scattered is sent faster than it is read. */
enum { BLOCK = 1024, SPARSE = 8, FILES_MOST = 4096, PATH_MOST = 4096 };
static const size_t span_most = (size_t)64 << 20; /* bytes that are read at a time */
static const double far = 0x1p60;                 /* beyond every file */

struct head { uint64_t files, inputs; };
/* A file as it is sent, before its path. */
struct told_file {
    uint64_t first, rows, at, row, column, path; /* path: bytes, padded to eights, with the zero */
    uint32_t size, kind;
    uint64_t swap;
};

/* Writing. */

static void put(struct buf *b, const void *p, size_t bytes)
{
    buf_putn(b, p, bytes);
}

static void pad(struct buf *b)
{
    while (b->len % 8 != 0 && !b->failed)
        buf_putc(b, '\0');
}

void places_put(struct buf *b, const struct source_places *p)
{
    const struct head h = { p->nfiles, p->d };

    put(b, &h, sizeof h);
    for (size_t i = 0; i < p->nfiles; i++) {
        const struct source_file *f = &p->file[i];
        const size_t path = strlen(f->path) + 1;
        const struct told_file t = { f->first, f->rows, f->at, f->row, f->column,
                                     (path + 7) / 8 * 8, f->size, (unsigned char)f->kind,
                                     f->swap };
        put(b, &t, sizeof t);
        put(b, f->path, path);
        pad(b);
    }
    for (size_t j = 0; j < p->d; j++) {
        struct source_input in;
        memset(&in, 0, sizeof in); /* gaps, too */
        in.file = p->input[j].file, in.files = p->input[j].files;
        in.column = p->input[j].column, in.reads = p->input[j].reads;
        in.is = p->input[j].is, in.fill = p->input[j].fill, in.mean = p->input[j].mean;
        in.sd = p->input[j].sd, in.limit = p->input[j].limit;
        in.constant = p->input[j].constant;
        put(b, &in, sizeof in);
    }
    pad(b);
}

/* In groups of seven bits, the lowest first. */
static void put_number(struct buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        buf_putc(b, (char)(v | 128));
    buf_putc(b, (char)v);
}

/* Runs of rows that follow one another: the distance of the first from where the last one ended,
 * with its sign in the lowest bit, and how many more there are. */
void places_put_rows(struct buf *b, const struct source_places *p, size_t r0, size_t r1)
{
    uint64_t next = 0;

    for (size_t r = r0, end; r < r1; r = end) {
        const int64_t off = (int64_t)(p->row[r] - next);
        for (end = r + 1; end < r1 && p->row[end] == p->row[end - 1] + 1;)
            end++;
        put_number(b, (uint64_t)off << 1 ^ (uint64_t)(off >> 63));
        put_number(b, end - r - 1);
        next = p->row[end - 1] + 1;
    }
    pad(b);
}

/* Reading. */

struct open_file { struct source_file of; int fd; };
struct reader {
    struct open_file *file;
    size_t nfiles, d, n;
    struct source_input *input;
    uint64_t *row; /* n */
    double *x;
    atomic_bool failed;
};

static bool take(const char **at, const char *end, void *out, size_t bytes)
{
    if ((size_t)(end - *at) < bytes)
        return false;
    memcpy(out, *at, bytes);
    *at += bytes;
    return true;
}

static bool file_sound(const struct told_file *t, const char *path, size_t left)
{
    const bool real = t->kind == 'f' && (t->size == 4 || t->size == 8);
    const bool whole = (t->kind == 'i' || t->kind == 'u') &&
                       (t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8);
    const uint64_t most = (uint64_t)1 << 40;

    return (real || whole || (t->kind == 'b' && t->size == 1)) && t->path <= left && t->path > 0 &&
           t->path <= PATH_MOST && path[t->path - 1] == '\0' && t->swap <= 1 && t->first <= most &&
           t->rows <= most && t->at <= most && t->column <= most &&
           (double)t->rows * (double)t->row <= far;
}

/* The file of a description; fd -1 where there is no such regular file. */
static bool take_file(struct reader *r, const char **at, const char *end)
{
    struct told_file t;
    struct open_file *f = &r->file[r->nfiles];
    struct stat st;

    if (!take(at, end, &t, sizeof t) || !file_sound(&t, *at, (size_t)(end - *at)))
        return false;
    f->of = (struct source_file){ *at, t.first, t.rows, t.at, t.row, t.column, t.size,
                                  (char)t.kind, t.swap != 0 };
    f->fd = open(*at, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    r->nfiles++;
    *at += t.path;
    return f->fd >= 0 && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool take_inputs(struct reader *r, const char **at, const char *end)
{
    if (!take(at, end, r->input, r->d * sizeof *r->input))
        return false;
    for (size_t j = 0; j < r->d; j++) {
        const struct source_input *in = &r->input[j];
        unsigned char constant; /* only 0 and 1 are a bool */
        memcpy(&constant, (const char *)in + offsetof(struct source_input, constant), 1);
        if (constant > 1 || in->reads > SOURCE_MISSING || in->file >= r->nfiles ||
            in->files == 0 || in->files > r->nfiles - in->file)
            return false;
        for (size_t k = in->file; k < in->file + in->files; k++)
            if ((double)in->column * (double)r->file[k].of.column > far)
                return false;
    }
    return true;
}

static bool take_number(const char **at, const char *end, uint64_t *v)
{
    unsigned char c = 128;

    *v = 0;
    for (unsigned shift = 0; c & 128; shift += 7) {
        if (shift > 63 || !take(at, end, &c, 1))
            return false;
        *v |= (uint64_t)(c & 127) << shift;
    }
    return true;
}

static bool take_rows(struct reader *r, const struct places_told *t, size_t from)
{
    const char *at = t->rows, *end = t->rows + t->row_bytes;
    uint64_t next = 0, off, more;

    for (size_t i = 0; i < from + r->n;) {
        if (!take_number(&at, end, &off) || !take_number(&at, end, &more) || more >= t->listed)
            return false;
        next += off >> 1 ^ -(off & 1);
        for (more++; more > 0 && i < from + r->n; more--, i++, next++)
            if (i >= from)
                r->row[i - from] = next;
    }
    return true;
}

static bool describe(struct reader *r, const struct places_told *t, size_t from)
{
    const char *at = t->places, *end = at + t->bytes;
    struct head h;

    if (!take(&at, end, &h, sizeof h) || h.files > FILES_MOST || h.inputs != t->d ||
        h.inputs > t->bytes || from > t->listed || r->n > t->listed - from)
        return false;
    r->d = t->d;
    r->file = mem_calloc(h.files + 1, sizeof *r->file, "files", NULL);
    r->input = mem_calloc(r->d + 1, sizeof *r->input, "inputs", NULL);
    r->row = mem_calloc(r->n + 1, sizeof *r->row, "rows", NULL);
    bool good = r->file && r->input && r->row;
    for (size_t i = 0; good && i < h.files; i++)
        good = take_file(r, &at, end);
    return good && take_inputs(r, &at, end) && take_rows(r, t, from);
}

/* The bytes of a file that are in memory: those from `at` on. */
struct piece { int fd; uint64_t at; size_t bytes, cap; char *p; };

static bool piece_read(struct piece *q, int fd, uint64_t at, size_t bytes)
{
    void *p = q->p;

    if (q->fd == fd && q->at == at && q->bytes == bytes)
        return true;
    q->fd = -1;
    if (mem_grow(&p, &q->cap, bytes, 1, "a part of a file", NULL) != ST_OK)
        return false;
    q->p = p;
    for (size_t have = 0; have < bytes;) {
        const ssize_t n = pread(fd, q->p + have, bytes - have, (off_t)(at + have));
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        have += n > 0 ? (size_t)n : 0;
    }
    q->fd = fd, q->at = at, q->bytes = bytes;
    return true;
}

static double double_of(const struct source_input *in, const char *p)
{
    double v;
    bool cut;

    memcpy(&v, p, sizeof v);
    return source_scaled(isnan(v) ? in->fill : v, in->mean, in->sd, in->limit, &cut);
}

static double value_of(const struct source_input *in, const struct source_file *f, const char *p)
{
    double v = item_read(f->kind, f->size, f->swap, p);
    bool cut;
    const bool missing = isnan(v) || (in->reads != SOURCE_NUMBER && f->kind == 'u' &&
                                      f->size == 4 && v == (double)UINT32_MAX);
    if (in->constant)
        return 0.0;
    v = in->reads == SOURCE_MISSING ? (double)missing
        : missing                   ? in->fill
        : in->reads == SOURCE_IS    ? (double)(v == in->is)
                                    : v;
    return source_scaled(v, in->mean, in->sd, in->limit, &cut);
}

/* Input j of rows a to b - 1 whose rows of the arrays are within lo..hi, as far as they are in this
 * file; *done counts them. */
static bool read_input(const struct reader *r, const struct open_file *f, struct piece *q,
                       const size_t block[2], const uint64_t within[2], size_t j, size_t *done)
{
    const struct source_file *of = &f->of;
    const struct source_input *in = &r->input[j];
    const uint64_t end = of->first + of->rows;
    const uint64_t lo = within[0] > of->first ? within[0] : of->first,
                   hi = within[1] + 1 < end ? within[1] + 1 : end;
    const bool by_rows = of->row > of->column; /* then all inputs are read together */
    const uint64_t inside = in->column * of->column; /* bounded: take_inputs */

    if (lo >= hi || (by_rows && inside + of->size > of->row))
        return lo >= hi;
    if ((hi - lo) * (double)of->row > (double)span_most)
        return false;
    const uint64_t at = of->at + (lo - of->first) * of->row + (by_rows ? 0 : inside);
    const size_t bytes = (size_t)((hi - lo - 1) * of->row + (by_rows ? of->row : of->size));
    if (!piece_read(q, f->fd, at, bytes))
        return false;
    const bool plain = of->kind == 'f' && of->size == 8 && !of->swap &&
                       in->reads == SOURCE_NUMBER && !in->constant;
    for (size_t i = block[0]; i < block[1]; i++)
        if (r->row[i] >= lo && r->row[i] < hi) {
            const char *p = q->p + (r->row[i] - lo) * of->row + (by_rows ? inside : 0);
            r->x[i * r->d + j] = plain ? double_of(in, p) : value_of(in, of, p);
            ++*done;
        }
    return true;
}

static bool read_block(const struct reader *r, const size_t block[2], struct piece *q)
{
    uint64_t within[2] = { r->row[block[0]], r->row[block[0]] };

    for (size_t i = block[0]; i < block[1]; i++) {
        within[0] = r->row[i] < within[0] ? r->row[i] : within[0];
        within[1] = r->row[i] > within[1] ? r->row[i] : within[1];
    }
    if (within[1] - within[0] > SPARSE * BLOCK)
        return false;
    for (size_t j = 0; j < r->d; j++) {
        const struct source_input *in = &r->input[j];
        size_t done = 0;
        for (size_t k = in->file; k < in->file + in->files; k++)
            if (!read_input(r, &r->file[k], q, block, within, j, &done))
                return false;
        if (done != block[1] - block[0])
            return false;
    }
    return true;
}

enum { BLOCKS = 16 }; /* of a task */
static void read_task(void *ctx, size_t task, size_t worker)
{
    struct reader *r = ctx;
    struct piece q = { .fd = -1 };
    const size_t end = (task + 1) * BLOCKS * BLOCK;

    (void)worker;
    for (size_t a = task * BLOCKS * BLOCK; a < r->n && a < end && !atomic_load(&r->failed);
         a += BLOCK) {
        const size_t block[2] = { a, a + BLOCK < r->n ? a + BLOCK : r->n };
        if (!read_block(r, block, &q))
            atomic_store(&r->failed, true);
    }
    free(q.p);
}

bool places_read(const struct places_told *t, struct pool *pool, size_t from, size_t n, double *x)
{
    struct reader r = { .n = n, .x = x };
    const bool good = n > 0 && describe(&r, t, from);

    if (good)
        pool_run(pool, (n + BLOCKS * BLOCK - 1) / (BLOCKS * BLOCK), read_task, &r);
    for (size_t i = 0; r.file && i < r.nfiles; i++)
        if (r.file[i].fd >= 0)
            close(r.file[i].fd);
    free(r.file);
    free(r.input);
    free(r.row);
    return good && !atomic_load(&r.failed);
}
