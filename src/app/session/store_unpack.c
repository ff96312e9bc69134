/* app/session/store_unpack.c -- writes data files from a session when the original has gone or
 * changed. They are put into the cache directory and read like any file. */
#include "app/session/store_impl.h"

#include "data/cache.h"
#include "base/mem.h"
#include "base/outfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void store_unpack_name(char out[STORE_PACK_NAME], const char *checksum, uint64_t size)
{
    snprintf(out, STORE_PACK_NAME, "%.70s-%" PRIu64, checksum, size);
}

char *store_unpack(struct sdb *db, const char *path, const char *checksum, uint64_t size,
                   struct err *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char name[STORE_PACK_NAME];
    struct buf to = { 0 };
    struct stat st;

    store_unpack_name(name, checksum, size);
    if (!size || store_db_blob_size(db, "file", name) != size) {
        err_set(err, ST_NOT_FOUND, "its copy is not in the session");
        return NULL;
    }
    if (!*cache_dir() || strchr(name, '/')) {
        err_set(err, ST_IO, "there is no cache directory to put it into");
        return NULL;
    }
    buf_printf(&to, "%s/packed", cache_dir());
    (void)mkdir(buf_str(&to), 0700);
    buf_printf(&to, "/%s-%s", name, base);
    if (to.failed ||
        (lstat(buf_str(&to), &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size))
        return buf_take(&to); /* from an earlier program */
    void *bytes = mem_calloc(size, 1, "a file of the session", err);
    enum status rc = bytes ? store_db_get_blob(db, "file", name, bytes, size, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = outfile_put(buf_str(&to), 0600, bytes, size, err);
    free(bytes);
    char *out = rc == ST_OK ? buf_take(&to) : NULL;
    buf_free(&to);
    return out;
}
