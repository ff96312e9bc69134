/* app/runs/predictor/predictor.c -- see predictor.h. What the program reads is written as tables
 * of numbers in the order of its structures, which are in share/predictors/predictor.c; the same
 * tables serve both languages. */
#include "config.h"

#include "app/runs/predictor/predictor.h"

#include "app/runs/predictor/predictor_steps.h"
#include "app/runs/predictor/predictor_text.h"
#include "data/decision.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/features/featmap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 96, NOTE_MOST = 2000, MOST_BYTES = 32 << 20 /* of the tables */ };

static const struct predictor_language languages[] = {
    { "python", ".py", "predictor.py", "features.py", "exact.py", "steps.py", "classes.py", "# ",
      "# ", "(", ")", "None" },
    { "c", ".c", "predictor.c", "features.c", "exact.c", "steps.c", "classes.c", " * ", "/* ", "{ ",
      " }", "NULL" },
};
enum { LANGUAGES = sizeof languages / sizeof *languages };

const struct predictor_language *predictor_language_find(const char *name)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        if (!strcmp(languages[i].name, name))
            return &languages[i];
    return NULL;
}

const struct predictor_language *predictor_language_of(const char *ending)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        if (!strcmp(languages[i].ending, ending))
            return &languages[i];
    return NULL;
}

/* Writing tables. */

struct writer {
    const struct predictor_language *in;
    struct buf *out;
    size_t line; /* where the current line begins */
};

static bool is_c(const struct writer *w)
{
    return w->in->open[0] == '{';
}

/* Begins a table. type: that of an entry in C. */
static void begin(struct writer *w, const char *type, const char *name)
{
    if (is_c(w))
        buf_printf(w->out, "static const %s %s[] = {\n", type, name);
    else
        buf_printf(w->out, "%s = [\n", name);
    w->line = w->out->len;
}

static void end(struct writer *w)
{
    if (w->out->len > w->line)
        buf_putc(w->out, '\n');
    buf_puts(w->out, is_c(w) ? "};\n" : "]\n");
}

/* One entry of a table of short ones, which fill lines. */
static void entry(struct writer *w, const char *text)
{
    if (w->out->len - w->line + strlen(text) + 2 > LINE) {
        buf_putc(w->out, '\n');
        w->line = w->out->len;
    }
    buf_printf(w->out, "%s%s,", w->out->len > w->line ? " " : "    ", text);
}

static void number_entry(struct writer *w, double v)
{
    struct buf b = { 0 };

    buf_json_double(&b, v);
    entry(w, buf_str(&b));
    buf_free(&b);
}

static void numbers(struct writer *w, const char *name, const double *v, size_t n)
{
    begin(w, "double", name);
    for (size_t i = 0; i < n; i++)
        number_entry(w, v[i]);
    if (n == 0 && is_c(w))
        number_entry(w, 0.0);
    end(w);
}

