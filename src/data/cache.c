/* data/cache.c -- see cache.h.
 *
 *     columns/1a2b3c4d/       named after the checksum of path and options
 *         meta.npy            int64: version, sizes, time of the file, checksums of its ends and of
 * this; eight numbers for each column words.npy           bytes: path, options, checksum,
 * decisions, notes, names; NUL-terminated c0.npy ..           float64, or uint32 codes, or for text
 * bytes: a mark and the string l0.npy ..           bytes: levels, NUL-terminated
 *     columns/m1a2b3c4d5e6f7/ bytes that belong to no table: bytes.npy, a checksum behind them
 *
 * Written beside its place and renamed: a killed program leaves a directory that the next one
 * removes. */
#include "data/cache.h"

#include "data/checksum.h"
#include "data/formats/format.h"
#include "compute/features/source.h"
#include "base/dirs.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 2, HEAD = 128, MOST_COLUMNS = 4000, PER_COLUMN = 8, FIXED = 12, LOOK = 1 << 16 };
static const uint64_t smallest_file = 4 << 20; /* smaller files are parsed fast enough */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char dir[4096];

const char *cache_dir(void)
{
    pthread_mutex_lock(&lock);
    if (*dir == '\0') {
        struct buf path = { 0 };
        if (dirs_path(DIRS_CACHE, NULL, &path) && path.len < sizeof dir &&
            dirs_make(path.s, NULL) == ST_OK && access(path.s, W_OK) == 0)
            memcpy(dir, path.s, path.len + 1);
        buf_free(&path);
    }
    pthread_mutex_unlock(&lock);
    return dir;
}

/* Names. */

/* The directory of an entry. Returns false if there is no cache. */
static bool entry_path(const char *path, const char *words, char *out, size_t len)
{
    const char *base = cache_dir();
    uint32_t sum = checksum_add(0, path, strlen(path) + 1);

    sum = checksum_add(sum, words, strlen(words));
    return *base && (size_t)snprintf(out, len, "%s/columns/%08" PRIx32, base, sum) < len;
}

static bool inside(const char *entry, char kind, size_t j, char *out, size_t len)
{
    return (size_t)(kind ? snprintf(out, len, "%s/%c%zu.npy", entry, kind, j)
                         : snprintf(out, len, "%s/%s.npy", entry, j ? "words" : "meta")) < len;
}

/* A checksum of the first and last bytes of a file: size and time alone can agree by accident. */
static int64_t file_ends(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *b = malloc(LOOK);
    uint32_t sum = 0;

    for (int end = 0; fd >= 0 && b && end < 2; end++) {
        const off_t at = end ? lseek(fd, 0, SEEK_END) - LOOK : 0;
        const ssize_t n = pread(fd, b, LOOK, at > 0 ? at : 0);
        sum = n > 0 ? checksum_add(sum, b, (size_t)n) : sum;
    }
    if (fd >= 0)
        close(fd);
    free(b);
    return sum;
}

/* The checksum of all numbers but itself. */
static int64_t meta_sum(const int64_t *meta, size_t count)
{
    return checksum_add(checksum_add(0, meta, 11 * sizeof *meta), meta + FIXED,
                        (count - FIXED) * sizeof *meta);
}

/* Writing. */

static bool write_all(int fd, const void *p, size_t n)
{
    const char *s = p;

    while (n) {
        const ssize_t k = write(fd, s, n < (size_t)1 << 24 ? n : (size_t)1 << 24);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        s += k, n -= (size_t)k;
    }
    return true;
}

static bool write_npy(const char *path, const char *descr, const void *p, size_t n, size_t size)
{
    char head[HEAD + 1] = "\x93NUMPY\x01";
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    memset(head + 7, 0, 3);
    head[8] = HEAD - 10;
    const int len =
        snprintf(head + 10, HEAD - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }",
                 descr, n);
    memset(head + 10 + len, ' ', (size_t)(HEAD - 10 - len));
    head[HEAD - 1] = '\n';
    bool good = write_all(fd, head, HEAD);
    for (size_t at = 0, step = (size_t)4 << 20; good && at < n * size; at += step) {
        const size_t some = n * size - at < step ? n * size - at : step;
        good = write_all(fd, (const char *)p + at, some);
        spill_used(some);
    }
    const int error = errno; /* errno of the failed write */
    const bool closed = close(fd) == 0;
    errno = good ? errno : error;
    return closed && good;
}

