/* tests/check_base.c -- status, memory, buf, text, log; and the generator of tests/support.c. */
#include "base/buf.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/status.h"
#include "base/text.h"
#include "support.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(status_has_names_and_words)
{
    ck_assert_str_eq(status_name(ST_NOT_PD), "not-pd");
    ck_assert_str_eq(status_words(ST_NOMEM), "out of memory");
    ck_assert_str_eq(status_name((enum status)999), "internal");
    for (int i = 0; i < N_STATUS; i++) /* names are what programs see: distinct */
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(status_name((enum status)i), status_name((enum status)j));
}
END_TEST

START_TEST(status_fills_err)
{
    struct err err;
    err_clear(&err);
    ck_assert_int_eq(err.code, ST_OK);
    ck_assert_int_eq(err_set(NULL, ST_RANGE, "x"), ST_RANGE);
    ck_assert_int_eq(err_set(&err, ST_RANGE, "rank=%d", 7), ST_RANGE);
    ck_assert_str_eq(err.name, "range");
    ck_assert_str_eq(err.msg, "rank=7");
    err_hint(&err, "try %s", "less");
    ck_assert_str_eq(err.hint, "try less");
    err_prefix(&err, "line %d: ", 3);
    ck_assert_str_eq(err.msg, "line 3: rank=7");
    err_set(&err, ST_IO, "again: %s", err.msg); /* from itself */
    ck_assert_str_eq(err.msg, "again: line 3: rank=7");
    ck_assert_str_eq(err.hint, "");
    err_named(&err, ST_FORMAT, "delimiter", "two");
    ck_assert_str_eq(err.name, "delimiter");
    ck_assert_int_eq(err_nomem(&err, 1 << 20, "a thing"), ST_NOMEM);
    ck_assert(strstr(err.msg, "a thing") && strstr(err.msg, "1 MB"));
}
END_TEST