/* A size that the text of the program uses: in C an enumerator in capitals. */
static void constant(struct writer *w, const char *name, size_t v)
{
    if (!is_c(w)) {
        buf_printf(w->out, "%s = %zu\n", name, v);
        return;
    }
    buf_puts(w->out, "enum { ");
    for (const char *p = name; *p; p++)
        buf_putc(w->out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    buf_printf(w->out, " = %zu };\n", v);
}

void predictor_string(const struct predictor_language *in, const char *s, struct buf *out)
{
    buf_putc(out, '"');
    while (*s) {
        const unsigned char c = (unsigned char)*s;
        if (c >= ' ' && c < 127 && !strchr("\"\\?", c)) {
            buf_putc(out, *s++);
        } else if (in->open[0] == '{' || c < 128) {
            buf_printf(out, "\\%03o", c);
            s++;
        } else {
            uint32_t point;
            const size_t n = text_decode(s, &point);
            if (n == 0) /* no UTF-8: as Python's surrogateescape reads it */
                buf_printf(out, "\\udc%02x", c);
            else
                buf_printf(out, "\\U%08x", point);
            s += n ? n : 1;
        }
    }
    buf_putc(out, '"');
}

static void string(struct writer *w, const char *s)
{
    predictor_string(w->in, s, w->out);
}

/* A name in a comment: letters that end no comment and no line. */
static void note_name(struct writer *w, const char *name)
{
    for (size_t i = 0; name && name[i] && i < NOTE_MOST; i++) {
        const char c = name[i], next = name[i + 1];
        const bool plain = c >= ' ' && c < 127 && c != '\\' && !(c == '*' && next == '/');
        buf_putc(w->out, plain ? c : '?');
    }
}

/* Inputs and targets. */

static const char *const kinds[] = { "NUMBER", "LEVEL", "FLAG" };

/* The columns of the table that the encoding reads, each once. source[j]: that of input j. place:
 * of each column, and of the weights. */
struct sources { size_t n, *source, *first, *place, weight; };

static void sources_free(struct sources *s)
{
    free(s->source);
    free(s->first);
    free(s->place);
}

static enum status sources_find(const struct encoding *e, struct sources *s, struct err *err)
{
    s->source = mem_calloc(e->ncol + 1, sizeof *s->source, "columns", err);
    s->first = mem_calloc(e->ncol + 1, sizeof *s->first, "columns", err);
    if (!s->source || !s->first)
        return ST_NOMEM;
    for (size_t j = 0; j < e->ncol; j++) {
        size_t k = s->n; /* neighbours mostly share a column */
        while (k > 0 && strcmp(e->col[s->first[k - 1]].column, e->col[j].column) != 0)
            k--;
        if (k == 0) {
            s->first[s->n++] = j;
            k = s->n;
        }
        s->source[j] = k - 1;
    }
    return ST_OK;
}

/* The levels of a column are those of its first run of inputs. */
static size_t level_index(const struct encoding *e, size_t first, size_t j)
{
    size_t k = 0;

    for (size_t i = first; i < j; i++) {
        if (e->col[i].kind != ENC_LEVEL || strcmp(e->col[i].column, e->col[j].column) != 0)
            continue;
        if (!strcmp(e->col[i].level, e->col[j].level))
            return k;
        k++;
    }
    return k;
}

static void write_levels(struct writer *w, const struct encoding *e, size_t c, size_t first)
{
    char name[32];

    snprintf(name, sizeof name, "levels_%zu", c);
    begin(w, "char *const", name);
    for (size_t j = first; j < e->ncol && !strcmp(e->col[j].column, e->col[first].column); j++) {
        if (e->col[j].kind != ENC_LEVEL || level_index(e, first, j) < j - first)
            continue;
        buf_puts(w->out, "    ");
        string(w, e->col[j].level);
        buf_puts(w->out, ",\n");
    }
    w->line = w->out->len;
    if (is_c(w))
        entry(w, "NULL");
    end(w);
}

/* Where each column and the weights come from. */
static enum status places_find(const struct run *r, struct predictor_steps *steps,
                               struct sources *s, struct err *err)
{
    const struct encoding *e = &r->enc;
    enum status rc = ST_OK;

    s->place = mem_calloc(s->n + 1, sizeof *s->place, "columns", err);
    if (!s->place)
        return ST_NOMEM;
    for (size_t c = 0; rc == ST_OK && c < s->n; c++)
        rc = predictor_steps_find(steps, e->col[s->first[c]].column, &s->place[c], err);
    if (rc == ST_OK && e->weight)
        rc = predictor_steps_find(steps, e->weight, &s->weight, err);
    if (rc != ST_OK)
        return rc;
    predictor_steps_settle(steps, r);
    for (size_t c = 0; c < s->n; c++)
        s->place[c] = predictor_steps_number(steps, s->place[c]);
    if (e->weight)
        s->weight = predictor_steps_number(steps, s->weight);
    return ST_OK;
}

static void write_columns(struct writer *w, const struct encoding *e, const struct sources *s)
{
    for (size_t c = 0; c < s->n; c++)
        if (e->col[s->first[c]].kind == ENC_LEVEL)
            write_levels(w, e, c, s->first[c]);
    buf_printf(w->out, "%sColumns by name, with the levels of categories and their place.%s\n",
               is_c(w) ? "/* " : "# ", is_c(w) ? " */" : "");
    begin(w, "struct column", "columns");
    for (size_t c = 0; c < s->n; c++) {
        const struct enc_col *col = &e->col[s->first[c]];
        buf_printf(w->out, "    %s", w->in->open);
        string(w, col->column);
        if (col->kind == ENC_LEVEL)
            buf_printf(w->out, ", levels_%zu", c);
        else
            buf_printf(w->out, ", %s", w->in->none);
        buf_printf(w->out, ", %zu%s,\n", s->place[c], w->in->close);
    }
    w->line = w->out->len;
    end(w);
}

static void write_inputs(struct writer *w, const struct encoding *e, const struct sources *s)
{
    buf_printf(w->out,
               "%sEncoded inputs: column, kind, level, value if missing, mean, sd, limit.%s\n",
               is_c(w) ? "/* " : "# ", is_c(w) ? " */" : "");
    begin(w, "struct input", "inputs");
    for (size_t j = 0; j < e->ncol; j++) {
        const struct enc_col *c = &e->col[j];
        const double v[] = { c->fill, c->mean, c->sd, c->limit };
        buf_printf(w->out, "    %s%zu, %s, %zu", w->in->open, s->source[j],
                   c->constant ? "CONSTANT" : kinds[c->kind],
                   c->kind == ENC_LEVEL ? level_index(e, s->first[s->source[j]], j) : (size_t)0);
        for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
            buf_puts(w->out, ", ");
            buf_json_double(w->out, v[k]);
        }
        buf_printf(w->out, "%s,\n", w->in->close);
    }
    w->line = w->out->len;
    end(w);
}

