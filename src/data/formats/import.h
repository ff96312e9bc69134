/* data/formats/import.h -- shared only by the readers of table files: bytes from a file (plain,
 * gzip, zstd), numbers and dates in text, and columns while they grow. */
#ifndef GPDESK_IMPORT_H
#define GPDESK_IMPORT_H

#include "data/table.h"

/* Limits named in messages. All are far above what a Gaussian process needs. */
#define IMPORT_MAX_COLS ((size_t)65536)
#define IMPORT_MAX_NAME ((size_t)10000)         /* bytes of a column name */
#define IMPORT_MAX_CELL ((size_t)1 << 20)       /* bytes of a cell */
#define IMPORT_MAX_LINE ((size_t)16 << 20)      /* bytes of a record */
/* Unpacked bytes from which the compression ratio is checked. */
#define IMPORT_BOMB_BYTES ((uint64_t)256 << 20)
#define IMPORT_BOMB_RATIO 500u                  /* unpacked bytes per stored byte */

/* Bytes. */
struct stream;
/* Opens a file ("-": standard input). Compression is recognised by the first bytes, never by the
 * name. */
struct stream *stream_open(const char *path, const struct ctl *, struct err *);
/* The bytes must outlive the stream. name: for messages. */
struct stream *stream_memory(const char *name, const void *bytes, size_t len, struct err *err);
void stream_close(struct stream *);
/* Reads unpacked bytes; *got == 0 at the end of the file. Checks for cancellation and reports
 * progress. */
enum status stream_read(struct stream *, void *dst, size_t cap, size_t *got, struct err *);
/* Call it at the end of the file: fails if the file has changed meanwhile; sets size and checksum
 * of the table. */
enum status stream_finish(struct stream *, struct table *, struct err *);
const char *stream_name(const struct stream *);    /* for messages: short and safe to print */
const char *stream_packing(const struct stream *); /* "", "gzip", "zstd" */
uint64_t stream_size(const struct stream *);       /* bytes on disk; 0: unknown */

/* A window on the stream: b[pos..len) is unread, followed by 16 zero bytes. */
struct inbuf {
    struct stream *st;
    char *b;
    size_t pos, len, cap;
    size_t skipped; /* lines above the table, which were passed over */
    bool eof;
};
/* Moves the unread bytes to the front and reads more; if the window is full, it grows up to
 * `limit`. Sets eof if there was nothing more. LIMIT (without a message) if the window cannot
 * grow. */
enum status stream_inbuf_fill(struct inbuf *, size_t limit, struct err *);
void stream_inbuf_free(struct inbuf *);

/* Cells. */
/* Reads the decimal number at s, correctly rounded. Returns its end, or NULL if there is no number.
 * At least 8 readable bytes must follow the text, and the first of them must not continue the
 * number. dec: '.' or ','. Overflow gives an infinity. */
const char *scan_number(const char *s, char dec, double *out);
/* Reads all of s[0..len) as a number; blanks around it are allowed. */
bool scan_number_all(const char *s, size_t len, char dec, double *out);
/* Does the same with marks between groups of three digits in the integer part; thousands '\0':
 * none. */
bool scan_number_marked(const char *s, size_t len, char dec, char thousands, double *out);
/* Reads an ISO 8601 date (2024-03, 2024-03-31, with T or blank hh:mm[:ss[.f]][Z]) as a decimal
 * year. */
bool scan_date(const char *s, size_t len, double *year);
/* The order of the parts of a date: 2024-03-31 (also /, . and ISO 8601), 31.03.2024, 03/31/2024,
 * "31 Mar 2024" or "Mar 31, 2024". All may have a time of day: 14:30, 2:30:05 PM, with a time zone.
 * What lies in a zone is converted to that of Z. */
enum date_order { DATE_YMD, DATE_DMY, DATE_MDY, DATE_NAMED, DATE_ORDERS };
bool scan_date_as(const char *s, size_t len, enum date_order, double *year);
/* The orders in which the text is a date: bit k is order k. */
unsigned scan_date_orders(const char *s, size_t len);
/* True for nan, inf and their spellings. */
bool scan_not_finite(const char *s, size_t len);

/* The distinct strings of a column. */
struct intern {
    char *text;            /* the strings, each NUL-terminated */
    size_t len, cap;
    size_t *at;            /* offset of each in text */
    size_t n, capat;
    uint32_t *slot;        /* open addressing: index + 1, 0 for an empty slot */
    size_t nslot;
    uint32_t last;         /* the previous answer, because runs of equal cells are common */
};
enum status table_intern_code(struct intern *, const char *s, size_t len, uint32_t *code,
                              struct err *);
void table_intern_free(struct intern *);

/* A column while it grows. */
struct grow {
    enum col_type type;
    double *v;
    size_t capv;
    uint32_t *code;
    size_t capcode;
    struct intern levels;
    size_t *off;           /* text: offset into `text`; SIZE_MAX: missing */
    size_t capoff;
    char *text;
    size_t len, cap;
};
/* Makes room for n rows, doubling the capacity. */
enum status table_grow_reserve(struct grow *, size_t n, struct err *);
enum status table_grow_text(struct grow *, size_t row, const char *s, size_t len, struct err *);
/* Moves the arrays into a column of n rows, counts missing cells and sorts the levels. */
enum status table_grow_finish(struct grow *, size_t n, struct column *, struct err *);
void table_grow_free(struct grow *);

/* The HDF5 that its module was built with, which is not opened; NULL if there is no module. */
const char *import_hdf5_version(void);
/* Reads a file, or several NPY files, as columns of numbers and words: import_file() without the
 * kinds of rows. NULL options: everything is guessed. */
enum status import_table(const char *path, const struct import_opts *, const struct ctl *,
                         struct table **out, struct err *);
/* Reads bytes in memory as if they were a file. The fuzzers use it. */
enum status import_bytes_for_tests(const void *bytes, size_t len, const struct import_opts *,
                                   struct table **out, struct err *);
/* As if the file had this name: some formats are known by it. */
enum status import_named_for_tests(const char *name, const void *bytes, size_t len,
                                   const struct import_opts *, struct table **out, struct err *);

#endif