START_TEST(status_cuts_at_whole_characters)
{
    struct err err;
    char text[2000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    for (int shift = 0; shift < 2; shift++) {
        err_set(&err, ST_IO, "%s%s", shift ? "x" : "", text);
        ck_assert_uint_ge(strlen(err.msg), sizeof err.msg - 3);
        for (const char *p = err.msg; *p;) {
            uint32_t cp;
            p += text_decode(p, &cp);
            ck_assert_uint_ne(cp, UINT32_MAX);
        }
    }
}
END_TEST

/* What was given comes back when it is large enough; what does not fit is forgotten. */
START_TEST(spare_workspaces)
{
    struct mem_spares s = { 0 };
    void *p[MEM_SPARES + 1], *first = mem_spare_take(&s, 100, "work", NULL);

    ck_assert_ptr_nonnull(first);
    ck_assert_uint_eq((uintptr_t)first % 64, 0);
    memset(first, 1, 100);
    mem_spare_give(&s, first);
    ck_assert_ptr_eq(mem_spare_take(&s, 60, "work", NULL), first);
    mem_spare_give(&s, first);
    void *more = mem_spare_take(&s, 100000, "work", NULL),
         *other = mem_spare_take(&s, 1, "work", NULL);
    memset(more, 1, 100000);
    mem_spare_give(&s, other);
    mem_spare_give(&s, more);
    mem_spare_give(&s, NULL);
    for (size_t i = 0; i <= MEM_SPARES; i++) /* more than wait */
        memset(p[i] = mem_spare_take(&s, 64, "work", NULL), 2, 64);
    for (size_t i = 0; i <= MEM_SPARES; i++)
        mem_spare_give(&s, p[i]);
    struct err err;
    ck_assert_ptr_null(mem_spare_take(&s, SIZE_MAX - 8, "much", &err));
    ck_assert_int_eq(err.code, ST_NOMEM);
    mem_spares_free(&s);
}
END_TEST

START_TEST(mem_checks_overflow)
{
    struct err err;
    ck_assert(mem_calloc(SIZE_MAX / 2, 3, "much", &err) == NULL);
    ck_assert_int_eq(err.code, ST_NOMEM);
    ck_assert(mem_aligned(SIZE_MAX, 8, "much", &err) == NULL);
    ck_assert(mem_calloc(SIZE_MAX, 1, "much", NULL) == NULL);
    unsigned char *p = mem_calloc(100, 3, "some", &err);
    ck_assert(p != NULL);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(p[i], 0);
    free(p);
    free(mem_calloc(0, 8, "nothing", &err));
}
END_TEST

START_TEST(mem_aligned_is)
{
    for (size_t n = 0; n < 3; n++) {
        void *p = mem_aligned(n, 3, "small", NULL);
        ck_assert(p != NULL);
        ck_assert_uint_eq((uintptr_t)p % 64, 0);
        free(p);
    }
    char *big = mem_aligned((size_t)9 << 20, 1, "big", NULL);
    ck_assert(big != NULL);
    big[0] = big[(9 << 20) - 1] = 1;
    ck_assert_uint_eq((uintptr_t)big % 64, 0);
    free(big);
}
END_TEST

START_TEST(mem_grow_keeps_what_was_there)
{
    int *v = NULL;
    size_t cap = 0;
    struct err err;
    for (size_t i = 0; i < 1000; i++) {
        ck_assert_int_eq(mem_grow((void **)&v, &cap, i + 1, sizeof *v, "ints", &err), ST_OK);
        v[i] = (int)i;
    }
    ck_assert_uint_ge(cap, 1000);
    const size_t before = cap;
    mem_fail_after_for_tests(1);
    ck_assert_int_eq(mem_grow((void **)&v, &cap, 5000, sizeof *v, "ints", &err), ST_NOMEM);
    ck_assert_uint_eq(cap, before);
    ck_assert_int_eq(v[999], 999);
    ck_assert_int_eq(mem_grow((void **)&v, &cap, SIZE_MAX / 2, sizeof *v, "ints", &err), ST_NOMEM);
    ck_assert_int_eq(v[500], 500);
    free(v);
}
END_TEST

START_TEST(mem_fails_on_request)
{
    mem_fail_after_for_tests(2);
    void *a = mem_calloc(1, 1, "first", NULL);
    void *b = mem_calloc(1, 1, "second", NULL);
    void *c = mem_calloc(1, 1, "third", NULL);
    ck_assert(a != NULL && b == NULL && c != NULL);
    mem_fail_after_for_tests(0);
    free(a);
    free(c);
    mem_fail_after_for_tests(1);
    ck_assert(mem_strdup("x", NULL) == NULL);
    char *s = mem_strdup("x", NULL);
    ck_assert_str_eq(s, "x");
    free(s);
}
END_TEST

START_TEST(mem_knows_the_machine)
{
    ck_assert_uint_gt(mem_peak_rss(), 100 << 10);
    ck_assert_uint_gt(mem_physical(), 64 << 20);
    char s[32];
    static const struct {
        double bytes;
        const char *words;
    } row[] = { { 0, "0 bytes" },     { 512, "512 bytes" },      { 1024, "1.0 kB" },
                { 1.4 * 1073741824, "1.4 GB" }, { 300.0 * 1048576, "300 MB" },
                { 80.0 * 1073741824, "80.0 GB" } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        mem_format(s, sizeof s, row[i].bytes);
        ck_assert_str_eq(s, row[i].words);
    }
}
END_TEST

START_TEST(buf_appends)
{
    struct buf b = { 0 };
    ck_assert_str_eq(buf_str(&b), "");
    for (int i = 0; i < 500; i++)
        buf_printf(&b, "%d,", i);
    buf_putc(&b, '!');
    buf_putn(&b, "abc", 2);
    ck_assert_uint_eq(b.len, strlen(buf_str(&b)));
    ck_assert_str_eq(b.s + b.len - 7, "499,!ab");
    buf_clear(&b);
    ck_assert_str_eq(buf_str(&b), "");
    char *long_text = calloc(1, 5001);
    memset(long_text, 'x', 5000);
    buf_printf(&b, "<%s>", long_text);
    ck_assert_uint_eq(b.len, 5002);
    char *taken = buf_take(&b);
    ck_assert_uint_eq(strlen(taken), 5002);
    ck_assert(b.s == NULL && b.len == 0);
    free(taken);
    free(long_text);
    taken = buf_take(&b);
    ck_assert_str_eq(taken, "");
    free(taken);
}
END_TEST

START_TEST(buf_remembers_failure)
{
    struct buf b = { 0 };
    buf_puts(&b, "kept");
    mem_fail_after_for_tests(1);
    for (int i = 0; i < 100; i++)
        buf_puts(&b, "more text");
    ck_assert(b.failed);
    ck_assert_uint_eq(strlen(buf_str(&b)), b.len);
    ck_assert(buf_take(&b) == NULL);
    ck_assert(!b.failed && b.s == NULL);
}
END_TEST

static void json_is(const char *in, const char *want)
{
    struct buf b = { 0 };
    buf_json_string(&b, in);
    ck_assert_str_eq(buf_str(&b), want);
    buf_free(&b);
}

START_TEST(buf_writes_json)
{
    json_is("a\"b\\c\n\t", "\"a\\\"b\\\\c\\n\\t\"");
    json_is("\x1b[31m\x7f", "\"\\u001b[31m\\u007f\"");
    json_is("\xc2\x9b" "2J", "\"\\u009b2J\"");
    json_is("\xe2\x80\xae", "\"\\u202e\"");
    json_is("\xff\xc3", "\"\\ufffd\\ufffd\"");
    json_is("\xc3\xa9 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xf0\x9f\x98\x80\"");

    static const double exact[] = { 0.1, 1e22, -2.5, 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, 123456789 };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        struct buf b = { 0 };
        buf_json_double(&b, exact[i]);
        ck_assert(strtod(buf_str(&b), NULL) == exact[i]);
        buf_free(&b);
    }
    struct buf b = { 0 };
    buf_json_double(&b, NAN);
    buf_putc(&b, ' ');
    buf_json_double(&b, -INFINITY);
    buf_putc(&b, ' ');
    buf_json_double(&b, 0.1);
    ck_assert_str_eq(buf_str(&b), "null null 0.1");
    buf_free(&b);
}
END_TEST