/* The bytes of a column as they are stored. *own: a buffer that the caller frees. */
static const void *column_bytes(const struct column *c, size_t n, size_t *bytes, struct buf *own)
{
    if (c->type == COL_REAL)
        return *bytes = n * sizeof *c->v, c->v;
    if (c->type == COL_CATEGORY)
        return *bytes = n * sizeof *c->code, c->code;
    for (size_t i = 0; i < n; i++) {
        buf_putc(own, c->text[i] ? 't' : '-');
        buf_putn(own, c->text[i] ? c->text[i] : "", c->text[i] ? strlen(c->text[i]) : 0);
        buf_putc(own, '\0');
    }
    *bytes = own->len;
    return own->failed ? NULL : own->s;
}

static bool write_column(const char *entry, size_t j, const struct column *c, size_t n,
                         int64_t *meta)
{
    char path[4200];
    struct buf own = { 0 }, levels = { 0 };
    size_t bytes = 0;
    const char *p = column_bytes(c, n, &bytes, &own);
    const bool real = c->type == COL_REAL, codes = c->type == COL_CATEGORY;
    bool good = p && inside(entry, 'c', j, path, sizeof path) &&
                write_npy(path, real ? "<f8" : codes ? "<u4" : "|u1", p,
                          real || codes ? n : bytes, real ? 8 : codes ? 4 : 1);

    for (size_t k = 0; codes && k < c->nlevels; k++) {
        buf_puts(&levels, c->level[k]);
        buf_putc(&levels, '\0');
    }
    good = good && !levels.failed &&
           (!levels.len || (inside(entry, 'l', j, path, sizeof path) &&
                            write_npy(path, "|u1", levels.s, levels.len, 1)));
    meta[0] = c->type;
    meta[1] = (int64_t)c->missing;
    meta[2] = c->integers | c->date << 1 | c->named << 2;
    meta[3] = (int64_t)c->nlevels;
    meta[4] = (int64_t)bytes;
    meta[5] = p ? checksum_add(0, p, bytes) : 0;
    meta[6] = (int64_t)levels.len;
    meta[7] = levels.len ? checksum_add(0, levels.s, levels.len) : 0;
    spill_used(bytes);
    buf_free(&own);
    buf_free(&levels);
    return good;
}

static void remove_entry(const char *entry)
{
    DIR *d = opendir(entry);
    struct dirent *e;
    char path[4400];

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
            (size_t)snprintf(path, sizeof path, "%s/%s", entry, e->d_name) < sizeof path)
            unlink(path);
    if (d)
        closedir(d);
    rmdir(entry);
}

/* Listing entries. */

struct entry { char path[4200]; uint64_t bytes; struct timespec used; };

static uint64_t entry_bytes(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    struct stat st;
    uint64_t sum = 0;

    while (d && (e = readdir(d)))
        if (*e->d_name != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            sum += (uint64_t)st.st_size;
    if (d)
        closedir(d);
    return sum;
}

/* Lists all entries. Entries that a killed program left incomplete are removed after an hour. */
static struct entry *entries(size_t *n)
{
    char base[4200];
    struct entry *list = NULL;
    size_t cap = 0;
    struct dirent *e;
    struct stat st;

    *n = 0;
    snprintf(base, sizeof base, "%s/columns", cache_dir());
    DIR *d = *cache_dir() ? opendir(base) : NULL;
    while (d && (e = readdir(d))) {
        struct entry x;
        if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(st.st_mode) ||
            (size_t)snprintf(x.path, sizeof x.path, "%s/%s", base, e->d_name) >= sizeof x.path)
            continue;
        if (strchr(e->d_name, '-')) {
            if (time(NULL) - st.st_mtime > 3600)
                remove_entry(x.path);
            continue;
        }
        void *p = list;
        if (mem_grow(&p, &cap, *n + 1, sizeof *list, "the cache", NULL) != ST_OK)
            break;
        list = p;
        x.bytes = entry_bytes(x.path);
        x.used = st.st_mtim;
        list[(*n)++] = x;
    }
    if (d)
        closedir(d);
    return list;
}

