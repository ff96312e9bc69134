/* app/teach/lesson_parse.c -- reads lesson files and finds them. See lesson.h for the format. */
#include "app/teach/lesson.h"

#include "app/teach/lesson_text.h"
#include "app/shell/script.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MOST = 400, ANSWERS_MOST = 8 };

/* Memory. */

void lesson_clear(struct lesson *l)
{
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < l->step[i].n; k++) {
            struct lesson_part *p = &l->step[i].part[k];
            for (size_t a = 0; a < p->nanswer; a++)
                free(p->answer[a].text);
            free(p->answer), free(p->text), free(p->number), free(p->because);
        }
        free(l->step[i].part), free(l->step[i].title);
    }
    free(l->step), free(l->id), free(l->title), free(l->summary), free(l->name);
    *l = (struct lesson){ 0 };
}

/* The reader. */

struct reader {
    struct lesson *l;
    const char *name;
    size_t line;
    struct err *err;
    struct value_vars vars;     /* names stored so far, without values */
    bool open;                  /* the last part is a paragraph, and the next line continues it */
};

static enum status broken(struct reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static enum status broken(struct reader *r, const char *fmt, ...)
{
    char what[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    err_named(r->err, ST_FORMAT, "lesson", "line %zu of %.200s: %s", r->line, r->name, what);
    err_hint(r->err, "lesson check FILE, after mending it; share/doc/lessons.md has the format");
    return ST_FORMAT;
}

/* Reports the failure of another check with the line of this file in front. */
static enum status broken_by(struct reader *r, const struct err *why)
{
    return broken(r, "%.300s%s%.80s", why->msg, *why->hint ? "; try: " : "", why->hint);
}

static struct lesson_step *step_now(struct reader *r)
{
    return r->l->n ? &r->l->step[r->l->n - 1] : NULL;
}

static struct lesson_part *part_now(struct reader *r)
{
    struct lesson_step *s = step_now(r);

    return s && s->n ? &s->part[s->n - 1] : NULL;
}

static enum status part_new(struct reader *r, enum lesson_kind kind, const char *text)
{
    struct lesson_step *s = step_now(r);

    if (!s)
        return broken(r, "this stands before the first step: begin one with == TITLE");
    if (s->n >= PARTS_MOST)
        return broken(r, "a step of more than %d parts is too long", PARTS_MOST);
    if (mem_grow((void **)&s->part, &s->cap, s->n + 1, sizeof *s->part, "a lesson", r->err) !=
        ST_OK)
        return ST_NOMEM;
    struct lesson_part *p = &s->part[s->n];
    *p = (struct lesson_part){ .kind = kind, .line = r->line };
    if (!(p->text = mem_strdup(text, r->err)))
        return ST_NOMEM;
    s->n++;
    return ST_OK;
}

static enum status check_text(struct reader *r, const char *text)
{
    struct err why = { 0 };
    struct buf b = { 0 };
    size_t missing;
    const enum status rc = placeholder_expand(NULL, &r->vars, text, false, &b, &missing, &why);

    buf_free(&b);
    return rc == ST_OK ? ST_OK : broken_by(r, &why);
}

static enum status check_number(struct reader *r, const char *text)
{
    struct err why = { 0 };
    double x;

    return placeholder_expression(NULL, &r->vars, text, &x, &why) == ST_OK ? ST_OK
                                                                           : broken_by(r, &why);
}

static enum status read_title(struct reader *r, const char *s)
{
    const size_t n = strcspn(s, " ");

    if (r->l->title)
        return broken(r, "there is a second title: a lesson has one line that begins with #");
    if (!s[n])
        return broken(r, "a title is '# NUMBER TITLE', as in '# 3 Lengthscale and noise'");
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '-')
            return broken(r, "'%.*s' is not a number or name of a lesson: letters, digits and - "
                          "only",
                          (int)(n > 40 ? 40 : n), s);
    r->l->id = strndup(s, n);
    r->l->title = mem_strdup(s + n + strspn(s + n, " "), r->err);
    return r->l->id && r->l->title ? ST_OK : ST_NOMEM;
}

static enum status read_step(struct reader *r, const char *title)
{
    struct lesson *l = r->l;

    if (!l->title)
        return broken(r, "the title is missing: the first line is '# NUMBER TITLE'");
    if (!*title)
        return broken(r, "a step needs a title: == Read: what happens");
    if (mem_grow((void **)&l->step, &l->cap, l->n + 1, sizeof *l->step, "a lesson", r->err) !=
        ST_OK)
        return ST_NOMEM;
    l->step[l->n] = (struct lesson_step){ .line = r->line };
    if (!(l->step[l->n].title = mem_strdup(title, r->err)))
        return ST_NOMEM;
    l->n++;
    return ST_OK;
}

static enum status read_command(struct reader *r, const char *text)
{
    static const char *const barred[] = { "lesson", "answer", "quit", "tour" };
    const struct command *cmd;
    struct args *a = NULL;
    struct err why = { 0 };
    struct buf b = { 0 };
    size_t missing;
    enum status rc = placeholder_expand(NULL, &r->vars, text, true, &b, &missing, &why);

    if (rc == ST_OK)
        rc = command_parse(buf_str(&b), &cmd, &a, &why);
    buf_free(&b);
    if (rc != ST_OK)
        return broken_by(r, &why);
    args_free(a);
    for (size_t i = 0; i < sizeof barred / sizeof *barred; i++)
        if (!strcmp(cmd->name, barred[i]))
            return broken(r, "%s cannot stand in a lesson", cmd->name);
    return part_new(r, LESSON_COMMAND, text);
}

/* ": name = expression" */
static enum status read_keep(struct reader *r, const char *text)
{
    const size_t n = strcspn(text, " =");
    const char *eq = text + n + strspn(text + n, " ");
    char name[24];

    if (n == 0 || n >= sizeof name || *eq != '=')
        return broken(r,
                      "a value is kept by ': NAME = EXPRESSION', the name of at most 23 letters");
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return broken(r, "'%s' is not a name: letters, digits and _", name);
    if (isdigit((unsigned char)*name) || placeholder_known(name))
        return broken(r, "'%s' cannot be a name: it %s", name,
                      placeholder_known(name) ? "is a value already" : "begins with a digit");
    eq += 1 + strspn(eq + 1, " ");
    enum status rc = check_number(r, eq);
    if (rc == ST_OK)
        rc = part_new(r, LESSON_KEEP, eq);
    if (rc == ST_OK) {
        snprintf(part_now(r)->name, sizeof part_now(r)->name, "%s", name);
        rc = placeholder_keep(&r->vars, name, NAN, r->err);
    }
    return rc;
}

static struct lesson_part *question_now(struct reader *r)
{
    struct lesson_part *p = part_now(r);

    return p && p->kind == LESSON_QUESTION ? p : NULL;
}

static enum status read_choice(struct reader *r, const char *text, bool right)
{
    struct lesson_part *q = question_now(r);

    if (!q)
        return broken(r, "an answer without a question: a line with ? comes first");
    if (q->number)
        return broken(r, "the question of line %zu is answered by a number: no choices", q->line);
    if (q->nanswer >= ANSWERS_MOST)
        return broken(r, "at most %d answers to choose from", ANSWERS_MOST);
    if (mem_grow((void **)&q->answer, &q->cap, q->nanswer + 1, sizeof *q->answer, "a lesson",
                 r->err) != ST_OK)
        return ST_NOMEM;
    q->answer[q->nanswer] = (struct lesson_answer){ mem_strdup(text, r->err), right };
    if (!q->answer[q->nanswer].text)
        return ST_NOMEM;
    q->nanswer++;
    return check_text(r, text);
}

/* "= draw_nmll +- 5%" */
static enum status read_number(struct reader *r, const char *text)
{
    struct lesson_part *q = question_now(r);
    const char *tol = strstr(text, "+-");
    double within = 1.0;

    if (!q)
        return broken(r, "an answer without a question: a line with ? comes first");
    if (q->number || q->nanswer)
        return broken(r, "the question of line %zu has its answer already", q->line);
    if (tol && (sscanf(tol + 2, " %lf %%", &within) != 1 || !(within > 0.0) || within > 100.0))
        return broken(r, "'%.40s' is not a tolerance such as +- 5%%", tol);
    size_t n = tol ? (size_t)(tol - text) : strlen(text);
    while (n && text[n - 1] == ' ')
        n--;
    q->number = strndup(text, n);
    q->within = within / 100.0;
    return q->number ? check_number(r, q->number) : ST_NOMEM;
}

static enum status read_because(struct reader *r, const char *text)
{
    struct lesson_part *q = question_now(r);

    if (!q)
        return broken(r, "an explanation without a question: a line with ? comes first");
    struct buf b = { 0 };
    if (q->because)
        buf_printf(&b, "%s ", q->because);
    buf_puts(&b, text);
    free(q->because);
    q->because = buf_take(&b);
    return q->because ? check_text(r, text) : ST_NOMEM;
}

/* Reads summary and minutes. */
static enum status read_head(struct reader *r, const char *line)
{
    if (!strncmp(line, "summary ", 8) && !r->l->summary) {
        r->l->summary = mem_strdup(line + 8, r->err);
        return r->l->summary ? ST_OK : ST_NOMEM;
    }
    if (!strncmp(line, "minutes ", 8)) {
        r->l->minutes = strtod(line + 8, NULL);
        return r->l->minutes > 0.0 && r->l->minutes < 1000.0
                   ? ST_OK : broken(r, "'%.20s' is not a number of minutes", line + 8);
    }
    return broken(r,
                  "before the first step stand '# NUMBER TITLE', 'summary TEXT' and 'minutes N', "
                  "not '%.40s'",
                  line);
}

static enum status read_text(struct reader *r, const char *line)
{
    struct lesson_part *p = part_now(r);

    if (!r->l->n)
        return read_head(r, line);
    if (question_now(r) && r->open && !p->nanswer && !p->number && !p->because) {
        struct buf b = { 0 };                      /* a question of several lines */
        buf_printf(&b, "%s %s", p->text, line);
        free(p->text);
        p->text = buf_take(&b);
        return p->text ? check_text(r, line) : ST_NOMEM;
    }
    if (r->open && p && p->kind == LESSON_TEXT) {
        struct buf b = { 0 };
        buf_printf(&b, "%s %s", p->text, line);
        free(p->text);
        p->text = buf_take(&b);
        return p->text ? check_text(r, line) : ST_NOMEM;
    }
    const enum status rc = check_text(r, line);
    return rc == ST_OK ? part_new(r, LESSON_TEXT, line) : rc;
}

static enum status read_line(struct reader *r, const char *s)
{
    const char *rest = *s ? s + 1 + strspn(s + 1, " \t") : s;
    enum status rc;

    if (!*s) {
        r->open = false;
        return ST_OK;
    }
    if (*s == '%')
        return ST_OK;
    /* A sign needs a blank after it: "=" in "==" and "-" in "-0.5" do not begin an answer. */
    const bool sign = s[1] == ' ' || s[1] == '\t';
    if (*s == '#' && sign)
        return read_title(r, rest);
    if (!strncmp(s, "==", 2))
        rc = read_step(r, s + 2 + strspn(s + 2, " \t="));
    else if (*s == '>')
        rc = *rest ? read_command(r, rest) : broken(r, "a command is missing behind >");
    else if (*s == ':' && sign)
        rc = read_keep(r, rest);
    else if (*s == '@' && sign)
        rc = check_number(r, rest) == ST_OK ? part_new(r, LESSON_CLAIM, rest) : ST_FORMAT;
    else if (*s == '?' && sign)
        rc = check_text(r, rest) == ST_OK ? part_new(r, LESSON_QUESTION, rest) : ST_FORMAT;
    else if ((*s == '-' || *s == '+') && sign)
        rc = read_choice(r, rest, *s == '+');
    else if (*s == '=' && sign)
        rc = read_number(r, rest);
    else if (*s == '!' && sign)
        rc = read_because(r, rest);
    else {
        rc = read_text(r, s);
        r->open = true;
        return rc;
    }
    r->open = *s == '?';
    return rc;
}

/* Checks that need the whole file. */
static enum status check_whole(struct reader *r)
{
    struct lesson *l = r->l;

    if (!l->title)
        return r->line = 1, broken(r, "the title is missing: the first line is '# NUMBER TITLE'");
    if (!l->n)
        return broken(r, "there is no step: begin one with == TITLE");
    for (size_t i = 0; i < l->n; i++) {
        r->line = l->step[i].line;
        if (!l->step[i].n)
            return broken(r, "the step '%.60s' is empty", l->step[i].title);
        for (size_t k = 0; k < l->step[i].n; k++) {
            const struct lesson_part *p = &l->step[i].part[k];
            size_t right = 0;
            r->line = p->line;
            if (p->kind != LESSON_QUESTION || p->number)
                continue;
            for (size_t a = 0; a < p->nanswer; a++)
                right += p->answer[a].right;
            if (p->nanswer < 2)
                return broken(r,
                              "a question needs two answers to choose from, or a number (= ...)");
            if (right != 1)
                return broken(r, "%zu of its answers are right (+): it must be one", right);
        }
    }
    return ST_OK;
}

enum status lesson_parse(const char *text, const char *name, struct lesson *out, struct err *err)
{
    struct reader r = { .l = out, .name = name, .err = err };
    enum status rc = ST_OK;

    *out = (struct lesson){ 0 };
    if (!(out->name = mem_strdup(name, err)))
        return ST_NOMEM;
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        text += 3;
    while (*text && rc == ST_OK) {
        size_t n = strcspn(text, "\n");
        const size_t next = n + (text[n] == '\n');
        r.line++;
        while (n && strchr(" \t\r", text[n - 1]))
            n--;
        char *line = strndup(text, n);
        rc = line ? read_line(&r, line) : err_nomem(err, n, "a lesson");
        free(line);
        text += next;
    }
    if (rc == ST_OK)
        rc = check_whole(&r);
    if (rc == ST_OK && !out->summary && !(out->summary = mem_strdup("", err)))
        rc = ST_NOMEM;
    placeholder_vars_free(&r.vars);
    if (rc != ST_OK)
        lesson_clear(out);
    return rc;
}

/* Finding lessons. */

void lesson_list_free(struct lesson_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->id[i]), free(l->title[i]), free(l->summary[i]), free(l->path[i]);
    free(l->id), free(l->title), free(l->summary), free(l->path), free(l->minutes);
    buf_free(&l->broken);
    *l = (struct lesson_list){ 0 };
}

