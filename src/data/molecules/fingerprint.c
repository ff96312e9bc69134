/* data/molecules/fingerprint.c -- counts of molecules (fingerprint.h). */
#include "data/molecules/fingerprint.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(s, word, n) == 0;
}

static enum status wrong(const char *word, const char *option, const char *what, struct err *err)
{
    const bool cols = is(option, strlen(option), "encoding");

    err_named(err, ST_USAGE, "fingerprint", "%s=%.80s: %s", option, word, what);
    err_hint(err, cols
                      ? "cols NAME encoding=morgan(radius=2) | cols NAME encoding=lingo"
                      : "open FILE fingerprint=morgan(radius=2) | open FILE fingerprint=lingo");
    return ST_USAGE;
}

/* A whole number up to `most`. */
static bool number(const char *s, size_t n, size_t most, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n && *out <= most; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        *out = 10 * *out + (size_t)(s[i] - '0');
    }
    return n > 0 && *out <= most;
}

/* One of two words, the second of which sets a flag. */
static bool flag(const char *s, size_t n, const char *off, const char *on, uint32_t bit,
                 uint32_t *flags)
{
    *flags = is(s, n, on) ? *flags | bit : *flags & ~bit;
    return is(s, n, on) || is(s, n, off);
}

/* Takes a setting "key=value"; false if there is none such. */
static bool take(struct fingerprint *f, const char *s, size_t n)
{
    const char *equals = memchr(s, '=', n);
    size_t x = 0;

    if (equals == NULL)
        return false;
    const size_t key = (size_t)(equals - s), len = n - key - 1;
    const char *v = equals + 1;
    bool good = false;
    if (f->lingo) {
        good = is(s, key, "length") && number(v, len, LINGO_LENGTH_MOST, &f->length);
        return good && f->length > 0;
    }
    if (is(s, key, "radius")) {
        good = number(v, len, MOLECULES_RADIUS_MOST, &x);
        f->ask.radius = (uint32_t)x;
    } else if (is(s, key, "size")) {
        good = number(v, len, MOLECULES_SIZE_MOST, &x);
        f->ask.size = (uint32_t)x;
    } else if (is(s, key, "values")) {
        good = flag(v, len, "counts", "bits", MOLECULES_BITS, &f->ask.flags);
    } else if (is(s, key, "chirality")) {
        good = flag(v, len, "no", "yes", MOLECULES_CHIRALITY, &f->ask.flags);
    } else if (is(s, key, "salts")) {
        good = flag(v, len, "keep", "largest", MOLECULES_LARGEST, &f->ask.flags);
    }
    return good;
}

static void name_it(struct fingerprint *f)
{
    char size[16] = "";

    if (f->lingo) {
        snprintf(f->name, sizeof f->name, "lingo%zu", f->length);
        return;
    }
    if (f->ask.size > 0)
        snprintf(size, sizeof size, "_%u", (unsigned)f->ask.size);
    snprintf(f->name, sizeof f->name, "morgan%u%s%s%s%s", (unsigned)f->ask.radius, size,
             (f->ask.flags & MOLECULES_BITS) != 0 ? "_bits" : "",
             (f->ask.flags & MOLECULES_CHIRALITY) != 0 ? "_chiral" : "",
             (f->ask.flags & MOLECULES_LARGEST) != 0 ? "_largest" : "");
}

enum status fingerprint_parse(const char *word, const char *option, struct fingerprint *f,
                              struct err *err)
{
    const size_t head = strcspn(word, "("), all = strlen(word);
    const char *s = word + head;

    *f = (struct fingerprint){ .length = 4, .ask = { .want = MOLECULES_COUNTS, .radius = 2 } };
    f->lingo = is(word, head, "lingo");
    if (!f->lingo && !is(word, head, "morgan"))
        return wrong(word, option, "expected morgan(..) or lingo(..)", err);
    if (*s == '(' && word[all - 1] != ')')
        return wrong(word, option, "a parenthesis is not closed", err);
    for (s += *s == '('; *s != '\0' && *s != ')';) {
        const size_t n = strcspn(s, ",)");
        if (!take(f, s, n))
            return wrong(word, option,
                         f->lingo ? "expected length=, from 1 to 16"
                                  : "expected radius= up to 16, size= up to 16777216, "
                                    "values=counts|bits, chirality=no|yes, salts=keep|largest",
                         err);
        s += n + (s[n] == ',');
    }
    if (s[0] == ')' && s[1] != '\0')
        return wrong(word, option, "words after the parenthesis", err);
    name_it(f);
    return ST_OK;
}

void fingerprint_words(const struct fingerprint *f, struct buf *out)
{
    if (f->lingo) {
        buf_printf(out, "lingo(length=%zu)", f->length);
        return;
    }
    buf_printf(out, "morgan(radius=%u,size=%u%s%s%s)", (unsigned)f->ask.radius,
               (unsigned)f->ask.size, (f->ask.flags & MOLECULES_BITS) != 0 ? ",values=bits" : "",
               (f->ask.flags & MOLECULES_CHIRALITY) != 0 ? ",chirality=yes" : "",
               (f->ask.flags & MOLECULES_LARGEST) != 0 ? ",salts=largest" : "");
}

enum status fingerprint_rows_init(struct fingerprint_rows *r, size_t n, struct err *err)
{
    *r = (struct fingerprint_rows){ .n = n };
    r->from = mem_calloc(n + 1, sizeof *r->from, "counts", err);
    r->places = r->from ? mem_calloc(n + 1, sizeof *r->places, "counts", err) : NULL;
    r->missing = r->places ? mem_calloc(n + 1, sizeof *r->missing, "counts", err) : NULL;
    if (r->missing == NULL)
        return ST_NOMEM;
    memset(r->missing, true, n);
    return ST_OK;
}

/* Makes room behind the counts for a row of n. */
static enum status row_begin(struct fingerprint_rows *r, size_t row, size_t n, struct err *err)
{
    const enum status rc = mem_grow((void **)&r->count, &r->cap, r->used + n + 1,
                                    sizeof *r->count, "counts", err);

    if (rc != ST_OK)
        return rc;
    r->from[row] = r->used;
    r->places[row] = n;
    r->missing[row] = false;
    return ST_OK;
}

enum status fingerprint_rows_add(struct fingerprint_rows *r, size_t row, size_t n,
                                 const unsigned char *places, const unsigned char *counts,
                                 struct err *err)
{
    const enum status rc = row_begin(r, row, n, err);

    if (rc != ST_OK)
        return rc;
    for (size_t k = 0; k < n; k++)
        r->count[r->used++] = (struct count){ .place = molecules_number(places, k),
                                              .value = molecules_number(counts, k) };
    return ST_OK;
}

enum status fingerprint_rows_copy(struct fingerprint_rows *r, size_t row, size_t n,
                                  const struct count *count, struct err *err)
{
    const enum status rc = row_begin(r, row, n, err);

    if (rc != ST_OK)
        return rc;
    if (n > 0)
        memcpy(r->count + r->used, count, n * sizeof *count);
    r->used += n;
    return ST_OK;
}

enum status fingerprint_rows_column(const struct fingerprint_rows *r, struct column *to,
                                    struct err *err)
{
    return counts_gather(r->n, r->from, r->places, r->count, r->missing, to, err);
}

void fingerprint_rows_free(struct fingerprint_rows *r)
{
    free(r->from);
    free(r->places);
    free(r->missing);
    free(r->count);
}
