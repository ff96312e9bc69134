/* app/session/store_files.c -- where sessions are stored: the state directory, names, lists,
 * copies. */
#include "app/session/store_impl.h"

#include "app/shell/text_table.h"
#include "app/session/store.h"
#include "app/core/ws_tell.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED_MOST = 200 };

/* $XDG_STATE_HOME/gpdesk, made when absent (mode 0700). Caller frees. */
static char *state_dir(struct err *err)
{
    struct buf b = { 0 };

    if (!dirs_path(DIRS_STATE, NULL, &b)) {
        err_named(err, ST_IO, "session", "there is no state directory: set HOME or XDG_STATE_HOME");
        buf_free(&b);
        return NULL;
    }
    char *path = buf_take(&b);
    struct err why = { 0 };
    if (dirs_make(path, &why) != ST_OK) {
        err_named(err, ST_IO, "session", "%s", why.msg);
        free(path);
        return NULL;
    }
    return path;
}

static char *join(const char *dir, const char *name, const char *tail, struct err *err)
{
    struct buf b = { 0 };

    buf_printf(&b, "%s%s%s%s", dir, *dir ? "/" : "", name, tail);
    char *path = buf_take(&b);
    if (!path)
        err_nomem(err, 0, "a path");
    return path;
}

char *store_find(const char *name, struct err *err)
{
    struct stat st;

    if (lstat(name, &st) == 0 || strchr(name, '/'))
        return mem_strdup(name, err);
    char *path = join("", name, ".gpd", err);
    if (!path || lstat(path, &st) == 0)
        return path;
    free(path);
    char *dir = state_dir(NULL);
    for (int tail = 0; dir && tail < 2; tail++) {
        path = join(dir, name, tail ? "" : ".gpd", err);
        if (!path || lstat(path, &st) == 0) {
            free(dir);
            return path;
        }
        free(path);
    }
    free(dir);
    err_set(err, ST_NOT_FOUND, "there is no session %.200s", name);
    err_hint(err, "sessions");
    return NULL;
}

/* Lists. */

struct listed {
    char *path, *name;
    int64_t changed;
    uint64_t bytes;
};

static int newest_first(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    return x->changed != y->changed ? (x->changed < y->changed) - (x->changed > y->changed)
                                    : strcmp(x->name, y->name);
}

static void listed_free(struct listed *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(v[i].path);
        free(v[i].name);
    }
    free(v);
}

/* All session files of the state directory, newest first. */
static enum status find_all(const char *dir, struct listed **out, size_t *n, struct err *err)
{
    size_t cap = 0;
    DIR *d = opendir(dir);
    enum status rc = ST_OK;

    *out = NULL;
    *n = 0;
    if (!d)
        return err_system(err, errno, "session", "%.200s: %s", dir, strerror(errno));
    for (struct dirent *e; rc == ST_OK && (e = readdir(d)) != NULL;) {
        const size_t len = strlen(e->d_name);
        struct stat st;
        if (len < 5 || strcmp(e->d_name + len - 4, ".gpd") != 0)
            continue;
        char *path = join(dir, e->d_name, "", err);
        if (!path || lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
            rc = path ? ST_OK : ST_NOMEM;
            free(path);
            continue;
        }
        char *name = mem_strdup(e->d_name, err);
        rc = name ? mem_grow((void **)out, &cap, *n + 1, sizeof **out, "a list", err) : ST_NOMEM;
        if (rc != ST_OK) {
            free(path);
            free(name);
            break;
        }
        name[len - 4] = '\0';
        (*out)[(*n)++] = (struct listed){ .path = path, .name = name, .changed = st.st_mtime,
                                          .bytes = (uint64_t)st.st_size };
    }
    closedir(d);
    if (*n)
        qsort(*out, *n, sizeof **out, newest_first);
    return rc;
}

char *store_newest(const struct store *except, struct err *err)
{
    struct listed *v = NULL;
    size_t n = 0;
    char *dir = state_dir(err), *found = NULL;
    enum status rc = dir ? find_all(dir, &v, &n, err) : ST_IO;

    for (size_t i = 0; rc == ST_OK && i < n && !found; i++)
        if (!except || strcmp(v[i].path, store_path(except)) != 0)
            found = mem_strdup(v[i].path, err);
    if (rc == ST_OK && !found) {
        err_set(err, ST_NOT_FOUND, "there is no earlier session in %.200s", dir);
        err_hint(err, "resume FILE.gpd");
    }
    listed_free(v, n);
    free(dir);
    return found;
}

static void when_words(char *out, size_t len, int64_t at)
{
    const time_t t = (time_t)at;
    struct tm tm;

    if (!localtime_r(&t, &tm) || !strftime(out, len, "%Y-%m-%d %H:%M", &tm))
        snprintf(out, len, "?");
}

