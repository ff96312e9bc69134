/* app/runs/predictor/predictor_steps.c -- see predictor_steps.h. The steps are followed once by
 * the names of their columns, which gives the places, and then written. */
#include "config.h"

#include "app/runs/predictor/predictor_steps.h"

#include "base/mem.h"
#include "data/expr.h"
#include "data/expr_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column of the file, or made by a step. */
struct predictor_place {
    char **name; size_t names, names_room; /* of the file: by which it may be called, first first */
    bool made; size_t instead; /* the place that stands for it where a file lacks what it needs */
    bool typed;              /* a step `type` changes it, */
    int words;               /* the type after the last one: 1 words, 0 numbers, -1 unknown */
    bool wanted, read;       /* the program needs it, or reads it in place of what it lacks */
    size_t number;           /* its number there */
};
/* A column that the expression of a step names, and its type there: as above. */
struct need { char *column; size_t place; int words; };
/* where, or let. */
struct predictor_step {
    char *text;
    bool let;
    struct expr *expr;
    size_t place;            /* what it makes */
    size_t nneeds, needs_room; struct need *need;
};
struct predictor_name { char *column; size_t place; };

static bool is_c(const struct predictor_language *in)
{
    return in->open[0] == '{';
}

void predictor_steps_free(struct predictor_steps *s)
{
    for (size_t i = 0; i < s->nplaces; i++) {
        for (size_t k = 0; k < s->place[i].names; k++)
            free(s->place[i].name[k]);
        free(s->place[i].name);
    }
    for (size_t i = 0; i < s->nsteps; i++) {
        for (size_t k = 0; k < s->step[i].nneeds; k++)
            free(s->step[i].need[k].column);
        free(s->step[i].need);
        free(s->step[i].text);
        expr_free(s->step[i].expr);
    }
    for (size_t i = 0; i < s->nnames; i++)
        free(s->name[i].column);
    free(s->place);
    free(s->step);
    free(s->name);
    *s = (struct predictor_steps){ 0 };
}

/* Following the steps. */

static enum status add_place(struct predictor_steps *s, bool made, size_t *place, struct err *err)
{
    const enum status rc = mem_grow((void **)&s->place, &s->places_room, s->nplaces + 1,
                                    sizeof *s->place, "columns", err);

    if (rc != ST_OK)
        return rc;
    *place = s->nplaces++;
    s->place[*place] = (struct predictor_place){ .made = made, .words = -1 };
    return ST_OK;
}

/* A place of the file may have this name, too. */
static enum status add_name_of(struct predictor_place *p, const char *name, struct err *err)
{
    enum status rc = mem_grow((void **)&p->name, &p->names_room, p->names + 1, sizeof *p->name,
                              "names", err);

    if (rc == ST_OK && !(p->name[p->names] = mem_strdup(name, err)))
        rc = ST_NOMEM;
    p->names += rc == ST_OK;
    return rc;
}

static struct predictor_name *find_name(const struct predictor_steps *s, const char *column)
{
    for (size_t i = 0; i < s->nnames; i++)
        if (!strcmp(s->name[i].column, column))
            return &s->name[i];
    return NULL;
}

static enum status set_name(struct predictor_steps *s, const char *column, size_t place,
                            struct err *err)
{
    struct predictor_name *n = find_name(s, column);

    if (n) {
        n->place = place;
        return ST_OK;
    }
    enum status rc = mem_grow((void **)&s->name, &s->names_room, s->nnames + 1, sizeof *s->name,
                              "names", err);
    if (rc == ST_OK && !(s->name[s->nnames].column = mem_strdup(column, err)))
        rc = ST_NOMEM;
    if (rc == ST_OK)
        s->name[s->nnames++].place = place;
    return rc;
}

/* The place that a column has now. One that no step named so far is of the file. */
static enum status place_of(struct predictor_steps *s, const char *column, size_t *place,
                            struct err *err)
{
    const struct predictor_name *n = find_name(s, column);
    enum status rc = ST_OK;

