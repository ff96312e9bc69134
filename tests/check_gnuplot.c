/* tests/check_gnuplot.c -- the gnuplot children: pictures, hostile text, and every way to fail.
 * Fakes named by GPDESK_GNUPLOT run always; the tests of gnuplot itself skip where it is absent. */
#include "figure/figure_layout.h"
#include "figure/gnuplot.h"
#include "figure/plot_show.h"
#include "base/buf.h"
#include "support.h"

#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err err;

static void need_gnuplot(void)
{
    unsetenv("GPDESK_GNUPLOT");
    if (system("gnuplot --version >/dev/null 2>&1") != 0)
        exit(77);
}

/* A shell script that plays gnuplot. */
static void fake(const char *dir, const char *script)
{
    const char *path = support_path(dir, "fake");
    struct buf b = { 0 };

    buf_printf(&b, "#!/bin/sh\n%s\n", script);
    support_write(path, b.s, b.len);
    ck_assert_int_eq(chmod(path, 0755), 0);
    ck_assert_int_eq(setenv("GPDESK_GNUPLOT", path, 1), 0);
    buf_free(&b);
}

static struct figure *line_figure(const char *title, size_t n)
{
    struct figure *f = figure_new("line", title, &err);
    double *y = calloc(n + 1, sizeof *y);

    for (size_t i = 0; i < n; i++)
        y[i] = (double)i;
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(figure_add(f, title, MARK_LINE, n, NULL, y, &err));
    ck_assert_int_eq(figure_label(f, title, title, &err), ST_OK);
    free(y);
    return f;
}

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One turn of a poll loop, as the workbench does it. */
static bool turn(struct gnuplot *g, int most_ms)
{
    struct pollfd fd[3];
    int timeout = most_ms;
    const size_t n = gnuplot_poll(g, fd, &timeout);

    ck_assert_uint_le(n, 3);
    poll(fd, n, timeout < most_ms && timeout >= 0 ? timeout : most_ms);
    return gnuplot_service(g);
}

/* Until gnuplot has answered or `state` (a part of it) is said; false after a minute. */
static bool until_state(struct gnuplot *g, const char *state)
{
    for (const long long end = now_ms() + 60000; now_ms() < end;) {
        turn(g, 100);
        if (state != NULL ? strstr(gnuplot_state(g), state) != NULL
                          : *gnuplot_state(g) == '\0' && !gnuplot_busy_for_tests(g))
            return true;
    }
    return false;
}

/* Until a frame comes that is not number `seen`. */
static unsigned next_frame(struct gnuplot *g, unsigned seen)
{
    for (const long long end = now_ms() + 60000; now_ms() < end;) {
        turn(g, 100);
        if (gnuplot_frame(g) != NULL && gnuplot_frame(g)->serial != seen &&
            !gnuplot_busy_for_tests(g))
            return gnuplot_frame(g)->serial;
    }
    ck_abort_msg("no frame");
    return 0;
}

static const char *cell(const struct frame *fr, size_t x, size_t y)
{
    return fr->cell[y * fr->w + x].ch;
}

static bool is_braille(const char *ch)
{
    return (unsigned char)ch[0] == 0xe2 && ((unsigned char)ch[1] & 0xfc) == 0xa0;
}

static bool is_mark(const struct frame *fr, size_t x, size_t y)
{
    return is_braille(cell(fr, x, y)) || cell(fr, x, y)[0] == '*';
}

static bool near_mark(const struct frame *fr, size_t x, size_t y)
{
    for (size_t k = y > 0 ? y - 1 : 0; k <= y + 1 && k < fr->h; k++)
        for (size_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < fr->w; i++)
            if (is_mark(fr, i, k))
                return true;
    return false;
}

