/* data/formats/import_smi.c -- files of SMILES without a header: a line is a SMILES and, behind
 * blanks or a tab, the name of the molecule.  They are known by their names (.smi, .ism, .can), as
 * nothing in them tells them from a table of words; one with a header is such a table. */
#include "data/formats/format.h"
#include "data/formats/import_csv.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends(const char *name, size_t n, const char *with)
{
    const size_t k = strlen(with);

    return n > k && strncasecmp(name + n - k, with, k) == 0;
}

static bool sniff(const struct inbuf *in)
{
    static const char *const packed[] = { ".gz", ".zst" },
                      *const known[] = { ".smi", ".ism", ".can", ".smiles" };
    const char *name = stream_name(in->st), *first = in->b + in->pos;
    size_t n = strlen(name);
    bool good = false;

    for (size_t k = 0; k < 2; k++)
        n -= ends(name, n, packed[k]) ? strlen(packed[k]) : 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        good |= ends(name, n, known[k]);
    return good && !(in->len - in->pos > 6 && strncasecmp(first, "smiles", 6) == 0 &&
                     strchr(" \t\r\n,", first[6]) != NULL);
}

struct smi {
    struct inbuf *in;
    struct buf csv;
    size_t line, rows, first; /* first: line of the first row */
    bool named, even;         /* even: no line was passed over between two rows */
    struct err *err;
};

static void put_cell(struct buf *b, const char *s, size_t n)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            buf_putc(b, '"');
        buf_putc(b, s[i]);
    }
    buf_putc(b, '"');
}

/* Takes a line; blank ones and those that begin with # are passed over. */
static void take_line(struct smi *f, const char *s, size_t n)
{
    size_t smiles = 0, gap = 0;

    f->line++;
    while (n > 0 && (s[n - 1] == '\r' || s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (n == 0 || *s == '#')
        return;
    while (smiles < n && s[smiles] != ' ' && s[smiles] != '\t')
        smiles++;
    while (smiles + gap < n && (s[smiles + gap] == ' ' || s[smiles + gap] == '\t'))
        gap++;
    f->first = f->rows == 0 ? f->line : f->first;
    f->even = f->even && f->line == f->first + f->rows;
    f->rows++;
    f->named |= smiles + gap < n;
    if (smiles + gap < n)
        put_cell(&f->csv, s + smiles + gap, n - smiles - gap);
    buf_putc(&f->csv, ',');
    put_cell(&f->csv, s, smiles);
    buf_putc(&f->csv, '\n');
}

static enum status take_lines(struct smi *f, size_t budget)
{
    struct inbuf *in = f->in;
    enum status rc = ST_OK;

    while (rc == ST_OK) {
        const char *p = in->b + in->pos, *end = in->b + in->len,
                   *nl = memchr(p, '\n', (size_t)(end - p));
        if (nl == NULL && !in->eof) {
            rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, f->err);
            if (rc == ST_LIMIT)
                rc = err_named(f->err, ST_FORMAT, "limit", "%s line %zu is longer than %zu bytes",
                               stream_name(in->st), f->line + 1, IMPORT_MAX_LINE);
            continue;
        }
        if (p == end)
            return ST_OK;
        const size_t n = (size_t)((nl != NULL ? nl : end) - p);
        if (memchr(p, '\0', n) != NULL) {
            rc = err_named(f->err, ST_FORMAT, "binary", "%s line %zu has a zero byte, so it is no "
                           "list of SMILES", stream_name(in->st), f->line + 1);
            err_hint(f->err, "a line is a SMILES, a blank and a name");
            continue;
        }
        take_line(f, p, n);
        in->pos = nl != NULL ? (size_t)(nl + 1 - in->b) : in->len;
        if (f->csv.failed)
            rc = err_nomem(f->err, f->csv.len, "a list of SMILES");
        else if (f->csv.len > budget)
            rc = err_named(f->err, ST_NOMEM, "memory", "%s is larger than the limit of memory",
                           stream_name(in->st));
    }
    return rc;
}

static enum status read_smi(struct inbuf *in, const struct import_opts *opts,
                            const struct ctl *ctl, struct table *t, struct err *err)
{
    struct smi f = { .in = in, .even = true, .err = err };
    struct import_opts o = *opts;
    struct buf types = { 0 };

    buf_puts(&f.csv, "name,smiles\n");
    enum status rc = take_lines(&f, o.mem_limit > 0 ? o.mem_limit : mem_physical());
    if (rc == ST_OK && f.rows == 0)
        rc = err_named(err, ST_FORMAT, "empty", "%s has no molecules", stream_name(in->st));
    buf_printf(&types, "#1=text,#2=text,%s", o.types != NULL ? o.types : "");
    o.types = buf_str(&types); /* what the user says comes last, and counts */
    if (rc == ST_OK)
        rc = types.failed ? err_nomem(err, types.len, "the types of columns")
                          : import_csv_text(in, &f.csv, "SMILES", &o, ctl, t, err);
    if (rc == ST_OK && !f.named) {
        table_column_clear(&t->col[0]);
        t->col[0] = t->col[--t->ncols];
    }
    t->first_line = f.even ? f.first : 0;
    buf_free(&f.csv);
    buf_free(&types);
    return rc;
}

const struct format import_smi_format = {
    .name = "SMILES", .sniff = sniff, .read = read_smi, .records = "SMILES", .text = true };
