/* tests/check_input.c -- the demultiplexer: keys, characters and pastes split anywhere. */
#include "support.h"

#include "ui/input.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the bytes give, as words; split: feed the first `split` bytes first. */
static void decode(const char *s, size_t n, size_t split, char *out, size_t len)
{
    struct input *in = input_new();
    struct input_event e;
    ck_assert_ptr_nonnull(in);
    out[0] = '\0';
    for (int part = 0; part < 2; part++) {
        input_feed(in, part ? s + split : s, part ? n - split : split);
        if (part)
            input_expire(in);
        while (input_next(in, &e)) {
            size_t k = strlen(out);
            if (e.kind == INPUT_PASTE)
                snprintf(out + k, len - k, "paste(%s) ", e.bytes);
            else if (e.kind == INPUT_MOUSE)
                snprintf(out + k, len - k, "mouse(%d,%d,%d%s) ", e.button, e.x, e.y,
                         e.release ? ",up" : "");
            else if (e.kind == INPUT_REPLY)
                snprintf(out + k, len - k, "reply(%s) ", e.bytes + 1);
            else
                snprintf(out + k, len - k, "%x ", (unsigned)e.key);
        }
    }
    input_free(in);
}

static const struct { const char *bytes, *words; } cases[] = {
    { "a", "61 " }, { "\r", "d " }, { "\003", "3 " }, { "\177", "7f " },
    { "\xe6\x97\xa5", "65e5 " }, { "\xf0\x9f\x98\x80", "1f600 " }, { "\xc3\xa9x", "e9 78 " },
    { "\xff" "a", "61 " },                      /* not UTF-8: dropped */
    { "\xed\xa0\x80" "a", "61 " },              /* a surrogate */
    { "\033[A", "200000 " }, { "\033OA", "200000 " }, { "\033[D", "200002 " },
    { "\033[1;5C", "2200003 " }, { "\033[1;3A", "1200000 " }, { "\033[3~", "200007 " },
    { "\033[5~", "200008 " }, { "\033[6~", "200009 " }, { "\033[H", "200004 " },
    { "\033[4~", "200005 " }, { "\033[Z", "20000a " },
    { "\033OP", "20000b " }, { "\033[11~", "20000b " }, { "\033[[A", "20000b " },
    { "\033[17~", "200010 " }, { "\0331", "1000031 " }, { "\033h", "1000068 " },
    { "\033", "1b " }, { "\033\033[A", "1200000 " }, { "\033[", "100005b " },
    { "\033\003", "1b 3 " }, { "\033[?1;2c", "reply([?1;2c) " }, { "\033[?997;1n", "" },
    { "\033]11;rgb:0000/0000/0000\033\\a", "61 " }, { "\033]0;x\aa", "61 " },
    { "\033[<64;10;5M", "mouse(64,9,4) " }, { "\033[<0;1;1m", "mouse(0,0,0,up) " },
    { "\033[200~fit\033[201~", "paste(fit) " },
    { "\033[200~a\r\nb\rc\nd\n\033[201~e", "paste(a\nb\nc\nd) 65 " },
    { "\033[200~a\tb\033[Ac\001\033[201~", "paste(a b?[Ac?) " },
    { "\033[200~\xe6\x97\xa5\xff\033[201~", "paste(\xe6\x97\xa5?) " },
    { "\033[200~rm\033[201", "paste(rm?[201) " }, /* the end mark never came */
    { "\033[12\rx", "d 78 " },                   /* a sequence broken off by a key */
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(decodes_at_every_split)
{
    const char *s = cases[_i].bytes;
    const size_t n = strlen(s);
    char got[512];
    for (size_t split = 0; split <= n; split++) {
        decode(s, n, split, got, sizeof got);
        ck_assert_msg(strcmp(got, cases[_i].words) == 0, "case %d split at %zu: '%s', not '%s'", _i,
                      split, got, cases[_i].words);
    }
}
END_TEST

START_TEST(bytes_of_a_key_are_whole)
{
    struct input *in = input_new();
    struct input_event e;
    input_feed(in, "\xe6", 1);
    ck_assert(!input_next(in, &e));
    ck_assert_int_gt(input_hold_ms(in), 0);
    input_feed(in, "\x97\xa5\033[1", 5);
    ck_assert(input_next(in, &e));
    ck_assert_str_eq(e.bytes, "\xe6\x97\xa5");
    ck_assert_uint_eq(e.n, 3);
    ck_assert(!input_next(in, &e));
    input_feed(in, "~", 1);
    ck_assert(input_next(in, &e));
    ck_assert_str_eq(e.bytes, "\033[1~");
    ck_assert_int_eq(e.key, UK_HOME);
    ck_assert_int_eq(input_hold_ms(in), -1);
    input_free(in);
}
END_TEST

START_TEST(lone_escape_waits_50_ms)
{
    struct input *in = input_new();
    struct input_event e;
    input_feed(in, "\033", 1);
    ck_assert(!input_next(in, &e));
    ck_assert_int_eq(input_hold_ms(in), 50);
    input_expire(in);
    ck_assert(input_next(in, &e));
    ck_assert_int_eq(e.key, UK_ESC);
    ck_assert(!input_next(in, &e));
    input_feed(in, "b", 1);
    ck_assert(input_next(in, &e));
    ck_assert_int_eq(e.key, 'b');
    input_free(in);
}
END_TEST

/* 100 KB in pieces as a terminal delivers them; the end mark in two of them. */
START_TEST(large_paste)
{
    struct input *in = input_new();
    struct input_event e;
    const size_t n = 100000;
    char *text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i % 26);
    text[n] = '\0';
    input_feed(in, "\033[200~", 6);
    for (size_t at = 0; at < n; at += 4095) {
        size_t k = n - at < 4095 ? n - at : 4095;
        input_feed(in, text + at, k);
        ck_assert(!input_next(in, &e));
    }
    input_feed(in, "\033[2", 3);
    ck_assert(!input_next(in, &e));
    input_feed(in, "01~z", 4);
    ck_assert(input_next(in, &e));
    ck_assert_int_eq(e.kind, INPUT_PASTE);
    ck_assert_uint_eq(e.n, n);
    ck_assert_str_eq(e.bytes, text);
    ck_assert(!e.truncated);
    ck_assert(input_next(in, &e));
    ck_assert_int_eq(e.key, 'z');
    free(text);
    input_free(in);
}
END_TEST

START_TEST(endless_paste_is_cut)
{
    struct input *in = input_new();
    struct input_event e;
    char block[65536];
    memset(block, 'x', sizeof block);
    input_feed(in, "\033[200~", 6);
    for (int i = 0; i < 20; i++) {
        input_feed(in, block, sizeof block);
        ck_assert(!input_next(in, &e));
    }
    input_feed(in, "\033[201~", 6);
    ck_assert(input_next(in, &e));
    ck_assert(e.truncated);
    ck_assert_uint_le(e.n, INPUT_PASTE_MAX + 4);
    input_free(in);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("input");
    TCase *t = tcase_create("demultiplexer");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, decodes_at_every_split, 0, CASES);
    tcase_add_test(t, bytes_of_a_key_are_whole);
    tcase_add_test(t, lone_escape_waits_50_ms);
    tcase_add_test(t, large_paste);
    tcase_add_test(t, endless_paste_is_cut);
    suite_add_tcase(s, t);
    return support_run(s);
}