static void write_targets(struct writer *w, const struct run *r, const struct sources *s)
{
    const struct model *m = r->model;
    const char *policy = r->enc.missing == MISSING_ERROR  ? "STOP"
                         : r->enc.missing == MISSING_DROP ? "DROP"
                                                          : "FILL";
    const char *type = is_c(w) ? "static const int " : "", *stop = is_c(w) ? ";" : "";

    buf_printf(w->out, "%sTargets: mean, sd, amplitude and noise over that sd, reach of the 95 %% "
                       "interval in sd.%s\n",
               is_c(w) ? "/* " : "# ", is_c(w) ? " */" : "");
    begin(w, "struct target", "targets");
    for (size_t j = 0; j < m->t; j++) {
        const struct encoding e = encoding_for(&r->enc, j);
        const double v[] = { e.ymean, e.ysd, m->amplitudes[j], m->noises[j],
                             reach_at(&m->reach[j], 0.95) };
        buf_printf(w->out, "    %s", w->in->open);
        string(w, e.target ? e.target : "y");
        for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
            buf_puts(w->out, ", ");
            buf_json_double(w->out, v[k]);
        }
        buf_printf(w->out, "%s,\n", w->in->close);
    }
    w->line = w->out->len;
    end(w);
    buf_printf(w->out, "%slog_target = %d%s\n", type, r->enc.yscale == Y_LOG, stop);
    buf_printf(w->out, "%smissing_policy = %s%s\n", type, policy, stop);
    buf_printf(w->out, "%sweight_place = ", type);
    if (r->enc.weight)
        buf_printf(w->out, "%zu", s->weight);
    else
        buf_puts(w->out, is_c(w) ? "-1" : "None");
    buf_printf(w->out, "%s\n", stop);
}

/* Of two classes their names, and what makes probabilities of the latent function; of numbers none
 * of these. */
static void write_classes(struct writer *w, const struct run *r)
{
    const struct model *m = r->model;
    const bool two = m->kind->classes && r->enc.nclasses == 2;

    constant(w, "classes", two);
    if (is_c(w) && !two) {
        buf_puts(w->out, "static const char *const class_names[] = { \"\", \"\" };\n");
        return;
    }
    begin(w, "char *const", "class_names");
    for (size_t c = 0; two && c < 2; c++) {
        buf_puts(w->out, "    ");
        string(w, r->enc.classes[c]);
        buf_puts(w->out, ",\n");
    }
    w->line = w->out->len;
    end(w);
    if (!two)
        return;
    buf_puts(w->out, is_c(w) ? "static const char class_link[] = " : "class_link = ");
    string(w, m->likelihood->link);
    buf_puts(w->out, is_c(w) ? ";\nstatic const double temperature = " : "\ntemperature = ");
    buf_json_double(w->out, m->temperature > 0.0 ? m->temperature : 1.0);
    buf_puts(w->out, is_c(w) ? ";\n" : "\n");
}

/* Whether a probability p of the second class makes it the chosen one, as an expression that C and
 * Python read alike: what decision_choose does for two classes. */
static enum status write_choice(struct writer *w, const struct run *r, struct err *err)
{
    struct decision d = { .named = SIZE_MAX };
    enum status rc = ST_OK;

    if (r->enc.rule)
        rc = decision_parse(r->enc.rule, r->enc.nclasses, r->enc.classes, &d, err);
    buf_puts(w->out, is_c(w) ? "#define SECOND_CLASS(p) ("
                             : "\n\ndef second_class(p):\n    return ");
    if (rc == ST_OK && d.cost) {
        buf_puts(w->out, is_c(w) ? "(p) * " : "p * ");
        buf_json_double(w->out, d.cost[2]);
        buf_puts(w->out, is_c(w) ? " > (1.0 - (p)) * " : " > (1.0 - p) * ");
        buf_json_double(w->out, d.cost[1]);
    } else {
        const bool first = d.named == 0;
        buf_puts(w->out, first ? is_c(w) ? "1.0 - (p) < " : "1.0 - p < "
                               : is_c(w) ? "(p) >= " : "p >= ");
        buf_json_double(w->out, d.named == SIZE_MAX ? 0.5 : d.least);
    }
    buf_puts(w->out, is_c(w) ? ")\n" : "\n");
    decision_free(&d);
    return rc;
}

/* Steps of projections. */

static const char *const step_names[] = {
    [FM_SCALE_IN] = "SCALE_IN", [FM_CIRCLE] = "CIRCLE",   [FM_APPEND] = "APPEND",
    [FM_SIGN] = "SIGN",         [FM_FHT] = "FHT",         [FM_SHUFFLE] = "SHUFFLE",
    [FM_SCALE] = "SCALE",       [FM_PHASE] = "PHASE",     [FM_TIMES] = "TIMES",
    [FM_RELU] = "RELU",         [FM_ERF] = "ERF",         [FM_SINCOS] = "SINCOS",
    [FM_EMIT] = "EMIT",         [FM_COPY] = "COPY",       [FM_ONE] = "ONE",
};

static bool step_known(enum fm_op op)
{
    return (size_t)op < sizeof step_names / sizeof *step_names && step_names[op];
}

static bool scales_inputs(const struct fm_step *s)
{
    return (s->op == FM_SCALE_IN || s->op == FM_CIRCLE) && s->index != FM_NONE;
}

/* The steps of a term or kernel with the hyperparameters filled in; d: its inputs. NAME_i are the
 * lengthscales of step i. */
