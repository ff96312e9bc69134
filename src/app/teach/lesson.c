/* app/teach/lesson.c -- the lesson that is open: its steps, the lines it runs, questions and
 * answers. */
#include "app/teach/lesson.h"

#include "app/core/job.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 78 };

static void free_lesson(struct lesson_state *s)
{
    if (!s)
        return;
    lesson_clear(&s->l);
    placeholder_vars_free(&s->vars);
    free(s);
}

static void state_free(void *state)
{
    free_lesson(state);
}

const struct owner lesson_owner = { .name = "lesson", .free = state_free };

struct lesson_state *lesson_of(const struct workspace *ws)
{
    return owner_state(ws, &lesson_owner);
}

static struct lesson_step *step_of(const struct lesson_state *s)
{
    return &s->l.step[s->step];
}

static bool has_commands(const struct lesson_state *s)
{
    const struct lesson_step *step = step_of(s);

    for (size_t k = 0; k < step->n; k++)
        if (step->part[k].kind == LESSON_COMMAND)
            return true;
    return false;
}

static const struct lesson_part *question_at(const struct lesson_step *step, size_t at)
{
    for (size_t k = 0; k < step->n; k++)
        if (step->part[k].kind == LESSON_QUESTION && at-- == 0)
            return &step->part[k];
    return NULL;
}

/* A question is asked once the lines of its step have run. */
const struct lesson_part *lesson_question(const struct lesson_state *s)
{
    return s->running || (!s->ran && has_commands(s)) ? NULL
                                                             : question_at(step_of(s), s->at);
}

static void changed(struct workspace *ws)
{
    lesson_of(ws)->serial++;
    ws->serial++;
}

/* Pages. */

/* Expands a text with the current numbers. */
static void filled(struct workspace *ws, const char *text, bool plain, struct buf *out)
{
    struct buf b = { 0 };
    size_t missing;

    const bool good =
        placeholder_expand(ws, &lesson_of(ws)->vars, text, plain, &b, &missing, NULL) == ST_OK;
    buf_puts(out, good ? buf_str(&b) : text);
    buf_free(&b);
}

/* {seed} is the student's seed; everything else is expanded as in other texts. */
static void filled_command(struct workspace *ws, const char *text, struct buf *out)
{
    const uint64_t keep = ws->opt.seed;

    ws->opt.seed = lesson_of(ws)->seed;
    filled(ws, text, true, out);
    ws->opt.seed = keep;
}

static void page_line(struct buf *out, char how, const char *text)
{
    buf_printf(out, "%c %s\n", how, text);
}

static void page_question(struct workspace *ws, const struct lesson_part *q, struct buf *out)
{
    struct buf b = { 0 };

    filled(ws, q->text, false, &b);
    page_line(out, '?', buf_str(&b));
    for (size_t i = 0; i < q->nanswer; i++) {
        buf_clear(&b);
        buf_printf(&b, "%c  ", (char)('a' + i));
        filled(ws, q->answer[i].text, false, &b);
        page_line(out, 'a', buf_str(&b));
    }
    page_line(out, ' ', q->number ? "answer NUMBER" : "answer a, b, ...");
    buf_free(&b);
}

static const char *page_hint(const struct lesson_state *s)
{
    if (s->all)
        return "";
    if (s->running)
        return "running ...";
    if (!s->ran && has_commands(s))
        return "Enter runs this (or: lesson next)";
    if (lesson_question(s))
        return "";
    return s->step + 1 < s->l.n ? "Enter (or: lesson next) continues"
                                : "Enter (or: lesson next) ends the lesson";
}

