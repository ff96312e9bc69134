/* ui/prompt.c -- readline in callback mode. See prompt.h.
 *
 * On the screen, readline's terminal is /dev/null and its redisplay function does nothing: the loop
 * draws rl_display_prompt and rl_line_buffer itself. Readline calls its getc only for bytes that
 * exist, because the ring is filled with whole keys and emptied by one rl_callback_read_char at a
 * time. */
#include "ui/prompt.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <readline/history.h>
#include <readline/readline.h>

/* A count before a command repeats it: what a key requests is done before the next key is read. No
 * typed line is longer than the longest paste beside a few words. */
enum { HISTORY_MAX = 10000, COUNT_MAX = 99, LINE_MAX_BYTES = (1 << 20) + 4096 };

static struct {
    struct prompt_hooks hooks;
    bool open, plain, hidden;
    struct buf ring;
    size_t head;
    char *line;            /* finished but not delivered yet */
    bool ended, toggled;
    char *history;
    FILE *null;
    bool long_paste;       /* one that no line may hold has been read, and is to be dropped */
    bool flooded;          /* what was typed of this line was too long: the rest of it, up to its
                            * end, is no command and is dropped, too */
    bool searched;         /* our Up or Down was the last command, so the prefix search continues */
    int last;              /* the last byte that readline was given */
} pr;

/* A NUL (Ctrl-@, Ctrl-Space) sets the mark in emacs mode. Where readline would put it into the line
 * or search for it (after Ctrl-V, Ctrl-Q or Ctrl-], and in vi mode) it gets a space instead: no
 * command holds a NUL, and readline 8.2's searches for a character do not end in lines with one. */
static int given(int c)
{
    const bool taken_as_it_is = pr.last == ('V' & 31) || pr.last == ('Q' & 31) ||
                                pr.last == (']' & 31);

    if (c == '\0' && (taken_as_it_is || rl_editing_mode == 0))
        c = ' ';
    pr.last = c;
    return c;
}

static int ring_getc(FILE *f)
{
    (void)f;
    return pr.head < pr.ring.len ? given((unsigned char)pr.ring.s[pr.head++]) : EOF;
}

static int terminal_getc(FILE *f)
{
    return given(rl_getc(f));
}

static int ring_avail(void)
{
    return pr.head < pr.ring.len;
}

static void noop(void)
{
}

static void noop_prep(int meta)
{
    (void)meta;
}

static char **no_matches(const char *text, int start, int end)
{
    (void)text, (void)start, (void)end;
    rl_attempted_completion_over = 1;      /* otherwise M-? and M-* would offer file names */
    return NULL;
}

/* Completion is entirely ours, because our words differ from readline's. */

static size_t common_prefix(char *const *m)
{
    size_t n = strlen(m[0]);
    for (size_t i = 1; m[i]; i++) {
        size_t k = 0;
        while (k < n && m[i][k] == m[0][k])
            k++;
        n = k;
    }
    while (n && ((unsigned char)m[0][n] & 0xc0) == 0x80)
        n--;                               /* whole characters only */
    return n;
}

static void replace_word(size_t start, size_t end, const char *text, size_t n, bool blank)
{
    char *word = strndup(text, n);
    if (!word)
        return;
    if ((size_t)rl_point != end || strlen(word) != end - start ||
        memcmp(rl_line_buffer + start, word, n) || blank) {
        rl_begin_undo_group();
        rl_delete_text((int)start, (int)end);
        rl_point = (int)start;
        rl_insert_text(word);
        if (blank && rl_line_buffer[rl_point] != ' ')
            rl_insert_text(" ");
        rl_end_undo_group();
    }
    free(word);
}

static int complete(int count, int key)
{
    (void)count, (void)key;
    size_t start = 0, end = (size_t)rl_point, n = 0;
    if (!pr.hooks.complete)
        return 0;
    char **m = pr.hooks.complete(pr.hooks.ctx, rl_line_buffer, end, &start);
    if (!m)
        return 0;
    while (m[n])
        n++;
    if (n && start <= end) {
        size_t k = common_prefix(m);
        if (n == 1) {
            char last = k ? m[0][k - 1] : ' ';
            replace_word(start, end, m[0], k, !strchr("=/ (,", last));
        } else {
            if (k > end - start)
                replace_word(start, end, m[0], k, false);
            if (pr.hooks.matches)
                pr.hooks.matches(pr.hooks.ctx, m, n);
        }
    }
    for (size_t i = 0; i < n; i++)
        free(m[i]);
    free(m);
    return 0;
}