static size_t files_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static struct buf slurp(const char *path)
{
    struct buf b = { 0 };
    char chunk[8192];
    FILE *f = fopen(path, "rb");

    ck_assert_msg(f != NULL, "%s", path);
    for (size_t k; (k = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_putn(&b, chunk, k);
    fclose(f);
    return b;
}

/* Gnuplot itself. */

/* gnuplot and the built-in plot must put a curve on the same cells. */
static void same_cells(bool utf8, bool ylog)
{
    struct gnuplot *g = gnuplot_new(&err);
    struct figure *f = figure_new("x", "", &err);
    double x[60], y[60];

    for (size_t i = 0; i < 60; i++) {
        x[i] = (double)i;
        y[i] = ylog ? pow(10, -(double)i / 10) : sin((double)i / 9);
    }
    f->y.log = ylog;
    figure_add(f, "", MARK_LINE, 60, x, y, &err);
    ck_assert_int_eq(gnuplot_request(g, f, 70, 16, utf8, &err), ST_OK);
    ck_assert_msg(gnuplot_frame(g) != NULL, "the built-in plot comes at once");
    next_frame(g, gnuplot_frame(g)->serial);
    ck_assert_str_eq(gnuplot_state(g), "");
    const struct frame *fr = gnuplot_frame(g);
    struct frame own;
    const struct figure_style st = { .utf8 = utf8, .dark = true, .colors = 256 };
    ck_assert_int_eq(figure_frame(f, 70, 16, &st, &own, &err), ST_OK);
    ck_assert_uint_eq(fr->w, own.w);
    ck_assert_uint_eq(fr->h, own.h);
    size_t marked = 0;
    for (size_t k = 0; k < 16; k++)
        for (size_t i = 0; i < 70; i++) {
            const bool a = is_mark(fr, i, k), b = is_mark(&own, i, k);
            marked += a;
            if (a && !b) /* lines may be rounded otherwise, by a neighbouring cell */
                ck_assert(near_mark(&own, i, k));
            else if (b && !a)
                ck_assert(near_mark(fr, i, k));
            else if (!a) /* axes, numbers, blanks */
                ck_assert_str_eq(cell(fr, i, k), cell(&own, i, k));
        }
    ck_assert_uint_gt(marked, 55);
    frame_free(&own);
    figure_free(f);
    gnuplot_free(g);
}

START_TEST(live_braille_matches_our_own_drawing)
{
    need_gnuplot();
    same_cells(true, false);
    same_cells(true, true);
}
END_TEST

START_TEST(live_ascii_matches_our_own_drawing)
{
    need_gnuplot();
    same_cells(false, false);
    same_cells(false, true);
}
END_TEST

START_TEST(live_newest_request_wins)
{
    need_gnuplot();
    struct gnuplot *g = gnuplot_new(&err);
    for (size_t i = 2; i < 30; i++) {
        struct figure *f = line_figure("y", i);
        ck_assert_int_eq(gnuplot_request(g, f, 40 + i, 12, true, &err), ST_OK);
        figure_free(f);
        turn(g, 0);
    }
    ck_assert(until_state(g, NULL));
    ck_assert_uint_eq(gnuplot_frame(g)->w, 69);
    gnuplot_free(g);
}
END_TEST

/* All kinds of marks and of bad data must come back as a picture, not as gnuplot's refusal. */
START_TEST(live_draws_everything)
{
    need_gnuplot();
    const double bad[] = { NAN, INFINITY, -INFINITY, 0, -1, 1e308, -1e308, 1e-308, 3, 3 };
    struct gnuplot *g = gnuplot_new(&err);
    for (int m = MARK_LINE; m <= MARK_VLINE; m++)
        for (int kind = 0; kind < 6; kind++)
            for (int lg = 0; lg < 4; lg++) {
                struct figure *f = figure_new("x", "t", &err);
                double x[10], y[10];
                for (size_t i = 0; i < 10; i++) {
                    x[i] = kind == 0 ? bad[i] : kind == 1 ? 5 : (double)i;
                    y[i] = kind == 2 ? bad[9 - i] : kind == 1 ? 5 : kind == 3 ? NAN
                           : kind == 4 ? 0 : (double)i * 1e3;
                }
                f->x.log = lg & 1;
                f->y.log = lg & 2;
                if (m == MARK_BAND)
                    figure_add_band(f, "b", 10, x, y, x, &err);
                else
                    figure_add(f, "c", (enum mark)m, m >= MARK_HLINE ? 1 : 10, x, y, &err);
                figure_add(f, "other", MARK_LINE, kind == 5 ? 10 : 0, x, y, &err);
                ck_assert_int_eq(gnuplot_request(g, f, 50, 12, kind != 1, &err), ST_OK);
                ck_assert(until_state(g, NULL));
                figure_free(f);
            }
    gnuplot_free(g);
}
END_TEST

START_TEST(live_survives_kill_in_mid_plot)
{
    need_gnuplot();
    struct gnuplot *g = gnuplot_new(&err);
    struct figure *f = line_figure("y", 20000);
    ck_assert_int_eq(gnuplot_request(g, f, 100, 30, true, &err), ST_OK);
    unsigned seen = next_frame(g, gnuplot_frame(g)->serial);
    const long first = gnuplot_pid_for_tests(g);
    ck_assert_int_gt(first, 0);
    ck_assert_int_eq(gnuplot_request(g, f, 100, 30, true, &err), ST_OK);
    gnuplot_service(g); /* under way */
    ck_assert_int_eq(kill((pid_t)first, SIGKILL), 0);
    ck_assert(until_state(g, "ended unexpectedly"));
    ck_assert_uint_ne(gnuplot_frame(g)->serial, seen); /* our own drawing stands in */
    ck_assert(until_state(g, NULL));                   /* and gnuplot is back */
    ck_assert_int_gt(gnuplot_pid_for_tests(g), 0);
    ck_assert_int_ne(gnuplot_pid_for_tests(g), first);
    figure_free(f);
    gnuplot_free(g);
}
END_TEST

START_TEST(live_child_ends_with_us)
{
    need_gnuplot();
    struct gnuplot *g = gnuplot_new(&err);
    struct figure *f = line_figure("y", 10);
    ck_assert_int_eq(gnuplot_request(g, f, 40, 12, true, &err), ST_OK);
    next_frame(g, gnuplot_frame(g)->serial);
    const pid_t pid = (pid_t)gnuplot_pid_for_tests(g);
    ck_assert_int_eq(getpgid(pid), pid); /* a group of its own: Ctrl-C does not reach it */
    gnuplot_free(g);
    ck_assert_int_eq(kill(pid, 0), -1);
    ck_assert_int_eq(errno, ESRCH);
    figure_free(f);
}
END_TEST

/* Text that tries to run a command, or to end a string, a line or a data block. */
static const char *const hostile[] = {
    "`touch X`", "$(touch X)", "'; system('touch X') #", "''; system(\"touch X\") #",
    "a'\nsystem('touch X')\n'", "\"; system(\"touch X\")", "\\'; system('touch X'); '\\",
    "GPX7Q\nsystem('touch X')\n", "GPX7Q", "GPEND 1", "|touch X", "<touch X", "@touch", "!touch X",
    "{/=40 big}", "^_{}~&", "%s%n%d", "\x1b]0;x\x07\x1b[2J", "\xc2\x9b[2J", "\xff\xfe bad \xc3",
    "\xe2\x80\xae rtl", "\r\n!touch X\r\n", "set output '|touch X'", "-", "",
    "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "<svg onload=x>&amp;\"'", "]]>", "a]]>b]]>", "load 'X'",
};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

/* True if the end mark of CDATA stands in text that is not CDATA, which XML 1.0 (2.4) forbids. */
static bool stray_end(const char *xml)
{
    static const char open[] = "<![CDATA[", close[] = "]]>";

    for (const char *c; (c = strstr(xml, open)) != NULL;) {
        const char *stray = strstr(xml, close), *end = strstr(c, close);
        if (end == NULL || stray < c)
            return true;
        xml = end + sizeof close - 1;
    }
    return strstr(xml, close) != NULL;
}

START_TEST(hostile_text_is_only_text)
{
    need_gnuplot();
    char *dir = support_tmpdir();
    char here[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(dir), 0);
    struct gnuplot *g = gnuplot_new(&err);
    for (size_t i = 0; i < N_HOSTILE; i++) {
        struct figure *f = line_figure(hostile[i], 12);
        ck_assert_int_eq(gnuplot_request(g, f, 60, 14, true, &err), ST_OK);
        ck_assert_msg(until_state(g, NULL), "%s", hostile[i]);
        ck_assert_int_eq(plot_export(NULL, f, "out.svg", 0, 0, false, NULL, &err), ST_OK);
        struct buf svg = slurp("out.svg");
        ck_assert_msg(strstr(buf_str(&svg), "</svg>") != NULL, "%s", hostile[i]);
        ck_assert_msg(strstr(buf_str(&svg), "<svg onload") == NULL, "escaped");
        ck_assert_msg(!stray_end(buf_str(&svg)), "%s: not well-formed", hostile[i]);
        buf_free(&svg);
        unlink("out.svg");
        ck_assert_msg(files_in(".") == 0, "%s", hostile[i]);
        f->reason = strdup(hostile[i]);
        ck_assert_msg(plot_export(NULL, f, "out.png", 0, 0, false, NULL, &err) == ST_OK, "%s: %s",
                      hostile[i], err.msg);
        unlink("out.png");
        ck_assert_msg(files_in(".") == 0, "%s", hostile[i]);
        figure_free(f);
    }
    gnuplot_free(g);
    ck_assert_int_eq(chdir(here), 0);
    support_rmdir(dir);
}
END_TEST

START_TEST(hostile_names_are_only_names)
{
    need_gnuplot();
    char *dir = support_tmpdir();
    char here[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(dir), 0);
    struct figure *f = line_figure("y", 12);
    for (size_t i = 0; i < N_HOSTILE; i++)
        for (int k = 0; k < 2; k++) {
            struct buf name = { 0 };
            buf_printf(&name, "%s%s", hostile[i], k == 0 ? ".svg" : ".csv");
            if (strchr(hostile[i], '/') == NULL) {
                ck_assert_msg(plot_export(NULL, f, name.s, 0, 0, false, NULL, &err) == ST_OK,
                              "%s: %s", name.s, err.msg);
                ck_assert_msg(files_in(".") == 1, "%s", name.s);
                ck_assert_int_eq(unlink(name.s), 0);
            } else {
                ck_assert_int_ne(plot_export(NULL, f, name.s, 0, 0, false, NULL, &err), ST_OK);
                for (const char *p = err.msg; *p != '\0'; p++) /* safe to show */
                    ck_assert_int_ge((unsigned char)*p, 0x20);
            }
            ck_assert_uint_eq(files_in("."), 0);
            buf_free(&name);
        }
    figure_free(f);
    ck_assert_int_eq(chdir(here), 0);
    support_rmdir(dir);
}
END_TEST

START_TEST(export_writes_every_kind)
{
    need_gnuplot();
    static const struct {
        const char *name, *magic;
    } kind[] = { { "a.svg", "<?xml" }, { "a.png", "\x89PNG" }, { "a.pdf", "%PDF" },
                 { "a.txt", "" },      { "a.CSV", "panel,series,x,y,y2,class\n" } };
    char *dir = support_tmpdir();
    struct figure *f = line_figure("title", 100000); /* thinned: quick */
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        const char *path = support_path(dir, kind[i].name);
        struct buf note = { 0 };
        ck_assert_msg(plot_export(NULL, f, path, 0, 0, false, &note, &err) == ST_OK, "%s", err.msg);
        struct buf b = slurp(path);
        ck_assert_uint_gt(b.len, 400);
        ck_assert_int_eq(strncmp(b.s, kind[i].magic, strlen(kind[i].magic)), 0);
        ck_assert_str_eq(buf_str(&note), "");
        buf_free(&b);
    }
    ck_assert_uint_eq(files_in(dir), sizeof kind / sizeof *kind);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* Giant glyphs: what no installed font has must not go to cairo. */
START_TEST(export_png_with_foreign_text)
{
    need_gnuplot();
    char *dir = support_tmpdir();
    struct figure *f = line_figure("\xe6\x97\xa5\xe6\x9c\xac", 20);
    struct buf note = { 0 };
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.png"), 0, 0, false, &note, &err),
                     ST_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&note), "svg"));
    buf_free(&note);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* What an export leaves when it is killed goes at the next one in the same place: not what a living
 * process has, nor what is fresh, nor what only has such a name. */