    if (n) {
        *place = n->place;
        return ST_OK;
    }
    rc = add_place(s, false, place, err);
    if (rc == ST_OK)
        rc = add_name_of(&s->place[*place], column, err);
    return rc == ST_OK ? set_name(s, column, *place, err) : rc;
}

/* rename "x1"=age, x2=bmi: all at once. */
static enum status take_rename(struct predictor_steps *s, const char *p, struct err *err)
{
    struct predictor_name *to = NULL;
    size_t n = 0, room = 0;
    enum status rc = ST_OK;

    while (rc == ST_OK && *p) {
        struct buf from = { 0 }, name = { 0 };
        size_t place = 0;
        rc = expr_name(&p, "=,", &from, err);
        p += *p == '=';
        if (rc == ST_OK)
            rc = expr_name(&p, ", ", &name, err);
        p += strspn(p, ", ");
        if (rc == ST_OK)
            rc = place_of(s, buf_str(&from), &place, err);
        if (rc == ST_OK)
            rc = mem_grow((void **)&to, &room, n + 1, sizeof *to, "names", err);
        if (rc == ST_OK && !(to[n].column = mem_strdup(buf_str(&name), err)))
            rc = ST_NOMEM;
        if (rc == ST_OK) {
            to[n++].place = place;
            find_name(s, buf_str(&from))->place = SIZE_MAX; /* no column has this name any more */
        }
        buf_free(&from);
        buf_free(&name);
    }
    for (size_t i = 0; i < s->nnames;)
        if (s->name[i].place == SIZE_MAX) {
            free(s->name[i].column);
            s->name[i] = s->name[--s->nnames];
        } else {
            i++;
        }
    for (size_t i = 0; i < n; i++) {
        if (rc == ST_OK)
            rc = set_name(s, to[i].column, to[i].place, err);
        struct predictor_place *file = &s->place[to[i].place];
        while (file->made)
            file = &s->place[file->instead];
        if (rc == ST_OK)
            rc = add_name_of(file, to[i].column, err);
        free(to[i].column);
    }
    free(to);
    return rc;
}

static enum status add_needs(struct predictor_steps *s, struct predictor_step *t, struct err *err)
{
    enum status rc = ST_OK;
    const char *column;

    for (size_t i = 0; rc == ST_OK && (column = expr_column(t->expr, i)) != NULL; i++) {
        size_t place = 0;
        rc = place_of(s, column, &place, err);
        if (rc == ST_OK)
            rc = mem_grow((void **)&t->need, &t->needs_room, t->nneeds + 1, sizeof *t->need,
                          "columns", err);
        if (rc != ST_OK)
            break;
        t->need[t->nneeds] = (struct need){ mem_strdup(column, err), place,
                                            s->place[place].words };
        rc = t->need[t->nneeds++].column ? ST_OK : ST_NOMEM;
    }
    return rc;
}

/* where EXPR, or let NAME = EXPR. */
static enum status take_step(struct predictor_steps *s, const char *text, struct err *err)
{
    const bool let = !strncmp(text, "let ", 4);
    const char *p = text + (let ? 4 : 6);
    struct buf name = { 0 };
    size_t instead = 0;
    enum status rc = mem_grow((void **)&s->step, &s->steps_room, s->nsteps + 1, sizeof *s->step,
                              "steps", err);

    if (rc != ST_OK)
        return rc;
    struct predictor_step *t = &s->step[s->nsteps++];
    *t = (struct predictor_step){ .let = let };
    t->text = mem_strdup(text, err);
    rc = t->text ? ST_OK : ST_NOMEM;
    if (rc == ST_OK && let)
        rc = expr_name(&p, "=", &name, err);
    p += let && *p == '=';
    if (rc == ST_OK)
        rc = expr_parse(p, &t->expr, err);
    if (rc == ST_OK)
        rc = add_needs(s, t, err);
    if (rc == ST_OK && let) /* a file without what it needs may have the column itself */
        rc = place_of(s, buf_str(&name), &instead, err);
    if (rc == ST_OK)
        rc = add_place(s, true, &t->place, err);
    if (rc == ST_OK)
        s->place[t->place].instead = instead;
    if (rc == ST_OK && let)
        rc = set_name(s, buf_str(&name), t->place, err);
    buf_free(&name);
    return rc;
}