/* History search by prefix, and moving up and down inside a pasted block. */

static bool move_in_block(int dir)
{
    int bol = rl_point, eol = rl_point;
    while (bol > 0 && rl_line_buffer[bol - 1] != '\n')
        bol--;
    while (eol < rl_end && rl_line_buffer[eol] != '\n')
        eol++;
    if ((dir < 0 && bol == 0) || (dir > 0 && eol == rl_end))
        return false;
    int col = rl_point - bol, to;
    if (dir < 0) {
        to = bol - 1;
        while (to > 0 && rl_line_buffer[to - 1] != '\n')
            to--;
    } else {
        to = eol + 1;
    }
    for (; col > 0 && to < rl_end && rl_line_buffer[to] != '\n'; col--)
        to++;
    while (to < rl_end && ((unsigned char)rl_line_buffer[to] & 0xc0) == 0x80)
        to++;
    rl_point = to;
    return true;
}

static int up(int count, int key);
static int down(int count, int key);

static int search(int dir, int count, int key)
{
    rl_command_func_t *back = rl_history_search_backward;
    if ((rl_last_func == up || rl_last_func == down) && pr.searched)
        rl_last_func = back;               /* continue the same search with the same prefix */
    else if (move_in_block(dir))
        return pr.searched = false;
    pr.searched = true;
    return dir < 0 ? rl_history_search_backward(count, key) : rl_history_search_forward(count, key);
}

static int up(int count, int key)
{
    return search(-1, count, key);
}

static int down(int count, int key)
{
    return search(1, count, key);
}

static void history_open(const char *path)
{
    using_history();
    stifle_history(HISTORY_MAX);
    if (!path)
        return;
    pr.history = strdup(path);
    if (pr.history && read_history(pr.history) == 0)
        history_truncate_file(pr.history, HISTORY_MAX);
}

/* A block is stored line by line, so that each can be found and run again. A search that keys typed
 * ahead have begun behind the line holds pointers to lines of the history, the oldest of which goes
 * when it is full: it ends. */
static void history_put(const char *line)
{
    char *copy = strdup(line), *save = NULL;
    int n = 0;
    if (prompt_searching())
        rl_callback_sigcleanup();
    if (!copy)
        return;
    for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        const HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1)
                                                : NULL;
        if (l[strspn(l, " ")] == '\0' || (last && strcmp(last->line, l) == 0))
            continue;
        add_history(l);
        n++;
    }
    free(copy);
    using_history();                       /* the next line starts after what was just added */
    if (n && pr.history && append_history(n, pr.history) != 0) {
        FILE *f = fopen(pr.history, "ae"); /* append_history requires an existing file */
        if (f && fclose(f) == 0)
            append_history(n, pr.history);
    }
}

/* Open and close. */

static void on_line(char *line)
{
    if (!line) {
        pr.ended = true;
        return;
    }
    free(pr.line);
    pr.line = NULL;
    if (pr.flooded)
        free(line);
    else
        pr.line = line;
    pr.flooded = false;
}

/* Frees the undo lists and moves to the end of the history. */
static void drop_edits(void)
{
    HIST_ENTRY **h =
        history_list(); /* lists may be shared; only readline knows, so none is freed */
    for (int i = 0; h && h[i]; i++)
        h[i]->data = NULL;
    rl_undo_list = NULL;
    rl_end_of_history(1, 0); /* this also drops the line that readline had saved */
    rl_undo_list = NULL;
}

/* A search keeps pointers into the history, and undoing the edits of an earlier line would free
 * their targets. So a search starts from a fresh line with the same text. */
static void detach(void)
{
    char *text = strdup(rl_line_buffer);
    const int point = rl_point;
    if (!text)
        return;
    drop_edits();
    rl_replace_line(text, 1);
    rl_point = point < rl_end ? point : rl_end;
    free(text);
}

static int search_back(int count, int key)
{
    detach();
    return rl_reverse_search_history(count, key);
}