START_TEST(export_sweeps_what_the_killed_left)
{
    char *dir = support_tmpdir(), gone[64], mine[64];
    struct figure *f = line_figure("y", 5);
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct stat st;
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    snprintf(gone, sizeof gone, ".gpdesk-plot-%ld-abcdef", (long)child);
    snprintf(mine, sizeof mine, ".gpdesk-plot-%ld-abcdef", (long)getpid());
    const char *names[] = { gone, mine, ".gpdesk-plot-x-abcdef" };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(mkdir(support_path(dir, names[i]), 0700), 0);
        struct buf in = { 0 };
        buf_printf(&in, "%s/plot.svg", names[i]);
        support_write(support_path(dir, in.s), "x", 1);
        buf_free(&in);
    }
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.csv"), 0, 0, false, NULL, &err),
                     ST_OK);
    ck_assert_int_eq(stat(support_path(dir, gone), &st), 0); /* too fresh */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(utimensat(AT_FDCWD, support_path(dir, names[i]), old, 0), 0);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.csv"), 0, 0, false, NULL, &err),
                     ST_OK);
    ck_assert_int_ne(stat(support_path(dir, gone), &st), 0);
    ck_assert_int_eq(stat(support_path(dir, mine), &st), 0);
    ck_assert_int_eq(stat(support_path(dir, names[2]), &st), 0);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* A dark picture has the dark ground, the light one the light. */
