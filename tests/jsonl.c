/* tests/jsonl.c -- JSON lines for the test scripts: SQLite's JSON functions are the judge.
 *     jsonl check             every line is one object with "v":1 and a known type; counts them
 *     jsonl get COMMAND PATH  the value at PATH ("$.rows") of the last result of COMMAND
 *     jsonl has COMMAND KEY.. the last result of COMMAND has these keys (null counts)
 *     jsonl type TYPE NAME    how many records of TYPE with "name":NAME ("*": any) */
#include <sqlite3.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;

/* One value of an SQL expression over line and path; caller frees. NULL: SQL NULL. */
static char *ask(const char *sql, const char *line, const char *path)
{
    sqlite3_stmt *st = NULL;
    char *out = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        exit(2);
    sqlite3_bind_text(st, 1, line, -1, SQLITE_STATIC);
    if (path)
        sqlite3_bind_text(st, 2, path, -1, SQLITE_STATIC);
    if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0))
        out = strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return out;
}

static bool is(const char *line, const char *path, const char *value)
{
    char *got = ask("select json_extract(?1, ?2)", line, path);
    const bool same = got && !strcmp(got, value);

    free(got);
    return same;
}

static bool well_formed(const char *line)
{
    static const char *const types[] = { "result", "note", "warning", "error", "tick" };
    char *valid = ask("select json_valid(?1) and json_type(?1) = 'object'", line, NULL);
    bool good = valid && !strcmp(valid, "1") && is(line, "$.v", "1"), known = false;

    free(valid);
    for (size_t i = 0; good && i < sizeof types / sizeof *types; i++)
        known |= is(line, "$.type", types[i]);
    if (good && known && is(line, "$.type", "result")) {
        char *command = ask("select json_extract(?1, '$.command')", line, NULL);
        good = command != NULL;
        free(command);
    }
    return good && known;
}

int main(int argc, char **argv)
{
    char *line = NULL, *last = NULL;
    size_t cap = 0, lines = 0, hits = 0;
    ssize_t n;
    int status = 0;

    if (argc < 2 || sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 2;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        lines++;
        if (!well_formed(line)) {
            printf("line %zu is not a record: %.200s\n", lines, line);
            status = 1;
            continue;
        }
        if (argc > 3 && !strcmp(argv[1], "type"))
            hits += is(line, "$.type", argv[2]) && (*argv[3] == '*' || is(line, "$.name", argv[3]));
        else if (argc > 2 && is(line, "$.type", "result") && is(line, "$.command", argv[2])) {
            free(last);
            last = strdup(line);
        }
    }
    if (!strcmp(argv[1], "check")) {
        printf("%zu\n", lines);
        status |= lines == 0;
    } else if (!strcmp(argv[1], "type")) {
        printf("%zu\n", hits);
    } else if (!last) {
        printf("no result of %s\n", argc > 2 ? argv[2] : "?");
        status = 1;
    } else if (!strcmp(argv[1], "get")) {
        char *v = argc > 3 ? ask("select json_extract(?1, ?2)", last, argv[3]) : NULL;
        printf("%s\n", v ? v : "null");
        free(v);
    } else {
        for (int i = 3; i < argc; i++) {
            char path[128];
            snprintf(path, sizeof path, "$.%s", argv[i]);
            char *type = ask("select json_type(?1, ?2)", last, path);
            if (!type) {
                printf("%s has no key %s\n", argv[2], argv[i]);
                status = 1;
            }
            free(type);
        }
    }
    free(line);
    free(last);
    sqlite3_close(db);
    return status;
}