static void write_steps(struct writer *w, const char *name, const struct fm_step *steps, size_t n,
                        const double *hp, size_t d)
{
    char scales[64];

    for (size_t i = 0; i < n; i++) {
        if (!scales_inputs(&steps[i]))
            continue;
        snprintf(scales, sizeof scales, "%s_%zu", name, i);
        begin(w, "double", scales);
        for (size_t k = 0; k < steps[i].count; k++)
            number_entry(w, hp[fm_lengthscale(&steps[i], k)]);
        end(w);
    }
    begin(w, "struct step", name);
    for (size_t i = 0; i < n; i++) {
        const struct fm_step *s = &steps[i];
        const bool reads = s->op == FM_SCALE_IN || s->op == FM_CIRCLE || s->op == FM_COPY;
        const bool rows = s->op == FM_SIGN || s->op == FM_SHUFFLE || s->op == FM_SCALE;
        const size_t count = reads ? s->count
                             : rows ? s->index
                             : s->op == FM_APPEND ? (s->count ? s->count : d) : (size_t)0;
        const double value = s->op == FM_CIRCLE ? hp[s->also]
                             : s->op == FM_APPEND && s->index != FM_NONE
                                 ? s->value * hp[s->index] : s->value;
        buf_printf(w->out, "    %s%s, %zu, %zu, ", w->in->open, step_names[s->op],
                   reads ? s->first : (size_t)0, count);
        buf_json_double(w->out, value);
        if (scales_inputs(s))
            buf_printf(w->out, ", %s_%zu%s,\n", name, i, w->in->close);
        else
            buf_printf(w->out, ", %s%s,\n", w->in->none, w->in->close);
    }
    if (n == 0 && is_c(w))
        buf_puts(w->out, "    { ONE, 0, 0, 0.0, NULL },\n");
    w->line = w->out->len;
    end(w);
}

/* Features. */

/* The numbers of rows of signs, scales and permutations that the steps use. */
static size_t rows_of(const struct fm_term *t, enum fm_op op)
{
    size_t rows = 0;

    for (size_t i = 0; i < t->nsteps; i++)
        if (t->steps[i].op == op && t->steps[i].index + 1 > rows)
            rows = t->steps[i].index + 1;
    return rows;
}

/* Signs as hexadecimal digits, four to each: a bit that is set is -1. */
static void write_signs(struct writer *w, const char *name, const int8_t *sign, size_t n)
{
    buf_printf(w->out, is_c(w) ? "static const char %s[] =" : "%s = (", name);
    for (size_t i = 0; i < n; i += 4) {
        unsigned digit = 0;
        for (size_t k = i; k < i + 4; k++)
            digit = 2 * digit + (k < n && sign[k] < 0);
        if (i % 256 == 0)
            buf_puts(w->out, i ? "\"\n    \"" : "\n    \"");
        buf_printf(w->out, "%x", digit);
    }
    buf_puts(w->out, is_c(w) ? "\";\n" : "\")\n");
}

static void write_random(struct writer *w, const char *name, const struct fm_term *t)
{
    const size_t n = t->nb * t->D, signs = rows_of(t, FM_SIGN), scales = rows_of(t, FM_SCALE),
                 perms = rows_of(t, FM_SHUFFLE);
    char own[64], digits[24];

    snprintf(own, sizeof own, "%s_signs", name);
    if (signs)
        write_signs(w, own, t->signs, signs * n);
    snprintf(own, sizeof own, "%s_scale", name);
    if (scales)
        numbers(w, own, t->scale, scales * n);
    if (!perms)
        return;
    snprintf(own, sizeof own, "%s_perm", name);
    begin(w, "int", own);
    for (size_t i = 0; i < perms * n; i++) {
        snprintf(digits, sizeof digits, "%u", (unsigned)t->perm[i]);
        entry(w, digits);
    }
    end(w);
}

/* A map as tables whose names begin with `what`. */
static void write_map(struct writer *w, const char *what, const struct featmap *fm,
                      const double *hp)
{
    char name[48];

    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        snprintf(name, sizeof name, "%s_%zu", what, i);
        write_random(w, name, t);
        snprintf(name, sizeof name, "%s_steps_%zu", what, i);
        write_steps(w, name, t->steps, t->nsteps, hp, t->d);
    }
    buf_printf(w->out,
               "%sInputs from, their number, size of a block, blocks, frequencies, first column, "
               "factor, ..%s\n",
               is_c(w) ? "/* " : "# ", is_c(w) ? " */" : "");
    snprintf(name, sizeof name, "%s_terms", what);
    begin(w, "struct term", name);
    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        static const struct { enum fm_op op; const char *tail; } random[] = {
            { FM_SIGN, "signs" }, { FM_SCALE, "scale" }, { FM_SHUFFLE, "perm" } };
        buf_printf(w->out, "    %s%zu, %zu, %zu, %zu, %zu, %zu, ", w->in->open, t->first,
                   t->nb ? t->d : t->cols, t->D, t->nb, t->mf, t->col0);
        buf_json_double(w->out, t->out * (t->weight == FM_NONE ? 1.0 : hp[t->weight]));
        buf_printf(w->out, ", %s_steps_%zu, %zu", what, i, t->nsteps);
        for (size_t k = 0; k < 3; k++)
            if (t->nb && rows_of(t, random[k].op))
                buf_printf(w->out, ", %s_%zu_%s", what, i, random[k].tail);
            else
                buf_printf(w->out, ", %s", w->in->none);
        buf_printf(w->out, "%s,\n", w->in->close);
    }
    w->line = w->out->len;
    end(w);
    snprintf(name, sizeof name, "%s_width", what);
    constant(w, name, fm->M);
}