START_TEST(export_theme)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 5);
    const unsigned ground = figure_rgb(-4, true);
    char hex[16], dec[32]; /* as our own writer and as gnuplot write it */

    snprintf(hex, sizeof hex, "#%06x", ground);
    snprintf(dec, sizeof dec, "rgb(%3u, %3u, %3u)", ground >> 16, ground >> 8 & 255, ground & 255);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.svg"), 0, 0, i, NULL, &err),
                         ST_OK);
        struct buf b = slurp(support_path(dir, "a.svg"));
        for (char *p = b.s; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        ck_assert_int_eq(strstr(b.s, hex) != NULL || strstr(b.s, dec) != NULL, i);
        buf_free(&b);
    }
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* Refusals that need no gnuplot. */

START_TEST(export_refuses_with_reason)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 5);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.bmp"), 0, 0, false, NULL, &err),
                     ST_USAGE);
    ck_assert_ptr_nonnull(strstr(err.msg, ".svg"));
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "noending"), 0, 0, false, NULL, &err),
                     ST_USAGE);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.svg"), 1, 1, false, NULL, &err),
                     ST_RANGE);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "no/a.csv"), 0, 0, false, NULL, &err),
                     ST_IO);
    ck_assert_int_eq(mkdir(support_path(dir, "d.csv"), 0755), 0);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "d.csv"), 0, 0, false, NULL, &err),
                     ST_IO);
    ck_assert_ptr_nonnull(strstr(err.msg, "directory"));
    ck_assert_int_eq(mkfifo(support_path(dir, "f.csv"), 0644), 0);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "f.csv"), 0, 0, false, NULL, &err),
                     ST_IO);
    /* A link is followed: the file behind it is replaced, the link stays. */
    support_write(support_path(dir, "real.csv"), "old", 3);
    ck_assert_int_eq(symlink("real.csv", support_path(dir, "link.csv")), 0);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "link.csv"), 0, 0, false, NULL, &err),
                     ST_OK);
    struct stat st;
    ck_assert_int_eq(lstat(support_path(dir, "link.csv"), &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    struct buf b = slurp(support_path(dir, "real.csv"));
    ck_assert_uint_gt(b.len, 10);
    buf_free(&b);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* Exports with a gnuplot that is not there, fails, hangs or writes nothing: svg by ourselves with a
 * note, png with a sentence; what stood there before stays. */
static void export_without(const char *why)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("<y> & 'z'", 50);
    struct buf note = { 0 };

    plot_export_limit_for_tests(300);
    ck_assert_msg(plot_export(NULL, f, support_path(dir, "a.svg"), 0, 0, false, &note, &err) ==
                      ST_OK,
                  "%s: %s", why, err.msg);
    ck_assert_msg(note.len > 10, "%s", why);
    struct buf b = slurp(support_path(dir, "a.svg"));
    ck_assert_ptr_nonnull(strstr(b.s, "</svg>"));
    ck_assert_ptr_nonnull(strstr(b.s, "&lt;y&gt; &amp; "));
    buf_free(&b);
    support_write(support_path(dir, "a.png"), "before", 6);
    ck_assert_int_ne(plot_export(NULL, f, support_path(dir, "a.png"), 0, 0, false, NULL, &err),
                     ST_OK);
    ck_assert(strlen(err.msg) > 10 && strlen(err.hint) > 5);
    b = slurp(support_path(dir, "a.png"));
    ck_assert_str_eq(b.s, "before");
    buf_free(&b);
    ck_assert_uint_eq(files_in(dir), 2);
    ck_assert_int_eq(plot_export(NULL, f, support_path(dir, "a.txt"), 0, 0, false, NULL, &err),
                     ST_OK);
    buf_free(&note);
    figure_free(f);
    support_rmdir(dir);
    plot_export_limit_for_tests(20000);
}

START_TEST(export_with_broken_gnuplot)
{
    char *dir = support_tmpdir();
    setenv("GPDESK_GNUPLOT", "no-such-program-anywhere", 1);
    export_without("missing");
    fake(dir, "exit 127");
    export_without("exit 127");
    fake(dir, "exit 1");
    export_without("exit 1");
    fake(dir, "cat >/dev/null; exit 0");
    export_without("writes nothing");
    fake(dir, "cat >/dev/null; echo garbage > plot.svg; : > plot.png");
    export_without("writes garbage");
    fake(dir,
         "cat >/dev/null; printf '<?xml ve' >plot.svg; printf '\\211PNG\\r\\n\\032\\n' >plot.png");
    export_without("writes eight bytes");
    fake(dir, "cat >/dev/null; echo '<?xml ?><svg></svg><' > plot.svg; echo PNGIEND > plot.png");
    export_without("writes a cut file");
    fake(dir, "cat >/dev/null; mkdir -p plot.svg/a/b plot.png c/d; : > c/d/e; ln -s / c/d/f");
    export_without("makes directories");
    fake(dir, "cat >/dev/null; mkfifo plot.svg plot.png");
    export_without("makes pipes");
    fake(dir, "exec sleep 30");
    export_without("hangs");
    fake(dir, "exec >&- 2>&-; exec sleep 30");
    export_without("hangs silently");
    fake(dir, "kill -9 $$");
    export_without("dies");
    unsetenv("GPDESK_GNUPLOT");
    support_rmdir(dir);
}
END_TEST

/* A file that may not grow stands for a full disk; tests/scripts/plots.sh fills a real one. */
START_TEST(export_onto_a_full_disk)
{
    need_gnuplot();
    static const char *const name[] = { "a.svg", "a.png", "a.pdf", "a.csv" };
    const struct rlimit little = { 4096, RLIM_INFINITY }, lots = { RLIM_INFINITY, RLIM_INFINITY };
    char *dir = support_tmpdir();
    struct figure *f = line_figure("a curve of many points", 2000);

    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *path = support_path(dir, name[i]);
        support_write(path, "before", 6);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
        const enum status rc = plot_export(NULL, f, path, 0, 0, false, NULL, &err);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lots), 0);
        ck_assert_msg(rc == ST_IO, "%s: %d", name[i], (int)rc);
        ck_assert_str_eq(err.name, "write");
        struct buf b = slurp(path);
        ck_assert_msg(b.len == 6 && memcmp(b.s, "before", 6) == 0, "%s", name[i]);
        buf_free(&b);
        ck_assert_uint_eq(files_in(dir), i + 1);
    }
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* Fakes for the live child. */

