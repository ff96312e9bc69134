/* app/runs/scoring/predict_columns.c -- see predict_columns.h. */
#include "app/runs/scoring/predict_columns.h"

#include "app/runs/scoring/calibrating_classes.h"
#include "app/shell/words.h"
#include "data/calendar.h"

#include <math.h>
#include <string.h>

/* Values. Prediction i of target j is at j * n + i in each array. */

static double of_target(const struct scoring *s, const double *v, size_t j, size_t i)
{
    return v ? v[j * s->pred.n + i] : NAN;
}

static double y_value(const struct scoring *s, size_t j, size_t i)
{
    return of_target(s, s->pred.y, j, i);
}

static double mean_value(const struct scoring *s, size_t j, size_t i)
{
    return of_target(s, s->pred.mean, j, i);
}

static double sd_latent_value(const struct scoring *s, size_t j, size_t i)
{
    return of_target(s, s->pred.sd_latent, j, i);
}

static double sd_value(const struct scoring *s, size_t j, size_t i)
{
    return of_target(s, s->pred.sd, j, i);
}

/* An end of the central interval of a new observation at a level, the lower one for side -1.  It
 * is taken in scaled units, where the forecast is symmetric, so that it is exact under y=log,
 * too. */
static double end_of(const struct scoring *s, size_t j, size_t i, double side, double level)
{
    const struct encoding one = encoding_for(&s->enc, j);
    const double sd = sqrt(of_target(s, s->pred.var_scaled, j, i));

    return encoding_value(&one, of_target(s, s->pred.mean_scaled, j, i) +
                                    side * reach_at(s->pred.reach + j, level) * sd);
}

static double median_value(const struct scoring *s, size_t j, size_t i)
{
    const struct encoding one = encoding_for(&s->enc, j);

    return encoding_value(&one, of_target(s, s->pred.mean_scaled, j, i));
}

static double lo50_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, -1.0, 0.5);
}

static double hi50_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, 1.0, 0.5);
}

static double lo90_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, -1.0, 0.9);
}

static double hi90_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, 1.0, 0.9);
}

static double lo95_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, -1.0, 0.95);
}

static double hi95_value(const struct scoring *s, size_t j, size_t i)
{
    return end_of(s, j, i, 1.0, 0.95);
}

static double error_value(const struct scoring *s, size_t j, size_t i)
{
    return y_value(s, j, i) - mean_value(s, j, i);
}

static double mean_latent_value(const struct scoring *s, size_t j, size_t i)
{
    return of_target(s, s->pred.mean_scaled, j, i);
}

/* Cells that are no numbers of a target. */

static void class_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    (void)t;
    buf_putc(out, ',');
    if (i == SIZE_MAX)
        buf_puts(out, "class");
    else
        s->csv(out, s->enc.classes[(size_t)run_prediction_class(&s->pred, i)]);
}

/* The classes of the prediction set, the likeliest first, with a bar between them; a bar or a
 * backslash in a name has a backslash before it. */
static void set_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    size_t class[TARGETS_MOST];
    struct buf set = { 0 };

    (void)t;
    buf_putc(out, ',');
    if (i == SIZE_MAX) {
        buf_puts(out, "set");
        return;
    }
    const size_t n = calibrating_classes_set(s->model, s->enc.nclasses, &s->pred, i, class);
    for (size_t k = 0; k < n; k++) {
        buf_puts(&set, k ? "|" : "");
        for (const char *p = s->enc.classes[class[k]]; *p; p++) {
            if (*p == '|' || *p == '\\')
                buf_putc(&set, '\\');
            buf_putc(&set, *p);
        }
    }
    s->csv(out, buf_str(&set));
    buf_free(&set);
}

/* The observed class. */
static void label_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    (void)t;
    buf_putc(out, ',');
    if (i == SIZE_MAX)
        buf_putc(out, 'y');
    else if (!isnan(s->pred.y[i]))
        s->csv(out, s->enc.classes[(size_t)s->pred.y[i]]);
}

/* The probability of each class, p_NAME. */
static void each_p_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    struct buf name = { 0 };

    (void)t;
    for (size_t c = 0; c < s->enc.nclasses; c++) {
        buf_putc(out, ',');
        if (i != SIZE_MAX) {
            buf_json_double(out, s->pred.prob[c * s->pred.n + i]);
            continue;
        }
        buf_clear(&name);
        buf_printf(&name, "p_%s", s->enc.classes[c]);
        s->csv(out, buf_str(&name));
    }
    buf_free(&name);
}

static void row_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    (void)t;
    if (i == SIZE_MAX)
        buf_puts(out, ",row");
    else
        buf_printf(out, ",%zu", s->pred.row[i] + 1);
}

