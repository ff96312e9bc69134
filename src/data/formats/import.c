/* data/formats/import.c -- reads a table from a file of any format. The format is recognised by the
 * first bytes. */
#include "data/formats/format.h"

#include "data/cache.h"
#include "base/clock.h"
#include "base/dirs.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum status read_table(struct stream *st, const struct import_opts *opts,
                              const struct ctl *ctl, struct table *t, struct err *err)
{
    struct inbuf in = { .st = st };
    enum status rc = stream_inbuf_fill(&in, IMPORT_MAX_LINE, err);
    if (rc == ST_OK && in.len == 0)
        rc = err_named(err, ST_FORMAT, "empty", "%s is empty", stream_name(st));
    const struct format *format = NULL;
    if (rc == ST_OK)
        rc = format_find(&in, &format, err);
    if (rc == ST_OK) {
        t->parsed = format->text;
        rc = format->read(&in, opts, ctl, t, err);
    }
    stream_inbuf_free(&in);
    if (rc == ST_OK)
        rc = stream_finish(st, t, err);
    return rc == ST_OK ? table_finish(t, ctl, err) : rc;
}

static char *absolute(const char *path, struct err *err)
{
    return strcmp(path, "-") == 0 ? mem_strdup(path, err) : dirs_real(path, err);
}

static enum status import_stream(struct stream *st, const char *path,
                                 const struct import_opts *opts, const struct ctl *ctl,
                                 struct table **out, struct err *err)
{
    double start = clock_now();
    struct table *t = table_new(path, 0, err);
    enum status rc = t == NULL ? ST_NOMEM : read_table(st, opts, ctl, t, err);
    stream_close(st);
    if (rc != ST_OK) {
        table_unref(t);
        return rc;
    }
    t->seconds = clock_now() - start;
    *out = t;
    return ST_OK;
}

/* Stores the table in the cache; adds a note if that fails. */
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

/* Reads one file, from the cache if it was parsed before. */
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
    const double start = clock_now();
    enum status rc = ST_OK;
    *out = cache_find(full, opts, ctl);
    if (*out != NULL) {
        (*out)->seconds = clock_now() - start;
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
    struct err local; /* the error code is needed even if the caller passes NULL */
    const double start = clock_now();

    *out = NULL;
    err = err != NULL ? err : &local;
    opts = opts != NULL ? opts : &guess;
    for (size_t i = 0; format_at(i) != NULL; i++) {
        const enum status rc = format_at(i)->read_set != NULL
                                   ? format_at(i)->read_set(path, opts, ctl, out, err)
                                   : ST_OK;
        if (rc != ST_OK)
            return rc;
        if (*out != NULL) {
            (*out)->seconds = clock_now() - start;
            return ST_OK;
        }
    }
    return import_one(path, opts, ctl, out, err);
}

enum status import_bytes_for_tests(const void *bytes, size_t len, const struct import_opts *opts,
                                   struct table **out, struct err *err)
{
    return import_named_for_tests("memory", bytes, len, opts, out, err);
}

enum status import_named_for_tests(const char *name, const void *bytes, size_t len,
                                   const struct import_opts *opts, struct table **out,
                                   struct err *err)
{
    *out = NULL;
    struct err local;
    err = err != NULL ? err : &local;
    struct stream *st = stream_memory(name, bytes, len, err);
    if (st == NULL)
        return err->code;
    static const struct import_opts guess = { .header = -1 };
    return import_stream(st, name, opts != NULL ? opts : &guess, NULL, out, err);
}
