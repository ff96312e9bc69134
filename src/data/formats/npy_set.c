/* data/formats/npy_set.c -- see npy_set.h. */
#include "data/formats/npy_set.h"

#include "data/formats/format.h"
#include "data/checksum.h"
#include "data/formats/import_npy.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 8192, LIST_BYTES = 4 << 20 };

static const char *safe(const char *path, char *out, size_t len)
{
    struct buf b = { 0 };

    text_safe(&b, path, 120);
    snprintf(out, len, "%s", buf_str(&b));
    buf_free(&b);
    return out;
}

/* Names. */

static bool ends(const char *s, const char *tail)
{
    const size_t n = strlen(s), k = strlen(tail);
    return n > k && strcmp(s + n - k, tail) == 0;
}

bool npy_set_is_npy(const char *s)
{
    return ends(s, ".npy") || ends(s, ".npy.gz") || ends(s, ".npy.zst");
}

/* True for "a.npy,b.npy": NPY files separated by commas, if no file has that name. */
static bool is_enumerated(const char *path)
{
    const char *p = path;

    if (strchr(path, ',') == NULL || access(path, F_OK) == 0)
        return false;
    for (;;) {
        const size_t len = strcspn(p, ",");
        if (len == 0 || !npy_set_is_npy(strndupa(p, len)))
            return false;
        if (p[len] == '\0')
            return true;
        p += len + 1;
    }
}

bool npy_set_is_pattern(const char *path)
{
    return (strpbrk(path, "*?[") != NULL && access(path, F_OK) != 0) || is_enumerated(path);
}

static bool regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The file of targets beside a file of inputs, which the caller frees; NULL if there is none. */
static char *partner(const char *path)
{
    char *other = strdup(path);

    for (char *p = other != NULL ? other + (base_of(path) - path) : NULL; p != NULL && *p != '\0';
         p++) {
        const char was = *p;
        if ((was != 'x' && was != 'X') || (p > other && isalpha((unsigned char)p[-1])))
            continue;
        *p = was == 'x' ? 'y' : 'Y';
        if (regular(other))
            return other;
        *p = 'y';
        if (regular(other))
            return other;
        *p = was;
    }
    free(other);
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Lists of names. */

struct names {
    char **s;
    size_t n, cap;
};

static enum status names_add(struct names *l, const char *dir, const char *name, struct err *err)
{
    void *p = l->s;
    struct buf b = { 0 };

    if (l->n == MOST) {
        err_named(err, ST_LIMIT, "files", "more than %d files", MOST);
        err_hint(err, "numpy.save(FILE, numpy.concatenate(ARRAYS))");
        return ST_LIMIT;
    }
    const enum status rc = mem_grow(&p, &l->cap, l->n + 1, sizeof *l->s, "a list of files", err);
    l->s = p;
    if (rc != ST_OK)
        return rc;
    if (*name != '/' && *dir != '\0')
        buf_printf(&b, "%s/", dir);
    buf_puts(&b, name);
    l->s[l->n] = buf_take(&b);
    return l->s[l->n] != NULL ? (l->n++, ST_OK) : err_nomem(err, strlen(name), "a list of files");
}

static void names_free(struct names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->s[i]);
    free(l->s);
    *l = (struct names){ 0 };
}

/* Limits the parts of a path with wildcards: glob(3) visits every combination and cannot be
 * stopped, and with ".." after a wildcard it visits the same directories again and again. */
static enum status pattern_bounded(const char *pattern, struct err *err)
{
    enum { OPEN_MOST = 4 };
    char word[200];
    size_t open = 0;
    bool back = false;

    for (const char *p = pattern; *p != '\0';) {
        const size_t len = strcspn(p, "/");
        back |= open > 0 && len == 2 && strncmp(p, "..", 2) == 0;
        open += strcspn(p, "*?[") < len;
        p += len + (p[len] == '/');
    }
    if (open <= OPEN_MOST && !back)
        return ST_OK;
    err_named(err, ST_USAGE, "files",
              "%s: wildcards stand in at most %d parts of a path, and no .. after them",
              safe(pattern, word, sizeof word), OPEN_MOST);
    err_hint(err, "name the directories, with a wildcard for the files");
    return ST_USAGE;
}

static enum status names_of_pattern(const char *pattern, struct names *l, struct err *err)
{
    char word[200];

    if (pattern_bounded(pattern, err) != ST_OK)
        return ST_USAGE;
    glob_t g = { 0 };
    const int rc = glob(pattern, GLOB_NOSORT, NULL, &g);
    enum status st = ST_OK;