void cache_size(size_t *n, uint64_t *bytes)
{
    struct entry *e = entries(n);

    *bytes = 0;
    for (size_t i = 0; i < *n; i++)
        *bytes += e[i].bytes;
    free(e);
}

static int by_use(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->used.tv_sec != y->used.tv_sec ? (x->used.tv_sec > y->used.tv_sec ? 1 : -1)
                                            : (x->used.tv_nsec > y->used.tv_nsec) -
                                                  (x->used.tv_nsec < y->used.tv_nsec);
}

/* Removes the least recently used entries until `bytes` more fit into `most`. The limit holds for
 * all processes, because other processes keep tables in this directory, too. */
static bool make_room(uint64_t bytes, uint64_t most)
{
    size_t n;
    struct entry *e = entries(&n);
    uint64_t sum = bytes;

    for (size_t i = 0; i < n; i++)
        sum += e[i].bytes;
    if (e)
        qsort(e, n, sizeof *e, by_use);
    for (size_t i = 0; i < n && sum > most && bytes <= most; i++) {
        remove_entry(e[i].path);
        sum -= e[i].bytes;
    }
    free(e);
    return bytes <= most;
}

void cache_trim(uint64_t bytes)
{
    (void)make_room(0, bytes);
}

static bool write_words(const char *entry, const struct table *t, const char *opts, int64_t *meta)
{
    char path[4200];
    struct buf b = { 0 };
    const char *const words[] = { t->path, opts, t->checksum, t->decisions, t->notes };

    for (size_t i = 0; i < 5; i++)
        buf_putn(&b, words[i], strlen(words[i]) + 1);
    for (size_t j = 0; j < t->ncols; j++)
        buf_putn(&b, t->col[j].name, strlen(t->col[j].name) + 1);
    const bool good = !b.failed && inside(entry, 0, 1, path, sizeof path) &&
                      write_npy(path, "|u1", b.s, b.len, 1);
    meta[8] = (int64_t)b.len;
    meta[9] = good ? checksum_add(0, b.s, b.len) : 0;
    buf_free(&b);
    return good;
}

/* Writes an entry under a temporary name. Returns false with errno set on failure. */
static bool write_entry(const char *tmp, const struct table *t, const struct stat *st,
                        const char *opts, int64_t *meta, const struct ctl *ctl)
{
    const size_t count = FIXED + t->ncols * PER_COLUMN;
    const int64_t fixed[] = { VERSION, (int64_t)t->n, (int64_t)t->ncols, (int64_t)t->file_size,
                              st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (int64_t)t->missing,
                              t->duplicates };
    char path[4300];

    memcpy(meta, fixed, sizeof fixed);
    meta[10] = file_ends(t->path);
    bool good = write_words(tmp, t, opts, meta);
    for (size_t j = 0; good && j < t->ncols; j++)
        good = !ctl_stopped(ctl) &&
               write_column(tmp, j, &t->col[j], t->n, meta + FIXED + j * PER_COLUMN);
    meta[11] = meta_sum(meta, count);
    return good && inside(tmp, 0, 0, path, sizeof path) && write_npy(path, "<i8", meta, count, 8);
}

void cache_keep(struct table *t, const struct import_opts *o, const struct ctl *ctl,
                struct buf *why)
{
    char entry[4200], tmp[4240], path[4300];
    struct buf opts = { 0 };
    struct stat st;
    static _Atomic unsigned serial;