static enum status unsupported(const struct run *r, const char *what, struct err *err)
{
    err_named(err, ST_UNSUPPORTED, "predictor", "%s %s, which an exported program cannot compute",
              r->id, what);
    err_hint(err, "save FILE.gpd, then: gpdesk -s FILE.gpd -e 'predict NEW.csv run=%s out=p.csv'",
             r->id);
    return ST_UNSUPPORTED;
}

static enum status map_suits(const struct run *r, const struct featmap *fm, struct err *err)
{
    for (size_t i = 0; i < fm->nterms; i++) {
        if (fm->term[i].windows)
            return unsupported(r, "reads windows of sequences", err);
        for (size_t s = 0; s < fm->term[i].nsteps; s++)
            if (!step_known(fm->term[i].steps[s].op))
                return unsupported(r, "uses a step of features", err);
    }
    return ST_OK;
}

static size_t widest(const struct featmap *fm)
{
    size_t most = 1;

    for (size_t i = 0; i < fm->nterms; i++)
        most = fm->term[i].D > most ? fm->term[i].D : most;
    return most;
}

/* Bytes that the tables of a map will take. */
static double map_bytes(const struct featmap *fm)
{
    double bytes = 0.0;

    for (size_t i = 0; i < fm->nterms; i++) {
        const struct fm_term *t = &fm->term[i];
        bytes += (double)(t->nb * t->D) *
                 (22.0 * (double)rows_of(t, FM_SCALE) + 6.0 * (double)rows_of(t, FM_SHUFFLE) +
                  0.3 * (double)rows_of(t, FM_SIGN));
    }
    return bytes;
}

static enum status fits(const struct run *r, double bytes, bool sd, struct err *err)
{
    char size[32], most[32];

    if (bytes <= MOST_BYTES)
        return ST_OK;
    mem_format(size, sizeof size, bytes);
    mem_format(most, sizeof most, MOST_BYTES);
    err_named(err, ST_LIMIT, "predictor", "the program for %s would take %s, more than %s", r->id,
              size, most);
    if (sd)
        err_hint(err, "fit variance=512, which keeps a smaller factor; or sd=no");
    else
        err_hint(err, "fit features=4096, then export");
    return ST_LIMIT;
}

static void write_factor(struct writer *w, const struct model *m, bool sd)
{
    char digits[40];

    constant(w, "factor_size", sd ? m->Mv : 0);
    begin(w, "double", "factor");
    for (size_t i = 0; sd && i < m->Mv; i++)
        for (size_t j = 0; j <= i; j++) {
            snprintf(digits, sizeof digits, "%.17g", m->L[i + j * m->Mv]);
            entry(w, digits);
        }
    if (!sd && is_c(w))
        entry(w, "0.0");
    end(w);
}

static double factor_bytes(const struct model *m, bool sd)
{
    return sd ? 11.5 * (double)m->Mv * (double)(m->Mv + 1) : 0.0;
}

static enum status write_features(struct writer *w, const struct run *r, bool sd, struct err *err)
{
    const struct model *m = r->model;
    const bool same = !sd || m->Mv == m->M;
    struct featmap *mean = featmap_new(&m->kernel, m->d, m->M, m->seed, err);
    struct featmap *var = mean && !same ? featmap_new(&m->kernel, m->d, m->Mv, m->seed, err) : NULL;
    enum status rc = mean && (same || var) ? map_suits(r, mean, err)
                     : err                 ? err->code
                                           : ST_NOMEM;

    if (rc == ST_OK)
        rc = fits(r, 22.0 * (double)(m->t * m->M) + factor_bytes(m, sd) + map_bytes(mean) +
                         (var ? map_bytes(var) : 0.0), sd, err);
    if (rc == ST_OK) {
        const size_t work = var && widest(var) > widest(mean) ? widest(var) : widest(mean);
        write_map(w, "mean", mean, m->hp);
        if (var)
            write_map(w, "variance", var, m->hp);
        else if (is_c(w))
            buf_puts(w->out, "static const struct term *const variance_terms = mean_terms;\n");
        else
            buf_puts(w->out, "variance_terms, variance_width = mean_terms, mean_width\n");
        if (is_c(w)) {
            constant(w, "mean_terms", mean->nterms);
            constant(w, "variance_terms", var ? var->nterms : mean->nterms);
            constant(w, "same_map", var == NULL);
            constant(w, "width", var && var->M > mean->M ? var->M : mean->M);
            constant(w, "work", work);
        }
        numbers(w, "weights", m->w, m->t * m->M);
        write_factor(w, m, sd);
    }
    featmap_free(mean);
    featmap_free(var);
    return rc;
}

/* Exact models. */