void lesson_page(struct workspace *ws, struct buf *out)
{
    const struct lesson_state *s = lesson_of(ws);
    const struct lesson_step *step = step_of(s);
    struct buf b = { 0 };

    buf_printf(&b, "%s", step->title);
    page_line(out, 'H', buf_str(&b));
    for (size_t k = 0; k < step->n; k++) {
        const struct lesson_part *p = &step->part[k];
        buf_clear(&b);
        if (p->kind == LESSON_TEXT) {
            filled(ws, p->text, false, &b);
            page_line(out, 'T', buf_str(&b));
        } else if (p->kind == LESSON_COMMAND) {
            filled_command(ws, p->text, &b);
            page_line(out, '>', buf_str(&b));
        }
    }
    const struct lesson_part *last = s->at ? question_at(step, s->at - 1) : NULL;
    if (*s->reply && last) {
        buf_clear(&b);
        filled(ws, last->text, false, &b);
        page_line(out, '?', buf_str(&b));
    }
    if (*s->reply)
        page_line(out, '!', s->reply);
    const struct lesson_part *q = s->all ? NULL : lesson_question(s);
    if (q)
        page_question(ws, q, out);
    if (*page_hint(s))
        page_line(out, ' ', page_hint(s));
    buf_free(&b);
}

static void put_wrapped(struct rec *r, const char *text, const char *first, const char *rest)
{
    buf_putc(&r->text, '\n');
    text_wrap(&r->text, text, WIDTH, first, rest);
}

static void page_text(struct rec *r, const char *page)
{
    char last = '\0';

    for (const char *p = page; *p;) {
        const size_t n = strcspn(p, "\n");
        char *line = strndup(p, n);
        if (!line)
            err_nomem(NULL, n, "a page");
        if (line && n >= 2) {
            if (*line != last || *line == 'T')
                rec_text(r, "%s", last ? "\n" : "");
            switch (*line) {
            case 'H': break;
            case 'T': put_wrapped(r, line + 2, "", ""); break;
            case '>': put_wrapped(r, line + 2, "  > ", "      "); break;
            case '?': put_wrapped(r, line + 2, "? ", "  "); break;
            case 'a': put_wrapped(r, line + 2, "  ", "     "); break;
            case '!': put_wrapped(r, line + 2, "= ", "  "); break;
            default: put_wrapped(r, line + 2, "  ", "  ");
            }
            last = *line;
        }
        free(line);
        p += n + (p[n] == '\n');
    }
}

/* Records. */

static void question_json(struct rec *r, struct workspace *ws, const struct lesson_part *q)
{
    const char *choice[16];
    struct buf b = { 0 };
    size_t n = 0;

    if (!q) {
        rec_null(r, "question");
        return;
    }
    filled(ws, q->text, false, &b);
    rec_str(r, "question", buf_str(&b));
    for (; n < q->nanswer; n++)
        choice[n] = q->answer[n].text;
    rec_strs(r, "choices", choice, n);
    buf_free(&b);
}

/* Shows the current step. If the screen has a lesson view, the log gets only one line. */
static void tell_step(struct workspace *ws)
{
    const struct lesson_state *s = lesson_of(ws);
    const struct lesson_step *step = step_of(s);
    struct buf page = { 0 };
    struct rec r;

    rec_init(&r, REC_RESULT, "lesson");
    rec_str(&r, "lesson", s->l.id);
    rec_str(&r, "title", s->l.title);
    rec_int(&r, "step", (int64_t)s->step + 1);
    rec_int(&r, "steps", (int64_t)s->l.n);
    rec_str(&r, "heading", step->title);
    rec_str(&r, "state",
            s->running                          ? "running"
            : s->ran || !has_commands(s) ? "done"
                                                : "read");
    rec_array(&r, "lines");
    for (size_t k = 0; k < step->n; k++)
        if (step->part[k].kind == LESSON_COMMAND) {
            struct buf b = { 0 };
            filled_command(ws, step->part[k].text, &b);
            rec_item(&r);
            rec_str(&r, "line", buf_str(&b));
            rec_close(&r);
            buf_free(&b);
        }
    rec_array_close(&r);
    question_json(&r, ws, lesson_question(s));
    lesson_page(ws, &page);
    rec_str(&r, "text", buf_str(&page));
    rec_text(&r, "lesson %s (%s), step %zu of %zu: %s", s->l.id, s->l.title, s->step + 1, s->l.n,
             step->title);
    if (!ws_screen_show(ws, "lesson", ""))
        page_text(&r, buf_str(&page));
    buf_free(&page);
    ws_emit(ws, &r);
}