/* Adds a lesson to the list, or replaces the one with the same number. path "": it is bundled. */
static enum status list_take(struct lesson_list *l, size_t room, struct lesson *one,
                             const char *path, struct err *err)
{
    size_t at = 0;

    while (at < l->n && strcmp(l->id[at], one->id) != 0)
        at++;
    if (at == room)
        return ST_OK;
    if (at < l->n)
        free(l->id[at]), free(l->title[at]), free(l->summary[at]), free(l->path[at]);
    else
        l->n++;
    l->id[at] = one->id, l->title[at] = one->title, l->summary[at] = one->summary;
    l->minutes[at] = one->minutes;
    one->id = one->title = one->summary = NULL;
    l->path[at] = mem_strdup(path, err);
    return l->path[at] ? ST_OK : ST_NOMEM;
}

static bool is_lesson_file(const char *name)
{
    const size_t n = strlen(name);

    return n > 7 && *name != '.' && !strcmp(name + n - 7, ".lesson");
}

/* Sorts lessons by number; named ones follow. */
static int before(const char *a, const char *b)
{
    const bool na = isdigit((unsigned char)*a), nb = isdigit((unsigned char)*b);

    if (na != nb)
        return na ? -1 : 1;
    const long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);
    return na && x != y ? (x > y) - (x < y) : strcmp(a, b);
}

