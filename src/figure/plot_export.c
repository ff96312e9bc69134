/* figure/plot_export.c -- writes a figure to a file: gnuplot draws svg, png, pdf and sixel, gpdesk
 * itself writes txt and csv.
 *
 * gnuplot never sees the user's file name.  It runs in a fresh directory beside the target and
 * writes a fixed name there.  The beginning and the end of the finished file are checked, it is
 * synced, and renamed over the target.  A failure therefore leaves the earlier file in place, and
 * no name, however odd, becomes a command. */
#include "figure/gnuplot.h"

#include "figure/figure_letters.h"
#include "figure/gnuplot_child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/readat.h"
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

/* Our directory beside a target; the id of the process that made it follows. */
#define LEFT ".gpdesk-plot-"

static atomic_int limit_ms = 20000;

void plot_export_limit_for_tests(int ms)
{
    limit_ms = ms;
}

enum kind { SVG, PNG, PDF, SIX, TXT, CSV, N_KINDS };

/* How a complete file of each kind begins and ends; blanks may follow the end. NULL: gpdesk writes
 * the file itself, and the result of each write(2) says whether it is complete. */
static const struct format {
    const char *suffix, *head, *tail;
} format[N_KINDS] = {
    [SVG] = { ".svg", "<?xml", "</svg>" },
    [PNG] = { ".png", "\x89PNG", "IEND\xae\x42\x60\x82" }, /* the chunk's name and its checksum */
    [PDF] = { ".pdf", "%PDF", "%%EOF" },
    [SIX] = { ".six", "\033P", "\033\\" },
    [TXT] = { ".txt", NULL, NULL },
    [CSV] = { ".csv", NULL, NULL },
};

struct job {
    const struct ctl *ctl;
    const struct figure *f;    /* what is drawn, or NULL */
    const struct buf *pages;   /* commands that draw it, without a figure */
    const char *way;           /* what to do without gnuplot */
    int limit;                 /* milliseconds */
    enum kind kind;
    size_t w, h;
    bool dark;
    char *target;        /* the final path, with links resolved */
    char *dir;           /* our directory beside it */
    char *made;          /* the file in it */
    struct buf name;     /* the path as the user gave it, safe to show */
    struct buf *note;
};

static enum status bad(struct job *j, struct err *err, const char *what)
{
    const int why = errno;

    err_system(err, why, why == ENOSPC || why == EDQUOT ? "disk" : "write", "%s: %s: %s",
              buf_str(&j->name), what, strerror(why));
    err_hint(err, why == ENOSPC || why == EDQUOT ? "make room on the disk, or a name on another one"
                                : "choose a name in a directory that exists and can be written");
    return ST_IO;
}

static bool find_kind(const char *path, enum kind *kind)
{
    const char *base = strrchr(path, '/');
    const char *dot = strrchr(base != NULL ? base + 1 : path, '.');

    for (int k = 0; dot != NULL && k < N_KINDS; k++)
        if (strcasecmp(dot, format[k].suffix) == 0) {
            *kind = (enum kind)k;
            return true;
        }
    return false;
}

/* True if a panel has a key or several curves, not only bars with names. */
static bool furnished(const struct figure *f)
{
    for (; f != NULL; f = f->next)
        for (size_t i = 0; i < f->ns; i++)
            if (i > 0 || (f->s[i].title != NULL && *f->s[i].title != '\0'))
                return true;
    return false;
}

/* The width of a picture of a table with its words, in which each of many rows has its letters; 0:
 * there is none, or it is small. */
static size_t table_side(const struct figure *f)
{
    enum { ROW = 22, WORDS = 300, SMALL = 12 };

    for (size_t i = 0; i < f->ns; i++)
        if (f->s[i].count != NULL)
            return f->s[i].across > SMALL ? ROW * f->s[i].across + WORDS : 700;
    return 0;
}

/* Chooses the size: cells for text, otherwise pixels. */
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
    if (j->f->drawn != NULL && j->w == 0 && j->h == 0)
        j->w = j->f->picture_w, j->h = j->f->picture_h;
    if (panels == 1 && j->w == 0 && j->h == 0 && (j->w = table_side(j->f)) > 0)
        j->h = j->w - 100; /* beside it are words and the colour bar */
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

