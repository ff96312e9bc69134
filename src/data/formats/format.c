/* data/formats/format.c -- the list of formats, and files that have none of them. */
#include "data/formats/format.h"

#include <string.h>

#define FORMAT_ADDRESS(name) &name,
static const struct format *const formats[] = { FORMAT_ROWS(FORMAT_ADDRESS) };
#undef FORMAT_ADDRESS
enum { NFORMATS = sizeof formats / sizeof *formats };

const struct format *format_at(size_t i)
{
    return i < NFORMATS ? formats[i] : NULL;
}

/* Files that people try although they are no text tables: the error names their kind and what to
 * do. */
static const struct {
    const char *magic;
    size_t len;
    const char *what, *hint;
} other_formats[] = {
    { "PK\3\4", 4, "a spreadsheet (xlsx, ods) or a zip archive",
      "libreoffice --headless --convert-to csv FILE   |   python3 -c \"import pandas as p; "
      "p.read_excel('FILE').to_csv('FILE.csv', index=False)\"" },
    { "\xd0\xcf\x11\xe0", 4, "an old spreadsheet (xls)",
      "libreoffice --headless --convert-to csv FILE" },
    { "PAR1", 4, "a Parquet file",
      "python3 -c \"import pandas as p; p.read_parquet('FILE').to_csv('FILE.csv', index=False)\"" },
    { "ARROW1", 6, "an Arrow file",
      "python3 -c \"import pandas as p; p.read_feather('FILE').to_csv('FILE.csv', index=False)\"" },
    { "SQLite format 3", 15, "a gpdesk session, or an SQLite database that is cut short",
      "gpdesk -s FILE" },
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
            err_named(err, ST_FORMAT, "binary", "%s is %s, which cannot be read",
                      stream_name(in->st), other_formats[i].what);
            err_hint(err, "%s", other_formats[i].hint);
            return ST_FORMAT;
        }
    const char *zero = memchr(b, '\0', look);
    if (zero == NULL)
        return ST_OK;
    err_named(err, ST_FORMAT, "binary", "%s has a zero byte at %zu, so it is not a text file",
              stream_name(in->st), (size_t)(zero - b));
    struct buf names = { 0 };
    for (size_t i = 0; i < NFORMATS; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", formats[i]->name);
    err_hint(err, "open FILE of another format: %s; text also packed with gzip or zstd",
             buf_str(&names));
    buf_free(&names);
    return ST_FORMAT;
}

enum status format_find(const struct inbuf *in, const struct format **out, struct err *err)
{
    for (size_t i = 0; i < NFORMATS; i++) {
        *out = formats[i];
        if (formats[i]->sniff != NULL && formats[i]->sniff(in))
            return ST_OK;
    }
    return binary(in, err); /* the last one reads text */
}

const struct format *format_of_records(const struct table *t)
{
    for (size_t i = 0; i < NFORMATS; i++)
        if (formats[i]->records != NULL && strcmp(formats[i]->records, t->decisions) == 0)
            return formats[i];
    return NULL;
}

/* The value of an option that has no field of its own (IMPORT_OWN); NULL if it was not given. */
static const char *own_value(const struct import_opts *opts, const char *name)
{
    for (size_t i = 0; i < IMPORT_OWN_MOST && opts->own[i].name != NULL; i++)
        if (strcmp(opts->own[i].name, name) == 0)
            return opts->own[i].value;
    return NULL;
}

static void option_words(const struct import_option *o, const struct import_opts *opts,
                         struct buf *b)
{
    const char *p = (const char *)opts + (o->field == IMPORT_OWN ? 0 : o->field);
    const char *s = o->field == IMPORT_OWN ? own_value(opts, o->name) : NULL;

    buf_printf(b, "%s%s=", b->len > 0 ? " " : "", o->name);
    if (o->field != IMPORT_OWN && o->type == IMPORT_SWITCH)
        buf_printf(b, "%d", *(const int *)(const void *)p);
    else if (o->field != IMPORT_OWN && o->type == IMPORT_COUNT)
        buf_printf(b, "%zu", *(const size_t *)(const void *)p);
    else if (o->field != IMPORT_OWN && o->type == IMPORT_MARK)
        buf_printf(b, "%d", *p);
    else if (o->field != IMPORT_OWN)
        s = *(const char *const *)(const void *)p;
    buf_puts(b, s != NULL ? s : "");
}

void format_text_words(const struct import_opts *opts, struct buf *b)
{
    for (size_t i = 0; i < NFORMATS; i++)
        for (const struct import_option *o = formats[i]->options; o != NULL && o->name; o++)
            if (o->flags & IMPORT_PARSES)
                option_words(o, opts, b);
}