/* The first steps of kernel t, which make what it compares; *size: how many numbers these are. */
static size_t point_steps(const struct kernel *k, size_t t, size_t d, struct fm_step *out,
                          size_t *size)
{
    const struct kterm *term = &k->term[t];
    const struct kernel_place p = kernel_place(k, t);
    const size_t count = kernel_inputs(k, t, d);
    size_t n = 0, steps = 1;

    out[0] = (struct fm_step){ .op = FM_SCALE_IN };
    if (term->ops->recipe)
        steps = term->ops->recipe(term->params, false, out);
    *size = 1;
    while (n < steps && (out[n].op == FM_SCALE_IN || out[n].op == FM_CIRCLE ||
                         out[n].op == FM_APPEND)) {
        struct fm_step *s = &out[n++];
        if (n > 1 && s->op != FM_APPEND) /* the next factor of a power */
            return n - 1;
        s->index = s->index == FM_NONE ? FM_NONE
                   : s->index == 0     ? p.hp0
                                       : p.hp0 + p.nl - 1 + s->index;
        s->also = s->op == FM_CIRCLE ? p.hp0 + p.nl - 1 + s->also : p.nl;
        s->group = term->grouped ? k->group : NULL;
        s->first = term->first;
        s->count = count;
        *size = s->op == FM_CIRCLE ? 2 * count : count + (s->op == FM_APPEND);
    }
    return n;
}

/* A kernel as a function of what its expression names. */
static enum status write_kernel(struct writer *w, const struct run *r, size_t t, struct err *err)
{
    const struct kterm *term = &r->model->kernel.term[t];
    const char *code = term->ops->code ? term->ops->code(term->params) : NULL;
    const char *lead = is_c(w) ? "    const double " : "    ", *stop = is_c(w) ? ";" : "";
    char name[8];

    if (!code) {
        err_named(err, ST_UNSUPPORTED, "predictor",
                  "kernel %s with these parameters is no function of the standard libraries",
                  term->ops->name);
        err_hint(err, "fit features=2048, then export: features need no values of the kernel");
        return ST_UNSUPPORTED;
    }
    buf_printf(w->out,
               is_c(w) ? "static double kernel_%zu(double uu, double vv, double uv, double r2)\n{\n"
                       : "\n\ndef kernel_%zu(uu, vv, uv, r2):\n", t);
    for (size_t p = 0; term->ops->params && term->ops->params[p].name; p++) {
        snprintf(name, sizeof name, "p%zu", p);
        if (!strstr(code, name))
            continue;
        buf_printf(w->out, "%s%s = ", lead, name);
        buf_json_double(w->out, term->params[p]);
        buf_printf(w->out, "%s\n", stop);
    }
    if (strstr(code, "angle"))
        buf_printf(w->out, "%sangle = acos(%s(%suv / sqrt(uu * vv), -1.0%s, 1.0))%s\n", lead,
                   is_c(w) ? "fmin" : "np.clip", is_c(w) ? "fmax(" : "", is_c(w) ? ")" : "", stop);
    buf_printf(w->out, is_c(w) ? "    (void)uu, (void)vv, (void)uv, (void)r2;\n    return %s;\n}\n"
                               : "    return %s\n\n\n", code);
    return ST_OK;
}

/* Kernels, and the products of them. */
static enum status write_kernels(struct writer *w, const struct run *r, size_t *most,
                                 struct err *err)
{
    const struct model *m = r->model;
    const struct kernel *k = &m->kernel;
    struct fm_step steps[KERNEL_RECIPE + 1];
    size_t size[KERNEL_MAX_TERMS], count[KERNEL_MAX_TERMS];
    char name[48];

    *most = 1;
    for (size_t t = 0; t < k->nterms; t++) {
        count[t] = point_steps(k, t, m->d, steps, &size[t]);
        *most = size[t] > *most ? size[t] : *most;
        snprintf(name, sizeof name, "steps_%zu", t);
        write_steps(w, name, steps, count[t], m->hp, kernel_inputs(k, t, m->d));
        const enum status rc = write_kernel(w, r, t, err);
        if (rc != ST_OK)
            return rc;
    }
    begin(w, "struct kernel", "kernels");
    for (size_t t = 0; t < k->nterms; t++)
        buf_printf(w->out, "    %s%zu, steps_%zu, %zu, kernel_%zu%s,\n", w->in->open, size[t], t,
                   count[t], t, w->in->close);
    w->line = w->out->len;
    end(w);
    begin(w, "struct product", "products");
    for (size_t t = 0, last; t < k->nterms; t = last) {
        const size_t weight = kernel_place(k, t).weight;
        for (last = t + 1; last < k->nterms && k->term[last].times; last++)
            ;
        buf_printf(w->out, "    %s", w->in->open);
        buf_json_double(w->out, weight == SIZE_MAX ? 1.0 : m->hp[weight] * m->hp[weight]);
        buf_printf(w->out, ", %zu, %zu%s,\n", t, last, w->in->close);
    }
    w->line = w->out->len;
    end(w);
    return ST_OK;
}

static enum status write_exact(struct writer *w, const struct run *r, bool sd, struct err *err)
{
    const struct model *m = r->model;
    size_t most = 1;
    enum status rc = fits(r, 22.0 * (double)(m->M * (m->d + m->t)) + factor_bytes(m, sd), sd, err);