static void tell_end(struct workspace *ws)
{
    const struct lesson_state *s = lesson_of(ws);
    struct lesson_list l;
    struct rec r;
    const char *next = NULL;

    rec_init(&r, REC_RESULT, "lesson");
    rec_str(&r, "lesson", s->l.id);
    rec_str(&r, "state", "ended");
    rec_int(&r, "right", (int64_t)s->right);
    rec_int(&r, "wrong", (int64_t)s->wrong);
    rec_int(&r, "told", (int64_t)s->told);
    rec_text(&r, "lesson %s is over", s->l.id);
    if (s->right + s->wrong)
        rec_text(&r, ": %zu of %zu answers right", s->right, s->right + s->wrong + s->told);
    if (lesson_list(&l, NULL) == ST_OK) {
        for (size_t i = 0; i + 1 < l.n; i++)
            if (!strcmp(l.id[i], s->l.id) && isdigit((unsigned char)*l.id[i + 1]))
                next = l.id[i + 1];
        if (next)
            rec_text(&r, ". Next: lesson %s", next);
        else
            rec_text(&r, ". `lesson` lists them all");
        lesson_list_free(&l);
    }
    ws_emit(ws, &r);
    owner_take(ws, &lesson_owner, NULL);
    ws->serial++;
}

/* Steps. */

static void enter(struct workspace *ws, size_t step)
{
    struct lesson_state *s = lesson_of(ws);

    s->step = step;
    s->ran = s->running = false;
    s->at = 0;
    *s->reply = '\0';
    changed(ws);
}

/* Writes what a step runs. Each line has the same position as in the file, so that messages name
 * that line. */
static void step_lines(struct workspace *ws, size_t at, bool show, struct buf *out, size_t *line)
{
    const struct lesson_step *step = &lesson_of(ws)->l.step[at];

    for (; *line < step->line; ++*line)
        buf_putc(out, '\n');
    if (show)
        buf_printf(out, "lesson at %zu", step->line);
    for (size_t k = 0; k < step->n; k++) {
        const struct lesson_part *p = &step->part[k];
        if (p->kind == LESSON_TEXT || p->kind == LESSON_QUESTION)
            continue;
        for (; *line < p->line; ++*line)
            buf_putc(out, '\n');
        if (p->kind == LESSON_COMMAND && !strchr(p->text, '{'))
            buf_puts(out, p->text);
        else                    /* what is in braces may only be known when the line runs */
            buf_printf(out, "lesson at %zu", p->line);
    }
    buf_printf(out, "; lesson did %zu", at + 1);
}

static enum status run_lines(struct workspace *ws, struct buf *text, struct err *err)
{
    char name[200];

    snprintf(name, sizeof name, "%.190s", lesson_of(ws)->l.name);
    const enum status rc = text->failed ? err_nomem(err, text->cap, "a lesson")
                                        : workspace_exec_apart(ws, buf_str(text), name);
    buf_free(text);
    if (rc != ST_OK && err->code == ST_OK)
        err_set(err, rc, "a line of the lesson does not run");
    return rc;
}

static enum status run_step(struct workspace *ws, struct err *err)
{
    struct buf text = { 0 };
    size_t line = 1;

    lesson_of(ws)->running = true;
    changed(ws);
    step_lines(ws, lesson_of(ws)->step, false, &text, &line);
    return run_lines(ws, &text, err);
}

static enum status run_all(struct workspace *ws, struct err *err)
{
    struct buf text = { 0 };
    size_t line = 1;

    lesson_of(ws)->all = true;
    for (size_t i = 0; i < lesson_of(ws)->l.n; i++)
        step_lines(ws, i, true, &text, &line);
    buf_puts(&text, "; lesson end");
    return run_lines(ws, &text, err);
}

/* Answers. */