START_TEST(text_decodes_strictly)
{
    static const struct {
        const char *s;
        size_t n;
        uint32_t cp;
    } row[] = {
        { "A", 1, 'A' },
        { "\xc3\xa9", 2, 0xe9 },
        { "\xe2\x82\xac", 3, 0x20ac },
        { "\xf0\x9f\x98\x80", 4, 0x1f600 },
        { "\xc0\x80", 1, UINT32_MAX },         /* overlong NUL */
        { "\xe0\x80\xaf", 1, UINT32_MAX },     /* overlong / */
        { "\xed\xa0\x80", 1, UINT32_MAX },     /* surrogate */
        { "\xf4\x90\x80\x80", 1, UINT32_MAX }, /* above 10FFFF */
        { "\xe2\x82", 1, UINT32_MAX },         /* cut */
        { "\x80", 1, UINT32_MAX },
        { "\xff", 1, UINT32_MAX },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t cp;
        ck_assert_uint_eq(text_decode(row[i].s, &cp), row[i].n);
        ck_assert_uint_eq(cp, row[i].cp);
    }
}
END_TEST

START_TEST(text_measures_columns)
{
    ck_assert_uint_eq(text_width("abc"), 3);
    ck_assert_uint_eq(text_width("\xc3\xa9"), 1);
    ck_assert_uint_eq(text_width("e\xcc\x81"), 1);         /* combining acute */
    ck_assert_uint_eq(text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two wide characters */
    ck_assert_uint_eq(text_width("\xff\xff"), 2);
    ck_assert_uint_eq(text_fit("abc", 2), 2);
    ck_assert_uint_eq(text_fit("\xe6\x97\xa5\xe6\x9c\xac", 3), 3);
    ck_assert_uint_eq(text_fit("e\xcc\x81x", 1), 3);
    ck_assert_uint_eq(text_fit("abc", 0), 0);
}
END_TEST

static void safe_is(const char *in, size_t cols, const char *want)
{
    struct buf b = { 0 };
    buf_puts(&b, "[");
    text_safe(&b, in, cols);
    ck_assert_str_eq(buf_str(&b) + 1, want);
    if (cols)
        ck_assert_uint_le(text_width(buf_str(&b) + 1), cols);
    buf_free(&b);
}

START_TEST(text_escapes_for_terminals)
{
    safe_is("a\n\tb", 0, "a\\n\\tb");
    safe_is("\x1b]0;x\x07", 0, "\\x1b]0;x\\x07");
    safe_is("\xc2\x9b" "1m", 0, "\\u009b1m");
    safe_is("\xe2\x80\xae" "abc", 0, "\\u202eabc");
    safe_is("\xfe" "a", 0, "\\xfea");
    safe_is("\xe6\x97\xa5", 0, "\xe6\x97\xa5");
    safe_is("abcdefgh", 8, "abcdefgh");
    safe_is("abcdefghi", 8, "abcdef..");
    safe_is("abc\x1b\x1b", 8, "abc..");
    safe_is("abc", 1, ".");
    safe_is("\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", 5, "\xe6\x97\xa5..");
}
END_TEST

START_TEST(text_words_for_numbers)
{
    char s[64];
    static const struct {
        uint64_t n;
        const char *words;
    } counts[] = { { 0, "0" }, { 999, "999" }, { 36000, "36,000" }, { 1234567, "1,234,567" },
                   { UINT64_MAX, "18,446,744,073,709,551,615" } };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        text_count(s, sizeof s, counts[i].n);
        ck_assert_str_eq(s, counts[i].words);
    }
    static const struct {
        double x;
        const char *words;
    } seconds[] = { { 0.1, "0.1 s" },   { 12.34, "12.3 s" },       { 250, "4 min 10 s" },
                    { 59.97, "1 min 00 s" }, { 7380, "2 h 03 min" }, { 3599.7, "1 h 00 min" },
                    { NAN, "?" } };
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        text_seconds(s, sizeof s, seconds[i].x);
        ck_assert_str_eq(s, seconds[i].words);
    }
    static const struct {
        double x;
        const char *words;
    } numbers[] = { { 100000, "100000" }, { 0.123456, "0.1235" }, { -0.0, "0" }, { NAN, "-" },
                    { 1e6, "1e+06" },     { 123456.7, "123457" }, { 1e-9, "1e-09" } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text_number(s, sizeof s, numbers[i].x);
        ck_assert_str_eq(s, numbers[i].words);
    }
}
END_TEST