static void list_sort(struct lesson_list *l)
{
    for (size_t i = 1; i < l->n; i++)
        for (size_t k = i; k > 0 && before(l->id[k - 1], l->id[k]) > 0; k--) {
            char **v[] = { l->id, l->title, l->summary, l->path };
            for (size_t j = 0; j < 4; j++) {
                char *t = v[j][k];
                v[j][k] = v[j][k - 1], v[j][k - 1] = t;
            }
            const double m = l->minutes[k];
            l->minutes[k] = l->minutes[k - 1], l->minutes[k - 1] = m;
        }
}

static enum status list_own(struct lesson_list *l, size_t room, struct err *err)
{
    struct buf dir = { 0 };
    enum status rc = ST_OK;
    struct dirent *e;

    /* no directory of lessons without a home directory */
    (void)dirs_path(DIRS_DATA, "lessons", &dir);
    DIR *d = dir.len ? opendir(buf_str(&dir)) : NULL;
    for (size_t seen = 0; d && rc == ST_OK && (e = readdir(d)) && seen < 1000; seen++) {
        struct buf path = { 0 };
        struct lesson one = { 0 };
        struct err why = { 0 };
        char *text = NULL;
        if (!is_lesson_file(e->d_name))
            continue;
        buf_printf(&path, "%s/%s", buf_str(&dir), e->d_name);
        if (script_read(buf_str(&path), &text, &why) == ST_OK &&
            lesson_parse(text, buf_str(&path), &one, &why) == ST_OK)
            rc = list_take(l, room, &one, buf_str(&path), err);
        else
            buf_printf(&l->broken, "%s\n", why.msg);
        free(text);
        lesson_clear(&one);
        buf_free(&path);
    }
    if (d)
        closedir(d);
    buf_free(&dir);
    return rc;
}

