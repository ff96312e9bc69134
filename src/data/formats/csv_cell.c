/* data/formats/csv_cell.c -- see csv_cell.h. */
#include "data/formats/csv_cell.h"

#include "data/formats/import.h"

#include <string.h>

/* Reads a quoted cell; *p is after the opening quote. */
static enum csv_end quoted_cell(const char **p, const char *end, bool eof, char sep, char *scratch,
                                struct csv_cell *cell)
{
    const char *s = *p, *q = s;
    char *out = NULL;
    cell->quoted = true;
    for (;; q++) {
        const char *quote = memchr(q, '"', (size_t)(end - q));
        if (quote == NULL)
            return eof ? CSV_UNCLOSED : CSV_MORE;
        for (const char *n = q; (n = memchr(n, '\n', (size_t)(quote - n))) != NULL; n++)
            cell->newlines++;
        if (out != NULL) {
            memcpy(out, q, (size_t)(quote - q));
            out += quote - q;
        }
        if (quote + 1 == end && !eof)
            return CSV_MORE;
        bool doubled = quote + 1 < end && quote[1] == '"';
        if (!doubled) {
            q = quote;
            break;
        }
        if (out == NULL) {
            memcpy(scratch, s, (size_t)(quote - s));
            out = scratch + (quote - s);
        }
        *out++ = '"';
        q = quote + 1;
    }
    cell->s = out != NULL ? scratch : s;
    cell->len = out != NULL ? (size_t)(out - scratch) : (size_t)(q - s);
    *p = csv_cell_blanks(q + 1, end, sep);
    return csv_cell_end(p, end, eof, sep);
}

enum csv_end csv_cell(const char **p, const char *end, bool eof, char sep, char *scratch,
                      struct csv_cell *cell)
{
    *cell = (struct csv_cell){ 0 };
    const char *s = csv_cell_blanks(*p, end, sep);
    if (s < end && *s == '"') {
        s++;
        *p = s;
        return quoted_cell(p, end, eof, sep, scratch, cell);
    }
    const char *q = s;
    while (q < end && *q != sep && *q != '\n' && *q != '\r')
        q++;
    *p = q;
    enum csv_end how = csv_cell_end(p, end, eof, sep);
    while (q > s && (q[-1] == ' ' || q[-1] == '\t'))
        q--;
    cell->s = s;
    cell->len = (size_t)(q - s);
    return how;
}

bool csv_cell_percent(const struct csv_cell *c, char dec, char thousands, double *out)
{
    return c->len > 1 && c->s[c->len - 1] == '%' &&
           scan_number_marked(c->s, c->len - 1, dec, thousands, out);
}
