/* data/formats/import.c -- a table from a file, whatever its format: the format is told by the
 * first bytes. */
#include "data/formats/import.h"

#include "data/cache.h"
#include "data/formats/npy_set.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Files that people try and that are no tables of text: said by name, with a way out. */
static const struct {
    const char *magic;
    size_t len;
    const char *what, *hint;
} other_formats[] = {
    { "PK\3\4", 4, "a zip archive or a spreadsheet (xlsx, ods)", "save it as CSV" },
    { "\xd0\xcf\x11\xe0", 4, "an old Office file (xls)", "save it as CSV" },
    { "PAR1", 4, "a Parquet file", "convert it to CSV or NPY" },
    { "ARROW1", 6, "an Arrow file", "convert it to CSV or NPY" },
    { "SQLite format 3", 15, "an SQLite database or a gpdesk session", "gpdesk -s FILE" },
    { "%PDF", 4, "a PDF document", "a table of text is needed" },
    { "\x89PNG", 4, "a picture", "a table of text is needed" },
    { "\x7f" "ELF", 4, "a program", "a table of text is needed" },
    { "\x1f\x8b", 2, "packed twice", "unpack it once" },
    { "\x28\xb5\x2f\xfd", 4, "packed twice", "unpack it once" },
    { "BZh", 3, "packed with bzip2", "bunzip2 it, or pack it with gzip or zstd" },
    { "\xfd" "7zXZ", 5, "packed with xz", "unxz it, or pack it with gzip or zstd" },
    { "{\"", 2, "JSON", "convert it to CSV" },
    { "<!DOCTYPE", 9, "a web page", "a table of text is needed" },
    { "<html", 5, "a web page", "a table of text is needed" },
};

static enum status binary(const struct inbuf *in, struct err *err)
{
    const char *b = in->b;
    size_t look = in->len < 65536 ? in->len : 65536;
    if (in->len >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0)) {
        err_named(err, ST_FORMAT, "utf16", "%s is UTF-16 text; UTF-8 is needed",
                  stream_name(in->st));
        err_hint(err, "iconv -f UTF-16 -t UTF-8 FILE > NEW");
        return ST_FORMAT;
    }
    for (size_t i = 0; i < sizeof other_formats / sizeof *other_formats; i++)
        if (in->len >= other_formats[i].len &&
            memcmp(b, other_formats[i].magic, other_formats[i].len) == 0) {
            err_named(err, ST_FORMAT, "binary", "%s is %s, not CSV or NPY", stream_name(in->st),
                      other_formats[i].what);
            err_hint(err, "%s", other_formats[i].hint);
            return ST_FORMAT;
        }
    const char *zero = memchr(b, '\0', look);
    if (zero == NULL)
        return ST_OK;
    err_named(err, ST_FORMAT, "binary", "%s holds a zero byte at %zu: it is no text",
              stream_name(in->st), (size_t)(zero - b));
    err_hint(err, "CSV, TSV and NPY can be opened, also packed with gzip or zstd");
    return ST_FORMAT;
}

