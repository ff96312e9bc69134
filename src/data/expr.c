/* data/expr.c -- reads expressions by recursive descent with binding powers (V. R. Pratt, Top down
 * operator precedence, 1973), and writes a program for a stack. From loose to tight:
 *
 *   or    and    not    = == != <> < <= > >= is [not] missing    + -    * /    -x    ^ */
#include "data/expr_impl.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NESTING_MOST = 64, INSTR_MOST = 10000, ARGS_MOST = 64 };

enum token { T_END, T_NUMBER, T_WORD, T_NAME, T_QUOTED, T_SIGN };
struct parser {
    struct expr *e;
    const char *text, *p;  /* p: behind the token */
    const char *at;        /* where the token begins */
    enum token token;
    double number;
    struct buf word;       /* of T_WORD, T_NAME and T_QUOTED */
    char sign[3];          /* of T_SIGN */
    unsigned nesting;
    struct err *err;
};

/* Names and words. */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The escape at s (a backslash): appends its character and returns its length. */
static size_t unescape(const char *s, struct buf *out)
{
    static const char from[] = "nrt", to[] = "\n\r\t";
    const char *k = s[1] != '\0' ? strchr(from, s[1]) : NULL;

    if (k != NULL)
        buf_putc(out, to[k - from]);
    else if (s[1] == 'x' && hex(s[2]) >= 0 && hex(s[3]) >= 0 && hex(s[2]) + hex(s[3]) > 0)
        buf_putc(out, (char)(hex(s[2]) * 16 + hex(s[3])));
    else if (s[1] != '\0' && strchr("\\\"'`", s[1]) != NULL)
        buf_putc(out, s[1]);
    else {
        buf_putc(out, '\\');
        return 1;
    }
    return s[1] == 'x' ? 4 : 2;
}

/* Reads a quoted text; *p is at the quote and ends behind the closing one. */
static bool read_quoted(const char **p, struct buf *out)
{
    const char quote = **p, *s = *p + 1;

    while (*s != '\0' && *s != quote)
        if (*s == '\\')
            s += unescape(s, out);
        else
            buf_putc(out, *s++);
    *p = s + (*s == quote);
    return *s == quote;
}

enum status expr_name(const char **p, const char *stops, struct buf *out, struct err *err)
{
    *p += strspn(*p, " \t\r\n");
    if (**p == '"' || **p == '`' || **p == '\'') {
        const char *open = *p;
        if (!read_quoted(p, out))
            return err_set(err, ST_USAGE, "the quote %c is never closed: %.60s", *open, open);
        *p += strspn(*p, " \t\r\n");
    } else {
        const size_t len = strcspn(*p, stops);
        size_t n = len;
        while (n > 0 && isspace((unsigned char)(*p)[n - 1]))
            n--;
        buf_putn(out, *p, n);
        *p += len;
    }
    return out->failed ? err_nomem(err, 64, "a name") : ST_OK;
}

