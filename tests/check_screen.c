/* tests/check_screen.c -- the layout at every size, wrapping, and the log as data. */
#include "support.h"

#include "base/buf.h"
#include "base/text.h"
#include "ui/requests.h"
#include "ui/keymap.h"
#include "ui/logbook.h"
#include "ui/lifecycle.h"
#include "ui/screen.h"

#include <check.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
                const struct layout_wish w = {.kind = (enum layout_kind)((rows + cols) % 5),
                                              .prompt_rows = 3,
                                              .log_rows = news,
                                              .zoom = news == 2 && rows % 2,
                                              .full = news == 5 && rows % 3 == 0,
                                              .dx = cols % 7 * 12 - 20,
                                              .dy = rows % 5 * 6 - 8};
                screen_layout(rows, cols, &w, &l);
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
    struct layout_wish w = { .prompt_rows = 1 };
    ck_assert_int_eq(screen_layout(24, 80, &w, &l), LAYOUT_MAIN);
    ck_assert(!l.frames);
    ck_assert_int_eq(l.main.h, 14);
    ck_assert_int_eq(l.log.h, 2);
    ck_assert_int_eq(screen_layout(40, 120, &w, &l), LAYOUT_TWO);
    ck_assert(l.frames && l.list.h && l.inspector.h && l.log.h && !l.second.h && !l.notes.h);
    ck_assert_int_eq(screen_layout(60, 200, &w, &l), LAYOUT_THREE);
    ck_assert(l.second.h && l.notes.h);
    w.zoom = true;
    screen_layout(60, 200, &w, &l);
    ck_assert(!l.list.h && l.main.w == 200 && l.header.h == 1);
    w.full = true;
    screen_layout(60, 200, &w, &l);
    ck_assert(l.main.w == 200 && l.header.h == 0);
}
END_TEST

/* A layout that is asked for comes, or the next smaller where there is no room. */
START_TEST(layout_as_asked)
{
    struct layout l;
    struct layout_wish w = { .kind = LAYOUT_TWO, .prompt_rows = 1 };
    ck_assert_int_eq(screen_layout(24, 80, &w, &l), LAYOUT_TWO);
    ck_assert(l.list.h && l.inspector.h && l.log.h && l.main.w >= 40);
    ck_assert_int_eq(screen_layout(23, 80, &w, &l), LAYOUT_MAIN);
    w.kind = LAYOUT_THREE;
    ck_assert_int_eq(screen_layout(40, 130, &w, &l), LAYOUT_THREE);
    ck_assert(l.second.h >= 8 && l.second.w >= 40);
    ck_assert_int_eq(screen_layout(40, 100, &w, &l), LAYOUT_TWO);
    w.kind = LAYOUT_MAIN;
    ck_assert_int_eq(screen_layout(60, 200, &w, &l), LAYOUT_MAIN);
    ck_assert(!l.frames && l.main.w == 200);
    ck_assert_int_eq(screen_layout_named("three"), LAYOUT_THREE);
    ck_assert_int_eq(screen_layout_named("nonsense"), LAYOUT_AUTO);
    w = (struct layout_wish){ .kind = LAYOUT_TWO, .prompt_rows = 1, .dx = 10, .dy = 3 };
    struct layout plain;
    screen_layout(40, 120, &w, &l);
    w.dx = w.dy = 0;
    screen_layout(40, 120, &w, &plain);
    ck_assert_int_eq(l.list.w, plain.list.w + 10);
    ck_assert_int_eq(l.log.h, plain.log.h + 3);
}
END_TEST

/* Keys. */

static void key_is(const char *typed, const char *canonical)
{
    char name[BIND_KEY_MAX];
    struct err err;
    if (!canonical) {
        ck_assert_msg(binding_key(typed, name, &err) == ST_USAGE, "%s is no key", typed);
        return;
    }
    ck_assert_msg(binding_key(typed, name, &err) == ST_OK, "%s", typed);
    ck_assert_str_eq(name, canonical);
}