    if (rc == GLOB_NOSPACE)
        st = err_nomem(err, 0, "a list of files");
    for (size_t i = 0; i < g.gl_pathc && st == ST_OK; i++)
        st = names_add(l, "", g.gl_pathv[i], err);
    globfree(&g);
    if (st == ST_OK && l->n == 0)
        st =
            err_named(err, ST_IO, "files", "no file is named %s", safe(pattern, word, sizeof word));
    if (st == ST_OK)
        qsort(l->s, l->n, sizeof *l->s, by_number);
    return st;
}

/* Expands "a.npy,b_*.npy" in that order. */
static enum status names_enumerated(const char *list, struct names *l, struct err *err)
{
    enum status rc = ST_OK;

    for (const char *p = list;; p++) {
        const size_t len = strcspn(p, ",");
        const char *one = strndupa(p, len);
        struct names some = { 0 };
        rc = npy_set_is_pattern(one) ? names_of_pattern(one, &some, err)
                                     : names_add(&some, "", one, err);
        for (size_t i = 0; rc == ST_OK && i < some.n; i++)
            rc = names_add(l, "", some.s[i], err);
        names_free(&some);
        p += len;
        if (rc != ST_OK || *p == '\0')
            return rc;
    }
}

/* Lists the files of inputs that have a partner. */
static enum status names_of_directory(const char *dir, struct names *l, struct err *err)
{
    char word[200], path[4200];
    DIR *d = opendir(dir);
    struct dirent *e;
    enum status st = ST_OK;
    size_t arrays = 0;

    if (d == NULL)
        return err_system(err, errno, NULL, "%s: %s", safe(dir, word, sizeof word),
                          strerror(errno));
    while (st == ST_OK && (e = readdir(d)) != NULL) {
        if (*e->d_name == '.' || !npy_set_is_npy(e->d_name) ||
            (size_t)snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= sizeof path)
            continue;
        arrays++;
        char *y = partner(path);
        if (y != NULL)
            st = names_add(l, dir, e->d_name, err);
        free(y);
    }
    closedir(d);
    if (st == ST_OK && l->n == 0) {
        err_named(err, ST_IO, "directory",
                  arrays == 0 ? "%s is a directory, without NPY files in it"
                              : "%s is a directory of NPY files, but no two of them pair as "
                                "x_1.npy and y_1.npy do",
                  safe(dir, word, sizeof word));
        err_hint(err, arrays == 0 ? "open FILE  (one of the files in it)"
                                  : "open DIRECTORY/inputs_*.npy target=targets_*.npy");
        return ST_IO;
    }
    if (st == ST_OK)
        qsort(l->s, l->n, sizeof *l->s, by_number);
    return st;
}

/* Text files that list others. */

/* True if the file's first word that is no comment ends like the name of an NPY file. */
static bool looks_like_list(const char *path)
{
    char head[4097];
    FILE *f = regular(path) ? fopen(path, "re") : NULL;
    const size_t n = f != NULL ? fread(head, 1, sizeof head - 1, f) : 0;
    const char *p = head;

    if (f != NULL)
        fclose(f);
    head[n] = '\0';
    if (n == 0 || memchr(head, '\0', n) != NULL)
        return false;
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (*p != '#')
            break;
        p += strcspn(p, "\n");
    }
    const size_t len = strcspn(p, " \t\r\n,;");
    char word[300];
    if (len == 0 || len >= sizeof word)
        return false;
    memcpy(word, p, len);
    word[len] = '\0';
    return npy_set_is_npy(word);
}

static enum status list_line(char *line, size_t number, const char *file, const char *dir,
                             struct names *x, struct names *y, struct err *err)
{
    char *save = NULL, *word[3] = { NULL }, name[200];
    size_t n = 0;
    enum status st;

    for (char *w = strtok_r(line, " \t\r\n,;", &save); w != NULL && n < 3;
         w = strtok_r(NULL, " \t\r\n,;", &save))
        word[n++] = w;
    if (n == 0 || *word[0] == '#')
        return ST_OK;
    if (n > 2 || !npy_set_is_npy(word[0]) || (n == 2 && !npy_set_is_npy(word[1])) ||
        (x->n > 0 && (y->n > 0) != (n == 2))) {
        err_named(err, ST_FORMAT, "list",
                  "%s line %zu: one NPY file a line, or two in every line (inputs, "
                  "targets), are expected",
                  safe(file, name, sizeof name), number);
        return ST_FORMAT;
    }
    st = names_add(x, dir, word[0], err);
    return st == ST_OK && n == 2 ? names_add(y, dir, word[1], err) : st;
}