    if (rc == ST_OK)
        rc = write_kernels(w, r, &most, err);
    if (rc != ST_OK)
        return rc;
    if (is_c(w)) {
        constant(w, "training", m->M);
        constant(w, "work", most);
    }
    numbers(w, "training", m->X, m->M * m->d);
    numbers(w, "weights", m->w, m->t * m->M);
    write_factor(w, m, sd);
    return ST_OK;
}

/* The program. */

static enum status suits(const struct run *r, bool *sd, struct err *err)
{
    const struct model *m = r->model;

    if (r->kind != RUN_FIT || !m || !r->has_enc) {
        err_set(err, ST_STATE, "%s has no fitted model", r->id);
        err_hint(err, r->kind == RUN_TUNE ? "fit" : "wait, or fit");
        return ST_STATE;
    }
    if (kernel_reads_windows(&m->kernel))
        return unsupported(r, "reads sequences or graphs", err);
    if (m->kind->margin)
        return unsupported(r, "is a support vector machine with probabilities", err);
    if (kernel_learns(&m->kernel))
        return unsupported(r, "has learned its features", err);
    for (size_t j = 0; j < r->enc.ncol; j++)
        if (r->enc.col[j].kind != ENC_REAL && r->enc.col[j].kind != ENC_LEVEL &&
            r->enc.col[j].kind != ENC_MISSING)
            return unsupported(r, "encodes sequences or graphs", err);
    if (m->kind->local) {
        err_named(err, ST_UNSUPPORTED, "predictor",
                  "%s makes a factor of the nearest of its %zu training rows for each prediction: "
                  "no program is written for that", r->id, m->M);
        err_hint(err, "predict run=%s out=FILE  |  fit model=features, then export", r->id);
        return ST_UNSUPPORTED;
    }
    if (m->d != r->enc.ncol)
        return err_set(err, ST_INTERNAL, "%s has %zu inputs, its encoding %zu", r->id, m->d,
                       r->enc.ncol);
    const bool factor = r->fit.variance != VAR_NONE && (m->Mv || !m->S);
    *sd = *sd || (r->enc.yscale == Y_LOG && factor) || m->kind->classes;
    if (*sd && !factor) {
        err_named(err, ST_STATE, "no-variance", "%s has no variances%s", r->id,
                  m->S ? " by a factor" : "");
        err_hint(err, m->kind->classes ? "predict run=%s out=FILE"
                                       : "fit variance=auto, then export %s; or sd=no", r->id);
        return ST_STATE;
    }
    if (*sd && (m->spread || m->ncv)) {
        err_named(err, ST_UNSUPPORTED, "predictor",
                  "the %s of %s %s not written: the program computes means alone%s",
                  m->ncv          ? "intervals by folds"
                  : m->one_spread ? "scale of all rows"
                                  : "local scale",
                  r->id, m->ncv ? "are" : "is",
                  r->enc.yscale == Y_LOG ? ", and under y=log these need variances" : "");
        err_hint(err, r->enc.yscale == Y_LOG ? "predict run=%s out=FILE" : "export %s sd=no",
                 r->id);
        return ST_UNSUPPORTED;
    }
    if (*sd && m->kind->keeps_inputs && !m->kind->keeps_rows) {
        const bool needed = r->enc.yscale == Y_LOG || m->kind->classes;
        err_named(err, ST_UNSUPPORTED, "predictor",
                  "the program of a sparse model computes means alone%s",
                  m->kind->classes ? ", and probabilities need variances"
                  : needed         ? ", and under y=log these need variances" : "");
        err_hint(err, needed ? "predict run=%s out=FILE" : "export %s sd=no", r->id);
        return ST_UNSUPPORTED;
    }
    if (*sd && !m->L) {
        err_named(err, ST_STATE, "no-variance", "the session does not keep the variances of %s",
                  r->id);
        err_hint(err, "score %s  computes them again; then export", r->id);
        return ST_STATE;
    }
    return ST_OK;
}

/* How the table was prepared: what this program repeats, and what not. */
static void write_steps_taken(struct writer *w, const struct encoding *e, bool left)
{
    const char *note = w->in->note;

    buf_printf(w->out, "%sThe table was prepared by these steps of gpdesk, which this program "
                       "takes, too%s\n", note, left ? "," : ":");
    if (left)
        buf_printf(w->out, "%sbut for molecules: its file needs the columns that these made.\n",
                   note);
    for (const char *p = e->steps; *p;) {
        const size_t len = strcspn(p, "\n");
        char *line = strndup(p, len);
        buf_printf(w->out, "%s  ", note);
        note_name(w, line ? line : "?");
        buf_putc(w->out, '\n');
        w->out->failed |= !line;
        free(line);
        p += len + (p[len] == '\n');
    }
}

static void write_wanted(struct writer *w, const struct predictor_steps *s)
{
    size_t at = w->out->len;
    const char *name;

    buf_printf(w->out, "%sIt reads the columns", w->in->note);
    for (size_t c = 0; (name = predictor_steps_column(s, c)) != NULL; c++) {
        buf_puts(w->out, c ? ", " : " ");
        if (w->out->len - at > 80) {
            buf_printf(w->out, "\n%s", w->in->note);
            at = w->out->len;
        }
        note_name(w, name);
    }
    buf_puts(w->out, ".\n");
}

