/* base/dirs.c -- the XDG base directories (dirs.h). */
#include "base/dirs.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *variable, *fallback; /* fallback: relative to HOME; NULL: none */
} place[] = {
    [DIRS_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
    [DIRS_DATA] = { "XDG_DATA_HOME", ".local/share" },
    [DIRS_STATE] = { "XDG_STATE_HOME", ".local/state" },
    [DIRS_CACHE] = { "XDG_CACHE_HOME", ".cache" },
    [DIRS_RUNTIME] = { "XDG_RUNTIME_DIR", NULL },
};

bool dirs_path(enum dirs which, const char *name, struct buf *out)
{
    const char *base = getenv(place[which].variable), *home = getenv("HOME");

    if (base && *base == '/')
        buf_printf(out, "%s/gpdesk", base);
    else if (home && *home == '/' && place[which].fallback)
        buf_printf(out, "%s/%s/gpdesk", home, place[which].fallback);
    else
        return false;
    if (name)
        buf_printf(out, "/%s", name);
    return !out->failed;
}

enum status dirs_make(const char *path, struct err *err)
{
    char *part = mem_strdup(path, err);
    enum status rc = part ? ST_OK : ST_NOMEM;

    for (char *p = part; rc == ST_OK && *p; p++) {
        const char next = p[1];
        if (next != '/' && next != '\0')
            continue;
        p[1] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            rc = err_system(err, errno, NULL, "%.200s cannot be created: %s", part,
                            strerror(errno));
        p[1] = next;
    }
    free(part);
    return rc;
}

enum status dirs_make_parent(const char *file, struct err *err)
{
    const char *slash = strrchr(file, '/');
    struct buf dir = { 0 };

    if (!slash || slash == file)
        return ST_OK;
    buf_putn(&dir, file, (size_t)(slash - file));
    const enum status rc =
        dir.failed ? err_nomem(err, dir.len, "a path") : dirs_make(buf_str(&dir), err);
    buf_free(&dir);
    return rc;
}

char *dirs_real(const char *path, struct err *err)
{
    char *full = realpath(path, NULL);

    if (!full && errno != ENOMEM)
        full = strdup(path);
    if (!full)
        (void)err_nomem(err, strlen(path), "a path");
    return full;
}

bool dirs_beside(size_t n, const char *name, const char *folder, const char *installed,
                 struct buf *out)
{
    char self[4096];

    buf_clear(out);
    if (n == 2)
        buf_printf(out, "%s/%s", installed, name);
    if (n >= 2)
        return n == 2;
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    const char *slash = strrchr(self, '/');
    if (slash)
        buf_printf(out, "%.*s/%s%s%s", (int)(slash - self), self, n ? folder : "", n ? "/" : "",
                   name);
    return true;
}