/* Writes the right answer. */
static enum status answer_words(struct workspace *ws, const struct lesson_part *q, struct buf *out,
                                double *number, struct err *err)
{
    char num[40];

    *number = NAN;
    if (q->number) {
        const enum status rc =
            placeholder_expression(ws, &lesson_of(ws)->vars, q->number, number, err);
        if (rc != ST_OK)
            return rc;
        text_number(num, sizeof num, *number);
        buf_puts(out, num);
        if (isfinite(*number))
            return ST_OK;
        err_named(err, ST_STATE, "lesson",
                  "the question is about figures that earlier steps compute (line %zu of %s)",
                  q->line, lesson_of(ws)->l.name);
        err_hint(err, "lesson %s", lesson_of(ws)->l.id);
        return ST_STATE;
    }
    for (size_t i = 0; i < q->nanswer; i++)
        if (q->answer[i].right) {
            buf_printf(out, "%c) ", (char)('a' + i));
            filled(ws, q->answer[i].text, false, out);
        }
    return ST_OK;
}

/* Decides whether the typed answer is right. USAGE if it is not an answer at all. */
static enum status judge(struct workspace *ws, const struct lesson_part *q, const char *typed,
                         double number, bool *right, struct err *err)
{
    char *end;

    (void)ws;
    if (!q->number) {
        const int i = tolower((unsigned char)*typed) - 'a';
        if (i < 0 || (size_t)i >= q->nanswer || typed[1]) {
            err_set(err, ST_USAGE, "'%.20s' is not one of the answers a to %c", typed,
                    (char)('a' + q->nanswer - 1));
            err_hint(err, "answer a");
            return ST_USAGE;
        }
        *right = q->answer[i].right;
        return ST_OK;
    }
    const double x = strtod(typed, &end);
    if (end == typed || (*end && strcmp(end, "%") != 0)) {
        err_set(err, ST_USAGE, "the answer is a number, not '%.20s'", typed);
        err_hint(err, "answer 0.5");
        return ST_USAGE;
    }
    const double given = *end ? x / 100.0 : x;
    *right = fabs(given - number) <= q->within * fmax(fabs(number), 1e-12);
    return ST_OK;
}

/* Replies to an answer and goes to the next question. typed NULL: gives the right answer. */
static enum status answer(struct workspace *ws, const char *typed, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);
    const struct lesson_part *q = lesson_question(s);
    struct buf correct = { 0 }, b = { 0 };
    double number;
    bool right = false;
    struct rec r;

    enum status rc = answer_words(ws, q, &correct, &number, err);
    if (rc == ST_OK && typed)
        rc = judge(ws, q, typed, number, &right, err);
    if (rc != ST_OK) {
        buf_free(&correct);
        return rc;
    }
    rec_init(&r, REC_RESULT, "answer");
    if (s->all) {               /* the question has not been shown yet */
        filled(ws, q->text, false, &b);
        text_wrap(&r.text, buf_str(&b), WIDTH, "? ", "  ");
        for (size_t i = 0; i < q->nanswer; i++) {
            char first[8];
            snprintf(first, sizeof first, "  %c) ", (char)('a' + i));
            buf_clear(&b);
            filled(ws, q->answer[i].text, false, &b);
            rec_text(&r, "\n");
            text_wrap(&r.text, buf_str(&b), WIDTH, first, "     ");
        }
        rec_text(&r, "\n");
        buf_clear(&b);
    }
    if (!typed)
        buf_printf(&b, "The answer: %s.", buf_str(&correct));
    else if (right)
        buf_printf(&b, "Right: %s.", buf_str(&correct));
    else
        buf_printf(&b, "No: %s.", buf_str(&correct));
    if (q->because) {
        buf_putc(&b, ' ');
        filled(ws, q->because, false, &b);
    }
    snprintf(s->reply, sizeof s->reply, "%s", buf_str(&b));
    *(!typed ? &s->told : right ? &s->right : &s->wrong) += 1;
    rec_str(&r, "lesson", s->l.id);
    rec_int(&r, "step", (int64_t)s->step + 1);
    rec_str(&r, "question", q->text);
    if (typed)
        rec_bool(&r, "right", right);
    else
        rec_null(&r, "right");
    rec_str(&r, "answer", buf_str(&correct));
    text_wrap(&r.text, buf_str(&b), WIDTH, "", "  ");
    ws_emit(ws, &r);
    buf_free(&correct), buf_free(&b);
    s->at++;
    changed(ws);
    return ST_OK;
}