static bool name_begins(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool name_goes_on(char c)
{
    return name_begins(c) || isdigit((unsigned char)c) || c == '.';
}

static const char *const reserved[] = { "and", "or", "not", "is", "missing" };

void expr_write_name(struct buf *out, const char *name)
{
    bool plain = name_begins(*name);

    for (const char *s = name; *s != '\0' && plain; s++)
        plain = name_goes_on(*s);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        plain = plain && strcasecmp(name, reserved[i]) != 0;
    if (plain) {
        buf_puts(out, name);
        return;
    }
    buf_putc(out, '"');
    for (const char *s = name; *s != '\0'; s++)
        if (*s == '"' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            buf_putc(out, *s);
    buf_putc(out, '"');
}

/* Tokens. */

static enum status wrong(struct parser *q, const char *expected)
{
    char word[64];

    if (*q->at == '\0')
        err_set(q->err, ST_USAGE, "the expression ends where %s was expected", expected);
    else
        err_set(q->err, ST_USAGE, "%s was expected at column %zu of the expression, before %s",
                expected, (size_t)(q->at - q->text) + 1, text_quoted(q->at, word, sizeof word));
    err_hint(q->err, "help where   (operators and functions)");
    return ST_USAGE;
}

static enum status next(struct parser *q)
{
    static const char *const two[] = { "==", "!=", "<>", "<=", ">=" };

    q->p += strspn(q->p, " \t\r\n");
    q->at = q->p;
    buf_clear(&q->word);
    if (*q->p == '\0') {
        q->token = T_END;
    } else if (isdigit((unsigned char)*q->p) ||
               (*q->p == '.' && isdigit((unsigned char)q->p[1]))) {
        size_t len = strspn(q->p, "0123456789.");
        if ((q->p[len] == 'e' || q->p[len] == 'E') &&
            isdigit((unsigned char)q->p[len + 1 + (q->p[len + 1] == '-' || q->p[len + 1] == '+')]))
            len += 2 + strspn(q->p + len + 2, "0123456789");
        if (!text_double(q->p, len, &q->number))
            return wrong(q, "a number");
        q->p += len;
        q->token = T_NUMBER;
    } else if (*q->p == '"' || *q->p == '`' || *q->p == '\'') {
        q->token = *q->p == '\'' ? T_WORD : T_QUOTED;
        if (!read_quoted(&q->p, &q->word))
            return wrong(q, "a closing quote");
    } else if (name_begins(*q->p)) {
        const char *s = q->p;
        while (name_goes_on(*q->p))
            q->p++;
        buf_putn(&q->word, s, (size_t)(q->p - s));
        q->token = T_NAME;
    } else {
        size_t len = 1;
        for (size_t i = 0; i < sizeof two / sizeof *two; i++)
            len = strncmp(q->p, two[i], 2) == 0 ? 2 : len;
        snprintf(q->sign, sizeof q->sign, "%.*s", (int)len, q->p);
        q->p += len;
        q->token = T_SIGN;
    }
    return q->word.failed ? err_nomem(q->err, 64, "an expression") : ST_OK;
}

static bool is_sign(const struct parser *q, const char *sign)
{
    return q->token == T_SIGN && strcmp(q->sign, sign) == 0;
}

/* Keywords are recognised in any case, as in SQL; a column of that name is written in quotes. */
static bool is_keyword(const struct parser *q, const char *word)
{
    return q->token == T_NAME && strcasecmp(buf_str(&q->word), word) == 0;
}

/* The program. */

static enum status emit(struct parser *q, struct expr_instr instr)
{
    struct expr *e = q->e;

    if (e->n >= INSTR_MOST) {
        free(instr.text);
        return err_set(q->err, ST_LIMIT, "the expression has more than %d parts", INSTR_MOST);
    }
    const enum status rc =
        mem_grow((void **)&e->code, &e->cap, e->n + 1, sizeof *e->code, "an expression", q->err);
    if (rc != ST_OK) {
        free(instr.text);
        return rc;
    }
    e->code[e->n++] = instr;
    return ST_OK;
}

static enum status emit_text(struct parser *q, enum expr_code code, const char *text, bool quoted)
{
    char *copy = mem_strdup(text, q->err);

    return copy != NULL
               ? emit(q, (struct expr_instr){ .code = code, .text = copy, .quoted = quoted })
               : ST_NOMEM;
}

static enum status emit_call(struct parser *q, const struct expr_fn *fn, size_t nargs)
{
    return emit(q, (struct expr_instr){ .code = EXPR_CALL, .fn = fn, .nargs = nargs });
}

/* Binding powers. */
enum { P_OR = 1, P_AND, P_NOT, P_COMPARE, P_SUM, P_PRODUCT, P_NEGATE, P_POWER };

static enum status expression(struct parser *q, int power);

static enum status take_sign(struct parser *q, const char *sign, const char *expected)
{
    return is_sign(q, sign) ? next(q) : wrong(q, expected);
}

/* f(a, b): the token is the opening parenthesis. */
static enum status call(struct parser *q, const char *name)
{
    const bool choice = strcasecmp(name, "if") == 0;
    const struct expr_fn *fn = choice ? NULL : expr_function(name);
    size_t nargs = 0;
    enum status rc = next(q);

    if (fn == NULL && !choice)
        return expr_no_function(name, q->err);
    while (rc == ST_OK && !is_sign(q, ")")) {
        if (nargs > 0)
            rc = take_sign(q, ",", "a comma or a closing parenthesis");
        if (rc == ST_OK && nargs++ >= ARGS_MOST)
            rc = err_set(q->err, ST_LIMIT, "%.40s has more than %d arguments", name, ARGS_MOST);
        if (rc == ST_OK)
            rc = expression(q, P_OR);
    }
    if (rc != ST_OK)
        return rc;
    const size_t least = choice ? 3 : fn->least, most = choice ? 3 : fn->most;
    if (nargs < least || nargs > most) {
        err_set(q->err, ST_USAGE, "%.40s takes %zu%s argument%s, not %zu", name, least,
                most > least ? " or more" : "", least == 1 && most == 1 ? "" : "s", nargs);
        err_hint(q->err, "help where   (operators and functions)");
        return ST_USAGE;
    }
    rc = choice ? emit(q, (struct expr_instr){ .code = EXPR_IF }) : emit_call(q, fn, nargs);
    return rc == ST_OK ? next(q) : rc;
}

static enum status name_or_call(struct parser *q)
{
    char *name = mem_strdup(buf_str(&q->word), q->err);
    const bool plain = q->token == T_NAME;
    enum status rc = name != NULL ? next(q) : ST_NOMEM;

    if (rc == ST_OK && plain && is_sign(q, "("))
        rc = call(q, name);
    else if (rc == ST_OK)
        rc = emit_text(q, EXPR_PUSH_COLUMN, name, !plain);
    free(name);
    return rc;
}

static enum status operand(struct parser *q)
{
    enum status rc;

    if (q->token == T_NUMBER) {
        rc = emit(q, (struct expr_instr){ .code = EXPR_PUSH_NUMBER, .number = q->number });
        return rc == ST_OK ? next(q) : rc;
    }
    if (q->token == T_WORD) {
        rc = emit_text(q, EXPR_PUSH_WORD, buf_str(&q->word), true);
        return rc == ST_OK ? next(q) : rc;
    }
    if (is_keyword(q, "not")) {
        rc = next(q);
        if (rc == ST_OK)
            rc = expression(q, P_NOT);
        return rc == ST_OK ? emit(q, (struct expr_instr){ .code = EXPR_NOT }) : rc;
    }
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (is_keyword(q, reserved[i]))
            return wrong(q, "a column, a number or a word in single quotes");
    if (q->token == T_NAME || q->token == T_QUOTED)
        return name_or_call(q);
    if (is_sign(q, "-") || is_sign(q, "+")) {
        const bool minus = is_sign(q, "-");
        rc = next(q);
        if (rc == ST_OK)
            rc = expression(q, P_NEGATE);
        return rc == ST_OK && minus ? emit_call(q, &expr_negate, 1) : rc;
    }
    if (!is_sign(q, "("))
        return wrong(q, "a column, a number or a word in single quotes");
    rc = next(q);
    if (rc == ST_OK)
        rc = expression(q, P_OR);
    return rc == ST_OK ? take_sign(q, ")", "a closing parenthesis") : rc;
}

/* An operator between two operands. */
static const struct infix {
    const char *sign;            /* or keyword */
    int power;
    enum expr_code code;
    enum expr_compare compare;
    const struct expr_fn *fn;
} infixes[] = {
    { "or", P_OR, EXPR_OR, 0, NULL },
    { "and", P_AND, EXPR_AND, 0, NULL },
    { "=", P_COMPARE, EXPR_COMPARE, EXPR_EQ, NULL },
    { "==", P_COMPARE, EXPR_COMPARE, EXPR_EQ, NULL },
    { "!=", P_COMPARE, EXPR_COMPARE, EXPR_NE, NULL },
    { "<>", P_COMPARE, EXPR_COMPARE, EXPR_NE, NULL },
    { "<", P_COMPARE, EXPR_COMPARE, EXPR_LT, NULL },
    { "<=", P_COMPARE, EXPR_COMPARE, EXPR_LE, NULL },
    { ">", P_COMPARE, EXPR_COMPARE, EXPR_GT, NULL },
    { ">=", P_COMPARE, EXPR_COMPARE, EXPR_GE, NULL },
    { "is", P_COMPARE, EXPR_IS_MISSING, 0, NULL },
    { "+", P_SUM, EXPR_CALL, 0, &expr_plus },
    { "-", P_SUM, EXPR_CALL, 0, &expr_minus },
    { "*", P_PRODUCT, EXPR_CALL, 0, &expr_times },
    { "/", P_PRODUCT, EXPR_CALL, 0, &expr_over },
    { "^", P_POWER, EXPR_CALL, 0, &expr_power },
};

static const struct infix *find_infix(const struct parser *q)
{
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++)
        if (isalpha((unsigned char)*infixes[i].sign) ? is_keyword(q, infixes[i].sign)
                                                     : is_sign(q, infixes[i].sign))
            return &infixes[i];
    return NULL;
}

/* "is missing", "is not missing": the token is the word behind "is". */
static enum status is_missing(struct parser *q)
{
    const bool negated = is_keyword(q, "not");
    enum status rc = negated ? next(q) : ST_OK;

    if (rc == ST_OK && !is_keyword(q, "missing"))
        return wrong(q, "missing or not missing");
    if (rc == ST_OK)
        rc = next(q);
    if (rc == ST_OK)
        rc = emit(q, (struct expr_instr){ .code = EXPR_IS_MISSING });
    return rc == ST_OK && negated ? emit(q, (struct expr_instr){ .code = EXPR_NOT }) : rc;
}

static enum status expression(struct parser *q, int power)
{
    const struct infix *in;

    if (q->nesting >= NESTING_MOST)
        return err_set(q->err, ST_LIMIT, "the expression is nested more than %d deep",
                       NESTING_MOST);
    q->nesting++;
    enum status rc = operand(q);
    while (rc == ST_OK && (in = find_infix(q)) != NULL && in->power >= power) {
        rc = next(q);
        if (rc == ST_OK && in->code == EXPR_IS_MISSING) {
            rc = is_missing(q);
            continue;
        }
        /* ^ binds to the right, also a minus sign in its exponent; a comparison has one. */
        if (rc == ST_OK)
            rc = expression(q, in->power == P_POWER ? P_NEGATE : in->power + 1);
        if (rc == ST_OK)
            rc = emit(q, (struct expr_instr){ .code = in->code, .compare = in->compare,
                                              .fn = in->fn, .nargs = 2 });
        if (rc == ST_OK && in->power == P_COMPARE && find_infix(q) != NULL &&
            find_infix(q)->power == P_COMPARE)
            rc = wrong(q, "and, or, or the end of the comparison");
    }
    q->nesting--;
    return rc;
}

void expr_free(struct expr *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->n; i++)
        free(e->code[i].text);
    free(e->code);
    free(e->absent);
    free(e->slot);
    free(e->word);
    free(e);
}

enum status expr_parse(const char *text, struct expr **out, struct err *err)
{
    struct expr *e = mem_calloc(1, sizeof *e, "an expression", err);
    struct parser q = { .e = e, .text = text, .p = text, .err = err };

    *out = NULL;
    enum status rc = e != NULL ? next(&q) : ST_NOMEM;
    if (rc == ST_OK)
        rc = expression(&q, P_OR);
    if (rc == ST_OK && q.token != T_END)
        rc = wrong(&q, "an operator");
    buf_free(&q.word);
    if (rc != ST_OK) {
        expr_free(e);
        return rc;
    }
    *out = e;
    return ST_OK;
}

const char *expr_column(const struct expr *e, size_t i)
{
    for (size_t k = 0; k < e->n; k++)
        if (e->code[k].code == EXPR_PUSH_COLUMN && i-- == 0)
            return e->code[k].text;
    return NULL;
}

const char *expr_word(const struct expr *e, size_t i)
{
    for (size_t k = 0; k < e->n; k++)
        if (e->code[k].code == EXPR_PUSH_WORD && i-- == 0)
            return e->code[k].text;
    return NULL;
}