static enum status names_of_list(const char *path, struct names *x, struct names *y,
                                 struct err *err)
{
    char *dir = strdup(path), *line = NULL, name[200];
    size_t cap = 0, number = 0, bytes = 0;
    FILE *f = fopen(path, "re");
    enum status st = ST_OK;
    ssize_t n;

    if (dir == NULL || f == NULL) {
        st = err_system(err, errno, NULL, "%s: %s", safe(path, name, sizeof name), strerror(errno));
    } else {
        dir[base_of(path) - path] = '\0';
        if (*dir != '\0' && dir[1] != '\0')
            dir[strlen(dir) - 1] = '\0'; /* removes the slash */
    }
    while (st == ST_OK && (n = getline(&line, &cap, f)) >= 0) {
        bytes += (size_t)n;
        number++;
        st = bytes > LIST_BYTES
                 ? err_named(err, ST_FORMAT, "list", "%s is too long for a list of files",
                             safe(path, name, sizeof name))
                 : list_line(line, number, path, dir, x, y, err);
    }
    if (f != NULL)
        fclose(f);
    free(line);
    free(dir);
    return st;
}

/* Pairing files. */

/* The part of a name that the star of a pattern matches. Returns false unless there is exactly one
 * star. */
static bool star(const char *pattern, const char *name, const char **s, size_t *len)
{
    const char *p = strchr(pattern, '*');
    const size_t before = p != NULL ? (size_t)(p - pattern) : 0, n = strlen(name);

    if (p == NULL || strchr(p + 1, '*') != NULL || strpbrk(pattern, "?[") != NULL ||
        n < before + strlen(p + 1))
        return false;
    *s = name + before;
    *len = n - before - strlen(p + 1);
    return true;
}

static enum status match_pairs(const char *path, const char *target, const struct names *x,
                               const struct names *y, struct err *err)
{
    char a[200], b[200];
    const char *s, *t;
    size_t ns, nt;

    for (size_t i = 0; i < x->n && i < y->n && !is_enumerated(path); i++)
        if (star(base_of(path), base_of(x->s[i]), &s, &ns) &&
            star(base_of(target), base_of(y->s[i]), &t, &nt) &&
            (ns != nt || memcmp(s, t, ns) != 0)) {
            err_named(err, ST_IO, "files", "%s and %s are not a pair: their numbers differ",
                      safe(x->s[i], a, sizeof a), safe(y->s[i], b, sizeof b));
            return ST_IO;
        }
    if (x->n == y->n)
        return ST_OK;
    err_named(err, ST_IO, "files", "%zu file%s of inputs but %zu of targets (%s, %s)", x->n,
              x->n == 1 ? "" : "s", y->n, safe(path, a, sizeof a), safe(target, b, sizeof b));
    return ST_IO;
}

/* Finds the targets of all files by their partners: all files must have one, or none. */
static enum status find_partners(const struct names *x, struct names *y, struct err *err)
{
    char word[200];

    for (size_t i = 0; i < x->n; i++) {
        char *p = partner(x->s[i]);
        const enum status st = p != NULL ? names_add(y, "", p, err) : ST_OK;
        free(p);
        if (st != ST_OK)
            return st;
        if (y->n != 0 && y->n != i + 1)
            return err_named(err, ST_IO, "files",
                             "%s has no file of targets beside it, others have",
                             safe(x->s[i], word, sizeof word));
    }
    return ST_OK;
}

/* Lists a target given as it is, or beside the inputs. */
static enum status names_of_one(const char *path, const char *target, struct names *y,
                                struct err *err)
{
    char beside[4200], word[200];
    const int dir = (int)(base_of(path) - path);

    snprintf(beside, sizeof beside, "%.*s%s", dir, path, target);
    if (regular(target))
        return names_add(y, "", target, err);
    if (*target != '/' && regular(beside))
        return names_add(y, "", beside, err);
    if (!npy_set_is_pattern(target))
        return err_named(err, ST_IO, "files", "the file of targets %s is not there",
                         safe(target, word, sizeof word));
    if (names_of_pattern(target, y, NULL) == ST_OK || *target == '/')
        return y->n > 0 ? ST_OK : names_of_pattern(target, y, err);
    return names_of_pattern(beside, y, err);
}