enum status cmd_answer(struct workspace *ws, const struct args *a, struct err *err)
{
    if (!lesson_of(ws)) {
        err_named(err, ST_STATE, "no-lesson", "no lesson is open, so there is no question");
        err_hint(err, "lesson");
        return ST_STATE;
    }
    if (!lesson_question(lesson_of(ws))) {
        err_named(err, ST_STATE, "no-question", "this step has no open question");
        err_hint(err, "lesson next");
        return ST_STATE;
    }
    const enum status rc = answer(ws, args_text(a, "answer"), err);
    if (rc == ST_OK && lesson_question(lesson_of(ws)))
        tell_step(ws);
    return rc;
}

bool lesson_shorthand(const struct workspace *ws, const char *line, char *out, size_t len)
{
    const struct lesson_part *q = lesson_of(ws) ? lesson_question(lesson_of(ws)) : NULL;
    char word[32];
    double x;

    line += strspn(line, " \n");
    if (!*line) {
        snprintf(out, len, "lesson next");
        return lesson_of(ws) != NULL;
    }
    size_t n = strlen(line);
    while (n && strchr(" \n", line[n - 1]))
        n--;
    if (!q || n == 0 || n >= sizeof word)
        return false;
    snprintf(word, sizeof word, "%.*s", (int)n, line);
    const bool letter = n == 1 && *word >= 'a' && (size_t)(*word - 'a') < q->nanswer;
    if (!letter && !(q->number && text_double(word, n - (word[n - 1] == '%'), &x)))
        return false;
    snprintf(out, len, "answer %s", word);
    return true;
}

/* Lines that a lesson runs. */

static const struct lesson_part *part_of_line(const struct lesson_state *s, size_t line,
                                              size_t *step)
{
    for (size_t i = 0; i < s->l.n; i++)
        for (size_t k = 0; k < s->l.step[i].n; k++)
            if (s->l.step[i].part[k].line == line) {
                *step = i;
                return &s->l.step[i].part[k];
            }
    return NULL;
}

/* Reports a claim of the lesson that does not hold. With a student's own seed this can happen; when
 * a lesson is run as a test it must not. */
static enum status claim(struct workspace *ws, const struct lesson_part *p, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);
    double x;
    const enum status rc = placeholder_expression(ws, &s->vars, p->text, &x, err);

    if (rc != ST_OK || x == 1.0)
        return rc;
    if (s->all)
        return err_named(err, ST_STATE, "lesson", "line %zu of %s: '%s' does not hold%s",
                         p->line, s->l.name, p->text, isnan(x) ? ": a value is missing" : "");
    ws_note(ws, "lesson", "with seed %" PRIu64 " this came out otherwise than in most draws (%s)",
            s->seed, p->text);
    return ST_OK;
}

/* `lesson at LINE`: what the lines of a step run between their commands. */
static enum status at_line(struct workspace *ws, size_t line, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);
    size_t step = 0;
    const struct lesson_part *p = part_of_line(s, line, &step);

    for (size_t i = 0; !p && i < s->l.n; i++)
        if (s->l.step[i].line == line) {
            enter(ws, i);
            tell_step(ws);
            s->running = true;
            return ST_OK;
        }
    if (!p)
        return err_set(err, ST_NOT_FOUND, "line %zu of the lesson does nothing", line);
    if (p->kind == LESSON_CLAIM)
        return claim(ws, p, err);
    if (p->kind == LESSON_COMMAND) {
        struct buf b = { 0 };
        filled_command(ws, p->text, &b);
        const enum status rc = workspace_exec_from(ws, buf_str(&b), s->l.name, line);
        buf_free(&b);
        return rc == ST_OK ? ST_OK
                           : err_set(err, rc, "line %zu of %s did not run", line, s->l.name);
    }
    double x;
    enum status rc = placeholder_expression(ws, &s->vars, p->text, &x, err);
    if (rc == ST_OK && s->all && !isfinite(x))
        rc = err_named(err, ST_STATE, "lesson", "line %zu of %s: %s has no value", line, s->l.name,
                       p->text);
    return rc == ST_OK ? placeholder_keep(&s->vars, p->name, x, err) : rc;
}