static enum status read_table(struct stream *st, const struct import_opts *opts,
                              const struct ctl *ctl, struct table *t, struct err *err)
{
    struct inbuf in = { .st = st };
    enum status rc = inbuf_fill(&in, IMPORT_MAX_LINE, err);
    if (rc == ST_OK && in.len == 0)
        rc = err_named(err, ST_FORMAT, "empty", "%s is empty", stream_name(st));
    if (rc == ST_OK) {
        if (in.len >= 6 && memcmp(in.b, "\x93NUMPY", 6) == 0)
            rc = import_npy(&in, opts, ctl, t, err);
        else if (in.len >= 8 && memcmp(in.b, "\x89HDF\r\n\x1a\n", 8) == 0)
            rc = import_hdf5(&in, opts, ctl, t, err);
        else if (in.b[strspn(in.b, " \t\r\n")] == '>') /* 16 zero bytes follow the window */
            rc = import_fasta(&in, opts, ctl, t, err);
        else if ((rc = binary(&in, err)) == ST_OK)
            rc = import_csv(&in, opts, ctl, t, err), t->parsed = true;
    }
    inbuf_free(&in);
    if (rc == ST_OK)
        rc = stream_finish(st, t, err);
    return rc == ST_OK ? table_finish(t, ctl, err) : rc;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *absolute(const char *path, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return mem_strdup(path, err);
    char *full = realpath(path, NULL);
    return full != NULL ? full : mem_strdup(path, err);
}

static enum status import_stream(struct stream *st, const char *path,
                                 const struct import_opts *opts, const struct ctl *ctl,
                                 struct table **out, struct err *err)
{
    double start = seconds_now();
    struct table *t = table_new(path, 0, err);
    enum status rc = t == NULL ? ST_NOMEM : read_table(st, opts, ctl, t, err);
    stream_close(st);
    if (rc != ST_OK) {
        table_unref(t);
        return rc;
    }
    t->seconds = seconds_now() - start;
    *out = t;
    return ST_OK;
}

static enum status import_parts(const struct parts *p, const struct import_opts *opts,
                                const struct ctl *ctl, struct table **out, struct err *err)
{
    const double start = seconds_now();
    const enum status rc = npy_set_import(p, opts, ctl, out, err);

    if (rc == ST_OK)
        (*out)->seconds = seconds_now() - start;
    return rc;
}

/* Into the cache; a note when that cannot be. */
static void keep(struct table *t, const struct import_opts *opts, const struct ctl *ctl)
{
    struct buf why = { 0 }, notes = { 0 };

    cache_keep(t, opts, ctl, &why);
    if (why.len > 0 && !why.failed) {
        buf_printf(
            &notes,
            "%snote[cache]: the table is not kept, so the file will be parsed again the next "
            "time: %s\n",
            t->notes, buf_str(&why));
        char *s = buf_take(&notes);
        if (s != NULL) {
            free(t->notes);
            t->notes = s;
        }
    }
    buf_free(&why);
}

/* One file, of the cache if it was parsed before. */
static enum status import_one(const char *path, const struct import_opts *opts,
                              const struct ctl *ctl, struct table **out, struct err *err)
{
    struct stream *st = stream_open(path, ctl, err);
    if (st == NULL)
        return err->code;
    char *full = absolute(path, err);
    if (full == NULL) {
        stream_close(st);
        return ST_NOMEM;
    }
    const double start = seconds_now();
    enum status rc = ST_OK;
    *out = cache_find(full, opts, ctl);
    if (*out != NULL) {
        (*out)->seconds = seconds_now() - start;
        stream_close(st);
    } else {
        rc = import_stream(st, full, opts, ctl, out, err);
        if (rc == ST_OK && (*out)->parsed)
            keep(*out, opts, ctl);
    }
    free(full);
    return rc;
}

enum status import_table(const char *path, const struct import_opts *opts, const struct ctl *ctl,
                         struct table **out, struct err *err)
{
    static const struct import_opts guess = { .header = -1 };
    struct err local; /* the code is needed even where the caller does not care */
    struct parts parts;

    *out = NULL;
    err = err != NULL ? err : &local;
    opts = opts != NULL ? opts : &guess;
    enum status rc = npy_set_find(path, opts->target, &parts, err);
    if (rc == ST_OK)
        rc = parts.n > 0 ? import_parts(&parts, opts, ctl, out, err)
                         : import_one(path, opts, ctl, out, err);
    npy_set_free(&parts);
    return rc;
}

enum status import_bytes(const void *bytes, size_t len, const struct import_opts *opts,
                         struct table **out, struct err *err)
{
    *out = NULL;
    struct err local;
    err = err != NULL ? err : &local;
    struct stream *st = stream_memory(bytes, len, err);
    if (st == NULL)
        return err->code;
    static const struct import_opts guess = { .header = -1 };
    return import_stream(st, "memory", opts != NULL ? opts : &guess, NULL, out, err);
}