    if (limits_now().cache == 0 || t->file_size < smallest_file || t->ncols > MOST_COLUMNS ||
        *t->path != '/' || stat(t->path, &st) != 0 || (uint64_t)st.st_size != t->file_size)
        return;
    format_text_words(o, &opts);
    if (opts.failed || !entry_path(t->path, buf_str(&opts), entry, sizeof entry)) {
        buf_puts(why, "there is no cache directory that can be written to (XDG_CACHE_HOME)");
        buf_free(&opts);
        return;
    }
    if (!make_room(table_bytes(t), limits_now().cache)) {
        buf_puts(why, "the table is larger than the cache may be (set cache=SIZE)");
        buf_free(&opts);
        return;
    }
    snprintf(tmp, sizeof tmp, "%s-%ld-%u", entry, (long)getpid(), serial++);
    snprintf(path, sizeof path, "%s/columns", cache_dir());
    (void)mkdir(path, 0700);
    int64_t *meta = mem_calloc(FIXED + t->ncols * PER_COLUMN, sizeof *meta, "the cache", NULL);
    errno = ENOMEM;
    bool good =
        meta && mkdir(tmp, 0700) == 0 && write_entry(tmp, t, &st, buf_str(&opts), meta, ctl);
    int error = errno;
    if (good) {
        remove_entry(entry);
        good = rename(tmp, entry) == 0;
        error = errno;
    }
    if (good)
        t->kept = mem_strdup(entry, NULL);
    if (!good) {
        remove_entry(tmp);
        if (!ctl_stopped(ctl)) {
            text_safe(why, cache_dir(), 200);
            buf_printf(why, ": %s", strerror(error));
        }
    }
    free(meta);
    buf_free(&opts);
}

/* Reading. */

/* Reads and checks the bytes after the header; there must be exactly as many. They are mapped, or
 * copied into memory if there is room. */
static void *read_npy(const char *path, size_t bytes, uint32_t sum, bool map)
{
    const void *p = spill_map(path, HEAD, bytes, NULL);
    void *copy = NULL;

    if (!p || checksum_add(0, p, bytes) != sum) {
        spill_free(p);
        return NULL;
    }
    spill_used(bytes);
    if (map)
        return (void *)(uintptr_t)p;
    copy = spill_array(bytes, 1, "a column", NULL);
    if (copy)
        memcpy(copy, p, bytes);
    spill_free(p);
    return copy;
}

/* Returns consecutive strings from *at on; NULL at the end. */
static const char *next_word(const char *b, size_t len, size_t *at)
{
    const char *s = b + *at, *end = *at < len ? memchr(s, '\0', len - *at) : NULL;

    *at = end ? (size_t)(end - b) + 1 : len + 1;
    return end ? s : NULL;
}

static bool take_text(struct column *c, size_t n, char *b, size_t len)
{
    size_t at = 0;

    c->arena = b;
    c->text = mem_calloc(n ? n : 1, sizeof *c->text, "a column of text", NULL);
    for (size_t i = 0; c->text && i < n; i++) {
        const char *s = next_word(b, len, &at);
        if (!s || (*s != 't' && *s != '-'))
            return false;
        c->text[i] = *s == 't' ? (char *)(uintptr_t)s + 1 : NULL;
    }
    return c->text && at == len;
}

static bool take_levels(struct column *c, size_t n, char *b, size_t len)
{
    size_t at = 0;

    c->arena = b;
    c->level = mem_calloc(c->nlevels ? c->nlevels : 1, sizeof *c->level, "a column's levels", NULL);
    for (size_t k = 0; c->level && k < c->nlevels; k++)
        if (!(c->level[k] = (char *)(uintptr_t)next_word(b, len, &at)))
            return false;
    for (size_t i = 0; c->level && i < n; i++)
        if (c->code[i] != UINT32_MAX && c->code[i] >= c->nlevels)
            return false;
    return c->level && at == len;
}

static char *plain_copy(const char *path, size_t bytes, uint32_t sum)
{
    void *p = read_npy(path, bytes, sum, true);
    char *copy = p ? mem_calloc(bytes, 1, "the cache", NULL) : NULL;

    if (copy)
        memcpy(copy, p, bytes);
    spill_free(p);
    return copy;
}

static bool read_column(const char *entry, size_t j, size_t n, const int64_t *meta, bool map,
                        struct column *c)
{
    char path[4200];
    const size_t bytes = (size_t)meta[4], levels = (size_t)meta[6];

