/* tests/fuzz/fuzz_json.c -- JSON as a session keeps an encoding, under any bytes: a value is passed
 * over or refused in words, never beyond its end; strings and numbers that are read are the same
 * when they are written and read again. */
#include "fuzz.h"

#include "data/json.h"

#include <math.h>
#include <string.h>

static struct err err;

static struct json_reader reader(const char *text)
{
    err_clear(&err);
    return (struct json_reader){ .p = text, .start = text, .err = &err };
}

static void check_refusal(enum status rc)
{
    if (err.code != rc || err.msg[0] == '\0')
        fuzz_fail("refused without words");
}

static void check_string(const char *text)
{
    struct json_reader r = reader(text);
    struct buf b = { 0 };
    char *s = NULL, *again = NULL;
    const enum status rc = json_string(&r, &s);

    if (rc != ST_OK) {
        check_refusal(rc);
        return;
    }
    json_write_string(&b, s);
    r = reader(buf_str(&b));
    if (json_string(&r, &again) != ST_OK || *r.p != '\0' || strcmp(s, again) != 0)
        fuzz_fail("another string came back");
    free(again);
    free(s);
    buf_free(&b);
}

static void check_number(const char *text)
{
    struct json_reader r = reader(text);
    struct buf b = { 0 };
    double x, again;
    const enum status rc = json_number(&r, &x);

    if (rc != ST_OK) {
        check_refusal(rc);
        return;
    }
    if (!isfinite(x))
        fuzz_fail("a number that is not finite");
    json_write_number(&b, "x", x);
    r = reader(buf_str(&b) + strlen(",\"x\":"));
    if (json_number(&r, &again) != ST_OK || *r.p != '\0' || memcmp(&x, &again, sizeof x) != 0)
        fuzz_fail("another number came back");
    buf_free(&b);
}

/* Each member of an object is passed over. */
static enum status member(struct json_reader *r, const char *key, void *into)
{
    (void)into;
    if (key == NULL || strlen(key) > strlen(r->start))
        fuzz_fail("a key longer than the text");
    return json_skip(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = n <= 65536 ? malloc(n + 1) : NULL;
    size_t whole;
    double x;
    bool yes;

    if (text == NULL)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    struct json_reader r = reader(text);
    enum status rc = json_skip(&r);
    const char *end = r.p;
    if (rc != ST_OK)
        check_refusal(rc);
    if (end < text || end > text + strlen(text))
        fuzz_fail("read beyond the end");
    if (*text == '{') {
        r = reader(text);
        const enum status as_object = json_object(&r, member, NULL);
        if (as_object == ST_OK && (r.p < text + 2 || r.p > text + strlen(text) || r.p[-1] != '}'))
            fuzz_fail("an object without an end");
        if (as_object != ST_OK)
            check_refusal(as_object);
    }
    r = reader(text);
    if (json_count(&r, 1000.0, &whole) == ST_OK && whole > 1000)
        fuzz_fail("a count beyond the most");
    r = reader(text);
    (void)json_bool(&r, &yes);
    r = reader(text);
    (void)json_number(&r, &x);
    check_string(text);
    check_number(text);
    free(text);
    return 0;
}
