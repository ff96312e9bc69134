/* data/expr_source.c -- see expr_source.h. The program for a stack is run with texts in place of
 * values. */
#include "data/expr_source.h"

#include "data/expr_impl.h"
#include "data/formats/import.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 60 /* bytes of an operand, above which it gets a line of its own */ };

/* On the stack. open: the column of unknown type that this is; NULL: text is complete. */
struct part { struct buf text; enum expr_type type; const char *open; size_t place; };

struct source {
    const struct expr_source *how;
    struct part *stack;
    struct buf *out;
    size_t lines;
    struct err *err;
};

static void read_column(struct part *p, enum expr_type type)
{
    buf_printf(&p->text, "%s(%zu)", type == EXPR_WORD ? "word_of" : "number_of", p->place);
    p->type = type;
    p->open = NULL;
}

/* Completes an operand whose type the operation decides. */
static void settle(struct part *p, enum expr_type type)
{
    if (p->open)
        read_column(p, type);
}

/* A long operand becomes a line, so that no nesting is too deep for a compiler. */
static void shorten(struct source *s, struct part *p)
{
    if (p->text.len <= LONG)
        return;
    buf_printf(s->out, "    %s%c%zu = %s%s\n",
               p->type == EXPR_WORD ? s->how->word_line : s->how->number_line,
               p->type == EXPR_WORD ? 'w' : 't', s->lines, buf_str(&p->text), s->how->stop);
    buf_clear(&p->text);
    buf_printf(&p->text, "%c%zu", p->type == EXPR_WORD ? 'w' : 't', s->lines++);
}

/* Replaces n operands at v by f(a, b, ..), or nested by f(a, f(b, c)). */
static void call(struct source *s, struct part *v, size_t n, const char *name, bool nested)
{
    struct buf b = { 0 };

    for (size_t k = 0; k < n; k++)
        shorten(s, &v[k]);
    if (!nested)
        buf_printf(&b, "%s(", name);
    for (size_t k = 0; k < n; k++) {
        if (nested && k + 1 < n)
            buf_printf(&b, "%s(", name);
        buf_printf(&b, "%s%s", buf_str(&v[k].text), k + 1 < n ? ", " : "");
        s->out->failed |= v[k].text.failed;
        buf_free(&v[k].text);
    }
    for (size_t k = nested ? 1 : 0; k < (nested ? n : 1); k++)
        buf_putc(&b, ')');
    v[0].text = b;
    v[0].open = NULL;
}

static enum status unknown(struct source *s, const char *name)
{
    err_named(s->err, ST_STATE, "column-type", "whether column %.60s holds words or numbers is "
              "known while its data are there", name);
    err_hint(s->err, "open the file of the data, then export");
    return ST_STATE;
}

static const char *operator_name(const struct expr_fn *f)
{
    return f == &expr_plus    ? "plus"
           : f == &expr_minus ? "minus"
           : f == &expr_times ? "times"
           : f == &expr_over  ? "over"
           : f == &expr_power ? "power"
                              : "negative";
}

static void write_call(struct source *s, const struct expr_instr *in, struct part *v)
{
    char name[32] = "fn_";
    const bool named = expr_function(in->fn->name) == in->fn;

    for (size_t k = 0; k < in->nargs; k++)
        settle(&v[k], EXPR_NUMBER);
    strncat(name, in->fn->name, sizeof name - 4);
    call(s, v, in->nargs, named ? name : operator_name(in->fn), in->fn->most > 2);
    v[0].type = EXPR_NUMBER;
}

/* A word that is compared with numbers was read as a date (expr_bind). */
static void as_date(const struct expr_instr *in, struct part *p)
{
    double x = 0.0;

    if (p->type != EXPR_WORD || !in || in->code != EXPR_PUSH_WORD ||
        !scan_date(in->text, strlen(in->text), &x))
        return;
    buf_clear(&p->text);
    buf_json_double(&p->text, x);
    p->type = EXPR_NUMBER;
}

/* True if the operand is a word as it was written, which may be that of a date. */
static bool is_date(const struct expr_instr *in)
{
    double x;

    return in && in->code == EXPR_PUSH_WORD && scan_date(in->text, strlen(in->text), &x);
}