    if (meta[0] < COL_REAL || meta[0] > COL_TEXT || !inside(entry, 'c', j, path, sizeof path))
        return false;
    c->type = (enum col_type)meta[0];
    c->missing = (size_t)meta[1];
    c->integers = meta[2] & 1;
    c->date = meta[2] & 2;
    c->named = meta[2] & 4;
    c->nlevels = (size_t)meta[3];
    if (c->type == COL_TEXT) {
        char *b = plain_copy(path, bytes, (uint32_t)meta[5]);
        return b && take_text(c, n, b, bytes);
    }
    if (bytes != n * (c->type == COL_REAL ? 8 : 4) || c->nlevels > bytes + 1)
        return false;
    void *p = read_npy(path, bytes, (uint32_t)meta[5], map);
    if (c->type == COL_REAL)
        return (c->v = p) != NULL;
    c->code = p;
    if (!p || !levels)
        return p && c->nlevels == 0;
    char *b = inside(entry, 'l', j, path, sizeof path) ? plain_copy(path, levels, (uint32_t)meta[7])
                                                        : NULL;
    return b && take_levels(c, n, b, levels);
}

/* Reads names and sentences. Also returns false if the entry belongs to another file. */
static bool read_words(const char *entry, const char *path, const char *opts, const int64_t *meta,
                       struct table *t)
{
    char file[4200];
    const size_t len = (size_t)meta[8];
    char *b =
        inside(entry, 0, 1, file, sizeof file) ? plain_copy(file, len, (uint32_t)meta[9]) : NULL;
    size_t at = 0;
    bool good = b != NULL;
    const char *s;

    good = good && (s = next_word(b, len, &at)) && !strcmp(s, path);
    good = good && (s = next_word(b, len, &at)) && !strcmp(s, opts);
    good = good && (s = next_word(b, len, &at)) && strlen(s) < sizeof t->checksum;
    if (good)
        strcpy(t->checksum, s);
    for (int i = 0; good && i < 2; i++) {
        char **to = i ? &t->notes : &t->decisions;
        good = (s = next_word(b, len, &at)) != NULL;
        free(*to);
        *to = good ? mem_strdup(s, NULL) : NULL;
        good = *to != NULL;
    }
    for (size_t j = 0; good && j < t->ncols; j++)
        good = (s = next_word(b, len, &at)) && (t->col[j].name = mem_strdup(s, NULL));
    free(b);
    return good && at == len;
}

static int64_t *read_meta(const char *entry, const char *file, const struct stat *st)
{
    char path[4200];
    struct stat own;

    if (!inside(entry, 0, 0, path, sizeof path) || stat(path, &own) != 0 ||
        own.st_size < HEAD + FIXED * 8)
        return NULL;
    const size_t bytes = (size_t)own.st_size - HEAD;
    const int64_t *p = spill_map(path, HEAD, bytes, NULL);
    int64_t *meta = p ? mem_calloc(bytes, 1, "the cache", NULL) : NULL;
    if (meta)
        memcpy(meta, p, bytes);
    spill_free(p);
    if (meta && meta[0] == VERSION && meta[1] > 0 && meta[2] > 0 && meta[2] <= MOST_COLUMNS &&
        bytes == (size_t)(FIXED + meta[2] * PER_COLUMN) * 8 && meta[3] == st->st_size &&
        meta[4] == st->st_mtim.tv_sec && meta[5] == st->st_mtim.tv_nsec &&
        meta[11] == meta_sum(meta, bytes / 8) && meta[10] == file_ends(file))
        return meta;
    free(meta);
    return NULL;
}

struct table *cache_find(const char *path, const struct import_opts *o, const struct ctl *ctl)
{
    char entry[4200];
    struct buf opts = { 0 };
    struct stat st;
    struct table *t = NULL;
    int64_t *meta = NULL;
    bool good = limits_now().cache > 0 && *path == '/' && stat(path, &st) == 0 &&
                (uint64_t)st.st_size >= smallest_file;

