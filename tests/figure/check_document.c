/* tests/figure/check_document.c -- a document as HTML and as PDF: what comes out, what gnuplot gets
 * to read, and every way in which it can fail. Fakes named by GPDESK_GNUPLOT play gnuplot; the
 * test of gnuplot itself skips where it is absent. */
#include "figure/document.h"
#include "figure/figure_letters.h"
#include "figure/gnuplot.h"
#include "base/buf.h"
#include "compute/ctl.h"
#include "support.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct err err;

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

static struct buf slurp(const char *path)
{
    struct buf b = { 0 };
    char chunk[4096];
    FILE *f = fopen(path, "rb");
    size_t n;

    ck_assert_msg(f != NULL, "%s is not there", path);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_putn(&b, chunk, n);
    fclose(f);
    return b;
}

static size_t files_in(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* A document of every kind of block, in all of which `text` stands. */
static struct document *full(const char *text, size_t rows)
{
    const double x[] = { 0, 1, 2 }, y[] = { 1, 3, 2 };
    const char *const names[] = { text, "b", text };
    struct document *d = document_new(text, text, text, &err);
    struct figure *f = figure_new("line", text, &err);

    ck_assert(d != NULL && f != NULL);
    for (int k = DOCUMENT_HEADING; k <= DOCUMENT_STEP; k++)
        document_add(d, (enum document_kind)k, text);
    document_facts(d);
    document_fact(d, text, text);
    document_fact(d, "left out", "");
    document_fact_count(d, "count", 36000);
    document_table(d, text);
    document_column(d, DOCUMENT_TEXT, text);
    document_column(d, DOCUMENT_NUMBER, "value");
    for (size_t i = 0; i < rows; i++) {
        document_cell(d, text);
        document_cell_number(d, i % 2 ? 0.25 : NAN);
    }
    ck_assert_ptr_nonnull(figure_add(f, text, MARK_BARS, 3, x, y, &err));
    ck_assert_int_eq(figure_label(f, text, text, &err), ST_OK);
    ck_assert_int_eq(figure_names(&f->x, 3, names, &err), ST_OK);
    ck_assert_int_eq(figure_verdict(f, &err, "%s", text), ST_OK);
    document_figure(d, "line", text, f);
    ck_assert(!d->failed);
    return d;
}

START_TEST(html_holds_text_as_text)
{
    struct document *d = full("<b> & 'EVIL' \x01\xff\xe2\x80\xae", 2);
    struct buf b = { 0 };

    document_html(d, &b);
    ck_assert(!b.failed);
    ck_assert_ptr_null(strstr(b.s, "<b>"));
    ck_assert_ptr_nonnull(strstr(b.s, "<h2>&#60;b&#62; &#38; &#39;EVIL&#39; "
                                      "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd</h2>"));
    ck_assert_ptr_nonnull(strstr(b.s, "<tr><th>count</th><td class=\"t\">36,000</td></tr>"));
    ck_assert_ptr_null(strstr(b.s, "left out"));
    ck_assert_ptr_nonnull(strstr(b.s, "<td class=\"n\">0.25</td>"));
    ck_assert_ptr_nonnull(strstr(b.s, "<td class=\"n\"></td>"));
    buf_free(&b);
    document_free(d);
}
END_TEST

/* Outside single quotes, gnuplot gets to read nothing but what gpdesk itself wrote. */
START_TEST(gnuplot_reads_text_in_quotes_only)
{
    static const char *const evil[] = {
        "EVIL", "it's '; system('EVIL'); #", "`EVIL`", "$(EVIL) \"EVIL\" \\EVIL\\", "'",
        "''EVIL''", "a\nEVIL\nset output\n", "GPX7Q\nEVIL", "]]>EVIL", "\xff\x1b[EVIL",
        "'\nEVIL '\n", "%s EVIL %n",
        "EVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVIL"
        "EVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVILEVIL'EVILEVILEVILEVILEVIL" };
    char *dir = support_tmpdir();
    const char *seen = support_path(dir, "seen"), *out = support_path(dir, "a.pdf");
    struct buf script = { 0 };
    size_t rare;

    buf_printf(&script, "cat >'%s'; printf '%%%%PDF-1.5\\n%%%%%%%%EOF\\n' >plot.pdf", seen);
    fake(dir, script.s);
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        struct document *d = full(evil[i], 3);
        ck_assert_msg(document_pdf(NULL, d, out, &rare, &err) == ST_OK, "%s: %s", evil[i], err.msg);
        struct buf b = slurp(seen), bare = { 0 };
        size_t inside = 0;
        bool quoted = false;
        for (size_t k = 0; k < b.len; k++) {
            quoted ^= b.s[k] == '\'';
            ck_assert_msg(!quoted || b.s[k] != '\n', "%s: a line ends in a string", evil[i]);
            if (!quoted)
                buf_putc(&bare, b.s[k]);
            else
                inside += strncmp(b.s + k, "EVIL", 4) == 0;
        }
        ck_assert_ptr_null(strstr(bare.s, "EVIL"));
        ck_assert_ptr_null(strchr(bare.s, '`'));
        ck_assert_msg(strcmp(evil[i], "'") == 0 || inside >= 8, "%s: %zu", evil[i], inside);
        buf_free(&b);
        buf_free(&bare);
        document_free(d);
    }
    buf_free(&script);
    unsetenv("GPDESK_GNUPLOT");
    support_rmdir(dir);
}
END_TEST

