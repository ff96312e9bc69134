/* data/formats/import_stream.c -- the bytes of a data file, wherever they come from: a plain file,
 * a pipe, gzip or zstd, recognised by content.
 *
 * Files are read with read() and never mapped, because a mapped file that shrinks kills the
 * program. The checksum covers the bytes as stored, so that a session can later tell whether the
 * file is still the same. */
#include "data/formats/import.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum packing { PACK_NONE, PACK_GZIP, PACK_ZSTD };
enum { RAW_SIZE = 256 * 1024, WINDOW_LOG_MAX = 27 };

struct stream {
    int fd; /* -1: bytes in memory */
    bool regular, std_in;
    uint64_t size;          /* size of a regular file when it was opened */
    enum packing packing;
    const unsigned char *next; /* stored bytes that have not been used yet */
    size_t avail;
    unsigned char *raw;
    bool raw_end;
    uint64_t stored, unpacked;
    uint32_t crc;
    z_stream z;
    bool z_live, member_end; /* gzip: between members */
    ZSTD_DStream *zs;
    size_t zs_want;          /* 0: a frame has just ended */
    const struct ctl *ctl;
    char name[200];
};

const char *stream_name(const struct stream *s)
{
    return s->name;
}

const char *stream_packing(const struct stream *s)
{
    return s->packing == PACK_GZIP ? "gzip" : s->packing == PACK_ZSTD ? "zstd" : "";
}

uint64_t stream_size(const struct stream *s)
{
    return s->size;
}

static enum status no_file(const char *name, int why, struct err *err)
{
    const bool missing = why == ENOENT || why == ENOTDIR, refused = why == EACCES || why == EPERM;

    err_system(err, why, missing ? "no-file" : refused ? "permission" : "io", "cannot open %s: %s",
               name, strerror(why));
    err_hint(
        err,
        missing ? "check the name (Tab completes it); relative names start where gpdesk was started"
        : refused ? "a copy that you may read, or chmod"
                  : "explain io");
    return ST_IO;
}

/* Waits for a pipe or terminal in short intervals, so that `stop` takes effect. */
static enum status wait_readable(struct stream *s, struct err *err)
{
    for (;;) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        int rc = poll(&p, 1, 100);
        if (ctl_stopped(s->ctl))
            return err_set(err, ST_CANCELLED, "reading %s was stopped", s->name);
        if (rc > 0)
            return ST_OK;
        if (rc < 0 && errno != EINTR)
            return err_system(err, errno, NULL, "%s: %s", s->name, strerror(errno));
    }
}

/* Refills the stored bytes; sets raw_end if there are none left. */
static enum status raw_fill(struct stream *s, struct err *err)
{
    if (s->avail > 0 || s->raw_end)
        return ST_OK;
    if (s->fd < 0) {
        s->raw_end = true;
        return ST_OK;
    }
    for (;;) {
        if (!s->regular) {
            enum status rc = wait_readable(s, err);
            if (rc != ST_OK)
                return rc;
        } else if (ctl_stopped(s->ctl)) {
            return err_set(err, ST_CANCELLED, "reading %s was stopped", s->name);
        }
        ssize_t got = read(s->fd, s->raw, RAW_SIZE);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return err_system(err, errno, NULL, "%s: cannot be read after %" PRIu64 " bytes: %s",
                              s->name, s->stored, strerror(errno));
        s->raw_end = got == 0;
        s->next = s->raw;
        s->avail = (size_t)got;
        s->stored += (uint64_t)got;
        s->crc = (uint32_t)crc32(s->crc, s->raw, (uInt)got);
        ctl_tell(s->ctl, PHASE_READ, s->stored, s->size, NAN);
        return ST_OK;
    }
}