enum status lesson_list(struct lesson_list *l, struct err *err)
{
    enum { ROOM = 200 };
    enum status rc = ST_OK;

    *l = (struct lesson_list){ 0 };
    l->id = mem_calloc(ROOM, sizeof *l->id, "lessons", err);
    l->title = mem_calloc(ROOM, sizeof *l->title, "lessons", err);
    l->summary = mem_calloc(ROOM, sizeof *l->summary, "lessons", err);
    l->path = mem_calloc(ROOM, sizeof *l->path, "lessons", err);
    l->minutes = mem_calloc(ROOM, sizeof *l->minutes, "lessons", err);
    if (!l->id || !l->title || !l->summary || !l->path || !l->minutes)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && lesson_text[i].name; i++) {
        struct lesson one;
        rc = lesson_parse(lesson_text[i].text, lesson_text[i].name, &one, err);
        if (rc == ST_OK)
            rc = list_take(l, ROOM, &one, "", err);
        lesson_clear(&one);
    }
    if (rc == ST_OK)
        rc = list_own(l, ROOM, err);
    if (rc == ST_OK)
        list_sort(l);
    else
        lesson_list_free(l);
    return rc;
}

static enum status open_path(const char *path, struct lesson *out, struct err *err)
{
    char *text = NULL;
    enum status rc = script_read(path, &text, err);

