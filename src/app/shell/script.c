/* app/shell/script.c -- reading scripts: see script.h. */
#include "app/shell/script.h"

#include "app/shell/command.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRIPT_MAX = 1 << 24, SNIFF_MAX = 1 << 16 };

static enum status no_file(const char *path, int why, struct err *err)
{
    err_system(err, why, NULL, "%.300s: %s", path, strerror(why));
    if (why == ENOENT)
        err_hint(err, "check the name; relative names start at the current directory");
    return ST_IO;
}

/* Reads up to max bytes. *all is false if there are more. */
static enum status read_bytes(const char *path, size_t max, char **out, size_t *n, bool *all,
                              struct err *err)
{
    const bool in = !strcmp(path, "-");
    int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    char *text = NULL;
    size_t cap = 0;
    enum status rc = ST_OK;

    *out = NULL;
    *n = 0;
    *all = false;
    if (fd < 0)
        return no_file(path, errno, err);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        rc = err_set(err, ST_IO, "%.300s is a directory", path);
    while (rc == ST_OK && *n <= max) {
        rc = mem_grow((void **)&text, &cap, *n + 65537, 1, "a script", err);
        if (rc != ST_OK)
            break;
        const ssize_t got = read(fd, text + *n, 65536);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = no_file(path, errno, err);
        if (got <= 0) {
            *all = got == 0;
            break;
        }
        *n += (size_t)got;
    }
    if (!in)
        close(fd);
    if (rc != ST_OK) {
        free(text);
        return rc;
    }
    if (text)
        text[*n] = '\0';
    else if (!(text = mem_strdup("", err)))
        return ST_NOMEM;
    *out = text;
    return ST_OK;
}

enum status script_read(const char *path, char **text, struct err *err)
{
    size_t n;
    bool all;
    enum status rc = read_bytes(path, SCRIPT_MAX, text, &n, &all, err);

    if (rc != ST_OK)
        return rc;
    if (!all)
        rc = err_set(err, ST_FORMAT, "%.300s is too large: a script can have at most %d MB", path,
                     SCRIPT_MAX >> 20);
    else if (memchr(*text, '\0', n))
        rc = err_set(err, ST_FORMAT, "%.300s is a binary file, not a script", path);
    if (rc != ST_OK) {
        free(*text);
        *text = NULL;
    }
    return rc;
}

/* True if every statement can be parsed and there is at least one. */
static bool parses(const char *text)
{
    struct statement *st = NULL;
    size_t n = 0;
    bool good = command_split(text, &st, &n, NULL) == ST_OK && n > 0;

    for (size_t i = 0; i < n && good; i++) {
        const struct command *cmd;
        struct args *a = NULL;
        good = command_parse(st[i].text, &cmd, &a, NULL) == ST_OK;
        args_free(a);
    }
    command_statements_free(st, n);
    return good;
}

static bool ends_with(const char *s, const char *tail)
{
    const size_t n = strlen(s), m = strlen(tail);

    return n >= m && !strcmp(s + n - m, tail);
}

enum status script_sniff(const char *path, enum file_kind *kind, struct err *err)
{
    char *text;
    size_t n;
    bool all;
    enum status rc;

    *kind = FILE_DATA;
    if (!strcmp(path, "-"))
        return ST_OK;
    rc = read_bytes(path, SNIFF_MAX, &text, &n, &all, err);
    if (rc != ST_OK)
        return rc;
    const bool is_text = !memchr(text, '\0', n);
    if (n >= 16 && !memcmp(text, "SQLite format 3", 16))
        *kind = FILE_SESSION;
    else if (n == 0 && ends_with(path, ".gpd"))
        *kind = FILE_SESSION;
    else if (is_text && ((n > 2 && !strncmp(text, "#!", 2) && strstr(text, "gpdesk")) ||
                         ends_with(path, ".gps") || (all && parses(text))))
        *kind = FILE_SCRIPT;
    free(text);
    return ST_OK;
}