/* Examines the first bytes. A pipe may deliver them one at a time. */
static enum status find_packing(struct stream *s, struct err *err)
{
    enum status rc = raw_fill(s, err);
    while (rc == ST_OK && s->fd >= 0 && s->avail < 4 && !s->raw_end) {
        unsigned char first[4];
        size_t have = s->avail;
        memcpy(first, s->next, have);
        s->avail = 0;
        rc = raw_fill(s, err);
        if (rc != ST_OK)
            break;
        memmove(s->raw + have, s->raw, s->avail); /* raw has room for 4 more bytes */
        memcpy(s->raw, first, have);
        s->next = s->raw;
        s->avail += have;
    }
    if (rc != ST_OK || s->avail < 4)
        return rc;
    static const unsigned char gz[2] = { 0x1f, 0x8b }, zst[4] = { 0x28, 0xb5, 0x2f, 0xfd };
    if (memcmp(s->next, gz, 2) == 0) {
        s->packing = PACK_GZIP;
        if (inflateInit2(&s->z, 15 + 16) != Z_OK)
            return err_nomem(err, 64 << 10, "the gzip reader");
        s->z_live = true;
    } else if (memcmp(s->next, zst, 4) == 0) {
        s->packing = PACK_ZSTD;
        s->zs = ZSTD_createDStream();
        if (s->zs == NULL)
            return err_nomem(err, 1 << 20, "the zstd reader");
        ZSTD_DCtx_setParameter(s->zs, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
        s->zs_want = 1;
    }
    return ST_OK;
}

static enum status open_fd(struct stream *s, const char *path, struct err *err)
{
    if (strcmp(path, "-") == 0) {
        s->fd = STDIN_FILENO;
        s->std_in = true;
        snprintf(s->name, sizeof s->name, "standard input");
        if (isatty(s->fd)) {
            err_set(err, ST_IO, "standard input is a terminal, not data");
            err_hint(err, "gpdesk ... < FILE.csv");
            return ST_IO;
        }
    } else {
        /* Non-blocking, so that opening a FIFO does not hang before `stop` can take effect. */
        s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (s->fd < 0)
            return no_file(s->name, errno, err);
    }
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return err_system(err, errno, NULL, "%s: %s", s->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        err_named(err, ST_IO, "directory", "%s is a directory, not a data file", s->name);
        err_hint(err, "open FILE  (one of the files in it)");
        return ST_IO;
    }
    s->regular = S_ISREG(st.st_mode);
    s->size = s->regular ? (uint64_t)st.st_size : 0;
    return ST_OK;
}

static void set_name(struct stream *s, const char *path)
{
    struct buf b = { 0 };
    text_safe(&b, path, 150);
    snprintf(s->name, sizeof s->name, "%s", buf_str(&b));
    buf_free(&b);
}

struct stream *stream_open(const char *path, const struct ctl *ctl, struct err *err)
{
    struct stream *s = mem_calloc(1, sizeof *s, "a file reader", err);
    if (s == NULL)
        return NULL;
    s->fd = -1;
    s->ctl = ctl;
    s->crc = (uint32_t)crc32(0, NULL, 0);
    set_name(s, path);
    if (open_fd(s, path, err) != ST_OK ||
        (s->raw = mem_calloc(RAW_SIZE + 16, 1, "a file reader", err)) == NULL ||
        find_packing(s, err) != ST_OK) {
        stream_close(s);
        return NULL;
    }
    return s;
}

/* For import_bytes_for_tests: the same path without a file. */
struct stream *stream_memory(const char *name, const void *bytes, size_t len, struct err *err)
{
    struct stream *s = mem_calloc(1, sizeof *s, "a file reader", err);
    if (s == NULL)
        return NULL;
    s->fd = -1;
    s->next = bytes;
    s->avail = len;
    s->stored = s->size = len;
    s->crc = (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)len);
    snprintf(s->name, sizeof s->name, "%s", name);
    if (find_packing(s, err) != ST_OK) {
        stream_close(s);
        return NULL;
    }
    return s;
}

void stream_close(struct stream *s)
{
    if (s == NULL)
        return;
    if (s->z_live)
        inflateEnd(&s->z);
    ZSTD_freeDStream(s->zs);
    if (s->fd >= 0 && !s->std_in)
        close(s->fd);
    free(s->raw);
    free(s);
}

static enum status truncated(const struct stream *s, struct err *err)
{
    return err_named(err, ST_FORMAT, "truncated",
                     "%s ends in the middle of its %s data, after %" PRIu64 " bytes (%" PRIu64
                     " unpacked)",
                     s->name, stream_packing(s), s->stored, s->unpacked);
}

/* After a gzip member: another member, zero padding, or the end. */
static enum status next_member(struct stream *s, struct err *err)
{
    while (s->avail > 0 && s->next[0] == 0) {
        s->next++;
        s->avail--;
    }
    if (s->avail == 0)
        return ST_OK;
    if (s->next[0] != 0x1f)
        return err_named(err, ST_FORMAT, "gzip",
                         "%s: %zu bytes that are not gzip follow the packed data", s->name,
                         s->avail);
    s->member_end = false;
    inflateReset(&s->z);
    return ST_OK;
}

static enum status read_gzip(struct stream *s, void *dst, size_t cap, size_t *got, struct err *err)
{
    *got = 0;
    for (;;) {
        enum status rc = raw_fill(s, err);
        if (rc == ST_OK && s->member_end && s->avail > 0)
            rc = next_member(s, err);
        if (rc != ST_OK)
            return rc;
        if (s->avail == 0 && s->raw_end)
            return s->member_end ? ST_OK : truncated(s, err);
        if (s->avail == 0)
            continue;
        s->z.next_in = (Bytef *)(uintptr_t)s->next;
        s->z.avail_in = (uInt)(s->avail < (1u << 30) ? s->avail : 1u << 30);
        s->z.next_out = dst;
        s->z.avail_out = (uInt)(cap < (1u << 30) ? cap : 1u << 30);
        uInt in = s->z.avail_in, out = s->z.avail_out;
        int z = inflate(&s->z, Z_NO_FLUSH);
        s->next += in - s->z.avail_in;
        s->avail -= in - s->z.avail_in;
        *got = out - s->z.avail_out;
        s->member_end = z == Z_STREAM_END;
        if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR) {
            err_named(err, ST_FORMAT, "gzip", "%s: damaged gzip data near byte %" PRIu64
                             " (%s)", s->name, s->stored - s->avail,
                             s->z.msg != NULL ? s->z.msg : "wrong checksum");
            err_hint(err, "copy the file again; gzip -t FILE tells whether it is whole");
            return ST_FORMAT;
        }
        if (*got > 0)
            return ST_OK;
    }
}

