/* data/json.c -- see json.h. */
#include "data/json.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 character at s; 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
             : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

void json_write_string(struct buf *b, const char *s)
{
    buf_putc(b, '"');
    for (const unsigned char *p = (const unsigned char *)s; *p != '\0';) {
        size_t n = utf8_length(p);
        if (n == 0)
            buf_printf(b, "\\udc%02x", *p);
        else if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
            buf_printf(b, "\\u%04x", *p);
        else
            buf_putn(b, (const char *)p, n);
        p += n == 0 ? 1 : n;
    }
    buf_putc(b, '"');
}

void json_write_number(struct buf *b, const char *key, double x)
{
    buf_printf(b, ",\"%s\":", key);
    buf_json_double(b, x);
}

enum status json_wrong(struct json_reader *r, const char *what)
{
    return err_named(r->err, ST_FORMAT, "encoding", "the stored encoding is damaged at byte %zu: "
                     "%s", (size_t)(r->p - r->start), what);
}

void json_blanks(struct json_reader *r)
{
    while (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r')
        r->p++;
}

bool json_take(struct json_reader *r, char c)
{
    json_blanks(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool hex4(const char *s, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = s[i];
        unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 16;
        if (v == 16)
            return false;
        *out = *out * 16 + v;
    }
    return true;
}

static void put_utf8(struct buf *b, unsigned c)
{
    if (c < 0x80) {
        buf_putc(b, (char)c);
    } else if (c < 0x800) {
        buf_putc(b, (char)(0xc0 | c >> 6));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_putc(b, (char)(0xe0 | c >> 12));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else {
        buf_putc(b, (char)(0xf0 | c >> 18));
        buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_putc(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* Reads \uXXXX after the u: a character, a surrogate pair, or a raw byte. */
static bool take_escape(struct json_reader *r, struct buf *b)
{
    unsigned c, low;
    if (!hex4(r->p, &c) || c == 0)
        return false;
    r->p += 4;
    if (c >= 0xdc80 && c <= 0xdcff) {
        buf_putc(b, (char)(c & 0xff));
        return true;
    }
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->p[0] != '\\' || r->p[1] != 'u' || !hex4(r->p + 2, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return false;
        r->p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000) {
        return false;
    }
    put_utf8(b, c);
    return true;
}

enum status json_string(struct json_reader *r, char **out)
{
    struct buf b = { 0 };
    bool good = json_take(r, '"');
    while (good && *r->p != '"') {
        static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        const char *k;
        if ((unsigned char)*r->p < 0x20) {
            good = false;
        } else if (*r->p != '\\') {
            buf_putc(&b, *r->p++);
        } else if (r->p[1] == 'u') {
            r->p += 2;
            good = take_escape(r, &b);
        } else if (r->p[1] != '\0' && (k = strchr(letters, r->p[1])) != NULL) {
            buf_putc(&b, means[k - letters]);
            r->p += 2;
        } else {
            good = false;
        }
    }
    if (!good) {
        buf_free(&b);
        return json_wrong(r, "a string was expected");
    }
    r->p++;
    *out = buf_take(&b);
    return *out != NULL ? ST_OK : err_nomem(r->err, 64, "an encoding");
}

enum status json_number(struct json_reader *r, double *x)
{
    json_blanks(r);
    size_t len = strspn(r->p, "+-.0123456789eE");
    if (len == 0 || len > 64 || !text_double(r->p, len, x) || !isfinite(*x))
        return json_wrong(r, "a number was expected");
    r->p += len;
    return ST_OK;
}

enum status json_word(struct json_reader *r, const char *const *words, size_t n, unsigned *out)
{
    char *s;
    enum status rc = json_string(r, &s);
    if (rc != ST_OK)
        return rc;
    for (*out = 0; *out < n && strcmp(words[*out], s) != 0;)
        ++*out;
    free(s);
    return *out < n ? ST_OK : json_wrong(r, "an unknown word");
}

enum status json_bool(struct json_reader *r, bool *x)
{
    json_blanks(r);
    *x = strncmp(r->p, "true", 4) == 0;
    if (!*x && strncmp(r->p, "false", 5) != 0)
        return json_wrong(r, "true or false was expected");
    r->p += *x ? 4 : 5;
    return ST_OK;
}

/* Past one piece of a value; `open` has the brackets that are to close what is open. */
static enum status skip_piece(struct json_reader *r, struct buf *open)
{
    json_blanks(r);
    if (*r->p == '"') {
        char *s = NULL;
        const enum status rc = json_string(r, &s);
        free(s);
        return rc;
    }
    if (*r->p == '{' || *r->p == '[')
        buf_putc(open, *r->p == '{' ? '}' : ']');
    else if (*r->p == '\0' || (open->len == 0 && strchr(",:}]", *r->p) != NULL))
        return json_wrong(r, "a value was expected");
    else if ((*r->p == '}' || *r->p == ']') && open->s[open->len - 1] != *r->p)
        return json_wrong(r, *r->p == '}' ? "a ] was expected" : "a } was expected");
    else if (*r->p == '}' || *r->p == ']')
        open->s[--open->len] = '\0';
    r->p += strchr("{}[],:", *r->p) != NULL ? 1 : strcspn(r->p, "\"{}[],: \n\t\r");
    return open->failed ? err_nomem(r->err, open->len, "brackets") : ST_OK;
}

enum status json_skip(struct json_reader *r)
{
    struct buf open = { 0 };
    enum status rc;

    do
        rc = skip_piece(r, &open);
    while (rc == ST_OK && open.len > 0);
    buf_free(&open);
    return rc;
}

enum status json_object(struct json_reader *r, json_member_fn *member, void *into)
{
    if (!json_take(r, '{'))
        return json_wrong(r, "an object was expected");
    for (bool first = true; !json_take(r, '}'); first = false) {
        char *key = NULL;
        if (!first && !json_take(r, ','))
            return json_wrong(r, "a comma was expected");
        enum status rc = json_string(r, &key);
        if (rc == ST_OK && !json_take(r, ':'))
            rc = json_wrong(r, "a colon was expected");
        if (rc == ST_OK)
            rc = member(r, key, into);
        free(key);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

enum status json_count(struct json_reader *r, double most, size_t *n)
{
    double x = 0.0;
    const enum status rc = json_number(r, &x);

    if (rc == ST_OK && !(x >= 0.0 && x <= most && x == floor(x)))
        return json_wrong(r, "a whole number was expected");
    *n = (size_t)x;
    return rc;
}