static enum status take_type(struct predictor_steps *s, const char *p, struct err *err)
{
    struct buf name = { 0 };
    size_t place = 0;
    enum status rc = expr_name(&p, "=", &name, err);

    p += *p == '=';
    if (rc == ST_OK)
        rc = place_of(s, buf_str(&name), &place, err);
    if (rc == ST_OK) {
        s->place[place].typed = true;
        s->place[place].words = strcmp(p + strspn(p, " "), "real") != 0;
    }
    buf_free(&name);
    return rc;
}

static enum status follow(struct predictor_steps *s, const char *step, struct err *err)
{
    if (!strncmp(step, "rename ", 7))
        return take_rename(s, step + 7 + strspn(step + 7, " "), err);
    if (!strncmp(step, "where ", 6) || !strncmp(step, "let ", 4))
        return take_step(s, step, err);
    if (!strncmp(step, "type ", 5))
        return take_type(s, step + 5, err);
    s->left |= !strncmp(step, "molecules ", 10);
    return ST_OK;
}

enum status predictor_steps_read(const struct run *r, struct predictor_steps *s, struct err *err)
{
    enum status rc = ST_OK;

    *s = (struct predictor_steps){ 0 };
    for (const char *p = r->enc.steps; rc == ST_OK && p && *p;) {
        const size_t len = strcspn(p, "\n");
        char *step = strndup(p, len);
        rc = step ? follow(s, step, err) : err_nomem(err, len, "a step");
        free(step);
        p += len + (p[len] == '\n');
    }
    if (rc != ST_OK)
        predictor_steps_free(s);
    return rc;
}

enum status predictor_steps_find(struct predictor_steps *s, const char *column, size_t *place,
                                 struct err *err)
{
    const enum status rc = place_of(s, column, place, err);

    if (rc == ST_OK)
        s->place[*place].read = s->place[*place].wanted = true;
    return rc;
}

/* Numbers and types. */

/* A step that computes what nothing reads is not taken. */
static bool takes(const struct predictor_steps *s, const struct predictor_step *t)
{
    return !t->let || s->place[t->place].read;
}

void predictor_steps_settle(struct predictor_steps *s, const struct run *r)
{
    const struct table *t = r->data ? r->data->table : NULL;
    size_t n = 0;

    for (size_t i = s->nsteps; i-- > 0;) {
        const struct predictor_step *step = &s->step[i];
        for (size_t k = 0; takes(s, step) && k < step->nneeds; k++)
            s->place[step->need[k].place].read = s->place[step->need[k].place].wanted = true;
        if (takes(s, step) && step->let)
            s->place[s->place[step->place].instead].read = true;
    }
    for (size_t i = 0; i < s->nplaces; i++)
        if (!s->place[i].made && s->place[i].read)
            s->place[i].number = n++;
    s->files = n;
    for (size_t i = 0; i < s->nsteps; i++)
        if (takes(s, &s->step[i]))
            s->place[s->step[i].place].number = n++;
    s->taken = n - s->files;
    /* A column that no step gives another type has the one of the table. */
    for (size_t i = 0; t && i < s->nnames; i++) {
        struct predictor_place *p = &s->place[s->name[i].place];
        const size_t j = table_find(t, s->name[i].column);
        if (!p->made && !p->typed && j != SIZE_MAX)
            p->words = t->col[j].type != COL_REAL;
    }
}

size_t predictor_steps_number(const struct predictor_steps *s, size_t place)
{
    return s->place[place].number;
}

