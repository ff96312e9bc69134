/* figure/plot_export.c -- a figure into a file: svg, png, pdf by gnuplot, txt and csv by ourselves.
 *
 * gnuplot never sees a user's file name: it runs in a fresh directory beside the target, writes a
 * name of ours there, and the finished file is moved over the target.  So a failure leaves what was
 * there before, and no name, however odd, is ever a command. */
#include "figure/gnuplot.h"

#include "figure/gnuplot_child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/text.h"
#include "compute/ctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEFT ".gpdesk-plot-" /* our directory beside a target; then the process that made it */

static atomic_int limit_ms = 20000;

void plot_export_limit(int ms)
{
    limit_ms = ms;
}

enum kind { SVG, PNG, PDF, SIX, TXT, CSV, N_KINDS };

static const char *const suffix[N_KINDS] = { ".svg", ".png", ".pdf", ".six", ".txt", ".csv" };

struct job {
    const struct ctl *ctl;
    const struct figure *f;
    enum kind kind;
    size_t w, h;
    bool dark;
    char *target;        /* where the result goes, links resolved */
    char *dir;           /* our directory beside it */
    char *made;          /* the file in it */
    struct buf name;     /* the path as the user gave it, safe to show */
    struct buf *note;
};

static enum status bad(struct job *j, struct err *err, const char *what)
{
    const int why = errno;

    err_set(err, ST_IO, "%s: %s: %s", buf_str(&j->name), what, strerror(why));
    err_hint(err, why == ENOSPC ? "make room on the disk, or a name on another one"
                                : "a name in a directory that is there and may be written");
    return ST_IO;
}

static bool find_kind(const char *path, enum kind *kind)
{
    const char *base = strrchr(path, '/');
    const char *dot = strrchr(base != NULL ? base + 1 : path, '.');

    for (int k = 0; dot != NULL && k < N_KINDS; k++)
        if (strcasecmp(dot, suffix[k]) == 0) {
            *kind = (enum kind)k;
            return true;
        }
    return false;
}

/* Has a panel more than bars and a name: a key, or several curves? */
static bool furnished(const struct figure *f)
{
    for (; f != NULL; f = f->next)
        for (size_t i = 0; i < f->ns; i++)
            if (i > 0 || (f->s[i].title != NULL && *f->s[i].title != '\0'))
                return true;
    return false;
}

/* Sizes: cells for text, pixels else. */
static enum status choose_size(struct job *j, struct err *err)
{
    size_t panels = 0, across = j->f->across > 1 ? j->f->across : 1;
    const bool large = across == 2 || furnished(j->f);

    for (const struct figure *p = j->f; p != NULL; p = p->next)
        panels++;
    const size_t down = (panels + across - 1) / across;
    if (j->kind == TXT) {
        j->w = j->w > 0 ? j->w : across > 1 ? 110 : 80;
        j->h = j->h > 0 ? j->h : across > 1 ? 12 * down : 22 + 14 * (down - 1);
        if (j->w < 20 || j->w > 1000 || j->h < 5 || j->h > 1000)
            return err_set(err, ST_RANGE, "size %zu x %zu cells: a text plot needs 20 to 1000 by 5 "
                           "to 1000", j->w, j->h);
        return ST_OK;
    }
    if (j->w == 0)
        j->w = across > 1 ? (large ? 500 : 320) * across : j->f->square && panels == 1 ? 600 : 800;
    if (j->h == 0)
        j->h = across > 1 ? (large ? 400 : 230) * down
               : j->f->square && panels == 1 ? 600 : 480 + 340 * (down - 1);
    if (j->w < 160 || j->w > 10000 || j->h < 120 || j->h > 10000)
        return err_set(err, ST_RANGE, "size %zu x %zu pixels: a picture needs 160 to 10000 by 120 "
                       "to 10000", j->w, j->h);
    return ST_OK;
}

static void remove_directory(const char *dir);

/* Directories that exports left beside the target when they were killed: their process is gone, and
 * for so long that it is not one of another machine on the same disk. */
static void sweep(const char *parent)
{
    enum { LONG_AGO = 600 };
    DIR *d = opendir(*parent ? parent : ".");
    struct buf path = { 0 };
    struct stat st;
    long pid;
    int used;

    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        used = 0;
        if (sscanf(e->d_name, LEFT "%9ld-%n", &pid, &used) != 1 || used == 0 || pid <= 0)
            continue;
        if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
            st.st_uid != geteuid() || time(NULL) - st.st_mtime < LONG_AGO)
            continue;
        path.len = 0;
        buf_printf(&path, "%s%s", parent, e->d_name);
        if (!path.failed)
            remove_directory(path.s);
    }
    if (d != NULL)
        closedir(d);
    buf_free(&path);
}