static void write_about(struct writer *w, const struct run *r, const struct predictor_steps *s,
                        bool sd)
{
    const char *note = w->in->note;

    buf_printf(w->out, "%sPredictions of %s by a Gaussian process (gpdesk " PACKAGE_VERSION ").\n",
               w->in->first_note, r->id);
    buf_printf(w->out, "%sCovariance: ", note);
    note_name(w, r->kernel_text);
    buf_printf(w->out, "\n%sTraining data: %zu rows of ", note, r->info.rows);
    note_name(w, r->dataset_name ? r->dataset_name : "?");
    if (r->model->kind->classes) {
        buf_printf(w->out, "\n%sIt computes the probability p that the class is ", note);
        note_name(w, r->enc.classes[1]);
        buf_printf(w->out, ", the chosen class, and mean\n%sand standard deviation of the latent "
                           "function.\n", note);
    } else {
        buf_printf(w->out, "\n%sIt computes the mean%s in units of the target.\n", note,
                   sd ? " and standard deviations" : " (sd=yes: standard deviations, too)");
    }
    write_wanted(w, s);
    if (r->enc.steps && *r->enc.steps)
        write_steps_taken(w, &r->enc, s->left);
    if (r->model->precision == PREC_FLOAT && r->model->kind->draws)
        buf_printf(w->out,
                   "%sThe fit computed its features in single precision, this program in double:\n"
                   "%smeans differ by that rounding, by some 1e-5 sd where the noise is small.\n",
                   note, note);
}

static const char *embedded(const char *name)
{
    size_t i = 0;

    while (predictor_text[i].name && strcmp(predictor_text[i].name, name) != 0)
        i++;
    return predictor_text[i].text ? predictor_text[i].text : "";
}

/* What the program is made of beside its text. */
struct parts {
    const struct run *r;
    struct sources columns;
    struct predictor_steps steps;
    bool sd;
};

static enum status write_data(struct writer *w, const struct parts *p, struct err *err)
{
    const struct run *r = p->r;

    predictor_steps_tables(&p->steps, w->in, w->out);
    write_columns(w, &r->enc, &p->columns);
    write_inputs(w, &r->enc, &p->columns);
    write_targets(w, r, &p->columns);
    write_classes(w, r);
    if (is_c(w) || r->model->kind->classes) {
        const enum status rc = write_choice(w, r, err);
        if (rc != ST_OK)
            return rc;
    }
    return r->model->kind->keeps_inputs ? write_exact(w, r, p->sd, err)
                                        : write_features(w, r, p->sd, err);
}

static enum status write_steps_code(struct writer *w, const struct parts *p, struct err *err)
{
    if (p->steps.taken || !is_c(w)) /* C warns of what is not used */
        predictor_steps_words(&p->steps, w->in, w->out);
    if (p->steps.taken)
        buf_puts(w->out, embedded(w->in->steps));
    return predictor_steps_code(&p->steps, w->in, w->out, err);
}

/* The program: its text, in which marks stand for the parts. */
static enum status write_text(struct writer *w, const struct parts *p, struct err *err)
{
    const char *text = embedded(w->in->file);
    enum status rc = ST_OK;

    while (rc == ST_OK && *text) {
        const char *mark = strchr(text, '@');
        if (!mark) {
            buf_puts(w->out, text);
            break;
        }
        buf_putn(w->out, text, (size_t)(mark - text));
        const size_t len = strcspn(mark, "\n");
        if (!strncmp(mark, "@ABOUT@", len))
            write_about(w, p->r, &p->steps, p->sd);
        else if (!strncmp(mark, "@DATA@", len))
            rc = write_data(w, p, err);
        else if (!strncmp(mark, "@STEPS@", len))
            rc = write_steps_code(w, p, err);
        else if (!strncmp(mark, "@CLASSES@", len))
            buf_puts(w->out, p->r->model->kind->classes ? embedded(w->in->classes)
                             : is_c(w) ? "#define probability(mean, var) (mean)\n" : "");
        else if (!strncmp(mark, "@ENGINE@", len))
            buf_puts(w->out, embedded(p->r->model->kind->keeps_inputs ? w->in->exact
                                                                      : w->in->features));
        else
            buf_putn(w->out, mark, len);
        text = mark + len + (mark[len] == '\n');
    }
    return rc;
}

enum status predictor_write(const struct run *r, const struct predictor_language *in, bool with_sd,
                            bool *sd, struct buf *out, struct err *err)
{
    struct writer w = { .in = in, .out = out };
    struct parts p = { .r = r };

    *sd = with_sd;
    enum status rc = suits(r, sd, err);
    p.sd = *sd;
    if (rc == ST_OK)
        rc = predictor_steps_read(r, &p.steps, err);
    if (rc == ST_OK)
        rc = sources_find(&r->enc, &p.columns, err);
    if (rc == ST_OK)
        rc = places_find(r, &p.steps, &p.columns, err);
    if (rc == ST_OK)
        rc = write_text(&w, &p, err);
    predictor_steps_free(&p.steps);
    sources_free(&p.columns);
    return rc;
}