/* `lesson did N`: all lines of step N have run. */
static enum status did(struct workspace *ws, size_t step, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);

    if (step != s->step + 1)
        return ST_OK;           /* the student has meanwhile gone to another step */
    s->running = false;
    s->ran = true;
    changed(ws);
    if (!s->all) {
        tell_step(ws);
        return ST_OK;
    }
    while (lesson_question(s)) {
        const enum status rc = answer(ws, NULL, err);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

/* Next, back, quiz. */

static enum status next(struct workspace *ws, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);

    if (s->running && (workspace_waiting(ws) > 0 || jobs_count(ws->jobs) > 0)) {
        ws_note(ws, "waits", "the lines of this step are still running");
        return ST_OK;
    }
    if (s->running) {           /* a line failed; its message is in the log */
        s->running = false;
        s->ran = true;
    }
    if (!s->ran && has_commands(s))
        return run_step(ws, err);
    if (lesson_question(s)) {
        const enum status rc = answer(ws, NULL, err);
        if (rc == ST_OK)
            tell_step(ws);
        return rc;
    }
    if (s->step + 1 == s->l.n) {
        tell_end(ws);
        return ST_OK;
    }
    enter(ws, s->step + 1);
    tell_step(ws);
    return ST_OK;
}

static enum status back(struct workspace *ws)
{
    enter(ws, lesson_of(ws)->step ? lesson_of(ws)->step - 1 : 0);
    tell_step(ws);
    return ST_OK;
}

static enum status quiz(struct workspace *ws, struct err *err)
{
    struct lesson_state *s = lesson_of(ws);

    for (size_t i = 0; i < s->l.n; i++)
        if (!strncasecmp(s->l.step[i].title, "Quiz", 4)) {
            enter(ws, i);
            s->ran = true;      /* the questions can be answered from the earlier steps */
            tell_step(ws);
            return ST_OK;
        }
    return err_named(err, ST_NOT_FOUND, "no-question", "lesson %s has no quiz", s->l.id);
}

/* The command. */

static enum status tell_list(struct workspace *ws, struct err *err)
{
    struct lesson_list l;
    struct rec r;
    const enum status rc = lesson_list(&l, err);

    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "lesson");
    rec_array(&r, "lessons");
    for (size_t i = 0; i < l.n; i++) {
        rec_item(&r);
        rec_str(&r, "lesson", l.id[i]);
        rec_str(&r, "title", l.title[i]);
        rec_str(&r, "summary", l.summary[i]);
        rec_num(&r, "minutes", l.minutes[i] > 0.0 ? l.minutes[i] : NAN);
        rec_str(&r, "file", *l.path[i] ? l.path[i] : NULL);
        rec_close(&r);
        rec_text(&r, "%slesson %-5s %s", i ? "\n" : "", l.id[i], l.title[i]);
        if (l.minutes[i] > 0.0)
            rec_text(&r, " (%g min)", l.minutes[i]);
        rec_text(&r, "%s", *l.path[i] ? "   from your directory" : "");
        rec_text(&r, "\n             %s", l.summary[i]);
    }
    rec_array_close(&r);
    rec_text(&r, "\nlesson 1 begins; Enter on an empty line continues; lesson back, quiz, end");
    ws_emit(ws, &r);
    if (l.broken.len)
        ws_tell(ws, REC_WARNING, NULL, "lesson", "lesson check FILE", "left out: %.600s",
                buf_str(&l.broken));
    lesson_list_free(&l);
    return ST_OK;
}

/* lesson check FILE */
static enum status check_file(struct workspace *ws, const char *path, struct err *err)
{
    struct lesson l;
    struct rec r;
    size_t commands = 0, questions = 0;

