/* tests/fuzz/fuzz_script.c -- the script and command parser, and completion, under any bytes.
 *
 * Held to: it ends; a refusal has words; what parses has a canonical line that parses to itself;
 * nothing is run.  Built two ways: with libFuzzer
 *     clang -g -fsanitize=fuzzer,address,undefined -DLIBFUZZER ...
 * and, in `make check`, with a main that mutates seeds by a fixed generator. */
#include "fuzz.h"

#include "app/commands/app.h"
#include "app/shell/command.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *why, const char *text)
{
    fprintf(stderr, "fuzz_script: %s: %s\n", why, text);
    abort();
}

static void one_statement(const char *text)
{
    const struct command *cmd;
    struct args *a = NULL, *again = NULL;
    struct err err = { 0 };
    const enum status rc = command_parse(text, &cmd, &a, &err);

    if (rc != ST_OK) {
        if (a || !*err.msg || err.code != rc)
            fail("a refusal without words", text);
        return;
    }
    if (!a || !args_line(a))
        fail("no canonical line", text);
    if (command_parse(args_line(a), &cmd, &again, &err) != ST_OK)
        fail(err.msg, args_line(a));
    if (strcmp(args_line(a), args_line(again)))
        fail("the canonical line changes", args_line(again));
    args_free(a);
    args_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct statement *st = NULL;
    struct err err = { 0 };
    size_t count = 0, start;
    char *text;

    app_begin();
    if (n > 4096 || !(text = malloc(n + 1)))
        return 0;
    memcpy(text, data, n);
    text[n] = '\0'; /* a NUL ends it, as script_read refuses it */
    if (command_split(text, &st, &count, &err) != ST_OK && !*err.msg)
        fail("a refusal without words", text);
    for (size_t i = 0; i < count; i++)
        one_statement(st[i].text);
    command_statements_free(st, count);
    if (n % 4 == 0) { /* it may list a directory */
        char **v = command_complete(NULL, text, strlen(text), &start);
        for (size_t i = 0; v && v[i]; i++)
            free(v[i]);
        free(v);
    }
    free(text);
    return 0;
}

#ifndef LIBFUZZER
static uint64_t state = 20240608;

static uint64_t next(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t mutate(char *data, size_t n, size_t room)
{
    static const char *const piece[] = {
        "\"", "'", "\\", ";", "\n", "#", "=", "--", "(", ")", "..", "*2", ",", "%", " ", "\t", "?",
        "l=", "l.min=", "rank=512", "1e999", "-1", "\xff", "\xc3\xa4", "\x1b[31m", "noise=0.1..2",
        "kernel=rbf", "+ ", "* ", "\\\"", "\\x", "nan", "64k", "4GB", "run:r7", "now", "%n",
    };
    const char *p = piece[next() % (sizeof piece / sizeof *piece)];
    const size_t at = n ? next() % (n + 1) : 0, len = strlen(p);

    switch (next() % 4) {
    case 0:
        if (n && at < n)
            data[at] = (char)(1 + next() % 255);
        return n;
    case 1:
        if (at < n)
            memmove(data + at, data + at + 1, n - at - 1);
        return n - (at < n);
    default:
        if (n + len >= room)
            return n;
        memmove(data + at + len, data + at, n - at);
        memcpy(data + at, p, len);
        return n + len;
    }
}

int main(void)
{
    char data[1024];
    size_t runs = 0, seeds = 0;
    const struct command *c;

    app_begin();
    while (command_at(seeds))
        seeds++;
    for (; fuzz_goes_on(runs, 40000); runs++) {
        size_t n = 0;
        for (size_t k = 1 + next() % 3; k > 0; k--) { /* a few examples of the table, joined */
            c = command_at(next() % seeds);
            const size_t len = strlen(c->example);
            if (n + len + 1 < sizeof data) {
                memcpy(data + n, c->example, len);
                n += len;
                data[n++] = ";\n"[next() % 2];
            }
        }
        for (size_t k = next() % 8; k > 0; k--)
            n = mutate(data, n, sizeof data);
        LLVMFuzzerTestOneInput((const uint8_t *)data, n);
    }
    printf("1..1\nok 1 - %zu mutated scripts\n", runs);
    return 0;
}
#endif