static enum status read_zstd(struct stream *s, void *dst, size_t cap, size_t *got, struct err *err)
{
    *got = 0;
    for (;;) {
        enum status rc = raw_fill(s, err);
        if (rc != ST_OK)
            return rc;
        ZSTD_inBuffer in = { s->next, s->avail, 0 };
        ZSTD_outBuffer out = { dst, cap, 0 };
        if (s->avail == 0 && s->zs_want == 0)
            return ST_OK; /* all frames complete */
        size_t z = ZSTD_decompressStream(s->zs, &out, &in);
        if (ZSTD_isError(z))
            return err_named(err, ST_FORMAT, "zstd", "%s: damaged zstd data near byte %" PRIu64
                             " (%s)", s->name, s->stored - s->avail, ZSTD_getErrorName(z));
        s->next += in.pos;
        s->avail -= in.pos;
        if (in.pos > 0 || out.pos > 0)
            s->zs_want = z;
        *got = out.pos;
        if (*got > 0)
            return ST_OK;
        if (s->avail == 0 && s->raw_end && s->zs_want != 0)
            return truncated(s, err);
    }
}

static enum status read_plain(struct stream *s, void *dst, size_t cap, size_t *got,
                              struct err *err)
{
    enum status rc = raw_fill(s, err);
    *got = s->avail < cap ? s->avail : cap;
    if (rc == ST_OK && *got > 0) {
        memcpy(dst, s->next, *got);
        s->next += *got;
        s->avail -= *got;
    }
    return rc;
}

enum status stream_read(struct stream *s, void *dst, size_t cap, size_t *got, struct err *err)
{
    enum status rc = s->packing == PACK_GZIP   ? read_gzip(s, dst, cap, got, err)
                     : s->packing == PACK_ZSTD ? read_zstd(s, dst, cap, got, err)
                                               : read_plain(s, dst, cap, got, err);
    if (rc != ST_OK)
        return rc;
    s->unpacked += *got;
    if (s->packing != PACK_NONE && s->unpacked > IMPORT_BOMB_BYTES &&
        s->unpacked / IMPORT_BOMB_RATIO > s->stored - s->avail) {
        char out[32];
        mem_format(out, sizeof out, (double)s->unpacked);
        err_named(err, ST_FORMAT, "bomb",
                  "%s unpacks to more than %s, over %u times its stored size: refused", s->name,
                  out, IMPORT_BOMB_RATIO);
        err_hint(err, "unpack it outside and open the plain file if it is what it should be");
        return ST_FORMAT;
    }
    return ST_OK;
}

enum status stream_finish(struct stream *s, struct table *t, struct err *err)
{
    enum status rc = raw_fill(s, err);
    if (rc != ST_OK)
        return rc;
    if (s->regular) {
        struct stat st;
        if (fstat(s->fd, &st) != 0)
            return err_system(err, errno, NULL, "%s: %s", s->name, strerror(errno));
        if (s->stored != s->size || (uint64_t)st.st_size != s->size) {
            err_named(err, ST_IO, "changed",
                      "%s changed while it was read: %" PRIu64 " bytes at first, %" PRIu64
                      " read, %" PRIu64 " now", s->name, s->size, s->stored, (uint64_t)st.st_size);
            err_hint(err, "open it again when it is complete");
            return ST_IO;
        }
    }
    t->file_size = s->stored;
    if (!s->std_in)
        snprintf(t->checksum, sizeof t->checksum, "crc32:%08" PRIx32, s->crc);
    return ST_OK;
}

enum status stream_inbuf_fill(struct inbuf *in, size_t limit, struct err *err)
{
    enum { PAD = 16, FIRST = 1 << 20 };
    if (in->eof)
        return ST_OK;
    if (in->pos > 0) {
        memmove(in->b, in->b + in->pos, in->len - in->pos);
        in->len -= in->pos;
        in->pos = 0;
    }
    if (in->len == in->cap) {
        if (in->cap + PAD >= limit)
            return ST_LIMIT;
        size_t have = in->cap == 0 ? 0 : in->cap + PAD;
        void *b = in->b;
        enum status rc = mem_grow(&b, &have, in->cap == 0 ? FIRST : in->cap * 2, 1,
                                  "a file's window", err);
        if (rc != ST_OK)
            return rc;
        in->b = b;
        in->cap = have - PAD;
    }
    while (in->len < in->cap && !in->eof) {
        size_t got;
        enum status rc = stream_read(in->st, in->b + in->len, in->cap - in->len, &got, err);
        if (rc != ST_OK)
            return rc;
        in->len += got;
        in->eof = got == 0;
    }
    memset(in->b + in->len, 0, PAD);
    return ST_OK;
}

void stream_inbuf_free(struct inbuf *in)
{
    free(in->b);
    *in = (struct inbuf){ 0 };
}