static enum status names_of_target(const char *path, const char *target, struct names *y,
                                   struct err *err)
{
    const char *first = strndupa(path, is_enumerated(path) ? strcspn(path, ",") : strlen(path));

    if (!is_enumerated(target))
        return names_of_one(first, target, y, err);
    for (const char *p = target;; p++) {
        const size_t len = strcspn(p, ",");
        struct names some = { 0 };
        enum status rc = names_of_one(first, strndupa(p, len), &some, err);
        for (size_t i = 0; rc == ST_OK && i < some.n; i++)
            rc = names_add(y, "", some.s[i], err);
        names_free(&some);
        p += len;
        if (rc != ST_OK || *p == '\0')
            return rc;
    }
}

static char *absolute_pattern(const char *path);

/* Makes each name of "a.npy,b.npy" absolute. */
static char *absolute_each(const char *list)
{
    struct buf b = { 0 };

    for (const char *p = list;; p++) {
        const size_t len = strcspn(p, ",");
        char *one = absolute_pattern(strndupa(p, len));
        buf_printf(&b, "%s%s", p == list ? "" : ",", one ? one : "");
        b.failed |= one == NULL;
        free(one);
        p += len;
        if (*p == '\0')
            return buf_take(&b);
    }
}

static char *absolute_pattern(const char *path)
{
    char *dir = strdup(path), *full = NULL;
    struct buf b = { 0 };

    if (dir != NULL) {
        dir[base_of(path) - path] = '\0';
        full = dirs_real(*dir != '\0' ? dir : ".", NULL);
    }
    if (full != NULL)
        buf_printf(&b, "%s/%s", full, base_of(path));
    b.failed |= full == NULL;
    free(dir);
    free(full);
    return buf_take(&b);
}

/* Finds the files of a set. path: a directory with pairs (x_3.npy and y_3.npy, 0_xblock.npy and
 * 0_yblock.npy, X.npy and y.npy: the first x of a word becomes y); a pattern (x_*.npy); a list,
 * which is a text file with one file or one pair per line; NPY files separated by commas; or one
 * NPY file if target names another. target: one file, a pattern, or files separated by commas;
 * NULL: pairs are found as in a directory. Patterns are sorted with numbers in numerical order. */
static enum status find_parts(const char *path, const char *target, struct parts *out,
                              struct err *err)
{
    struct names x = { 0 }, y = { 0 };
    struct stat st;
    const bool there = stat(path, &st) == 0, files = target != NULL && npy_set_is_npy(target);
    const bool dir = there && S_ISDIR(st.st_mode), pattern = !there && npy_set_is_pattern(path);
    const bool commas = pattern && is_enumerated(path);
    const bool list = !dir && !pattern && there && looks_like_list(path);
    enum status rc = ST_OK;

    *out = (struct parts){ 0 };
    if (strcmp(path, "-") == 0 || (!dir && !pattern && !list && !files))
        return ST_OK;
    rc = dir       ? names_of_directory(path, &x, err)
         : commas  ? names_enumerated(path, &x, err)
         : pattern ? names_of_pattern(path, &x, err)
         : list    ? names_of_list(path, &x, &y, err)
                   : names_add(&x, "", path, err);
    if (rc == ST_OK && list && y.n > 0 && files)
        rc = err_set(err, ST_USAGE, "the list names the files of targets: leave target= out");
    else if (rc == ST_OK && files) {
        rc = names_of_target(path, target, &y, err);
        if (rc == ST_OK)
            rc = match_pairs(path, target, &x, &y, err);
    } else if (rc == ST_OK && y.n == 0) {
        rc = find_partners(&x, &y, err);
    }
    if (rc == ST_OK)
        out->path = commas    ? absolute_each(path)
                    : pattern ? absolute_pattern(path)
                              : dirs_real(path, NULL);
    if (rc == ST_OK && out->path == NULL)
        rc = err_nomem(err, strlen(path), "a path");
    if (rc != ST_OK) {
        names_free(&x);
        names_free(&y);
        return rc;
    }
    if (y.n == 0) {
        free(y.s);
        y.s = NULL;
    }
    out->n = x.n;
    out->x = x.s;
    out->y = y.s;
    return ST_OK;
}

static void free_parts(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->x[i]);
        if (p->y != NULL)
            free(p->y[i]);
    }
    free(p->x);
    free(p->y);
    free(p->path);
    *p = (struct parts){ 0 };
}

/* Reading. */

/* One file of inputs or targets, while the table is made. */
struct part {
    struct npy h;
    struct npy_stamp seen;
    bool plain;
    double bytes;
};