START_TEST(key_names)
{
    static const struct { int key; const char *name;
    } keys[] = {
        {'z', "z"},
        {' ', "Space"},
        {11, "Ctrl-k"},
        {'x' | UK_ALT, "Alt-x"},
        {UK_F5, "F5"},
        {UK_UP | UK_SHIFT, "Shift-Up"},
        {UK_BACKTAB, "Shift-Tab"},
        {UK_ESC, "Esc"},
        {UK_LEFT | UK_CTRL | UK_ALT, "Ctrl-Alt-Left"},
        {0xe9, "\xc3\xa9"},
        {'3' | UK_ALT, "Alt-3"},
        {UK_NONE, ""},
    };
    char name[BIND_KEY_MAX];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        keymap_name(keys[i].key, name);
        ck_assert_str_eq(name, keys[i].name);
        if (*name)
            key_is(name, name);                      /* what the screen calls it, bind takes */
    }
    key_is("c-K", "Ctrl-k");
    key_is("^k", "Ctrl-k");
    key_is("^", "^");
    key_is("M-x", "Alt-x");
    key_is("ctrl-alt-f2", "Ctrl-Alt-F2");
    key_is("pgup", "PgUp");
    key_is("shift-a", "A");
    key_is("A", "A");
    key_is("-", "-");
    key_is("abc", NULL);
    key_is("", NULL);
    key_is("\x01", NULL);
    key_is("Ctrl-", NULL);
}
END_TEST

/* The tables themselves: every key has its canonical name, every line parses, nothing is double. */
static void rows_are_sound(const struct keyrow *r, const char *where)
{
    char name[BIND_KEY_MAX], key[BIND_KEY_MAX];
    for (; r && r->keys; r++) {
        ck_assert_msg(r->name && *r->name && strlen(r->name) < 24 && r->does && *r->does, "%s: %s",
                      where, r->keys);
        ck_assert_msg((r->line != NULL) != (r->act != ACT_NONE), "%s %s: a line or an act", where,
                      r->keys);
        for (const char *p = r->keys; *p; p += strspn(p, " ")) {
            snprintf(key, sizeof key, "%.*s", (int)strcspn(p, " "), p);
            ck_assert_msg(binding_key(key, name, NULL) == ST_OK && strcmp(name, key) == 0, "%s: %s",
                          where, key);
            p += strcspn(p, " ");
        }
    }
}

START_TEST(key_tables)
{
    struct buf b = { 0 };
    rows_are_sound(keymap_both, "both");
    rows_are_sound(keymap_view, "view");
    rows_are_sound(keymap_prompt, "prompt");
    for (size_t i = 0; i < N_VIEWS; i++)
        rows_are_sound(view_table[i]->keys, view_table[i]->title);
    keymap_conflicts(&b);
    ck_assert_str_eq(buf_str(&b), "");
    ck_assert_int_eq(binding_set(BIND_VIEW, "z", "runs", NULL), ST_OK);
    keymap_conflicts(&b);
    ck_assert(strstr(buf_str(&b), "view z now runs 'runs'"));
    buf_free(&b);
    bindings_clear_for_tests();
}
END_TEST

START_TEST(keys_as_bound_now)
{
    struct view v = { .ops = &runs_view };
    struct err err;
    const struct keyrow *zoom = keymap_find(&v, false, "z");
    struct buf b = { 0 };
    ck_assert_ptr_nonnull(zoom);
    ck_assert_int_eq(zoom->act, ACT_ZOOM);
    ck_assert_ptr_null(keymap_find(&v, true, "z"));           /* at the prompt it is typed */
    ck_assert_ptr_nonnull(keymap_find(&v, true, "F1"));
    ck_assert_int_eq(keymap_find(&v, false, "s")->act, ACT_SORT);
    v.ops = &rank_view;
    ck_assert_int_eq(keymap_find(&v, false, "s")->act, ACT_OWN_2);
    ck_assert_int_eq(keymap_find(&v, false, "x")->act, ACT_LOGX);
    v.ops = &log_view;
    ck_assert_ptr_null(keymap_find(&v, false, "x"));          /* no axes there */
    keymap_keys(zoom, &v, false, &b);
    ck_assert_str_eq(buf_str(&b), "z");
    ck_assert_int_eq(binding_set(BIND_VIEW, "z", "compare .", &err), ST_OK);
    ck_assert_int_eq(binding_set(BIND_VIEW, "F9", "@zoom", &err), ST_OK);
    buf_clear(&b);
    keymap_keys(zoom, &v, false, &b);
    ck_assert_str_eq(buf_str(&b), "F9");
    ck_assert_ptr_eq(keymap_by_name(&v, "zoom"), zoom);
    ck_assert_int_eq(binding_set(BIND_PROMPT, "a", "fit", &err),
                     ST_USAGE); /* then nobody could type */
    ck_assert_int_eq(binding_set(BIND_PROMPT, "Tab", "fit", &err), ST_USAGE);
    ck_assert_int_eq(binding_set(BIND_BOTH, "F8", "runs", &err), ST_OK);
    ck_assert_int_eq(binding_set(BIND_VIEW, "F8", NULL, &err), ST_OK); /* one focus lets go */
    ck_assert_ptr_null(binding_find(BIND_VIEW, "F8"));
    ck_assert_str_eq(binding_find(BIND_PROMPT, "F8"), "runs");
    bindings_clear_for_tests();
    buf_free(&b);
}
END_TEST