    if (!path) {
        err_set(err, ST_USAGE, "lesson check needs the name of a file");
        err_hint(err, "lesson check my.lesson");
        return ST_USAGE;
    }
    const enum status rc = lesson_open(path, &l, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < l.n; i++)
        for (size_t k = 0; k < l.step[i].n; k++) {
            commands += l.step[i].part[k].kind == LESSON_COMMAND;
            questions += l.step[i].part[k].kind == LESSON_QUESTION;
        }
    rec_init(&r, REC_RESULT, "lesson");
    rec_str(&r, "lesson", l.id);
    rec_str(&r, "title", l.title);
    rec_int(&r, "steps", (int64_t)l.n);
    rec_int(&r, "commands", (int64_t)commands);
    rec_int(&r, "questions", (int64_t)questions);
    rec_text(&r, "lesson %s %s: %zu steps, %zu commands, %zu questions; well formed", l.id, l.title,
             l.n, commands, questions);
    ws_emit(ws, &r);
    lesson_clear(&l);
    return ST_OK;
}

static enum status begin(struct workspace *ws, const char *what, const struct args *a,
                         struct err *err)
{
    const char *how = args_text(a, "how");
    struct lesson_state *s = mem_calloc(1, sizeof *s, "a lesson", err);
    const long step = args_int(a, "step", 1);

    if (!s)
        return ST_NOMEM;
    s->seed = args_given(a, "seed") ? (uint64_t)args_int(a, "seed", 0) : ws->opt.seed;
    enum status rc = lesson_open(what, &s->l, err);
    if (rc == ST_OK && (size_t)step > s->l.n)
        rc = err_set(err, ST_RANGE, "lesson %s has %zu steps, not %ld", s->l.id, s->l.n, step);
    if (rc != ST_OK) {
        free_lesson(s);
        return rc;
    }
    for (size_t i = 0; rc == ST_OK && i < s->l.n; i++) /* known names, without values */
        for (size_t k = 0; rc == ST_OK && k < s->l.step[i].n; k++)
            if (s->l.step[i].part[k].kind == LESSON_KEEP)
                rc = placeholder_keep(&s->vars, s->l.step[i].part[k].name, NAN, err);
    if (rc != ST_OK) {
        free_lesson(s);
        return rc;
    }
    owner_take(ws, &lesson_owner, s);
    s->step = (size_t)step - 1;
    changed(ws);
    if (how && !strcmp(how, "quiz"))
        return quiz(ws, err);
    if (how && !strcmp(how, "all"))
        return run_all(ws, err);
    if (how)
        return err_set(err, ST_USAGE,
                       "lesson %s %.20s: the second word is quiz, all or nothing", what, how);
    tell_step(ws);
    return ST_OK;
}

enum status cmd_lesson(struct workspace *ws, const struct args *a, struct err *err)
{
    static const char *const words[] = { "next", "back", "quiz", "end", "show", "at", "did" };
    const char *what = args_text(a, "lesson"), *how = args_text(a, "how");
    size_t w = 0;

    if (!what)
        return lesson_of(ws) ? tell_step(ws), ST_OK : tell_list(ws, err);
    if (!strcmp(what, "list"))
        return tell_list(ws, err);
    if (!strcmp(what, "check"))
        return check_file(ws, how, err);
    while (w < 7 && strcmp(what, words[w]) != 0)
        w++;
    if (w == 7)
        return begin(ws, what, a, err);
    if (!lesson_of(ws)) {
        err_named(err, ST_STATE, "no-lesson", "no lesson has begun");
        err_hint(err, "lesson 1   |   lesson   (lists them)");
        return ST_STATE;
    }
    switch (w) {
    case 0: return next(ws, err);
    case 1: return back(ws);
    case 2: return quiz(ws, err);
    case 3: tell_end(ws); return ST_OK;
    case 4: tell_step(ws); return ST_OK;
    case 5: return at_line(ws, how ? strtoul(how, NULL, 10) : 0, err);
    default: return did(ws, how ? strtoul(how, NULL, 10) : 0, err);
    }
}

enum status cmd_tour(struct workspace *ws, const struct args *a, struct err *err)
{
    return begin(ws, "tour", a, err);
}