static const struct predictor_place *file_place(const struct predictor_steps *s, size_t i)
{
    for (size_t k = 0; k < s->nplaces; k++)
        if (!s->place[k].made && s->place[k].read && s->place[k].number == i)
            return &s->place[k];
    return NULL;
}

const char *predictor_steps_column(const struct predictor_steps *s, size_t i)
{
    const struct predictor_place *p = NULL;

    for (size_t k = 0; k < s->files && !p; k++) {
        p = file_place(s, k);
        if (!p->wanted || i-- > 0)
            p = NULL;
    }
    return p ? p->name[0] : NULL;
}

/* Writing. */

void predictor_steps_tables(const struct predictor_steps *s, const struct predictor_language *in,
                            struct buf *out)
{
    const bool c = is_c(in);

    buf_printf(out, c ? "/* Columns of a file, each by the names that it may have. */\n"
                      : "# Columns of a file, each by the names that it may have.\n");
    for (size_t i = 0; i < s->files; i++) {
        const struct predictor_place *p = file_place(s, i);
        if (c)
            buf_printf(out, "static const char *const names_%zu[] = { ", i);
        else
            buf_puts(out, i ? "    (" : "file_columns = [\n    (");
        for (size_t k = 0; k < p->names; k++) {
            predictor_string(in, p->name[k], out);
            buf_puts(out, ", ");
        }
        buf_puts(out, c ? "NULL };\n" : "),\n");
    }
    if (c) {
        buf_puts(out, "static const char *const *const file_columns[] = {\n");
        for (size_t i = 0; i < s->files; i++)
            buf_printf(out, "    names_%zu,\n", i);
        buf_puts(out, s->files ? "};\n" : "    NULL,\n};\n");
    } else {
        buf_puts(out, s->files ? "]\n" : "file_columns = []\n");
    }
    if (c)
        buf_printf(out, "enum { FILE_COLUMNS = %zu, STEPS = %zu };\n", s->files, s->taken);
}

void predictor_steps_words(const struct predictor_steps *s, const struct predictor_language *in,
                           struct buf *out)
{
    const bool c = is_c(in);
    size_t words = 0;

    buf_printf(out, c ? "/* Words that steps compare: they mark no missing cell. */\n"
                        "static const char *const known_words[] = { "
                      : "# Words that steps compare: they mark no missing cell.\nknown_words = [");
    for (size_t i = 0; i < s->nsteps; i++)
        for (size_t k = 0; takes(s, &s->step[i]) && expr_word(s->step[i].expr, k); k++) {
            buf_printf(out, "%s", words++ && !c ? ", " : "");
            predictor_string(in, expr_word(s->step[i].expr, k), out);
            buf_puts(out, c ? ", " : "");
        }
    buf_puts(out, c ? "NULL };\n" : "]\n");
}

/* What expr_source asks for. */
struct asked {
    const struct predictor_steps *s;
    const struct predictor_step *t;
    const int *words;              /* of each step that is taken: whether it makes words */
    const char *changed;           /* a column of numbers that a step made words of; NULL: none */
};

static void column_of(void *ctx, const char *name, size_t *place, int *words)
{
    struct asked *a = ctx;
    size_t i = 0;

    while (i + 1 < a->t->nneeds && strcmp(a->t->need[i].column, name) != 0)
        i++;
    const struct need *n = &a->t->need[i];
    const struct predictor_place *p = &a->s->place[n->place];
    *place = p->number;
    *words = n->words;
    if (p->made) {
        const int own = a->words[p->number - a->s->files];
        if (n->words == 1 && own == 0)
            a->changed = n->column;
        *words = n->words >= 0 ? n->words : own;
    } else if (!p->typed) {
        *words = p->words;
    }
}

static void word_in_c(struct buf *out, const char *text)
{
    predictor_string(predictor_language_find("c"), text, out);
}

static void word_in_python(struct buf *out, const char *text)
{
    predictor_string(predictor_language_find("python"), text, out);
}

