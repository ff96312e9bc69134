/* data/formats/csv_cell.h -- one cell of a text table: where it ends and what it contains. */
#ifndef GPDESK_CSV_CELL_H
#define GPDESK_CSV_CELL_H

#include <stdbool.h>
#include <stddef.h>

struct csv_cell {
    const char *s;
    size_t len;
    bool quoted;
    size_t newlines; /* line ends inside the quotes */
};
enum csv_end {
    CSV_SEP,      /* another cell follows */
    CSV_LINE,     /* the record ends here */
    CSV_MORE,     /* the window ends before the cell does */
    CSV_UNCLOSED, /* the file ends inside quotes */
    CSV_JUNK,     /* there is text after the closing quote; *p points to it */
};
/* Reads the cell at *p and moves past its separator or line end (LF, CRLF, CR). Doubled quotes are
 * undone in `scratch`, which needs room for the rest of the record. Blanks around unquoted cells
 * and around quotes do not belong to the cell. */
enum csv_end csv_cell(const char **p, const char *end, bool eof, char sep, char *scratch,
                      struct csv_cell *);

/* Moves past blanks that are not separators. */
static inline const char *csv_cell_blanks(const char *p, const char *end, char sep)
{
    while (p < end && (*p == ' ' || *p == '\t') && *p != sep)
        p++;
    return p;
}

/* Moves past the separator or line end at *p. */
static inline enum csv_end csv_cell_end(const char **p, const char *end, bool eof, char sep)
{
    if (*p == end)
        return eof ? CSV_LINE : CSV_MORE;
    char c = **p;
    if (c == sep) {
        ++*p;
        return CSV_SEP;
    }
    if (c == '\n') {
        ++*p;
        return CSV_LINE;
    }
    if (c == '\r') {
        if (*p + 1 == end && !eof)
            return CSV_MORE;
        *p += *p + 1 < end && (*p)[1] == '\n' ? 2 : 1;
        return CSV_LINE;
    }
    return CSV_JUNK;
}

/* Reads "12 %" or "12%" as the number 12. */
bool csv_cell_percent(const struct csv_cell *, char dec, char thousands, double *out);

#endif