/* True for two names of one file: opening and closing it again would drop the locks that this
 * process has on it. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
                                 x.st_ino == y.st_ino);
}

static void list_one(struct workspace *ws, struct rec *r, struct text_table *g,
                     const struct listed *s)
{
    const bool current = store_of(ws) && same_file(s->path, store_path(store_of(ws)));
    struct err why = { 0 };
    bool fresh = false;
    char size[32], when[32];
    char *data = NULL;
    size_t runs = 0;

    /* The current session's file is not opened again, because closing it would drop its lock. */
    struct sdb *db = current ? NULL : store_db_open(s->path, SDB_LOOK, &fresh, &why);
    if (db)
        data = store_db_about(db, &runs);
    store_db_close(db);
    if (current)
        runs = ws->nrun;
    mem_format(size, sizeof size, (double)s->bytes);
    when_words(when, sizeof when, s->changed);
    rec_item(r);
    rec_str(r, "session", s->name);
    rec_str(r, "path", s->path);
    rec_int(r, "changed", s->changed);
    rec_int(r, "bytes", (int64_t)s->bytes);
    rec_bool(r, "current", current);
    if (db || current)
        rec_int(r, "runs", (int64_t)runs);
    else
        rec_null(r, "runs");
    rec_str(r, "datasets", data);
    rec_str(r, "trouble", why.msg[0] ? why.msg : NULL);
    rec_close(r);
    text_table_printf(g, "%s", current ? "*" : " ");
    text_table_cell(g, s->name, 40);
    text_table_cell(g, when, 0);
    text_table_printf(g, "%zu runs", runs);
    text_table_cell(g, size, 0);
    text_table_cell(g, data ? data : current ? "(this session)" : why.msg, 60);
    free(data);
}

enum status store_list(struct workspace *ws, struct err *err)
{
    static const bool right[] = { false, false, false, true, true, false };
    struct listed *v = NULL;
    size_t n = 0;
    char *dir = state_dir(err);
    struct rec r;
    struct text_table g;

    if (!dir)
        return ST_IO;
    enum status rc = find_all(dir, &v, &n, err);
    if (rc != ST_OK) {
        listed_free(v, n);
        free(dir);
        return rc;
    }
    rec_init(&r, REC_RESULT, "sessions");
    rec_str(&r, "directory", dir);
    rec_array(&r, "sessions");
    text_table_init(&g, 6);
    for (size_t i = 0; i < n && i < LISTED_MOST; i++)
        list_one(ws, &r, &g, &v[i]);
    rec_array_close(&r);
    text_table_print(&g, right, &r.text);
    text_table_free(&g);
    if (n > LISTED_MOST)
        rec_text(&r, "\n  and %zu older ones", n - LISTED_MOST);
    rec_text(&r, "%s%s in ", n ? "\n  " : "no sessions",
             n ? "open one: resume NAME   they are" : "");
    rec_safe(&r, dir);
    ws_emit(ws, &r);
    listed_free(v, n);
    free(dir);
    return ST_OK;
}

/* Copies and the automatic session. */

enum status store_save_as(struct workspace *ws, const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) == 0) {
        err_named(err, ST_IO, "exists", "%.200s exists; a session is not written over", path);
        err_hint(err, "name another file, or remove it first");
        return ST_IO;
    }
    if (!store_of(ws))
        return store_open(ws, path, err);
    struct buf part = { 0 };
    struct store_guard beside;
    text_safe(&part, path, 150);
    enum status rc = store_guard_check(path, buf_str(&part), -1, &beside, err);
    buf_clear(&part);
    if (rc != ST_OK) {
        buf_free(&part);
        return rc;
    }
    /* The copy is written under another name and linked into place, so that it is either complete
     * or absent. */
    buf_printf(&part, "%s.part-%ld", path, (long)getpid());
    if (part.failed) {
        buf_free(&part);
        return err_nomem(err, 0, "a path");
    }
    rc = store_copy(store_of(ws), buf_str(&part), err);
    /* unlike rename, link never overwrites a file */
    if (rc == ST_OK && link(buf_str(&part), path) != 0)
        rc = err_system(err, errno, errno == ENOSPC ? "disk" : "write", "%.200s: %s", path,
                       strerror(errno));
    store_db_unlink(buf_str(&part));
    if (rc == ST_OK && outfile_sync_dir(path) != 0)
        rc = err_system(err, errno, "write", "%.200s: %s", path, strerror(errno));
    buf_free(&part);
    return rc;
}

enum status store_begin(struct workspace *ws, struct err *err)
{
    const time_t now = time(NULL);
    struct tm tm;
    char name[32] = "session";
    char *dir = state_dir(err), *path = NULL;
    struct stat st;
    enum status rc = dir ? ST_OK : ST_IO;

    if (localtime_r(&now, &tm))
        strftime(name, sizeof name, "%Y-%m-%d-%H%M%S", &tm);
    for (int i = 0; rc == ST_OK; i++) {
        char tail[24] = ".gpd";
        if (i)
            snprintf(tail, sizeof tail, "-%d.gpd", i);
        path = join(dir, name, tail, err);
        if (!path || lstat(path, &st) != 0)
            break;
        free(path);
        path = NULL;
    }
    if (rc == ST_OK)
        rc = path ? store_open(ws, path, err) : ST_NOMEM;
    free(path);
    free(dir);
    return rc;
}

/* Begins a session for somebody who works at the keyboard without one, so that nothing is lost. */
static void begin_session(struct workspace *ws)
{
    struct err err = { 0 };

    if (store_begin(ws, &err) == ST_OK) {
        ws_note(ws, "session", "saved as you work in %s", store_shown(store_of(ws)));
    } else {
        ws->no_session = true; /* report it only once */
        ws_tell(ws, REC_WARNING, NULL, "session", "save FILE", "this work is not being saved: %s",
                err.msg);
    }
}

static void ended(struct workspace *ws, const struct owner_step *step)
{
    if (!store_of(ws) && ws->interactive && !ws->no_session && step->rc == ST_OK &&
        step->cmd->flags & CMD_CHANGES)
        begin_session(ws);
}

/* In the list of owners it comes before store_owner, which then writes the statement into the
 * session that begins here. */
const struct owner store_files_owner = { .name = "sessions", .ended = ended };