/* The real target (links followed) and a fresh directory beside it. */
static enum status prepare(struct job *j, const char *path, struct err *err)
{
    struct stat st;
    struct buf b = { 0 };
    const bool exists = stat(path, &st) == 0;

    if (exists && S_ISDIR(st.st_mode))
        return err_set(err, ST_IO, "%s is a directory", buf_str(&j->name));
    if (exists && !S_ISREG(st.st_mode))
        return err_set(err, ST_IO, "%s is not a regular file", buf_str(&j->name));
    if (exists && access(path, W_OK) != 0)
        return bad(j, err, "cannot be written");
    j->target = exists ? realpath(path, NULL) : mem_strdup(path, err);
    if (j->target == NULL)
        return exists ? bad(j, err, "cannot be written") : ST_NOMEM;
    const char *slash = strrchr(j->target, '/');
    if (slash != NULL)
        buf_putn(&b, j->target, (size_t)(slash - j->target) + 1);
    else
        buf_puts(&b, "./"); /* also for names that begin with a dash */
    sweep(buf_str(&b));
    buf_printf(&b, LEFT "%ld-XXXXXX", (long)getpid());
    char *dir = buf_take(&b);
    if (dir == NULL)
        return err_nomem(err, 0, "a plot");
    if (mkdtemp(dir) == NULL) {
        free(dir);
        return bad(j, err, "its directory cannot be written");
    }
    j->dir = dir;
    buf_printf(&b, "%s/plot%s", dir, suffix[j->kind]);
    j->made = buf_take(&b);
    return j->made == NULL ? err_nomem(err, 0, "a plot") : ST_OK;
}

/* Our directory with all that a program may have left there. */
static void remove_directory(const char *dir)
{
    DIR *d = opendir(dir);

    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
    rmdir(dir);
}

static void clean_up(struct job *j)
{
    if (j->dir != NULL)
        remove_directory(j->dir);
    free(j->made);
    free(j->dir);
    free(j->target);
    buf_free(&j->name);
}

/* Over the target; a program may have made no file, or an empty one. */
static enum status publish(struct job *j, struct err *err)
{
    struct stat st;

    if (stat(j->made, &st) != 0)
        return bad(j, err, "no file was made");
    if (st.st_size == 0)
        return err_set(err, ST_IO, "%s: the file made is empty", buf_str(&j->name));
    return outfile_publish(j->made, j->target, err);
}

static enum status write_bytes(struct job *j, const struct buf *b, struct err *err)
{
    if (b->failed)
        return err_nomem(err, b->len, "a plot");
    const int fd = open(j->made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return bad(j, err, "cannot be written");
    for (size_t done = 0; done < b->len;) {
        const ssize_t k = write(fd, b->s + done, b->len - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            const int why = errno;
            close(fd);
            errno = why;
            return bad(j, err, "cannot be written");
        }
        done += (size_t)k;
    }
    return close(fd) == 0 ? publish(j, err) : bad(j, err, "cannot be written");
}

/* Text outside Latin, Greek and Cyrillic. */

/* Fonts for it are often missing, and cairo then draws giant black shapes; gd draws small boxes. */
static bool exotic(const char *s)
{
    for (const unsigned char *p = (const unsigned char *)(s != NULL ? s : ""); *p != '\0'; p++)
        if (*p >= 0xd6 && !(*p == 0xe2 && (p[1] == 0x80 || p[1] == 0x81 || p[1] == 0x82 ||
                                          p[1] == 0x88 || p[1] == 0x89)))
            return true; /* from U+0580 on, but for punctuation, super- and subscripts, signs */
    return false;
}

static bool exotic_figure(const struct figure *f)
{
    for (; f != NULL; f = f->next) {
        if (exotic(f->title) || exotic(f->x.label) || exotic(f->y.label) || exotic(f->reason))
            return true;
        for (size_t i = 0; i < f->ns; i++)
            if (exotic(f->s[i].title))
                return true;
    }
    return false;
}

/* One run of gnuplot. */

static bool begins(const char *file, const char *magic)
{
    char head[8] = "";
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return false;
    const ssize_t k = read(fd, head, sizeof head);
    close(fd);
    return k >= (ssize_t)strlen(magic) && memcmp(head, magic, strlen(magic)) == 0;
}

enum run { RUN_OK, RUN_FAILED, RUN_TIMEOUT, RUN_MISSING, RUN_STOPPED };

enum { ASK_MS = 100 }; /* how often it is asked whether to stop */

/* Feeds the commands and waits for the end, both under the time limit. */
static enum run feed(const struct ctl *ctl, struct child *c, const struct buf *tx,
                     struct buf *complaints)
{
    const long long end = child_now_ms() + limit_ms;
    size_t done = 0;
    int status;
    char chunk[4096];