static struct gnuplot *live_with(struct figure *f)
{
    struct gnuplot *g = gnuplot_new(&err);

    ck_assert_int_eq(gnuplot_request(g, f, 60, 14, true, &err), ST_OK);
    ck_assert_ptr_nonnull(gnuplot_frame(g));
    return g;
}

START_TEST(fake_missing)
{
    struct figure *f = line_figure("y", 20);
    setenv("GPDESK_GNUPLOT", "no-such-program-anywhere", 1);
    struct gnuplot *g = live_with(f);
    ck_assert(until_state(g, "not installed"));
    ck_assert(!gnuplot_busy_for_tests(g));
    char said[256];
    snprintf(said, sizeof said, "%s", gnuplot_state(g));
    const unsigned before = gnuplot_frame(g)->serial;
    ck_assert_int_eq(gnuplot_request(g, f, 60, 14, true, &err), ST_OK);
    ck_assert_uint_ne(gnuplot_frame(g)->serial, before); /* the built-in plot goes on */
    turn(g, 1);
    ck_assert_str_eq(gnuplot_state(g), said); /* and nothing new is said */
    gnuplot_free(g);
    figure_free(f);
}
END_TEST

START_TEST(fake_cannot_run)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 20);
    fake(dir, "exit 127");
    struct gnuplot *g = live_with(f);
    ck_assert(until_state(g, "cannot be run"));
    gnuplot_free(g);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(fake_dies_again_and_again)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 20);
    struct buf script = { 0 };
    buf_printf(&script, "echo x >> %s/starts; exit 3", dir);
    fake(dir, script.s);
    struct gnuplot *g = live_with(f);
    for (const long long end = now_ms() + 3000; now_ms() < end;)
        turn(g, 50);
    ck_assert_ptr_nonnull(strstr(gnuplot_state(g), "ended unexpectedly"));
    struct buf b = slurp(support_path(dir, "starts"));
    ck_assert_uint_eq(b.len, 6); /* three starts, then a rest */
    int timeout = -1;
    struct pollfd fd[3];
    ck_assert_uint_eq(gnuplot_poll(g, fd, &timeout), 0);
    ck_assert_int_gt(timeout, 5000); /* no busy loop meanwhile */
    buf_free(&b);
    buf_free(&script);
    gnuplot_free(g);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(fake_hangs)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 20);
    struct buf script = { 0 };
    buf_printf(&script, "sleep 60 & echo $! > %s/child; wait", dir);
    fake(dir, script.s);
    struct gnuplot *g = live_with(f);
    ck_assert(until_state(g, "did not answer"));
    struct buf b = slurp(support_path(dir, "child"));
    const pid_t grandchild = (pid_t)atol(b.s);
    ck_assert_int_gt(grandchild, 1);
    for (int i = 0; i < 200 && kill(grandchild, 0) == 0; i++) { /* the whole group was ended */
        struct buf stat = { 0 };
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/stat", (long)grandchild);
        if (access(path, R_OK) == 0)
            stat = slurp(path);
        const bool zombie = strstr(buf_str(&stat), ") Z") != NULL; /* nobody here reaps it */
        buf_free(&stat);
        if (zombie)
            break;
        ck_assert_int_lt(i, 199);
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    }
    buf_free(&b);
    buf_free(&script);
    gnuplot_free(g);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(fake_garbage)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 20);
    fake(dir, "while :; do echo 'P6 GPEND 1 \033[2J garbage garbage garbage garbage'; done");
    struct gnuplot *g = live_with(f);
    ck_assert(until_state(g, "not send a picture"));
    gnuplot_free(g);
    /* Answers in time, but with something else: noise, a wrong size, a cut bitmap. */
    static const char *const noise[] = {
        "while read l; do case $l in *GPEND*) echo \"$l\" | sed "
        "\"s/print '\\(.*\\)'/\\1/\";; esac; done",
        "while read l; do case $l in *GPEND*) printf 'P6\\n8 8\\n255\\nxxx'; echo \"$l\" | sed "
        "\"s/print '\\(.*\\)'/\\1/\";; esac; done",
        "while read l; do case $l in *GPEND*) printf 'P6\\n120 56\\n255\\nxxx'; echo \"$l\" | sed "
        "\"s/print '\\(.*\\)'/\\1/\";; esac; done",
    };
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        fake(dir, noise[i]);
        g = live_with(f);
        ck_assert(until_state(g, "could not draw"));
        ck_assert(!gnuplot_busy_for_tests(g));
        gnuplot_free(g);
    }
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(fake_reads_nothing)
{
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 2000);
    fake(dir, "exec <&-; sleep 0.2; exit 0");
    struct gnuplot *g = live_with(f); /* EPIPE must not become SIGPIPE */
    ck_assert(until_state(g, "ended unexpectedly"));
    gnuplot_free(g);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(fake_recovers)
{
    need_gnuplot();
    char *dir = support_tmpdir();
    struct figure *f = line_figure("y", 20);
    struct buf script = { 0 };
    /* The first start fails, the second is the real program. */
    buf_printf(&script, "[ -e %s/once ] && exec gnuplot \"$@\"; : > %s/once; exit 1", dir, dir);
    fake(dir, script.s);
    struct gnuplot *g = live_with(f);
    ck_assert(until_state(g, "ended unexpectedly"));
    ck_assert(until_state(g, NULL));
    buf_free(&script);
    gnuplot_free(g);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

/* Beyond the pane: windows, terminals that show pictures. */

START_TEST(terminals_say_whether_they_show_pictures)
{
    static const struct { const char *reply; bool whole, yes; } t[] = {
        { "\033[?62;4;22c", true, true },   { "\033[?4c", true, true },
        { "\033[?62;22c", true, false },    { "\033[?64;14;40c", true, false },
        { "\033[?62;4", false, false },     { "", false, false },
        { "typed\033[?63;1;2;4c", true, true }, { "\033[?;;4;c", true, true },
        { "\033[?99999999999999999999;4c", false, false }, { "\033[?x4c", false, false },
        { "\033[4c", false, false },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        bool whole;
        ck_assert_msg(plot_show_sixel_in_reply(t[i].reply, strlen(t[i].reply), &whole) == t[i].yes,
                      "%zu", i);
        ck_assert_msg(whole == t[i].whole, "%zu", i);
    }
}
END_TEST

/* The other end of a terminal: replies to the question, keeps what is shown, presses a key. */
struct terminal {
    int fd;
    const char *reply;
    char got[65536];
    size_t n;
};

static void *terminal_run(void *arg)
{
    struct terminal *t = arg;
    bool asked = false, pressed = false;

    for (int idle = 0; idle < 40 && !pressed;) {
        struct pollfd p = { .fd = t->fd, .events = POLLIN };
        if (poll(&p, 1, 50) <= 0) {
            idle++;
            continue;
        }
        const ssize_t k = read(t->fd, t->got + t->n, sizeof t->got - 1 - t->n);
        if (k <= 0)
            break;
        t->n += (size_t)k;
        if (!asked && memmem(t->got, t->n, "\033[c", 3)) {
            asked = true;
            if (write(t->fd, t->reply, strlen(t->reply)) < 0)
                break;
        }
        if (memmem(t->got, t->n, "any key", 7))
            pressed = write(t->fd, " ", 1) == 1;
    }
    return NULL;
}

static void terminal_open(struct terminal *t, int *slave, pthread_t *thread, const char *reply)
{
    *t = (struct terminal){ .reply = reply };
    ck_assert_int_eq(openpty(&t->fd, slave, NULL, NULL, &(struct winsize){40, 100, 1000, 800}), 0);
    ck_assert_int_eq(pthread_create(thread, NULL, terminal_run, t), 0);
}

START_TEST(pictures_go_to_terminals_that_show_them)
{
    static struct terminal t;
    static const char *const reply[] = { "\033[?62;4c", "\033[?62;22c", "" };
    for (int i = 0; i < 3; i++) {
        struct termios before, after;
        pthread_t thread;
        int slave;
        size_t w, h;

        terminal_open(&t, &slave, &thread, reply[i]);
        tcgetattr(slave, &before);
        const long long t0 = now_ms();
        ck_assert(plot_show_sixel_ask(slave, 400) == (i == 0));
        ck_assert_int_lt(now_ms() - t0, 10000); /* silence is an answer too */
        plot_show_sixel_size(slave, &w, &h);
        ck_assert_uint_eq(w, 1000);
        ck_assert_uint_eq(h, 760);
        if (i == 0)
            ck_assert_int_eq(plot_show_sixel_show(slave, "\033Pq#0~\033\\", 9, &err), ST_OK);
        tcgetattr(slave, &after);
        ck_assert_uint_eq(before.c_lflag, after.c_lflag);
        pthread_join(thread, NULL);
        ck_assert(i > 0 || memmem(t.got, t.n, "\033Pq#0~\033\\", 9));
        close(slave);
        close(t.fd);
    }
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert(!plot_show_sixel_ask(pipes[0], 100)); /* no terminal at all */
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

START_TEST(export_writes_sixel)
{
    need_gnuplot();
    char *dir = support_tmpdir();
    struct figure *f = line_figure("a", 20);
    const char *path = support_path(dir, "p.six");
    struct err e = { 0 };

    /* A gnuplot built without it is told of. */
    if (plot_export(NULL, f, path, 300, 200, false, NULL, &e) == ST_OK) {
        char head[2] = "";
        FILE *in = fopen(path, "rb");
        ck_assert(in && fread(head, 1, 2, in) == 2);
        fclose(in);
        ck_assert_mem_eq(head, "\033P", 2);
    } else {
        ck_assert_ptr_nonnull(strstr(e.msg, "did not draw it"));
    }
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

START_TEST(windows_need_a_display_and_a_gnuplot_that_has_them)
{
    char *dir = support_tmpdir();
    const char *log = support_path(dir, "log");
    struct figure *f = line_figure("a'b", 20);
    struct buf script = { 0 };

    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    ck_assert_int_eq(plot_window(NULL, f, false, &err), ST_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "no display"));
    setenv("DISPLAY", ":77", 1);
    plot_window_limit_for_tests(3000);
    fake(dir, "echo 'GPX-TERM none' >&2; cat >/dev/null");
    ck_assert_int_eq(plot_window(NULL, f, false, &err), ST_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "opens no windows"));
    fake(dir, "exit 3");
    ck_assert_int_ne(plot_window(NULL, f, false, &err), ST_OK);
    plot_window_limit_for_tests(300);
    fake(dir, "sleep 30");
    const long long t0 = now_ms();
    ck_assert_int_eq(plot_window(NULL, f, false, &err), ST_UNSUPPORTED); /* hangs: told in time */
    ck_assert_int_lt(now_ms() - t0, 10000);
    plot_window_limit_for_tests(5000);
    buf_printf(&script, "echo \"$DISPLAY\" >%s; echo 'GPX-TERM qt' >&2; cat >>%s", log, log);
    fake(dir, script.s);
    ck_assert_int_eq(plot_window(NULL, f, true, &err), ST_OK);
    ck_assert_int_eq(plot_window(NULL, f, true, &err),
                     ST_OK); /* the same window takes the next picture */
    char text[200000] = "";
    for (int i = 0; i < 100; i++) {
        FILE *in = fopen(log, "rb");
        const size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
        if (in)
            fclose(in);
        text[n] = '\0';
        const char *first = strstr(text, "set term qt");
        if (first && strstr(first + 1, "set term qt") &&
            strstr(strstr(first + 1, "set term qt"), "plot NaN"))
            break;
        poll(NULL, 0, 50);
    }
    ck_assert_mem_eq(text, ":77\n", 4);
    ck_assert_ptr_nonnull(strstr(text, "plot NaN"));
    ck_assert_ptr_null(strstr(text, "a'b"));
    const char *first = strstr(text, "set term qt");
    ck_assert(first && strstr(first + 1, "set term qt"));
    buf_free(&script);
    figure_free(f);
    support_rmdir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gnuplot");
    const struct {
        const char *name;
        const TTest *test[8];
    } group[] = {
        {.name = "live",
         .test = {live_braille_matches_our_own_drawing, live_ascii_matches_our_own_drawing,
                  live_newest_request_wins, live_draws_everything, live_survives_kill_in_mid_plot,
                  live_child_ends_with_us}},
        {.name = "hostile", .test = {hostile_text_is_only_text, hostile_names_are_only_names}},
        {.name = "export",
         .test = {export_writes_every_kind, export_png_with_foreign_text,
                  export_refuses_with_reason, export_with_broken_gnuplot, export_onto_a_full_disk,
                  export_sweeps_what_the_killed_left, export_theme}},
        {.name = "fake",
         .test = {fake_missing, fake_cannot_run, fake_dies_again_and_again, fake_hangs,
                  fake_garbage, fake_reads_nothing, fake_recovers}},
        {.name = "beyond",
         .test = {terminals_say_whether_they_show_pictures, pictures_go_to_terminals_that_show_them,
                  export_writes_sixel, windows_need_a_display_and_a_gnuplot_that_has_them}},
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_set_timeout(tc, 120);
        for (size_t j = 0; j < 8 && group[i].test[j]; j++)
            tcase_add_test(tc, group[i].test[j]);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
