/* app/session/store_pack.c -- copies data files into a session: `save data=yes`. They are blobs of
 * the owner "file", named by checksum and size. store_unpack.c writes them out again. */
#include "app/session/store_impl.h"
#include "app/session/store.h"
#include "app/core/ws_tell.h"

#include "data/checksum.h"
#include "data/formats/npy_set.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS_AHEAD = 4 }; /* number of parts of 8 MiB in memory at once */

/* True if the file at its path contains the whole table. */
static bool one_file(const struct workspace *ws, const struct dataset *d)
{
    const char *path = d->table->path, *recipe = store_recipe(ws, d);
    const struct command *cmd = NULL;
    struct args *a = NULL;
    struct stat st;
    bool one = path && *path == '/' && !npy_set_is_pattern(path) && stat(path, &st) == 0 &&
               S_ISREG(st.st_mode) && (uint64_t)st.st_size == d->table->file_size;

    if (one && recipe && command_parse(recipe, &cmd, &a, NULL) == ST_OK &&
        !strcmp(cmd->name, "open"))
        one = !args_given(a, "targets") && !args_given(a, "beside") &&
              !(args_text(a, "target") && npy_set_is_npy(args_text(a, "target")));
    args_free(a);
    return one;
}

static enum status read_full(int fd, void *to, size_t n, const char *path, struct err *err)
{
    for (size_t at = 0; at < n;) {
        const ssize_t got = read(fd, (char *)to + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_system(err, errno, NULL, "%.200s: %s", path,
                           got < 0 ? strerror(errno) : "it has shrunk");
        at += (size_t)got;
    }
    return ST_OK;
}

static enum status put_parts(struct store *st, int fd, const struct table *t, const char *name,
                             uint32_t *sum, struct err *err)
{
    enum status rc = ST_OK;
    int64_t k = 0;

    for (uint64_t left = t->file_size; rc == ST_OK && left > 0; k++) {
        const size_t n = left < SDB_PART ? (size_t)left : SDB_PART;
        void *part = mem_calloc(n, 1, "a part of a file", err);
        rc = part ? read_full(fd, part, n, t->path, err) : ST_NOMEM;
        if (rc != ST_OK) {
            free(part);
            return rc;
        }
        *sum = checksum_add(*sum, part, n);
        left -= n;
        if (!store_put_part(st, "file", name, k, part, n))
            return err_nomem(err, n, "a part of a file");
        if (k % PARTS_AHEAD == PARTS_AHEAD - 1)
            rc = store_flush(st, err);
    }
    return rc == ST_OK ? store_flush(st, err) : rc;
}

/* Removes the copy if the file turns out to differ from the one that was read. */
static enum status pack_one(struct workspace *ws, const struct table *t, const char *name,
                            struct err *err)
{
    const int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    uint32_t sum = 0;
    char now[24];

    if (fd < 0)
        return err_system(err, errno, NULL, "%.200s: %s", t->path, strerror(errno));
    enum status rc = put_parts(store_of(ws), fd, t, name, &sum, err);
    close(fd);
    snprintf(now, sizeof now, "crc32:%08" PRIx32, sum);
    if (rc == ST_OK && !strncmp(t->checksum, "crc32:", 6) && strcmp(t->checksum, now) != 0) {
        rc = err_named(err, ST_STATE, "session-data", "%.200s has changed since it was read",
                       t->path);
        err_hint(err, "open it again, then save data=yes");
    }
    if (rc != ST_OK)
        store_drop_blob(store_of(ws), "file", name);
    return rc;
}

struct pack_ctx { struct workspace *ws; size_t files, left; uint64_t bytes; };

static enum status pack(struct pack_ctx *c, const struct dataset *d, struct err *err)
{
    char name[STORE_PACK_NAME];

    if (!d || !d->table || !d->table->path || !strncmp(d->table->path, "demo:", 5))
        return ST_OK; /* it was generated, not read: the session records how */
    store_unpack_name(name, d->table->checksum, d->table->file_size);
    if (store_has_blob(store_of(c->ws), "file", name, d->table->file_size))
        return ST_OK;
    if (!one_file(c->ws, d)) {
        struct buf path = { 0 };
        text_safe(&path, d->table->path, 150);
        ws_tell(c->ws, REC_WARNING, NULL, "session-data", NULL,
                "%s is not one file that is there as it was "
                "read; it stays outside the session",
                buf_str(&path));
        buf_free(&path);
        c->left++;
        return ST_OK;
    }
    const enum status rc = pack_one(c->ws, d->table, name, err);
    if (rc == ST_OK) {
        c->files++;
        c->bytes += d->table->file_size;
    }
    return rc;
}

enum status store_pack(struct workspace *ws, size_t *files, uint64_t *bytes, struct err *err)
{
    struct pack_ctx c = { .ws = ws };
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < ws->ndata; i++)
        rc = pack(&c, ws->data[i], err);
    for (size_t i = 0; rc == ST_OK && i < ws->nrun; i++)
        rc = pack(&c, ws->run[i]->data, err);
    *files = c.files;
    *bytes = c.bytes;
    return rc;
}