static enum status write_function(struct asked *a, size_t i, const struct predictor_language *in,
                                  struct buf *out, int *words, struct err *err)
{
    const bool c = is_c(in);
    const struct expr_source how = {
        .column = column_of,
        .ctx = a,
        .word = c ? word_in_c : word_in_python,
        .number_line = c ? "const double " : "",
        .word_line = c ? "const char *const " : "",
        .stop = c ? ";" : "",
    };
    struct buf body = { 0 };
    enum expr_type type = EXPR_NUMBER;
    enum status rc = expr_source_write(a->t->expr, &how, &body, &type, err);

    if (rc == ST_OK && a->changed) {
        err_named(err, ST_UNSUPPORTED, "predictor",
                  "a step compares words that were made of the computed numbers %.60s, which the "
                  "program cannot repeat", a->changed);
        err_hint(err, "predict NEW.csv out=FILE   (it takes every step)");
        rc = ST_UNSUPPORTED;
    }
    *words = type == EXPR_WORD;
    if (c)
        buf_printf(out, "static %sstep_%zu(void)\n{\n%s}\n\n", *words ? "const char *" : "double ",
                   i, buf_str(&body));
    else
        buf_printf(out, "def step_%zu(number_of, word_of):\n%s\n\n", i, buf_str(&body));
    out->failed |= body.failed;
    buf_free(&body);
    return rc;
}

/* The row of step i of those that are taken. */
static void write_row(const struct predictor_steps *s, const struct predictor_step *t, size_t i,
                      bool words, const struct predictor_language *in, struct buf *out)
{
    const bool c = is_c(in);
    char name[32];

    snprintf(name, sizeof name, "step_%zu", i);
    buf_printf(out, "    %s", in->open);
    predictor_string(in, t->text, out);
    if (c)
        buf_printf(out, ", %d, %s, %s, needs_%zu, ", t->let, words ? "NULL" : name,
                   words ? name : "NULL", i);
    else
        buf_printf(out, ", %s, %s, (", t->let ? "True" : "False", name);
    for (size_t k = 0; !c && k < t->nneeds; k++)
        buf_printf(out, "%zu, ", s->place[t->need[k].place].number);
    buf_puts(out, c ? "" : "), ");
    if (t->let)
        buf_printf(out, "%zu", s->place[s->place[t->place].instead].number);
    else
        buf_puts(out, c ? "-1" : "None");
    buf_printf(out, "%s,\n", in->close);
}

enum status predictor_steps_code(const struct predictor_steps *s,
                                 const struct predictor_language *in, struct buf *out,
                                 struct err *err)
{
    int *words = mem_calloc(s->taken + 1, sizeof *words, "steps", err);
    const bool c = is_c(in);
    enum status rc = words ? ST_OK : ST_NOMEM;
    size_t n = 0;

    for (size_t i = 0; rc == ST_OK && i < s->nsteps; i++) {
        const struct predictor_step *t = &s->step[i];
        struct asked a = { .s = s, .t = t, .words = words };
        if (!takes(s, t))
            continue;
        rc = write_function(&a, n, in, out, &words[n], err);
        if (c)
            buf_printf(out, "static const int needs_%zu[] = { ", n);
        for (size_t k = 0; c && k < t->nneeds; k++)
            buf_printf(out, "%zu, ", s->place[t->need[k].place].number);
        buf_puts(out, c ? "-1 };\n\n" : "");
        n++;
    }
    buf_puts(out, c ? "static const struct prepared steps[STEPS + 1] = {\n"
                    : "# The steps: text, let or where, function, places that it needs, and the "
                      "one instead.\nsteps = [\n");
    for (size_t i = 0, k = 0; rc == ST_OK && i < s->nsteps; i++)
        if (takes(s, &s->step[i])) {
            write_row(s, &s->step[i], k, words[k], in, out);
            k++;
        }
    buf_puts(out, c ? "    { NULL, 0, NULL, NULL, NULL, -1 },\n};\n" : "]\n");
    free(words);
    return rc;
}
