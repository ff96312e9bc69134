/* tests/fuzz/rows.c -- see rows.h. */
#include "rows.h"

#include "app/session/store_impl.h"
#include "app/session/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of `text` as bytes, in place. */
static size_t from_hex(char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i] && text[i + 1]; i += 2, n++) {
        char two[3] = { text[i], text[i + 1], '\0' }, *end;
        const unsigned long byte = strtoul(two, &end, 16);
        if (*end)
            break;
        text[n] = (char)byte;
    }
    return n;
}

static void put_past(struct sdb *db, const char *text)
{
    struct past p = { .kind = 0 };
    int64_t line, kind, count, made;

    if (sscanf(text, "past %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %15s", &line, &kind, &count, &p.id, &made, &p.at, p.last) < 6)
        return;
    p.kind = (enum past_kind)kind;
    p.count = (size_t)count;
    p.made = (size_t)made;
    (void)store_db_put_past(db, line, &p, NULL);
}

/* One row; a line that is none is left out. */
static void put_row(struct sdb *db, char *line)
{
    char *word[4];
    size_t n = 0;

    if (strncmp(line, "past ", 5) == 0) {
        put_past(db, line);
        return;
    }
    for (char *p = line; n < 4; p++) {
        word[n++] = p;
        if (n == 4 || !(p = strchr(p, ' ')))
            break;
        *p = '\0';
    }
    if (n < 3)
        return;
    const int64_t id = strtoll(word[1], NULL, 10);
    const bool four = strcmp(word[0], "run") == 0 || strcmp(word[0], "blob") == 0;
    if (n == 4 && !four)
        word[3][-1] = ' '; /* three words only */
    if (strcmp(word[0], "state") == 0)
        (void)store_db_put_state(db, word[1], word[2], NULL);
    else if (strcmp(word[0], "dataset") == 0)
        (void)store_db_put_dataset(db, id, word[2], NULL);
    else if (strcmp(word[0], "script") == 0)
        (void)store_db_put_script(db, id, word[2], NULL);
    else if (strcmp(word[0], "snapshot") == 0)
        (void)store_db_put_snapshot(db, id, word[2], NULL);
    else if (n == 4 && strcmp(word[0], "run") == 0)
        (void)store_db_put_run(db, id, word[2], word[3], NULL);
    else if (n == 4 && strcmp(word[0], "blob") == 0)
        (void)store_db_put_part(db, word[1], word[2], 0, word[3], from_hex(word[3]), NULL);
}

void rows_put(struct sdb *db, char *text)
{
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        else
            end = line + strlen(line);
        put_row(db, line);
    }
}

/* A value becomes another: from the first colon behind `at` on. */
static size_t other_value(uint8_t *b, size_t n, size_t cap, size_t at, const char *value)
{
    const size_t len = strlen(value);
    uint8_t *colon = memchr(b + at, ':', n - at);
    const size_t room = colon ? n - (size_t)(colon + 1 - b) : 0;
    size_t old = 0;

    while (old < room && !strchr(",}]", colon[1 + old]))
        old++;
    if (!colon || n - old + len > cap)
        return n;
    memmove(colon + 1 + len, colon + 1 + old, room - old);
    memcpy(colon + 1, value, len);
    return n - old + len;
}

size_t rows_mutate(uint8_t *b, size_t n, size_t cap, size_t (*draw)(size_t below))
{
    static const char *const bits[] = { "-1",   "0",           "1e308", "null", "[]",  "{}",
                                        "\"\"", "99999999999", "1.5",   "true", "rbf", "\\u0000",
                                        ",",    "1e999" };

    for (size_t k = 1 + draw(3); k-- > 0 && n > 16;) {
        const size_t at = draw(n), len = draw(n - at < 40 ? n - at : 40);
        switch (draw(4)) {
        case 0: /* another byte */
            b[at] = (uint8_t)(32 + draw(95));
            break;
        case 1: /* a span goes */
            memmove(b + at, b + at + len, n - at - len);
            n -= len;
            break;
        case 2: /* a span twice */
            if (n + len <= cap) {
                memmove(b + at + len, b + at, n - at);
                n += len;
            }
            break;
        default:
            n = other_value(b, n, cap, at, bits[draw(sizeof bits / sizeof *bits)]);
        }
    }
    return n;
}