struct side {
    char **path;
    struct part *part;      /* n parts */
    size_t first, cols;     /* columns of the table */
    struct mapped_array *in;
    bool rounded;
};

static enum status open_part(const char *path, const struct ctl *ctl, struct inbuf *in,
                             struct part *p, struct err *err)
{
    char word[200];

    if (!npy_stamp(path, &p->seen)) {
        err_system(err, errno, NULL, "%s: %s", safe(path, word, sizeof word),
                access(path, F_OK) != 0 ? strerror(errno) : "it is not a regular file");
        return ST_IO;
    }
    *in = (struct inbuf){ .st = stream_open(path, ctl, err) };
    if (in->st == NULL)
        return err->code;
    enum status rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
    if (rc == ST_OK && (in->len < 6 || memcmp(in->b, "\x93NUMPY", 6) != 0))
        rc = err_named(err, ST_FORMAT, "npy", "%s is no NPY file", stream_name(in->st));
    if (rc == ST_OK)
        rc = npy_header(in, &p->h, err);
    p->plain = *stream_packing(in->st) == '\0';
    p->bytes = (double)stream_size(in->st);
    return rc;
}

static void close_part(struct inbuf *in)
{
    stream_close(in->st);
    stream_inbuf_free(in);
}

/* Reads only the headers, to find the shape of the whole. */
static enum status look(struct side *s, size_t n, const struct ctl *ctl, struct err *err)
{
    char a[200];
    struct inbuf in = { 0 };
    enum status rc = ST_OK;

    s->part = mem_calloc(n, sizeof *s->part, "a list of files", err);
    if (s->part == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n && rc == ST_OK; i++) {
        rc = open_part(s->path[i], ctl, &in, &s->part[i], err);
        if (rc == ST_OK && i > 0 && s->part[i].h.cols != s->cols)
            rc =
                err_named(err, ST_FORMAT, "npy", "%s has %zu columns, the files before it have %zu",
                          safe(s->path[i], a, sizeof a), s->part[i].h.cols, s->cols);
        s->cols = s->part[i].h.cols;
        close_part(&in);
        in = (struct inbuf){ 0 };
    }
    return rc;
}

static enum status same_rows(const struct side *x, const struct side *y, size_t n, struct err *err)
{
    char a[200], b[200];

    for (size_t i = 0; i < n; i++)
        if (x->part[i].h.rows != y->part[i].h.rows)
            return err_named(err, ST_FORMAT, "npy", "%s has %zu rows, its targets %s have %zu",
                             safe(x->path[i], a, sizeof a), x->part[i].h.rows,
                             safe(y->path[i], b, sizeof b), y->part[i].h.rows);
    return ST_OK;
}

/* Reads and checks all numbers of one file, and copies them unless they stay on disk. */
static enum status read_part(struct side *s, size_t i, size_t row0, const struct import_opts *o,
                             const struct ctl *ctl, struct table *t, uint32_t *sum, struct err *err)
{
    struct inbuf in = { 0 };
    struct part now = { 0 };
    struct table one = { 0 }; /* holds size and checksum of this file */
    struct npy_taker to = { .col = t->col + s->first, .row0 = row0, .store = s->in == NULL,
                            .nan_missing = npy_nan_is_missing(o) };
    char a[200];
    enum status rc = open_part(s->path[i], ctl, &in, &now, err);

    if (rc == ST_OK && memcmp(&now.seen, &s->part[i].seen, sizeof now.seen) != 0)
        rc = err_named(err, ST_IO, "changed", "%s changed while it was read",
                       safe(s->path[i], a, sizeof a));
    if (rc == ST_OK)
        rc = npy_items(&in, &now.h, &to, err);
    if (rc == ST_OK)
        rc = stream_finish(in.st, &one, err);
    close_part(&in);
    if (rc == ST_OK && s->in != NULL)
        rc = mapped_array_add(s->in, s->path[i], &now.h, &now.seen, err);
    s->rounded |= to.rounded;
    t->file_size += one.file_size;
    *sum = checksum_add(*sum, one.checksum, strlen(one.checksum));
    return rc;
}