START_TEST(text_reads_numbers)
{
    static const struct {
        const char *s;
        double x; /* NaN: refused */
    } row[] = { { "1.5e3", 1500 }, { "-7", -7 },  { "+.5", 0.5 },   { "5.", 5 },    { "", NAN },
                { ".", NAN },      { "1e", NAN }, { "0x10", NAN },  { "inf", NAN }, { "nan", NAN },
                { "1 ", NAN },     { " 1", NAN }, { "1e999", NAN }, { "1,5", NAN } };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double x = NAN;
        ck_assert_int_eq(text_double(row[i].s, strlen(row[i].s), &x), !isnan(row[i].x));
        ck_assert(isnan(row[i].x) || x == row[i].x);
    }
    double x;
    ck_assert(text_double("12345", 2, &x) && x == 12); /* exactly len bytes */
    char *digits = malloc(1000);
    memset(digits, '1', 1000);
    digits[1] = '.';
    ck_assert(text_double(digits, 1000, &x) && fabs(x - 10.0 / 9) < 1e-15);
    free(digits);

    ck_assert(text_scaled("64k", &x) && x == 64000);
    ck_assert(text_scaled("1.5M", &x) && x == 1.5e6);
    ck_assert(text_scaled("4GB", &x) && x == 4.0 * (1 << 30));
    ck_assert(text_scaled("512MiB", &x) && x == 512.0 * (1 << 20));
    ck_assert(text_scaled("90%", &x) && x == 0.9);
    ck_assert(text_scaled("100B", &x) && x == 100);
    ck_assert(!text_scaled("", &x) && !text_scaled("k", &x) && !text_scaled("4X", &x));
}
END_TEST

START_TEST(text_measures_distance)
{
    ck_assert_uint_eq(text_distance("fit", "fit", 3), 0);
    ck_assert_uint_eq(text_distance("kitten", "sitting", 5), 3);
    ck_assert_uint_eq(text_distance("kitten", "sitting", 2), 3); /* limit + 1 */
    ck_assert_uint_eq(text_distance("", "abc", 5), 3);
    ck_assert_uint_eq(text_span("pcg(rank=1,2),lbfgs", ","), 13);
    ck_assert_uint_eq(text_span("'a, b' c", " "), 6);
    ck_assert_uint_eq(text_span("", ","), 0);
    ck_assert_uint_eq(text_span("f(\"),\"),x", ","), 7);
    ck_assert_uint_eq(text_span("open(1,2", ","), 8);
    ck_assert_uint_eq(text_span("a)", ")"), 1);
    ck_assert_uint_eq(text_distance("a", "abcdefgh", 2), 3);
}
END_TEST

START_TEST(log_writes_lines)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "log");
    log_info("nowhere");
    log_open(path);
    log_info("cg: %d steps", 12);
    log_open(NULL);
    log_info("nowhere again");
    FILE *f = fopen(path, "r");
    ck_assert(f != NULL);
    char line[200];
    ck_assert(fgets(line, sizeof line, f) != NULL);
    ck_assert(strstr(line, "cg: 12 steps\n") != NULL);
    ck_assert(fgets(line, sizeof line, f) == NULL);
    fclose(f);
    support_rmdir(dir);
}
END_TEST