    if (rc == ST_OK)
        rc = lesson_parse(text, path, out, err);
    free(text);
    return rc;
}

static enum status open_bundled(const char *id, struct lesson *out, struct err *err)
{
    for (size_t i = 0; lesson_text[i].name; i++) {
        const enum status rc = lesson_parse(lesson_text[i].text, lesson_text[i].name, out, err);
        if (rc != ST_OK || !strcmp(out->id, id))
            return rc;
        lesson_clear(out);
    }
    return err_set(err, ST_INTERNAL, "lesson %.40s went missing", id);
}

enum status lesson_open(const char *what, struct lesson *out, struct err *err)
{
    struct lesson_list l;
    struct buf known = { 0 };

    *out = (struct lesson){ 0 };
    if (strchr(what, '/') || strchr(what, '.'))
        return open_path(what, out, err);
    enum status rc = lesson_list(&l, err);
    if (rc != ST_OK)
        return rc;
    size_t at = 0;
    while (at < l.n && strcasecmp(l.id[at], what) != 0)
        at++;
    if (at < l.n)
        rc = *l.path[at] ? open_path(l.path[at], out, err) : open_bundled(l.id[at], out, err);
    for (size_t i = 0; i < l.n; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", l.id[i]);
    if (at == l.n) {
        rc = err_set(err, ST_NOT_FOUND, "there is no lesson %.40s; there are %.300s", what,
                     buf_str(&known));
        err_hint(err, "lesson   (lists them)");
    }
    buf_free(&known);
    lesson_list_free(&l);
    return rc;
}