static enum status make_columns(struct table *t, struct side *x, struct side *y,
                                const struct parts *p, const struct import_opts *o, struct err *err)
{
    double bytes = 0.0;
    bool plain = true;
    enum status rc = ST_OK;

    for (struct side *s = x; s != NULL; s = s == x && p->y != NULL ? y : NULL)
        for (size_t i = 0; i < p->n; i++) {
            plain = plain && s->part[i].plain;
            bytes += s->part[i].bytes;
        }
    if (plain && npy_in_place(bytes, t->n, t->ncols)) {
        x->in = mapped_array_new(x->cols, err);
        y->in = p->y != NULL ? mapped_array_new(y->cols, err) : NULL;
        if (x->in == NULL || (p->y != NULL && y->in == NULL))
            return ST_NOMEM;
    } else {
        rc = npy_check_memory(p->path, t->n, t->ncols, o, err);
    }
    if (rc == ST_OK)
        rc = npy_columns(t, 0, x->cols, "x", x->in, err);
    return rc == ST_OK && p->y != NULL ? npy_columns(t, x->cols, y->cols, "y", y->in, err) : rc;
}

static enum status words(const struct parts *p, const struct side *x, const struct side *y,
                         struct table *t, struct err *err)
{
    struct buf line = { 0 };

    if (p->n == 1)
        buf_puts(&line, "NPY");
    else
        buf_printf(&line, "%zu NPY files", p->n);
    buf_printf(&line, ", %c%zu, %s order", x->part[0].h.kind, x->part[0].h.size,
               x->part[0].h.fortran ? "Fortran" : "C");
    if (p->y != NULL) {
        struct buf b = { 0 };
        text_safe(&b, base_of(p->y[0]), 60);
        buf_printf(&line, "; targets from %s%s", buf_str(&b), p->n > 1 ? " and so on" : "");
        buf_free(&b);
    }
    const enum status rc = npy_words(t, &line, x->rounded || y->rounded, x->in != NULL, err);
    buf_free(&line);
    return rc;
}

static enum status fill(struct table *t, const struct parts *p, struct side *x, struct side *y,
                        const struct import_opts *o, const struct ctl *ctl, struct err *err)
{
    uint32_t sum = 0;
    enum status rc = look(x, p->n, ctl, err);

    if (rc == ST_OK && p->y != NULL)
        rc = look(y, p->n, ctl, err);
    if (rc == ST_OK && p->y != NULL)
        rc = same_rows(x, y, p->n, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < p->n; i++)
        t->n += x->part[i].h.rows;
    if (x->cols + y->cols > IMPORT_MAX_COLS)
        return err_named(err, ST_FORMAT, "limit", "%zu columns; the limit is %zu",
                         x->cols + y->cols, IMPORT_MAX_COLS);
    struct column *col = mem_calloc(x->cols + y->cols, sizeof *col, "columns", err);
    if (col == NULL)
        return ST_NOMEM;
    free(t->col);
    t->col = col;
    t->ncols = x->cols + y->cols;
    t->targets = y->cols;
    t->depth = x->part[0].h.depth;
    y->first = x->cols;
    rc = make_columns(t, x, y, p, o, err);
    for (size_t i = 0, row = 0; i < p->n && rc == ST_OK; row += x->part[i++].h.rows) {
        rc = read_part(x, i, row, o, ctl, t, &sum, err);
        if (rc == ST_OK && p->y != NULL)
            rc = read_part(y, i, row, o, ctl, t, &sum, err);
    }
    snprintf(t->checksum, sizeof t->checksum, "crc32:%08" PRIx32, sum);
    return rc == ST_OK ? words(p, x, y, t, err) : rc;
}

/* Makes one table with the rows in the order of the files; the targets are its last columns. */
static enum status import_parts(const struct parts *p, const struct import_opts *o,
                                const struct ctl *ctl, struct table **out, struct err *err)
{
    struct side x = { .path = p->x }, y = { .path = p->y };
    struct table *t = table_new(p->path, 0, err);
    enum status rc = t != NULL ? fill(t, p, &x, &y, o, ctl, err) : ST_NOMEM;

    mapped_array_unref(x.in); /* the columns hold their own references */
    mapped_array_unref(y.in);
    free(x.part);
    free(y.part);
    if (rc == ST_OK)
        rc = table_finish(t, ctl, err);
    if (rc != ST_OK)
        table_unref(t);
    else
        *out = t;
    return rc;
}

static enum status read_set(const char *path, const struct import_opts *opts,
                            const struct ctl *ctl, struct table **out, struct err *err)
{
    struct parts parts;
    enum status rc = find_parts(path, opts->target, &parts, err);

    if (rc == ST_OK && parts.n > 0)
        rc = import_parts(&parts, opts, ctl, out, err);
    free_parts(&parts);
    return rc;
}

const struct format npy_set_format = { .name = "sets of NPY files", .read_set = read_set };