static int search_forth(int count, int key)
{
    detach();
    return rl_forward_search_history(count, key);
}

/* Line mode: a paste between marks. Readline's own function keeps and draws whatever it gets; of
 * 10 MB that takes minutes. */
static int paste_begin(int count, int key)
{
    static const char end[] = "\033[201~";
    enum { END = sizeof end - 1 };
    struct buf text = { 0 };
    size_t matched = 0, n = 0;
    int c;

    (void)count, (void)key;
    while (matched < END && (c = rl_read_key()) >= 0) {
        n++;
        if (text.len <= LINE_MAX_BYTES && c != '\0')
            buf_putc(&text, (char)(c == '\r' ? '\n' : c));
        matched = c == end[matched] ? matched + 1 : c == end[0];
    }
    if (n + (size_t)rl_end > LINE_MAX_BYTES) { /* not dropped in here, inside of readline */
        pr.long_paste = true;
    } else if (text.len >= END && matched == END) {
        text.s[text.len - END] = '\0';
        prompt_paste(text.s);
    }
    buf_free(&text);
    return 0;
}

static void replace_function(Keymap map, int key, rl_command_func_t *old, rl_command_func_t *ours)
{
    const char seq[2] = { (char)key, '\0' };
    int type = 0;
    if (rl_function_of_keyseq(seq, map, &type) == old && type == ISFUNC)
        rl_bind_key_in_map(key, ours, map);
}

/* Readline 8.2 reads beyond the end of a line that ends with a backslash when it takes words out of
 * it (it steps over the character behind the backslash, which is the last NUL), so such lines of
 * the history, which editing may also have made, get a space first. */
static void end_lines(void)
{
    HIST_ENTRY **h = history_list();

    for (int i = 0; h && h[i]; i++) {
        const size_t n = strlen(h[i]->line);
        struct buf text = { 0 };
        if (!n || h[i]->line[n - 1] != '\\')
            continue;
        buf_printf(&text, "%s ", h[i]->line);
        HIST_ENTRY *old = text.failed ? NULL : replace_history_entry(i, buf_str(&text), h[i]->data);
        if (old) { /* its undo list is the new entry's */
            free(old->line);
            free(old->timestamp);
            free(old);
        }
        buf_free(&text);
    }
}

/* Repeated, they go on to earlier lines, which readline tells by its own functions. */
static int words_of(rl_command_func_t *theirs, rl_command_func_t *ours, int count, int key)
{
    end_lines();
    if (rl_last_func == ours)
        rl_last_func = theirs;
    return theirs(count, key);
}

static int last_word(int count, int key)
{
    return words_of(rl_yank_last_arg, last_word, count, key);
}

static int nth_word(int count, int key)
{
    return words_of(rl_yank_nth_arg, nth_word, count, key);
}

static int vi_word(int count, int key)
{
    return words_of(rl_vi_yank_arg, vi_word, count, key);
}

static void replace_everywhere(rl_command_func_t *old, rl_command_func_t *ours)
{
    const Keymap maps[] = { emacs_standard_keymap, emacs_meta_keymap, emacs_ctlx_keymap,
                            vi_insertion_keymap, vi_movement_keymap };

    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
        for (int key = 0; key < KEYMAP_SIZE; key++)
            if (maps[m][key].type == ISFUNC && maps[m][key].function == old)
                maps[m][key].function = ours;
}

/* In line mode: F5 switches to the screen once readline has returned. */
static int toggle(int count, int key)
{
    (void)count, (void)key;
    pr.toggled = true;
    return 0;
}

