/* tests/fuzz/fuzz_script.c -- the script and command parser, and completion, under any bytes.
 *
 * Held to: it ends; a refusal has words; what parses has a canonical line that parses to itself;
 * nothing is run. */
#include "fuzz.h"

#include "app/commands/app.h"
#include "app/shell/command.h"

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

static uint64_t state;

static size_t draw(size_t below) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % below);
}

static size_t change(char *data, size_t n, size_t room)
{
    static const char *const piece[] = {
        "\"", "'", "\\", ";", "\n", "#", "=", "--", "(", ")", "..", "*2", ",", "%", " ", "\t", "?",
        "l=", "l.min=", "rank=512", "1e999", "-1", "\xff", "\xc3\xa4", "\x1b[31m", "noise=0.1..2",
        "kernel=rbf", "+ ", "* ", "\\\"", "\\x", "nan", "64k", "4GB", "run:r7", "now", "%n",
    };
    const char *p = piece[draw(sizeof piece / sizeof *piece)];
    const size_t at = draw(n + 1), len = strlen(p);

    switch (draw(4)) {
    case 0:
        if (at < n)
            data[at] = (char)(1 + draw(255));
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

/* Three of four inputs are a few examples of the table of commands, joined; all are changed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    const size_t room = most < 1024 ? most : 1024;
    size_t commands = 0;

    app_begin();
    state = seed;
    while (command_at(commands))
        commands++;
    n = draw(4) > 0 ? 0 : n < room ? n : room;
    for (size_t k = n ? 0 : 1 + draw(3); k > 0; k--) {
        const char *example = command_at(draw(commands))->example;
        const size_t len = strlen(example);
        if (n + len + 1 < room) {
            memcpy(data + n, example, len);
            n += len;
            data[n++] = (uint8_t)";\n"[draw(2)];
        }
    }
    for (size_t k = draw(8); k > 0; k--)
        n = change((char *)data, n, room);
    return n;
}