static void unwritten(const char *why)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "a.pdf");
    struct document *d = full("text", 3);
    size_t rare;

    plot_export_limit_for_tests(200);
    support_write(path, "before", 6);
    ck_assert_msg(document_pdf(NULL, d, path, &rare, &err) != ST_OK, "%s", why);
    ck_assert_msg(strstr(err.hint, "out=FILE.html") != NULL, "%s: %s", why, err.hint);
    struct buf b = slurp(path);
    ck_assert_str_eq(b.s, "before");
    buf_free(&b);
    ck_assert_uint_eq(files_in(dir), 1);
    document_free(d);
    support_rmdir(dir);
    plot_export_limit_for_tests(20000);
}

START_TEST(a_broken_gnuplot_leaves_the_old_file)
{
    char *dir = support_tmpdir();

    setenv("GPDESK_GNUPLOT", "no-such-program-anywhere", 1);
    unwritten("missing");
    fake(dir, "exit 127");
    unwritten("exit 127");
    fake(dir, "exit 1");
    unwritten("exit 1");
    fake(dir, "cat >/dev/null; printf %%PDF-1.5 >plot.pdf");
    unwritten("writes eight bytes");
    fake(dir, "cat >/dev/null; echo '%%EOF' >plot.pdf");
    unwritten("writes only an end");
    fake(dir, "cat >/dev/null; mkdir -p plot.pdf/a");
    unwritten("makes a directory");
    fake(dir, "exec sleep 30");
    unwritten("hangs");
    fake(dir, "exec >&- 2>&-; exec sleep 30");
    unwritten("hangs silently");
    unsetenv("GPDESK_GNUPLOT");
    support_rmdir(dir);
}
END_TEST

START_TEST(it_can_be_stopped)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "a.pdf");
    struct document *d = full("text", 3);
    struct cancel cancel = { 0 };
    const struct ctl ctl = { .cancel = &cancel };
    size_t rare;

    fake(dir, "exec sleep 30");
    atomic_store(&cancel.stop, 1);
    ck_assert_int_eq(document_pdf(&ctl, d, path, &rare, &err), ST_CANCELLED);
    ck_assert_uint_eq(files_in(dir), 1); /* the fake */
    document_free(d);
    unsetenv("GPDESK_GNUPLOT");
    support_rmdir(dir);
}
END_TEST

/* Every name, as long or odd as it may be, and tables longer than a page. */
START_TEST(gnuplot_draws_all_of_it)
{
    static char words[1201];
    const struct { const char *text; size_t rows; } c[] = {
        { "plain", 3 }, { "it's {/Symbol a}_b^c %s %d \\ \"q\" `x`", 200 }, { words, 5 },
        { "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x99\x82 \xd0\xa9\xd1\x83\xd0\xba\xd0\xb0", 60 },
        { "", 0 } };
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "a.pdf");
    const struct rlimit little = { 4096, RLIM_INFINITY }, lots = { RLIM_INFINITY, RLIM_INFINITY };
    size_t rare;

    unsetenv("GPDESK_GNUPLOT");
    if (system("gnuplot --version >/dev/null 2>&1") != 0)
        exit(77);
    memset(words, 'W', sizeof words - 1);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct document *d = full(c[i].text, c[i].rows);
        ck_assert_msg(document_pdf(NULL, d, path, &rare, &err) == ST_OK, "%zu: %s", i, err.msg);
        struct buf b = slurp(path);
        ck_assert_int_eq(memcmp(b.s, "%PDF", 4), 0);
        ck_assert_ptr_nonnull(strstr(b.s + b.len - 8, "%%EOF"));
        ck_assert_int_eq(rare > 0, i == 3);
        ck_assert_uint_eq(files_in(dir), 1);
        buf_free(&b);
        document_free(d);
    }
    /* A file that may not grow stands for a full disk. */
    struct document *d = full("plain", 100);
    support_write(path, "before", 6);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    const enum status rc = document_pdf(NULL, d, path, &rare, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lots), 0);
    ck_assert_int_eq(rc, ST_IO);
    struct buf b = slurp(path);
    ck_assert_str_eq(b.s, "before");
    buf_free(&b);
    document_free(d);
    support_rmdir(dir);
}
END_TEST

START_TEST(rare_letters_become_numbers)
{
    struct buf b = { 0 };

    ck_assert_uint_eq(figure_letters(&b, "a\xe6\x97\xa5\xf0\x9f\x99\x82\xff \xc3\xa9\xd0\xa9"), 2);
    ck_assert_str_eq(b.s, "a\\u65e5\\U0001f642\xff \xc3\xa9\xd0\xa9");
    buf_free(&b);
    /* Widths are those of DejaVu Sans: i is 0.278 and W 0.989 of the size, of the bold font 0.343
     * and 1.103 (hmtx tables). */
    ck_assert_double_ge(figure_letters_width('i', false), 0.278);
    ck_assert_double_ge(figure_letters_width('W', false), 0.988);
    ck_assert_double_ge(figure_letters_width('i', true), 0.343);
    ck_assert_double_ge(figure_letters_width('W', true), 1.102);
    ck_assert_double_ge(figure_letters_width(0x429, false), 1.094); /* SHCHA */
    ck_assert_uint_eq(figure_letters_fit("WWWW", 2.5), 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("document");
    const TTest *const test[] = { html_holds_text_as_text, gnuplot_reads_text_in_quotes_only,
                                  a_broken_gnuplot_leaves_the_old_file, it_can_be_stopped,
                                  gnuplot_draws_all_of_it, rare_letters_become_numbers };
    TCase *tc = tcase_create("document");

    tcase_set_timeout(tc, 60);
    for (size_t i = 0; i < sizeof test / sizeof *test; i++)
        tcase_add_test(tc, test[i]);
    suite_add_tcase(s, tc);
    return support_run(s);
}
