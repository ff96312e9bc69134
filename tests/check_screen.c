/* tests/check_screen.c -- the layout at every size, wrapping, and the log as data. */
#include "support.h"

#include "base/buf.h"
#include "base/text.h"
#include "ui/logbook.h"
#include "ui/screen.h"

#include <check.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void inside(const struct canvas *c, int rows, int cols, const char *what)
{
    ck_assert_msg(c->h == 0 || (c->y >= 0 && c->x >= 0 && c->h > 0 && c->w > 0 &&
                                c->y + c->h <= rows && c->x + c->w <= cols),
                  "%s at %d,%d %dx%d leaves a screen of %dx%d", what, c->y, c->x, c->h, c->w, rows,
                  cols);
}

/* Strips that no other may touch; panes share their edges, so they are only held to the screen. */
START_TEST(layout_fits_every_size)
{
    for (int rows = 1; rows <= 70; rows++)
        for (int cols = 1; cols <= 220; cols++)
            for (int news = -1; news <= 6; news += 3) {
                struct layout l;
                screen_layout(rows, cols, 3, news, news == 2 && rows % 2, &l);
                const struct canvas *strip[] = { &l.header, &l.tabs, &l.rule1, &l.rule2, &l.rule3,
                                                 &l.verdict, &l.job, &l.prompt };
                const struct canvas *pane[] = { &l.main, &l.log, &l.list, &l.second, &l.inspector,
                                                &l.notes };
                int used[70] = { 0 };
                for (size_t i = 0; i < 8; i++) {
                    inside(strip[i], rows, cols, "a strip");
                    for (int y = strip[i]->y; y < strip[i]->y + strip[i]->h; y++)
                        ck_assert_msg(used[y]++ == 0, "two strips in row %d of %dx%d", y, rows,
                                      cols);
                }
                for (size_t i = 0; i < 6; i++) {
                    inside(pane[i], rows, cols, "a pane");
                    for (int y = pane[i]->y; y < pane[i]->y + pane[i]->h; y++)
                        ck_assert_msg(used[y] == 0, "a pane over a strip in row %d of %dx%d", y,
                                      rows, cols);
                }
                ck_assert_int_ge(l.prompt.h, 1);
                ck_assert_int_eq(l.prompt.y + l.prompt.h, rows);
                ck_assert(rows < 8 || cols < 40 || l.main.h > 0);
                ck_assert(rows >= 5 || l.job.h == 0);
            }
}
END_TEST

START_TEST(layout_of_the_three_designs)
{
    struct layout l;
    screen_layout(24, 80, 1, 0, false, &l);
    ck_assert(!l.frames);
    ck_assert_int_eq(l.main.h, 14);
    ck_assert_int_eq(l.log.h, 2);
    screen_layout(40, 120, 1, 0, false, &l);
    ck_assert(l.frames && l.list.h && l.inspector.h && l.log.h && !l.second.h && !l.notes.h);
    screen_layout(60, 200, 1, 0, false, &l);
    ck_assert(l.second.h && l.notes.h);
    screen_layout(60, 200, 1, 0, true, &l);
    ck_assert(!l.list.h && l.main.w == 200);
}
END_TEST

struct lines { char text[64][128]; size_t n; };

static void keep(void *ctx, size_t i, const char *line, size_t bytes)
{
    struct lines *l = ctx;
    if (i < 64 && bytes < 128) {
        memcpy(l->text[i], line, bytes);
        l->text[i][bytes] = '\0';
        l->n = i + 1;
    }
}

START_TEST(wrapping)
{
    struct lines l = { .n = 0 };
    ck_assert_uint_eq(draw_wrap("one two three four", 9, 0, keep, &l), 3);
    ck_assert_str_eq(l.text[0], "one two");
    ck_assert_str_eq(l.text[1], "three");
    ck_assert_str_eq(l.text[2], "four");
    ck_assert_uint_eq(draw_wrap("", 9, 0, keep, &l), 1);
    ck_assert_uint_eq(draw_wrap("aaaaaaaaaaaaaaaaaaaa", 9, 0, keep, &l), 3);
    ck_assert_uint_eq(draw_wrap("日本語日本語", 5, 0, keep, &l), 3);
    ck_assert_str_eq(l.text[0], "日本");
    ck_assert_uint_eq(draw_wrap("日本", 1, 0, NULL, NULL), 2);   /* no room: ends all the same */
    for (size_t cols = 1; cols < 30; cols++) {
        memset(&l, 0, sizeof l);
        draw_wrap("a somewhat longer line, with wörds of several lengths", cols, 2, keep, &l);
        for (size_t i = 0; i < l.n; i++)
            ck_assert_uint_le(text_width(l.text[i]), cols);
    }
}
END_TEST

START_TEST(log_is_bounded_safe_and_counts)
{
    struct logbook l = { 0 };
    logbook_add(&l, LOG_RESULT, "two\nlines\n");
    ck_assert_uint_eq(l.n, 2);
    ck_assert_uint_eq(logbook_last_rows(&l, 40), 2);
    logbook_add(&l, LOG_WARNING, "same");
    logbook_add(&l, LOG_WARNING, "same");
    logbook_add(&l, LOG_WARNING, "same");
    ck_assert_uint_eq(l.n, 3);
    ck_assert_uint_eq(logbook_at(&l, 2)->repeat, 3);
    logbook_add(&l, LOG_COMMAND, "gpdesk> fit");
    logbook_add(&l, LOG_COMMAND, "gpdesk> fit");
    ck_assert_uint_eq(l.n, 5);
    logbook_add(&l, LOG_ERROR, "evil \033]0;x\007 \xff name");
    const char *s = logbook_at(&l, 5)->text;
    for (; *s; s++)
        ck_assert((unsigned char)*s >= 0x20 && *s != 0x7f);
    for (int i = 0; i < LOGBOOK_MAX + 100; i++)
        logbook_add(&l, LOG_RESULT, i % 2 ? "odd" : "even");
    ck_assert_uint_eq(l.n, LOGBOOK_MAX);
    ck_assert_str_eq(logbook_at(&l, LOGBOOK_MAX - 1)->text, "odd");
    ck_assert_ptr_null(logbook_at(&l, LOGBOOK_MAX));
    logbook_free(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("screen");
    TCase *t = tcase_create("layout");
    setlocale(LC_ALL, "C.UTF-8");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, layout_fits_every_size);
    tcase_add_test(t, layout_of_the_three_designs);
    tcase_add_test(t, wrapping);
    tcase_add_test(t, log_is_bounded_safe_and_counts);
    suite_add_tcase(s, t);
    return support_run(s);
}