static enum status write_compare(struct source *s, const struct expr_instr *in, struct part *v,
                                 const struct expr_instr *const from[2])
{
    static const char *const names[] = { "eq", "ne", "lt", "le", "gt", "ge" };

    if (v[0].open && v[1].open)
        return unknown(s, v[0].open);
    for (size_t k = 0; k < 2; k++) /* a column of unknown type beside a date holds dates */
        if (v[k].open)
            read_column(&v[k], v[1 - k].type == EXPR_WORD && !is_date(from[1 - k]) ? EXPR_WORD
                                                                                 : EXPR_NUMBER);
    for (size_t k = 0; k < 2; k++)
        if (v[1 - k].type != EXPR_WORD)
            as_date(from[k], &v[k]);
    if (v[0].type == EXPR_WORD && v[1].type == EXPR_WORD) {
        call(s, v, 2, "order", false);
        v[0].type = EXPR_NUMBER;
        v[1] = (struct part){ .type = EXPR_NUMBER };
        buf_puts(&v[1].text, "0.0");
    }
    call(s, v, 2, names[in->compare], false);
    v[0].type = EXPR_TRUTH;
    return ST_OK;
}

static enum status write_choice(struct source *s, struct part *v)
{
    if (v[1].open && v[2].open)
        return unknown(s, v[1].open);
    settle(&v[1], v[2].type);
    settle(&v[2], v[1].type);
    call(s, v, 3, v[1].type == EXPR_WORD ? "choose_word" : "choose", false);
    v[0].type = v[1].type;
    return ST_OK;
}

static void push(struct source *s, const struct expr_instr *in, struct part *v)
{
    int words = 0;

    *v = (struct part){ .type = EXPR_NUMBER };
    if (in->code == EXPR_PUSH_NUMBER) {
        buf_json_double(&v->text, in->number);
    } else if (in->code == EXPR_PUSH_WORD) {
        s->how->word(&v->text, in->text);
        v->type = EXPR_WORD;
    } else {
        s->how->column(s->how->ctx, in->text, &v->place, &words);
        v->open = in->text;
        if (words >= 0)
            read_column(v, words ? EXPR_WORD : EXPR_NUMBER);
    }
}

static enum status write_one(struct source *s, const struct expr_instr *in, struct part *v,
                             const struct expr_instr *const from[2])
{
    switch (in->code) {
    case EXPR_PUSH_NUMBER: case EXPR_PUSH_WORD: case EXPR_PUSH_COLUMN: push(s, in, v); break;
    case EXPR_CALL: write_call(s, in, v); break;
    case EXPR_COMPARE: return write_compare(s, in, v, from);
    case EXPR_AND: case EXPR_OR:
        call(s, v, 2, in->code == EXPR_AND ? "both" : "either", false);
        v[0].type = EXPR_TRUTH;
        break;
    case EXPR_NOT: call(s, v, 1, "inverse", false); break;
    case EXPR_IS_MISSING:
        settle(v, EXPR_WORD);
        call(s, v, 1, v->type == EXPR_WORD ? "absent_word" : "absent", false);
        v->type = EXPR_TRUTH;
        break;
    case EXPR_IF: return write_choice(s, v);
    }
    return ST_OK;
}

enum status expr_source_write(const struct expr *e, const struct expr_source *how, struct buf *out,
                              enum expr_type *type, struct err *err)
{
    struct source s = { .how = how, .out = out, .err = err };
    const struct expr_instr **from = mem_calloc(e->n + 1, sizeof(void *), "an expression", err);
    size_t top = 0;

    s.stack = mem_calloc(e->n + 1, sizeof *s.stack, "an expression", err);
    enum status rc = s.stack && from ? ST_OK : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < e->n; i++) {
        top -= expr_operands(&e->code[i]);
        const struct expr_instr *const two[2] = { from[top], from[top + 1] };
        rc = write_one(&s, &e->code[i], &s.stack[top], two);
        from[top++] = &e->code[i];
    }
    if (rc == ST_OK && s.stack[0].open)
        rc = unknown(&s, s.stack[0].open);
    if (rc == ST_OK) {
        *type = s.stack[0].type;
        buf_printf(out, "    return %s%s\n", buf_str(&s.stack[0].text), how->stop);
        out->failed |= s.stack[0].text.failed;
    }
    for (size_t i = 0; s.stack && i <= e->n; i++)
        buf_free(&s.stack[i].text);
    free(s.stack);
    free(from);
    return rc;
}