    for (;;) {
        const long long left = end - child_now_ms();
        if (left <= 0)
            return RUN_TIMEOUT;
        if (ctl_stopped(ctl))
            return RUN_STOPPED;
        struct pollfd fd[3] = { { .fd = c->out, .events = POLLIN },
                                { .fd = c->err, .events = POLLIN },
                                { .fd = c->in, .events = POLLOUT } };
        if (c->out < 0 && c->err < 0) { /* it closes them at its end, or is up to something */
            if (child_ended(c, &status))
                break;
            poll(NULL, 0, 5);
            continue;
        }
        poll(fd, c->in >= 0 ? 3 : 2, (int)(left < ASK_MS ? left : ASK_MS));
        int *from[2] = { &c->out, &c->err };
        for (int i = 0; i < 2; i++) {
            const ssize_t k = *from[i] >= 0 ? read(*from[i], chunk, sizeof chunk) : 1;
            if (k > 0 && *from[i] >= 0 && i == 1 && complaints->len < 4096)
                buf_putn(complaints, chunk, (size_t)k);
            if (k == 0) {
                close(*from[i]);
                *from[i] = -1;
            }
        }
        if (c->in >= 0) {
            const ssize_t k = done < tx->len ? child_write(c, tx->s + done, tx->len - done) : 0;
            done += k > 0 ? (size_t)k : 0;
            if (done == tx->len || (k < 0 && errno != EAGAIN && errno != EINTR))
                child_close_input(c);
        }
    }
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return RUN_MISSING;
    return status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? RUN_OK : RUN_FAILED;
}

static enum run run_gnuplot(struct job *j, const char *term, const char *magic, struct err *err)
{
    struct buf tx = { 0 }, complaints = { 0 };
    struct child c;
    struct buf own = { 0 };
    char *program = child_program(err);
    enum run result = RUN_MISSING;

    buf_printf(&own, "plot%s", suffix[j->kind]);
    figure_gnuplot(j->f, term, buf_str(&own), false, j->dark, &tx);
    if (program == NULL)
        goto done;
    result = RUN_FAILED;
    if (tx.failed || own.failed) {
        err_nomem(err, 0, "a plot");
        goto done;
    }
    if (child_start(&c, program, j->dir, err) != ST_OK)
        goto done;
    result = feed(j->ctl, &c, &tx, &complaints);
    child_kill(&c);
    if (complaints.len > 0)
        log_info("gnuplot: %s", buf_str(&complaints));
    if (result == RUN_OK && !begins(j->made, magic))
        result = RUN_FAILED;
    if (result == RUN_FAILED)
        err_set(err, ST_IO, "%s: gnuplot did not draw it", buf_str(&j->name));
    else if (result == RUN_TIMEOUT)
        err_set(err, ST_LIMIT, "%s: gnuplot did not finish within %d s", buf_str(&j->name),
                (limit_ms + 999) / 1000);
    else if (result == RUN_STOPPED)
        err_set(err, ST_CANCELLED, "%s: stopped before gnuplot had drawn it", buf_str(&j->name));
    else if (result == RUN_MISSING) {
        err_set(err, ST_NOT_FOUND, "gnuplot cannot be run");
        err_hint(
            err,
            "plot NAME out=FILE.svg   (needs no gnuplot; on Debian: apt-get install gnuplot-nox)");
    }
done:
    if (result != RUN_OK)
        unlink(j->made);
    free(program);
    buf_free(&own);
    buf_free(&tx);
    buf_free(&complaints);
    return result;
}

static void remark(struct job *j, const char *words)
{
    if (j->note != NULL)
        buf_printf(j->note, "%s%s", j->note->len > 0 ? "; " : "", words);
}

/* svg is drawn by ourselves when gnuplot does not; png and pdf cannot be. */
static enum status without_gnuplot(struct job *j, enum run why, struct err *err)
{
    if (j->kind != SVG) {
        if (why == RUN_MISSING)
            err_set(err, ST_UNSUPPORTED, "%s: %s, and %s files need it", buf_str(&j->name),
                    "gnuplot is not installed", suffix[j->kind] + 1);
        err_hint(err, "out=FILE.svg needs no gnuplot; or apt-get install gnuplot-nox");
        return err != NULL ? err->code : ST_IO;
    }
    struct buf b = { 0 };
    figure_svg(j->f, j->w, j->h, j->dark, &b);
    enum status rc = write_bytes(j, &b, err);
    buf_free(&b);
    if (rc == ST_OK) {
        remark(j, why == RUN_MISSING ? "gnuplot is not installed: the picture was drawn by gpdesk "
                                       "itself (finer: apt-get install gnuplot-nox)"
                                     : "gnuplot failed: the picture was drawn by gpdesk itself");
        err_clear(err);
    }
    return rc;
}

static enum status picture(struct job *j, struct err *err)
{
    static const char *const magic[] = { "<?xml", "\x89PNG", "%PDF", "\033P" };
    char term[2][160];
    size_t n = 1;
    struct err e = { 0 };