    format_text_words(o, &opts);
    good = good && entry_path(path, buf_str(&opts), entry, sizeof entry) &&
           (meta = read_meta(entry, path, &st)) != NULL;
    good = good && (t = table_new(path, (size_t)meta[2], NULL)) != NULL;
    if (good) {
        t->n = (size_t)meta[1];
        t->file_size = (uint64_t)meta[3];
        t->missing = (size_t)meta[6];
        t->duplicates = meta[7];
        good = read_words(entry, path, buf_str(&opts), meta, t);
    }
    const bool map = good && !spill_fits(8.0 * (double)t->n * (double)t->ncols);
    for (size_t j = 0; good && j < t->ncols; j++) {
        good = !ctl_stopped(ctl) &&
               read_column(entry, j, t->n, meta + FIXED + j * PER_COLUMN, map, &t->col[j]);
        ctl_tell(ctl, PHASE_READ_KEPT, j + 1, t->ncols, NAN);
    }
    if (good)
        (void)utimensat(AT_FDCWD, entry, NULL, 0); /* mark it as just used */
    else if (meta && !ctl_stopped(ctl))
        remove_entry(entry);
    free(meta);
    buf_free(&opts);
    if (good)
        t->kept = mem_strdup(entry, NULL);
    if (!good)
        table_unref(t);
    return good ? t : NULL;
}

bool cache_file(const char *kept, size_t j, const struct column *c, size_t rows, struct buf *path,
                struct source_file *f)
{
    char name[4200];
    const uint32_t size = c->type == COL_REAL ? 8 : 4;

    if ((c->type != COL_REAL && c->type != COL_CATEGORY) ||
        !inside(kept, 'c', j, name, sizeof name))
        return false;
    buf_puts(path, name);
    *f = (struct source_file){ .rows = rows, .at = HEAD, .row = size, .column = size,
                               .size = size, .kind = c->type == COL_REAL ? 'f' : 'u' };
    return true;
}

/* Bytes. */

static bool bytes_path(const char *name, char *entry, char *path, size_t len)
{
    return *cache_dir() &&
           (size_t)snprintf(entry, len, "%s/columns/%s", cache_dir(), name) < len &&
           (size_t)snprintf(path, len, "%s/bytes.npy", entry) < len;
}

void *cache_find_bytes(const char *name, size_t *bytes)
{
    char entry[4200], path[4300];
    struct stat st;
    uint32_t sum;

    if (limits_now().cache == 0 || !bytes_path(name, entry, path, sizeof entry) ||
        stat(path, &st) != 0 || st.st_size < HEAD + (off_t)sizeof sum)
        return NULL;
    *bytes = (size_t)st.st_size - HEAD - sizeof sum;
    const char *p = spill_map(path, HEAD, *bytes + sizeof sum, NULL);
    if (p == NULL)
        return NULL;
    memcpy(&sum, p + *bytes, sizeof sum);
    void *copy = checksum_add(0, p, *bytes) == sum
                     ? mem_calloc(*bytes + 1, 1, "the cache", NULL) : NULL;
    if (copy != NULL)
        memcpy(copy, p, *bytes);
    spill_free(p);
    if (copy != NULL)
        (void)utimensat(AT_FDCWD, entry, NULL, 0); /* mark it as just used */
    else
        remove_entry(entry);
    return copy;
}

void cache_keep_bytes(const char *name, const void *p, size_t bytes)
{
    char entry[4200], path[4300], tmp[4240];
    struct buf all = { 0 };
    const uint32_t sum = checksum_add(0, p, bytes);
    static _Atomic unsigned serial;

    if (limits_now().cache == 0 || !bytes_path(name, entry, path, sizeof entry) ||
        !make_room(bytes + HEAD, limits_now().cache))
        return;
    buf_putn(&all, p, bytes);
    buf_putn(&all, (const char *)&sum, sizeof sum);
    snprintf(path, sizeof path, "%s/columns", cache_dir());
    (void)mkdir(path, 0700);
    snprintf(tmp, sizeof tmp, "%s-%ld-%u", entry, (long)getpid(), serial++);
    snprintf(path, sizeof path, "%s/bytes.npy", tmp);
    bool good = !all.failed && mkdir(tmp, 0700) == 0 &&
                write_npy(path, "|u1", all.s, all.len, 1);
    if (good) {
        remove_entry(entry);
        good = rename(tmp, entry) == 0;
    }
    if (!good)
        remove_entry(tmp);
    buf_free(&all);
}
