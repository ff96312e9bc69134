/* data/formats/import_arff.c -- ARFF, the format of Weka: attributes with their types, then lines
 * of values. It is rewritten as lines of CSV, on which the CSV reader checks every cell; line
 * numbers are those of the file.
 *
 * https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/ */
#include "data/formats/format.h"
#include "data/formats/import_csv.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct arff {
    struct inbuf *in;
    struct buf csv, head, types;
    size_t line, columns;
    bool data;             /* @data has come */
    struct err *err;
};

/* The first line that is neither blank nor a comment begins with @relation. */
static bool sniff(const struct inbuf *in)
{
    const char *p = in->b + in->pos, *end = in->b + in->len;

    while (p < end && (*p == '%' || isspace((unsigned char)*p))) {
        const char *nl = *p == '%' ? memchr(p, '\n', (size_t)(end - p)) : p;
        p = nl != NULL ? nl + 1 : end;
    }
    return end - p > 9 && strncasecmp(p, "@relation", 9) == 0;
}

static enum status wrong(const struct arff *a, const char *what)
{
    err_named(a->err, ST_FORMAT, "arff", "%s line %zu: %s", stream_name(a->in->st), a->line, what);
    err_hint(a->err, "write lines @relation NAME, @attribute NAME TYPE, then @data");
    return ST_FORMAT;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads a value at *p: quoted with ' or " and backslashes, or up to one of `stops`. Appends it as a
 * quoted cell of CSV. *missing: it is a question mark without quotes. False: the quote stays
 * open. */
static bool take_value(const char **p, const char *stops, struct buf *out, bool *missing)
{
    const char *s = *p;

    *missing = false;
    buf_putc(out, '"');
    if (*s == '\'' || *s == '"') {
        const char quote = *s++;
        for (; *s != '\0' && *s != quote; s++) {
            if (*s == '\\' && s[1] != '\0')
                s++;
            if (*s == '"')
                buf_putc(out, '"');
            buf_putc(out, *s);
        }
        if (*s != quote)
            return false;
        s++;
    } else {
        size_t len = strcspn(s, stops);
        *p = s + len;
        while (len > 0 && is_blank(s[len - 1]))
            len--;
        *missing = len == 1 && *s == '?';
        for (size_t i = 0; i < len && !*missing; i++) {
            if (s[i] == '"')
                buf_putc(out, '"');
            buf_putc(out, s[i]);
        }
        s = *p;
    }
    buf_putc(out, '"');
    *p = s;
    return true;
}

/* True if all values of {a, b} are numbers: the column is then left to be recognised. */
static bool numbers_only(const char *p)
{
    double x;

    for (p++; *p != '\0' && *p != '}'; p += *p == ',') {
        const size_t len = strcspn(p, ",}");
        if (!scan_number_all(p, len, '.', &x))
            return false;
        p += len;
    }
    return true;
}

static enum status attribute(struct arff *a, const char *p)
{
    static const char *const real[] = { "numeric", "real", "integer" };
    bool missing;

    while (is_blank(*p))
        p++;
    buf_puts(&a->head, a->columns > 0 ? "," : "");
    if (*p == '\0' || !take_value(&p, " \t\r", &a->head, &missing))
        return wrong(a, "the name of the attribute is not complete");
    while (is_blank(*p))
        p++;
    if (++a->columns > IMPORT_MAX_COLS)
        return wrong(a, "there are too many attributes");
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (strncasecmp(p, real[i], strlen(real[i])) == 0)
            buf_printf(&a->types, "#%zu=real,", a->columns);
    if (*p == '{' && !numbers_only(p))
        buf_printf(&a->types, "#%zu=category,", a->columns);
    return strncasecmp(p, "relational", 10) == 0
               ? wrong(a, "relational attributes are tables in a table, which cannot be read")
               : ST_OK;
}

static enum status data_line(struct arff *a, const char *p)
{
    size_t n = 0;
    bool missing;
    char what[100];