static void csv_cell(struct buf *b, const struct column *c, size_t row, text_csv_fn *csv)
{
    if (c->type == COL_REAL && c->date && isfinite(column_at(c, row))) {
        calendar_print(column_at(c, row), b);
    } else if (c->type == COL_REAL) {
        if (isfinite(column_at(c, row)))
            buf_json_double(b, column_at(c, row));
    } else {
        struct buf room = { 0 };
        const char *s = table_column_text(c, row, &room);
        if (s)
            csv(b, s);
        buf_free(&room);
    }
}

static void unlike_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    (void)t;
    if (i == SIZE_MAX)
        buf_puts(out, ",unlike");
    else if (isnan(scoring_unlike(s, i)))
        buf_putc(out, ',');
    else
        buf_printf(out, ",%d", scoring_unlike(s, i) > 0.0);
}

/* True for a column that id= names; without id=, for one whose name has role id in the training
 * data (whose roles are unknown if a resumed run could not load it). */
static bool is_id(const struct scoring *s, const struct table *t, size_t col)
{
    if (s->id)
        return s->id[col];
    const size_t j = s->data ? table_find(s->data->table, t->col[col].name) : SIZE_MAX;
    return j != SIZE_MAX && s->data->role[j] == ROLE_ID;
}

static void id_write(const struct scoring *s, const struct table *t, size_t i, struct buf *out)
{
    for (size_t c = 0; c < t->ncols; c++) {
        if (!is_id(s, t, c))
            continue;
        buf_putc(out, ',');
        if (i == SIZE_MAX)
            s->csv(out, t->col[c].name);
        else
            csv_cell(out, &t->col[c], s->pred.row[i], s->csv);
    }
}

size_t predict_columns_formulas(const struct scoring *s, const struct table *t)
{
    size_t n = 0;

    for (size_t k = 0; k < s->columns.n; k++)
        for (size_t c = 0; c < t->ncols && s->columns.at[k]->write == id_write; c++) {
            const bool words = t->col[c].type != COL_REAL && is_id(s, t, c);
            for (size_t i = 0; words && i < s->pred.n; i++) {
                struct buf room = { 0 };
                const char *cell = table_column_text(&t->col[c], s->pred.row[i], &room);
                n += cell && text_is_formula(cell);
                buf_free(&room);
            }
        }
    return n;
}