/* The first line of a file, in a buffer that the next call uses again. */
static const char *first_line(const char *path)
{
    static char line[80];
    FILE *f = fopen(path, "r");

    line[0] = '\0';
    ck_assert_msg(f && fgets(line, sizeof line, f), "%s", path);
    fclose(f);
    return line;
}

static int files_in(const char *dir)
{
    DIR *d = opendir(dir);
    int n = -2; /* . and .. */

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* The rules of the XDG base directory specification. */
START_TEST(dirs_follow_the_specification)
{
    static const char *const variables[] = { "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                             "XDG_CACHE_HOME", "XDG_RUNTIME_DIR" };
    static const char *const defaults[] = {"/h/.config/gpdesk/x", "/h/.local/share/gpdesk/x",
                                           "/h/.local/state/gpdesk/x", "/h/.cache/gpdesk/x", NULL};
    struct buf b = { 0 };

    for (enum dirs d = DIRS_CONFIG; d <= DIRS_RUNTIME; d++) {
        setenv("HOME", "/h", 1);
        setenv(variables[d], "/over/there", 1);
        ck_assert(dirs_path(d, NULL, &b));
        ck_assert_str_eq(buf_str(&b), "/over/there/gpdesk");
        buf_clear(&b);
        setenv(variables[d], "relative", 1);
        ck_assert_int_eq(dirs_path(d, "x", &b), defaults[d] != NULL);
        ck_assert_str_eq(buf_str(&b), defaults[d] ? defaults[d] : "");
        buf_clear(&b);
        unsetenv(variables[d]);
        unsetenv("HOME");
        ck_assert(!dirs_path(d, "x", &b) && b.len == 0);
    }
    buf_free(&b);
}
END_TEST

START_TEST(dirs_are_made)
{
    char *dir = support_tmpdir();
    struct err err = { 0 };
    struct stat st;

    ck_assert_int_eq(dirs_make(support_path(dir, "a//b/c/"), &err), ST_OK);
    ck_assert(stat(support_path(dir, "a/b/c"), &st) == 0 && (st.st_mode & 0777) == 0700);
    ck_assert_int_eq(dirs_make_parent(support_path(dir, "d/e/file"), &err), ST_OK);
    ck_assert(stat(support_path(dir, "d/e"), &st) == 0 && S_ISDIR(st.st_mode));
    ck_assert(stat(support_path(dir, "d/e/file"), &st) != 0);
    ck_assert_int_eq(outfile_put(support_path(dir, "plain"), 0600, "x", 1, &err), ST_OK);
    ck_assert_int_eq(dirs_make(support_path(dir, "plain/sub"), &err), ST_IO);
    ck_assert(strstr(err.msg, "cannot be created"));
    ck_assert_int_eq(dirs_make_parent("file", &err), ST_OK);
    support_rmdir(dir);
}
END_TEST

START_TEST(outfile_is_whole_or_as_before)
{
    char *dir = support_tmpdir(), *path = strdup(support_path(dir, "out"));
    struct outfile f;
    struct err err = { 0 };
    struct stat st;
    ck_assert_int_eq(outfile_put(path, 0777, "old\n", 4, &err), ST_OK);
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 0100));
    chmod(path, 0640);
    ck_assert_int_eq(outfile_open(&f, path, 0666, &err), ST_OK);
    ck_assert_int_eq(outfile_write(&f, "new\n", 4, &err), ST_OK);
    ck_assert_str_eq(first_line(path), "old\n"); /* until the commit */
    outfile_abort(&f);
    ck_assert_str_eq(first_line(path), "old\n");
    ck_assert_int_eq(files_in(dir), 1);
    ck_assert_int_eq(outfile_put(path, 0666, "new\n", 4, &err), ST_OK);
    ck_assert_str_eq(first_line(path), "new\n");
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
    ck_assert_int_eq(outfile_put(support_path(dir, "none/out"), 0666, "x", 1, &err), ST_IO);
    ck_assert_str_eq(err.name, "write");
    free(path);
    support_rmdir(dir);
}
END_TEST