    if (*p == '{')
        return wrong(a, "sparse data {index value} cannot be read; write all values");
    for (; *p != '\0'; n++) {
        buf_puts(&a->csv, n > 0 ? "," : "");
        if (!take_value(&p, ",\t", &a->csv, &missing))
            return wrong(a, "a quote is never closed");
        while (is_blank(*p) && *p != '\t')
            p++;
        if (*p != '\0' && *p != ',' && *p != '\t')
            return wrong(a, "more text follows a closing quote");
        if (*p != '\0' && p[1] == '\0')
            return wrong(a, "the line ends with a separator");
        p += *p != '\0';
        while (is_blank(*p))
            p++;
    }
    snprintf(what, sizeof what, "%zu values, but there are %zu attributes", n, a->columns);
    return n == a->columns ? ST_OK : wrong(a, what);
}

/* One line of the file, without its end, as one line of CSV. */
static enum status take_line(struct arff *a, char *line)
{
    enum status rc = ST_OK;
    char *p = line;

    while (is_blank(*p))
        p++;
    for (size_t n = strlen(p); n > 0 && is_blank(p[n - 1]);)
        p[--n] = '\0';
    a->line++;
    if (*p == '\0' || *p == '%')
        ;
    else if (a->data)
        rc = data_line(a, p);
    else if (strncasecmp(p, "@attribute", 10) == 0 && is_blank(p[10]))
        rc = attribute(a, p + 11);
    else if (strcasecmp(p, "@data") == 0)
        a->data = true;
    else if (strncasecmp(p, "@relation", 9) != 0)
        rc = wrong(a, "@attribute or @data was expected");
    if (a->line > 1) /* the first line is that of the names */
        buf_putc(&a->csv, '\n');
    return rc == ST_OK && a->csv.failed ? err_nomem(a->err, a->csv.len, "an ARFF file") : rc;
}

static enum status take_lines(struct arff *a, size_t budget)
{
    struct inbuf *in = a->in;
    enum status rc = ST_OK;

    while (rc == ST_OK) {
        char *p = in->b + in->pos, *end = in->b + in->len, *nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL && !in->eof) {
            rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, a->err);
            if (rc == ST_LIMIT)
                rc = wrong(a, "a line is too long");
            continue;
        }
        if (p == end)
            return ST_OK;
        char *line = strndup(p, (size_t)((nl != NULL ? nl : end) - p));
        rc = line != NULL ? take_line(a, line) : err_nomem(a->err, 64, "a line");
        free(line);
        in->pos = nl != NULL ? (size_t)(nl + 1 - in->b) : in->len;
        if (rc == ST_OK && a->csv.len > budget)
            rc = err_named(a->err, ST_NOMEM, "memory", "%s is larger than the limit of memory",
                           stream_name(in->st));
    }
    return rc;
}

static enum status read_arff(struct inbuf *in, const struct import_opts *opts,
                             const struct ctl *ctl, struct table *t, struct err *err)
{
    struct arff a = { .in = in, .err = err };
    struct import_opts o = *opts;
    struct buf all = { 0 };
    enum status rc = take_lines(&a, o.mem_limit > 0 ? o.mem_limit : mem_physical());

    if (rc == ST_OK && (!a.data || a.columns == 0))
        rc = wrong(&a, "the file ends before @data");
    if (rc == ST_OK) {
        buf_puts(&a.types, o.types != NULL ? o.types : "");
        o.types = buf_str(&a.types); /* what the user says comes last, and counts */
        buf_printf(&all, "%s\n", buf_str(&a.head));
        buf_putn(&all, buf_str(&a.csv), a.csv.len);
        rc = all.failed || a.types.failed || a.head.failed
                 ? err_nomem(err, a.csv.len, "an ARFF file")
                 : import_csv_text(in, &all, "ARFF", &o, ctl, t, err);
    }
    buf_free(&a.csv);
    buf_free(&a.head);
    buf_free(&a.types);
    buf_free(&all);
    return rc;
}

const struct format import_arff_format = {
    .name = "ARFF", .sniff = sniff, .read = read_arff, .text = true };