    if (err == NULL)
        err = &e;
    switch (j->kind) {
    case SVG:
        snprintf(term[0], sizeof term[0], "set term svg size %zu,%zu font 'sans-serif,13' enhanced",
                 j->w, j->h);
        break;
    case PNG:
        snprintf(term[0], sizeof term[0],
                 "set term pngcairo size %zu,%zu font 'sans,11' enhanced", j->w, j->h);
        snprintf(term[1], sizeof term[1], "set term png size %zu,%zu truecolor enhanced", j->w,
                 j->h);
        n = 2;
        break;
    case SIX: /* for terminals that show pictures: cat FILE.six */
        snprintf(term[0], sizeof term[0], "set term sixelgd size %zu,%zu truecolor enhanced", j->w,
                 j->h);
        break;
    default:
        snprintf(term[0], sizeof term[0],
                 "set term pdfcairo size %.3fin,%.3fin font 'sans,11' enhanced",
                 (double)j->w / 96, (double)j->h / 96);
    }
    const bool odd = j->kind == PNG && exotic_figure(j->f);
    enum run r = RUN_FAILED;
    for (size_t i = odd ? 1 : 0; i < n && r == RUN_FAILED; i++)
        r = run_gnuplot(j, term[i], magic[j->kind], err);
    if (r == RUN_STOPPED)
        return ST_CANCELLED;
    if (r != RUN_OK)
        return without_gnuplot(j, r, err);
    err_clear(err);
    if (odd)
        remark(j, "some text may show as boxes, where no font has it: svg does better");
    return publish(j, err);
}

static void text_page(const struct job *j, struct buf *b)
{
    const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;

    figure_text(j->f, j->w, j->h, utf8, b);
    for (const struct figure *p = j->f; p != NULL; p = p->next)
        if (p->verdict != NULL && *p->verdict != '\0') {
            buf_putc(b, '\n');
            text_safe(b, p->verdict, 0);
            buf_putc(b, '\n');
        }
}

enum status plot_export(const struct ctl *ctl, const struct figure *f, const char *path,
                        size_t width, size_t height, bool dark, struct buf *note, struct err *err)
{
    struct job j = { .ctl = ctl, .f = f, .w = width, .h = height, .dark = dark, .note = note };
    struct buf b = { 0 };

    text_safe(&j.name, path, 120);
    if (!find_kind(path, &j.kind)) {
        err_named(err, ST_USAGE, "out", "%s: a plot is written as .svg, .png, .pdf, .txt or .csv",
                  buf_str(&j.name));
        err_hint(err, "out=FILE.svg");
        buf_free(&j.name);
        return ST_USAGE;
    }
    enum status rc = choose_size(&j, err);
    if (rc == ST_OK)
        rc = prepare(&j, path, err);
    if (rc == ST_OK && j.kind <= SIX) {
        rc = picture(&j, err);
    } else if (rc == ST_OK) {
        if (j.kind == CSV)
            figure_csv(f, &b);
        else
            text_page(&j, &b);
        rc = write_bytes(&j, &b, err);
    }
    buf_free(&b);
    clean_up(&j);
    return rc;
}