static void bind_keys(void)
{
    static const struct { const char *seq; rl_command_func_t *f; } keys[] = {
        { "\033[A", up }, { "\033OA", up }, { "\033[B", down }, { "\033OB", down },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        rl_bind_keyseq(keys[i].seq, keys[i].f);
    rl_bind_keyseq("\033[1~", rl_beg_of_line);   /* Linux console and tmux */
    rl_bind_keyseq("\033[4~", rl_end_of_line);
    rl_bind_keyseq("\033[1;5D", rl_backward_word);
    rl_bind_keyseq("\033[1;5C", rl_forward_word);
    rl_bind_key('\t', complete);
    const Keymap maps[] = { emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap };
    for (size_t i = 0; i < 3; i++) {
        replace_function(maps[i], 'R' & 31, rl_reverse_search_history, search_back);
        replace_function(maps[i], 'S' & 31, rl_forward_search_history, search_forth);
    }
    replace_everywhere(rl_yank_last_arg, last_word);
    replace_everywhere(rl_yank_nth_arg, nth_word);
    replace_everywhere(rl_vi_yank_arg, vi_word);
    if (!pr.plain) { /* Alt-1 to Alt-9 select views; a lone count would swallow a letter */
        rl_unbind_key_in_map('0', emacs_meta_keymap);
        rl_unbind_key_in_map('-', emacs_meta_keymap);
    }
    if (pr.plain) {
        rl_bind_keyseq_in_map("\033[200~", paste_begin, emacs_standard_keymap);
        rl_bind_keyseq_in_map("\033[200~", paste_begin, vi_insertion_keymap);
        rl_bind_keyseq("\033[15~", toggle);
        rl_bind_keyseq("\033[[E", toggle);
    }
}

static void open_common(const struct prompt_hooks *hooks, const char *history)
{
    pr.hooks = *hooks;
    pr.open = true;
    pr.ended = false;
    rl_readline_name = "gpdesk";
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_change_environment = 0;
    rl_attempted_completion_function = no_matches;
    history_open(history);
}

void prompt_open_screen(const struct prompt_hooks *hooks, const char *history)
{
    open_common(hooks, history);
    pr.plain = false;
    pr.null = fopen("/dev/null", "we");
    rl_instream = stdin;
    rl_outstream = pr.null ? pr.null : stderr;
    rl_prep_term_function = noop_prep;
    rl_deprep_term_function = noop;
    rl_getc_function = ring_getc;
    rl_input_available_hook = ring_avail;
    rl_redisplay_function = noop;          /* set before install: then no tgetent() */
    rl_completion_query_items = -1;
    rl_callback_handler_install(PROMPT_TEXT, on_line);
    rl_variable_bind("enable-bracketed-paste", "off");   /* input.c does it */
    rl_variable_bind("bell-style", "none");
    rl_variable_bind("blink-matching-paren", "off");
    rl_variable_bind("show-mode-in-prompt", "off");
    bind_keys();
}

void prompt_open_plain(const struct prompt_hooks *hooks, const char *history)
{
    open_common(hooks, history);
    pr.plain = true;
    rl_instream = stdin;
    rl_outstream = stdout;
    rl_getc_function = terminal_getc;
    rl_input_available_hook = NULL;
    rl_redisplay_function = rl_redisplay;
    rl_prep_term_function = rl_prep_terminal;
    rl_deprep_term_function = rl_deprep_terminal;
    int rows = 24, cols = 80;
    rl_initialize();
    rl_get_screen_size(&rows, &cols);
    prompt_resize((size_t)rows, (size_t)cols);
    rl_callback_handler_install(PROMPT_TEXT, on_line);
    rl_variable_bind("bell-style", "none");
    bind_keys();
}

void prompt_close(void)
{
    if (!pr.open)
        return;
    prompt_clear();                        /* a search holds lines of the history */
    rl_callback_handler_remove();
    rl_outstream = stdout;
    if (pr.null)
        fclose(pr.null);
    pr.null = NULL;
    clear_history();
    free(pr.history);
    free(pr.line);
    buf_free(&pr.ring);
    pr.history = pr.line = NULL;
    pr.head = 0;
    pr.open = false;
}

/* Delivers a finished line, outside of readline. */
static void deliver(void)
{
    if (pr.line) {
        char *line = pr.line;
        pr.line = NULL;
        history_put(line);
        pr.hooks.line(pr.hooks.ctx, line);
        free(line);
    }
    if (pr.toggled) {
        pr.toggled = false;
        if (pr.hooks.toggle)
            pr.hooks.toggle(pr.hooks.ctx);
    }
    if (pr.ended) {
        pr.ended = false;
        if (pr.hooks.end)
            pr.hooks.end(pr.hooks.ctx);
    }
}

/* A paste is whole and over; a line that is typed, or pasted without brackets, still goes on. */
static void drop_long(bool over)
{
    const bool told = pr.flooded;

    prompt_clear();
    pr.flooded = !over;
    if (!told)
        pr.hooks.dropped(pr.hooks.ctx, over ? "the line grew beyond 1 MB and is dropped; put long "
                                              "text in a file: source FILE.gps"
                                            : "the line grew beyond 1 MB and is dropped up to its "
                                              "end; put long text in a file: source FILE.gps");
}

/* A search leaves the editor on the line it found, where two undo lists could be merged. So the
 * found text becomes a new line. */
static void read_one(void)
{
    const bool searching = prompt_searching();
    if (rl_explicit_arg && rl_numeric_arg > COUNT_MAX)
        rl_numeric_arg = COUNT_MAX;
    rl_callback_read_char();
    if (pr.long_paste || rl_end > LINE_MAX_BYTES)
        drop_long(pr.long_paste);
    pr.long_paste = false;
    if (searching && !prompt_searching() && !pr.line && rl_end > 0)
        detach();
}

void prompt_feed(const char *bytes, size_t n)
{
    if (pr.flooded && n > 0 && (unsigned char)*bytes >= ' ')
        return; /* the rest of a line that is dropped is not worth an editor */
    buf_putn(&pr.ring, bytes, n);
    while (pr.open && ring_avail()) {
        read_one();
        deliver();
    }
    buf_clear(&pr.ring);
    pr.head = 0;
}

void prompt_read(void)
{
    read_one();
    deliver();
}

void prompt_paste(const char *text)
{
    if (prompt_searching())
        rl_callback_sigcleanup();
    rl_begin_undo_group();
    rl_insert_text(text);
    rl_end_undo_group();
    if (rl_end > LINE_MAX_BYTES)
        drop_long(true);
}

void prompt_hide(void)
{
    if (!pr.open || !pr.plain || pr.hidden)
        return;
    pr.hidden = true;
    if (rl_end == 0)
        fputs("\r        \r", stdout);     /* overwrites "gpdesk> " on any terminal */
    else
        fputc('\n', stdout);
    fflush(stdout);                        /* the next output may go to stderr */
}

void prompt_show(void)
{
    if (!pr.open || !pr.plain || !pr.hidden)
        return;
    pr.hidden = false;
    fflush(stdout);
    rl_on_new_line();
    rl_forced_update_display();
}

void prompt_suspend(void)
{
    rl_deprep_terminal();
}

void prompt_resume(void)
{
    rl_prep_terminal(1);
    rl_on_new_line();
    rl_forced_update_display();
}

void prompt_clear(void)
{
    if (!pr.open)
        return;
    rl_callback_sigcleanup();
    drop_edits(); /* otherwise the next typed text would replace the line left there */
    rl_replace_line("", 1);
    rl_point = rl_mark = 0;
    pr.flooded = false;
    rl_clear_message();
    if (rl_editing_mode == 0)              /* a fresh line starts in insert mode, in vi mode too */
        rl_vi_insertion_mode(1, 'i');
}

void prompt_set(const char *text)
{
    prompt_clear();
    rl_insert_text(text);
    rl_point = rl_end;
}

const char *prompt_text(void)
{
    return rl_line_buffer ? rl_line_buffer : "";
}

bool prompt_searching(void)
{
    return RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_NUMERICARG |
                      RL_STATE_CHARSEARCH) != 0;
}