enum { INTERVAL = PREDICT_VARIANCE | PREDICT_NUMBER };
/* The table. Without columns= the default ones are written in this order. */
static const struct predict_column columns[] = {
    { "row", "number of the row in its table, from 1", PREDICT_ONCE | PREDICT_DEFAULT, NULL,
      row_write },
    { "id", "columns with role id, or those of id=", PREDICT_ONCE | PREDICT_DEFAULT, NULL,
      id_write },
    { "y", "observed value; empty where the file has none; of classes, 1 is the positive one",
      PREDICT_OBSERVED | PREDICT_NUMBER | PREDICT_CLASS, y_value, NULL },
    { "y", "observed class; empty where the file has none, or one that is not known",
      PREDICT_ONCE | PREDICT_OBSERVED | PREDICT_LABEL, NULL, label_write },
    { "error", "observed value minus mean", PREDICT_OBSERVED | PREDICT_NUMBER, error_value, NULL },
    { "mean", "predicted mean", PREDICT_DEFAULT | PREDICT_NUMBER, mean_value, NULL },
    { "median", "predicted median (under y=log it is below the mean)", PREDICT_NUMBER,
      median_value, NULL },
    { "unlike", "1: the function is less certain than at 99 % of the training rows, each left out",
      PREDICT_ONCE | PREDICT_VARIANCE | PREDICT_NUMBER, NULL, unlike_write },
    { "p", "probability of the positive class", PREDICT_DEFAULT | PREDICT_CLASS, mean_value, NULL },
    { "class", "the likeliest class, or that of decision=; of two at p of 0.5 the positive one",
      PREDICT_ONCE | PREDICT_DEFAULT | PREDICT_CLASS | PREDICT_LABEL, NULL, class_write },
    { "p", "of several classes the probability of each, p_NAME",
      PREDICT_ONCE | PREDICT_DEFAULT | PREDICT_LABEL, NULL, each_p_write },
    { "set", "the classes of the prediction set, the likeliest first, with | between them",
      PREDICT_ONCE | PREDICT_SET | PREDICT_CLASS | PREDICT_LABEL, NULL, set_write },
    { "mean_latent", "mean of the latent function, above 0 for the positive class",
      PREDICT_DEFAULT | PREDICT_CLASS, mean_latent_value, NULL },
    { "sd_latent", "uncertainty of the function",
      PREDICT_DEFAULT | PREDICT_VARIANCE | PREDICT_NUMBER | PREDICT_CLASS, sd_latent_value, NULL },
    { "sd", "uncertainty of a new observation",
      PREDICT_DEFAULT | PREDICT_VARIANCE | PREDICT_NUMBER, sd_value, NULL },
    { "lo95", "lower end of the 95 % interval of a new observation", INTERVAL, lo95_value,
      NULL },
    { "hi95", "its upper end", INTERVAL, hi95_value, NULL },
    { "lo90", "lower end of the 90 % interval", INTERVAL, lo90_value, NULL },
    { "hi90", "its upper end", INTERVAL, hi90_value, NULL },
    { "lo50", "lower end of the 50 % interval", INTERVAL, lo50_value, NULL },
    { "hi50", "its upper end", INTERVAL, hi50_value, NULL },
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert(sizeof columns / sizeof *columns <= (size_t)PREDICT_COLUMNS_MOST,
               "a choice has room for every column");

/* Choices. */

/* The names in their order, each once: some stand for other things where classes are predicted. */
static const char *word_at(size_t i)
{
    for (size_t k = 0; k < COLUMNS; k++) {
        size_t before = 0;
        while (strcmp(columns[before].name, columns[k].name) != 0)
            before++;
        if (before == k && i-- == 0)
            return columns[k].name;
    }
    return NULL;
}

static enum status unknown_column(const char *word, struct err *err)
{
    const char *names[COLUMNS];
    char near[80], quoted[48];
    struct buf all = { 0 };
    size_t n = 0;

    for (; word_at(n); n++) {
        names[n] = word_at(n);
        buf_printf(&all, "%s%s", n ? "," : "", names[n]);
    }
    err_named(err, ST_NOT_FOUND, "column", "columns=: predict has no column %s",
              text_quoted(word, quoted, sizeof quoted));
    if (!command_nearest(word, names, n, near, sizeof near))
        snprintf(near, sizeof near, "none");
    err_hint(err, "predict columns=row,y,mean,sd  (near: %s; all: %s; id=NAME: one of the file)",
             near, buf_str(&all));
    buf_free(&all);
    return ST_NOT_FOUND;
}

enum { OF_ANY = PREDICT_NUMBER | PREDICT_CLASS | PREDICT_LABEL };

static bool exists(const struct predict_column *c, unsigned of)
{
    return !(c->flags & OF_ANY) || (c->flags & of);
}

static const char *kind_words(unsigned of)
{
    return of & PREDICT_NUMBER  ? "a number"
           : of & PREDICT_CLASS ? "two classes"
                                : "several classes";
}

static enum status add_column(const char *word, unsigned of, struct predict_columns *out,
                              struct err *err)
{
    const struct predict_column *c = NULL;

    for (size_t i = 0; i < COLUMNS; i++)
        if (!strcmp(columns[i].name, word) && (!c || exists(&columns[i], of)))
            c = &columns[i];
    if (!c)
        return unknown_column(word, err);
    if (!exists(c, of)) {
        err_named(err, ST_USAGE, "column", "columns=: %s is of %s, and this run predicts %s", word,
                  kind_words(c->flags), kind_words(of));
        err_hint(err, of == PREDICT_NUMBER ? "predict columns=row,mean,sd"
                                           : "predict columns=row,p,class");
        return ST_USAGE;
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i] == c) {
            err_named(err, ST_USAGE, "column", "columns=: %s is there twice", word);
            err_hint(err, "name each column once");
            return ST_USAGE;
        }
    out->at[out->n++] = c;
    return ST_OK;
}

enum status predict_columns_parse(const char *list, unsigned of, bool ids,
                                  struct predict_columns *out, struct err *err)
{
    enum status rc = ST_OK;
    const struct predict_column *id = columns;
    char word[32];

    *out = (struct predict_columns){ 0 };
    for (size_t i = 0; !list && i < COLUMNS; i++)
        if ((columns[i].flags & PREDICT_DEFAULT) && exists(&columns[i], of))
            out->at[out->n++] = &columns[i];
    for (const char *p = list; p && rc == ST_OK; p = *p ? p + 1 : NULL) {
        const size_t len = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), p);
        rc = add_column(word, of, out, err);
        p += len;
    }
    while (id->write != id_write)
        id++;
    for (size_t i = 0; i < out->n; i++)
        ids = ids && out->at[i] != id;
    if (rc == ST_OK && ids) {
        memmove(out->at + 1, out->at, out->n++ * sizeof *out->at);
        out->at[0] = id;
    }
    return rc;
}

bool predict_columns_need(const struct predict_columns *c, unsigned flags)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i]->flags & flags)
            return true;
    return false;
}

void predict_columns_without_variance(struct predict_columns *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!(c->at[i]->flags & PREDICT_VARIANCE))
            c->at[kept++] = c->at[i];
    c->n = kept;
}

/* Words. */

static const char *name_at(struct workspace *ws, size_t i)
{
    (void)ws;
    return word_at(i);
}

const struct words_row predict_columns_words = { .type = ARG_PREDICTED, .name = "predicted",
                                                 .at = name_at, .behind = "," };