START_TEST(palette_search)
{
    struct palette p = { 0 };
    struct err err;
    size_t order[8];
    ck_assert_int_gt(palette_score("fit", "fit"), palette_score("fit", "fitting"));
    ck_assert_int_gt(palette_score("vr", "view residual"), 0);
    ck_assert_int_gt(palette_score("res", "view residual"),
                     palette_score("res", "predict everything else"));
    ck_assert_int_eq(palette_score("zz", "fit"), 0);
    ck_assert_int_eq(palette_score("tif", "fit"), 0);         /* in order */
    ck_assert_int_gt(palette_score("runs view", "view runs"), 0);  /* words in any order */
    palette_add(&p, "predict", "means and sd of new rows", "predict ", "", 0, &err);
    palette_add(&p, "plot residual", "convergence of a fit", "plot residual", "p", 0, &err);
    palette_add(&p, "fit", "fit the model", "fit ", "", 0, &err);
    palette_add(&p, "zoom", "this pane alone", "", "z", ACT_ZOOM, &err);
    ck_assert_uint_eq(palette_match(&p, "", order), 4);
    ck_assert_uint_eq(order[0], 0);                           /* the list's own order */
    ck_assert_uint_ge(palette_match(&p, "fit", order), 1);
    ck_assert_uint_eq(order[0], 2);
    palette_match(&p, "z", order);
    ck_assert_uint_eq(order[0], 3);                           /* by its key */
    palette_match(&p, "p", order);
    ck_assert_uint_eq(order[0], 1);
    ck_assert_uint_eq(palette_match(&p, "convergence", order), 1);
    ck_assert_uint_eq(order[0], 1);                           /* by a word of the description */
    ck_assert_uint_eq(palette_match(&p, "qqqq", order), 0);
    p.words = true; /* sentences: by words as they stand */
    ck_assert_uint_eq(palette_match(&p, "plt", order), 0);
    ck_assert_uint_eq(palette_match(&p, "resid plot", order), 1);
    palette_free(&p);
}
END_TEST

START_TEST(clipboard_is_base64)
{
    struct buf b = { 0 };
    ck_assert(requests_clipboard("Man", &b));                    /* RFC 4648's own examples */
    ck_assert_str_eq(buf_str(&b), "\033]52;c;TWFu\007");
    buf_clear(&b);
    ck_assert(requests_clipboard("fooba", &b));
    ck_assert_str_eq(buf_str(&b), "\033]52;c;Zm9vYmE=\007");
    buf_clear(&b);
    ck_assert(requests_clipboard("f", &b));
    ck_assert_str_eq(buf_str(&b), "\033]52;c;Zg==\007");
    char *big = malloc(80001);
    memset(big, 'x', 80000);
    big[80000] = '\0';
    buf_clear(&b);
    ck_assert(!requests_clipboard(big, &b));
    free(big);
    buf_free(&b);
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

/* curses leaves handlers that end the process from inside a signal. */
static void of_curses(int sig)
{
    (void)sig;
    _exit(1);
}

START_TEST(ctrl_c_is_nothing_to_a_program_that_ends)
{
    signal(SIGINT, of_curses);
    signal(SIGTERM, of_curses);
    signal(SIGTSTP, of_curses);
    ck_assert_int_ge(lifecycle_signal_open(), 0);
    raise(SIGINT);
    ck_assert_int_eq(lifecycle_signal_next(), SIGINT);
    lifecycle_signal_close();
    raise(SIGINT); /* ignored: we are still here */
    raise(SIGTSTP);
    struct sigaction now;
    ck_assert_int_eq(sigaction(SIGTERM, NULL, &now), 0);
    ck_assert_ptr_eq((void *)now.sa_handler, (void *)SIG_DFL);
    ck_assert_int_ge(lifecycle_signal_open(), 0); /* from lines to the screen */
    raise(SIGINT);
    ck_assert_int_eq(lifecycle_signal_next(), SIGINT);
    lifecycle_signal_close();
}
END_TEST

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
    tcase_add_test(t, layout_as_asked);
    tcase_add_test(t, key_names);
    tcase_add_test(t, key_tables);
    tcase_add_test(t, keys_as_bound_now);
    tcase_add_test(t, palette_search);
    tcase_add_test(t, clipboard_is_base64);
    tcase_add_test(t, wrapping);
    tcase_add_test(t, ctrl_c_is_nothing_to_a_program_that_ends);
    tcase_add_test(t, log_is_bounded_safe_and_counts);
    suite_add_tcase(s, t);
    return support_run(s);
}