bool prompt_empty(void)
{
    return rl_end == 0 && !prompt_searching() && !pr.flooded;
}

bool prompt_vi(void)
{
    return rl_editing_mode == 0;
}

void prompt_editing(const char *mode)
{
    static char own[8];                    /* the mode chosen in ~/.inputrc */
    if (!*own)
        snprintf(own, sizeof own, "%s", rl_editing_mode ? "emacs" : "vi");
    rl_variable_bind("editing-mode", strcmp(mode, "auto") == 0 ? own : mode);
    bind_keys();                           /* bind our keys in the keymaps of that mode, too */
}

void prompt_resize(size_t rows, size_t cols)
{
    const size_t least = 20; /* if the line is narrower than its prompt, readline divides by zero */
    rl_set_screen_size((int)(rows < 2 ? 2 : rows), (int)(cols < least ? least : cols));
}

/* What to draw. */

/* One row of the line: a prompt, and bytes of the buffer. */
struct row {
    const char *prefix;
    size_t from, to;
};

/* Appends the character at s (n bytes left) in a form that is safe to show. Returns its length in
 * bytes. */
static size_t show_char(const char *s, size_t n, struct buf *out, size_t *width)
{
    mbstate_t st = { 0 };
    wchar_t wc;
    size_t k = mbrtowc(&wc, s, n, &st);
    unsigned char c = (unsigned char)*s;
    if (c < 0x20 || c == 0x7f) {
        buf_putc(out, '^');
        buf_putc(out, c == 0x7f ? '?' : (char)(c + 64));
        *width = 2;
        return 1;
    }
    int w = k == 0 || k > n ? -1 : wcwidth(wc);
    if (w < 0) {
        buf_putc(out, '?');
        *width = 1;
        return k == 0 || k > n ? 1 : k;
    }
    buf_putn(out, s, k);
    *width = (size_t)w;
    return k;
}