START_TEST(outfile_follows_links_and_leaves_devices)
{
    char *dir = support_tmpdir(), *path = strdup(support_path(dir, "out")), got[8] = "";
    char *link = strdup(support_path(dir, "link")), *pipe = strdup(support_path(dir, "pipe"));
    char *made = strdup(support_path(dir, "made"));
    struct err err = { 0 };
    struct stat st;
    ck_assert_int_eq(outfile_put(path, 0666, "old\n", 4, &err), ST_OK);
    ck_assert_int_eq(symlink("out", link), 0);
    ck_assert_int_eq(outfile_put(link, 0666, "new\n", 4, &err), ST_OK);
    ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    ck_assert_str_eq(first_line(path), "new\n");

    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(outfile_put(pipe, 0666, "x", 1, &err), ST_IO);
    ck_assert_str_eq(err.name, "no-reader");
    const int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    ck_assert_int_eq(outfile_put(pipe, 0666, "abc", 3, &err), ST_OK);
    ck_assert_int_eq(read(reader, got, sizeof got), 3);
    ck_assert_str_eq(got, "abc");
    ck_assert_int_eq(outfile_put(made, 0666, "def", 3, &err), ST_OK);
    ck_assert_int_eq(outfile_publish(made, pipe, &err), ST_OK);
    ck_assert_int_eq(read(reader, got, sizeof got), 3);
    ck_assert_str_eq(got, "def");
    close(reader);
    ck_assert(stat(pipe, &st) == 0 && S_ISFIFO(st.st_mode));
    ck_assert_int_eq(outfile_publish(made, link, &err), ST_OK);
    ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    ck_assert_str_eq(first_line(path), "def");
    if (access("/dev/full", W_OK) == 0) {
        ck_assert_int_eq(outfile_put("/dev/full", 0666, "x", 1, &err), ST_IO);
        ck_assert_str_eq(err.name, "disk");
        ck_assert(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    }
    free(path), free(link), free(pipe), free(made);
    support_rmdir(dir);
}
END_TEST

START_TEST(support_generates_the_golden_numbers)
{
    struct splitmix g;
    splitmix_init(&g, 42);
    ck_assert_uint_eq(splitmix_next(&g) >> 32,
                      (uint64_t)support_golden_scalar("splitmix_check_raw", "hi32"));
    splitmix_init(&g, 42);
    static const char *const u[] = { "u0", "u1", "u2" }, *const nrm[] = { "n0", "n1", "n2" };
    for (int i = 0; i < 3; i++)
        ck_assert(support_close(splitmix_uniform(&g),
                                support_golden_scalar("splitmix_check", u[i]), 1e-15));
    splitmix_init(&g, 42);
    for (int i = 0; i < 3; i++)
        ck_assert(support_close(splitmix_normal(&g),
                                support_golden_scalar("splitmix_check_normal", nrm[i]), 1e-14));
}
END_TEST

START_TEST(support_reads_golden_files)
{
    size_t rows, cols, n;
    double *x = support_golden("kern_X_d3", &rows, &cols);
    ck_assert_uint_eq(rows, 12);
    ck_assert_uint_eq(cols, 3);
    free(x);
    char **s = support_golden_strings("sparse_strings", &n);
    ck_assert_uint_eq(n, 60);
    ck_assert_uint_eq(strlen(s[59]), 100);
    support_strings_free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base");
    const struct {
        const char *name;
        const TTest *test[8];
    } group[] = {
        {.name = "status",
         .test = {status_has_names_and_words, status_fills_err, status_cuts_at_whole_characters}},
        {.name = "mem",
         .test = {mem_checks_overflow, spare_workspaces, mem_aligned_is,
                  mem_grow_keeps_what_was_there, mem_fails_on_request, mem_knows_the_machine}},
        {.name = "dirs", .test = {dirs_follow_the_specification, dirs_are_made}},
        {.name = "outfile",
         .test = {outfile_is_whole_or_as_before, outfile_follows_links_and_leaves_devices}},
        {.name = "buf", .test = {buf_appends, buf_remembers_failure, buf_writes_json}},
        {.name = "text",
         .test = {text_decodes_strictly, text_measures_columns, text_escapes_for_terminals,
                  text_words_for_numbers, text_reads_numbers, text_measures_distance}},
        {.name = "log", .test = {log_writes_lines}},
        {.name = "support",
         .test = {support_generates_the_golden_numbers, support_reads_golden_files}},
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_set_timeout(tc, 30);
        for (size_t j = 0; j < 8 && group[i].test[j]; j++)
            tcase_add_test(tc, group[i].test[j]);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