/* Removes directories that killed exports left beside the target: their process is gone, and they
 * are old enough not to belong to another machine that uses the same disk. */
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

/* Finds the real target (links are followed) and makes a fresh directory beside it. */
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
        buf_puts(&b, "./"); /* for names that begin with a dash */
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
    buf_printf(&b, "%s/plot%s", dir, format[j->kind].suffix);
    j->made = buf_take(&b);
    return j->made == NULL ? err_nomem(err, 0, "a plot") : ST_OK;
}

/* Removes everything in the directory `fd`, and closes it. A program may have left directories
 * there, too. Links are removed and not followed. */
static void empty_directory(int fd, int depth)
{
    enum { DEEPEST = 64 }; /* each level needs a descriptor */
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (d == NULL && fd >= 0)
        close(fd);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), e->d_name, 0) == 0 || depth == DEEPEST)
            continue;
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        empty_directory(openat(dirfd(d), e->d_name, flags), depth + 1);
        unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    if (d != NULL)
        closedir(d);
}

static void remove_directory(const char *dir)
{
    empty_directory(open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
    rmdir(dir);
}

static void clean_up(struct job *j)
{
    if (j->made != NULL)
        unlink(j->made); /* also where no descriptor is left to open the directory with */
    if (j->dir != NULL)
        remove_directory(j->dir);
    free(j->made);
    free(j->dir);
    free(j->target);
    buf_free(&j->name);
}

/* Renames the result over the target. The program may have made no file, or an empty one. */
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

enum whole { WHOLE, CUT, NOTHING, UNREAD };

/* Checks whether the file made by gnuplot is complete. gnuplot ignores failed writes, so that its
 * exit status says nothing: after a full disk only the end of the file is missing.  UNREAD: the
 * disk refused, and errno says why. */
static enum whole inspect(const char *file, const struct format *fmt)
{
    const size_t nh = strlen(fmt->head), nt = strlen(fmt->tail);
    char head[8], tail[64];
    struct stat st;
    enum whole found = NOTHING;
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        const off_t from = st.st_size > (off_t)sizeof tail ? st.st_size - (off_t)sizeof tail : 0;
        ssize_t n = readat(fd, tail, sizeof tail, from);
        const ssize_t first = n < 0 ? n : readat(fd, head, nh, 0);
        if (first < 0) {
            const int why = errno;
            close(fd);
            errno = why;
            return UNREAD;
        }
        while (n > 0 && strchr(" \r\n", tail[n - 1]) != NULL && tail[n - 1] != '\0')
            n--;
        found = CUT;
        if (first == (ssize_t)nh && memcmp(head, fmt->head, nh) == 0 && n >= (ssize_t)nt &&
            memcmp(tail + n - nt, fmt->tail, nt) == 0)
            found = WHOLE;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

enum run { RUN_OK, RUN_FAILED, RUN_CUT, RUN_UNREAD, RUN_TIMEOUT, RUN_MISSING, RUN_STOPPED };

enum { ASK_MS = 100 }; /* how often to check whether to stop */

/* Sends the commands and waits for the end, both within the time limit. */
static enum run feed(const struct job *j, struct child *c, const struct buf *tx,
                     struct buf *complaints)
{
    const long long end = child_now_ms() + j->limit;
    size_t done = 0;
    int status;
    char chunk[4096];

    for (;;) {
        const long long left = end - child_now_ms();
        if (left <= 0)
            return RUN_TIMEOUT;
        if (ctl_stopped(j->ctl))
            return RUN_STOPPED;
        struct pollfd fd[3] = { { .fd = c->out, .events = POLLIN },
                                { .fd = c->err, .events = POLLIN },
                                { .fd = c->in, .events = POLLOUT } };
        /* Gnuplot closes them at its end; otherwise something is wrong. */
        if (c->out < 0 && c->err < 0) {
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

/* The errno of a test write beside gnuplot's file, 0 if there is room; gnuplot does not report
 * it. */
static int probe(const struct job *j)
{
    static const char block[1 << 16];
    struct buf path = { 0 };
    int why = 0;

    buf_printf(&path, "%s/probe", j->dir);
    const int fd = open(buf_str(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = fd >= 0 ? 0 : -1;
    for (size_t left = sizeof block; n >= 0 && left > 0; left -= (size_t)n)
        if ((n = write(fd, block, left)) < 0)
            break;
    if (n < 0 || fsync(fd) != 0)
        why = errno;
    if (fd >= 0)
        close(fd);
    buf_free(&path);
    return why;
}

static void explain(struct job *j, enum run result, struct err *err)
{
    const char *name = buf_str(&j->name);

    if (result == RUN_UNREAD) {
        err_system(err, errno, "write", "%s: what gnuplot drew cannot be read: %s", name,
                   strerror(errno));
    } else if (result == RUN_CUT || result == RUN_FAILED) {
        errno = probe(j);
        if (errno != 0)
            bad(j, err, "gnuplot could not write it");
        else if (result == RUN_CUT)
            err_named(err, ST_IO, "write", "%s: gnuplot wrote only the beginning of it",
                      name);
        else
            err_named(err, ST_IO, "write", "%s: gnuplot did not draw it", name);
    } else if (result == RUN_TIMEOUT) {
        err_set(err, ST_LIMIT, "%s: gnuplot did not finish within %d s", name,
                (j->limit + 999) / 1000);
    } else if (result == RUN_STOPPED) {
        err_set(err, ST_CANCELLED, "%s: stopped before gnuplot had drawn it", name);
    } else if (result == RUN_MISSING) {
        err_set(err, ST_NOT_FOUND, "gnuplot cannot be run");
    }
}

/* One run of gnuplot with the terminal line `term`. */
static enum run run_gnuplot(struct job *j, const char *term, struct err *err)
{
    struct buf tx = { 0 }, complaints = { 0 };
    struct child c;
    struct buf own = { 0 };
    char *program = child_program(err);
    enum run result = RUN_MISSING;

    buf_printf(&own, "plot%s", format[j->kind].suffix);
    if (j->f != NULL)
        figure_gnuplot(j->f, term, buf_str(&own), false, j->dark, &tx);
    if (program == NULL && err->code != ST_NOMEM)
        goto done;
    result = RUN_FAILED;
    if (program == NULL)
        goto done;
    if (tx.failed || own.failed) {
        err_nomem(err, 0, "a plot");
        goto done;
    }
    if (child_start(&c, program, j->dir, err) != ST_OK)
        goto done;
    result = feed(j, &c, j->pages != NULL ? j->pages : &tx, &complaints);
    child_kill(&c);
    if (complaints.len > 0)
        log_info("gnuplot: %s", buf_str(&complaints));
    if (result == RUN_OK) {
        const enum whole w = inspect(j->made, &format[j->kind]);
        result = w == CUT ? RUN_CUT : w == NOTHING ? RUN_FAILED : w == UNREAD ? RUN_UNREAD : RUN_OK;
    }
    explain(j, result, err);
done:
    if (result != RUN_OK)
        empty_directory(open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
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

/* If gnuplot fails, gpdesk draws an svg itself; it cannot draw png, pdf and sixel. */
static enum status without_gnuplot(struct job *j, enum run why, struct err *err)
{
    if (j->kind != SVG) {
        if (why == RUN_MISSING)
            err_set(err, ST_UNSUPPORTED, "%s: gnuplot is not installed, and %s files need it",
                    buf_str(&j->name), format[j->kind].suffix + 1);
        if (*err->hint == '\0')
            err_hint(err, "%s needs no gnuplot; or apt-get install gnuplot-nox", j->way);
        return err->code;
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

/* The terminal lines of gnuplot to try for this kind, in order of preference. */
static size_t terminals(const struct job *j, char term[2][160])
{
    const size_t room = sizeof term[0];

    if (j->kind == SVG)
        snprintf(term[0], room, "set term svg size %zu,%zu font 'sans-serif,13' enhanced", j->w,
                 j->h);
    else if (j->kind == PNG)
        snprintf(term[0], room, "set term pngcairo size %zu,%zu font 'sans,11' enhanced", j->w,
                 j->h);
    else if (j->kind == SIX) /* for terminals that show images: cat FILE.six */
        snprintf(term[0], room, "set term sixelgd size %zu,%zu truecolor enhanced", j->w, j->h);
    else
        snprintf(term[0], room, "set term pdfcairo size %.3fin,%.3fin font 'sans,11' enhanced",
                 (double)j->w / 96, (double)j->h / 96);
    if (j->kind == PNG)
        snprintf(term[1], room, "set term png size %zu,%zu truecolor enhanced", j->w, j->h);
    return j->kind == PNG ? 2 : 1;
}

static enum status picture(struct job *j, struct err *err)
{
    char term[2][160];
    struct err e = { 0 };

    if (err == NULL)
        err = &e;
    /* Where a font lacks a letter, gd draws a small box. */
    const bool rare = j->f != NULL && figure_letters_found(j->f);
    const bool odd = j->kind == PNG && rare;
    const size_t n = terminals(j, term);
    enum run r = RUN_FAILED;
    for (size_t i = odd ? 1 : 0; i < n && r == RUN_FAILED; i++)
        r = run_gnuplot(j, term[i], err);
    if (r == RUN_STOPPED)
        return ST_CANCELLED;
    if (r != RUN_OK)
        return without_gnuplot(j, r, err);
    err_clear(err);
    if (odd)
        remark(j, "some text may show as boxes, where no font has it: svg does better");
    if (j->kind == PDF && rare)
        remark(j, "letters that fonts often lack are written as \\u and a number: svg shows them");
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

/* The drawing that the figure should have cannot be made. */
static enum status refuse(const struct job *j, struct err *err)
{
    static const char mark[] = " try: ";
    const char *why = j->f->undrawn, *way = strstr(why, mark);

    err_named(err, ST_UNSUPPORTED, "no-plot", "%s is not written: %.*s", buf_str(&j->name),
              (int)(way ? (size_t)(way - why) : strlen(why)), why);
    err_hint(err, "%s%sout=FILE.txt lists them", way ? way + sizeof mark - 1 : "",
             way ? "  |  " : "");
    return ST_UNSUPPORTED;
}

enum status plot_export(const struct ctl *ctl, const struct figure *f, const char *path,
                        size_t width, size_t height, bool dark, struct buf *note, struct err *err)
{
    struct job j = { .ctl = ctl, .f = f, .w = width, .h = height, .dark = dark, .note = note,
                     .way = "out=FILE.svg", .limit = limit_ms };
    struct buf b = { 0 };

    text_safe(&j.name, path, 120);
    if (!find_kind(path, &j.kind)) {
        err_named(err, ST_USAGE, "out", "%s: a plot is written as .svg, .png, .pdf, .txt or .csv",
                  buf_str(&j.name));
        err_hint(err, "out=FILE.svg");
        buf_free(&j.name);
        return ST_USAGE;
    }
    enum status rc = j.kind <= SIX && f->undrawn != NULL ? refuse(&j, err) : choose_size(&j, err);
    if (rc == ST_OK)
        rc = prepare(&j, path, err);
    if (rc == ST_OK && j.kind == SVG && f->picture != NULL) {
        buf_puts(&b, f->picture);
        rc = write_bytes(&j, &b, err);
    } else if (rc == ST_OK && j.kind <= SIX) {
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

enum status plot_export_pages(const struct ctl *ctl, const struct buf *pages, const char *path,
                              const char *way, struct err *err)
{
    enum { PATIENCE = 3 }; /* many pictures take longer than one */
    struct job j = { .ctl = ctl, .pages = pages, .kind = PDF, .way = way,
                     .limit = PATIENCE * limit_ms };

    text_safe(&j.name, path, 120);
    enum status rc = prepare(&j, path, err);
    if (rc == ST_OK)
        rc = picture(&j, err);
    clean_up(&j);
    return rc;
}