/* Writes a row, scrolled sideways so that the cursor (at byte `point`, or SIZE_MAX for none) is
 * visible. */
static void show_row(const struct row *r, size_t point, size_t cols, struct buf *out, size_t *col)
{
    struct buf cell = { 0 };
    size_t pw = text_width(r->prefix), at = 0, cur = SIZE_MAX, skip = 0;
    if (point != SIZE_MAX) {
        for (size_t i = r->from; i < r->to && i < point;) {
            size_t w;
            buf_clear(&cell);
            i += show_char(rl_line_buffer + i, r->to - i, &cell, &w);
            at += w;
        }
        cur = pw + at;
        if (cols && cur >= cols)           /* keep a third of the row visible before the cursor */
            skip = cur - cols + 1 + cols / 3 < cur ? cur - cols + 1 + cols / 3 : cur;
    }
    at = 0;
    size_t used = 0;
    for (int part = 0; part < 2; part++) {
        const char *s = part ? rl_line_buffer + r->from : r->prefix;
        size_t n = part ? r->to - r->from : strlen(r->prefix);
        for (size_t i = 0; i < n;) {
            size_t w;
            buf_clear(&cell);
            i += show_char(s + i, n - i, &cell, &w);
            if (at >= skip && used + w <= cols) {
                buf_puts(out, buf_str(&cell));
                used += w;
            }
            at += w;
        }
    }
    if (cur != SIZE_MAX)
        *col = cur - skip;
    buf_free(&cell);
}

void prompt_rows(size_t cols, size_t max_rows, struct prompt_view *v)
{
    static const char more[] = "      > ";
    char prefix[256];
    size_t n = 0;
    memset(v, 0, sizeof *v);
    if (!pr.open || max_rows == 0)
        return;
    for (const char *p = rl_display_prompt ? rl_display_prompt : PROMPT_TEXT;
         *p && n < sizeof prefix - 1; p++)
        if (*p != '\001' && *p != '\002')
            prefix[n++] = *p;
    prefix[n] = '\0';
    if (max_rows > PROMPT_ROWS)
        max_rows = PROMPT_ROWS;

    size_t total = 1, cursor = 0;
    for (int i = 0; i < rl_end; i++)
        if (rl_line_buffer[i] == '\n') {
            total++;
            cursor += i < rl_point;
        }
    size_t first = total <= max_rows || cursor < max_rows / 2 ? 0 : cursor - max_rows / 2;
    if (total > max_rows && first > total - max_rows)
        first = total - max_rows;
    v->rows = total < max_rows ? total : max_rows;
    size_t k = 0, from = 0;
    for (size_t i = 0; i <= (size_t)rl_end; i++) {
        if (i < (size_t)rl_end && rl_line_buffer[i] != '\n')
            continue;
        if (k >= first && k < first + v->rows) {
            struct row r = { k ? more : prefix, from, i };
            show_row(&r, k == cursor ? (size_t)rl_point : SIZE_MAX, cols, &v->text[k - first],
                     &v->col);
            if (k == cursor)
                v->row = k - first;
        }
        k++;
        from = i + 1;
    }
}

void prompt_view_free(struct prompt_view *v)
{
    for (size_t i = 0; i < PROMPT_ROWS; i++)
        buf_free(&v->text[i]);
}
