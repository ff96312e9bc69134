@ABOUT@
 *
 *   cc -O2 -o predictor THIS_FILE -lm && ./predictor NEW.csv > predictions.csv
 *
 * or compile it with -DNO_MAIN and call
 *
 *   int predict(const char *const *cells, struct predicted *out);
 *
 * for each row: cells[i] is the text of column i of `file_columns` below (or NULL: missing), the
 * results have an entry for each target.  It returns 0, 1 for a row that is left out for its missing
 * cells, 2 for one that a condition leaves out, or -1 (see problem).  It needs libm and nothing
 * else, and keeps its work in static memory. */
#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

/* What an encoded input is: a number, 1 where the cell has a level, 1 where it is missing, 0. */
enum { NUMBER, LEVEL, FLAG, CONSTANT };
/* What is done about missing cells and unseen levels. */
enum { STOP, FILL, DROP };
/* Steps from a row to its features: they work on v (projections), p (phases) and g (gains). */
enum { SCALE_IN, CIRCLE, APPEND, SIGN, FHT, SHUFFLE, SCALE, PHASE, TIMES, RELU, ERF, SINCOS, EMIT,
       COPY, ONE };
struct column { const char *name; const char *const *levels; /* NULL: numbers */ int place; };
/* A step that prepares rows: a column that it computes, or a condition. */
struct prepared { const char *text; int let; double (*number)(void); const char *(*word)(void);
                  const int *needs; int instead; };
struct input { int column, kind, level; double fill, mean, sd, limit; };
struct target { const char *name; double mean, sd, amplitude, noise, reach95; };
struct step { int op, first, count; double value; const double *scale; };
struct term { int first, count, size, blocks, frequencies, column; double factor;
              const struct step *steps; int nsteps;
              const char *signs; const double *scale; const int *perm; };
struct product { double weight; int first, end; };
struct kernel { int size; const struct step *steps; int nsteps;
                double (*value)(double uu, double vv, double uv, double r2); };

@DATA@

enum { COLUMNS = sizeof columns / sizeof *columns, INPUTS = sizeof inputs / sizeof *inputs,
       TARGETS = sizeof targets / sizeof *targets };
/* sd_latent: of the function; sd: of a new measurement; lo95, hi95: its central 95 % interval.  Of
 * two classes: mean is that of the latent function, p the probability of class_names[1]. */
struct predicted { double mean[TARGETS], sd_latent[TARGETS], sd[TARGETS], lo95[TARGETS],
                          hi95[TARGETS], p; };
static char problem[200];

/* A cell as a number; an ISO date becomes a decimal year.  0: neither. */
static int number(const char *text, double *out)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int year, month, day = 1, hour = 0, minute = 0;
    double second = 0.0;
    char *end;

    *out = strtod(text, &end);
    if (end != text && *end == '\0')
        return 1;
    if (sscanf(text, "%4d-%2d-%2d%*[T ]%2d:%2d:%lf", &year, &month, &day, &hour, &minute,
               &second) < 2 || month < 1 || month > 12)
        return 0;
    const int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const double days = before[month - 1] + (leap && month > 2) + day - 1 +
                        (hour + minute / 60.0 + second / 3600.0) / 24.0;
    *out = year + days / (leap ? 366 : 365);
    return 1;
}

/* What a place holds: a column of the file its text, a step a word or (word: NULL) a number. here: 0
 * where the file lacks the column, or what the step needs. */
static struct value { const char *word; double number; int here; } values[FILE_COLUMNS + STEPS + 1];
static int lacks[FILE_COLUMNS + 1]; /* of each column: the file has no such column */
static int taken[STEPS + 1];        /* of each step: the file has what it needs */

/* The index of a level: by its text, else as a number; -1: never seen. */
static int level_of(const struct value *v, const char *const *levels)
{
    double x, y = v->number;

    for (int i = 0; v->word && levels[i]; i++)
        if (!strcmp(levels[i], v->word))
            return i;
    for (int i = 0; levels[i]; i++)
        if (number(levels[i], &x) && (!v->word || number(v->word, &y)) && x == y)
            return i;
    return -1;
}

static int is_missing(const char *text)
{
    static const char *const marks[] = { "", "NA", "N/A", "NaN", "nan", "NULL", "null", "?", "-" };

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strcmp(marks[i], text))
            return 1;
    return 0;
}

/* Copies a cell without blanks at its ends. */
static void trim(const char *cell, char *out, size_t room)
{
    size_t n;

    while (cell && isspace((unsigned char)*cell))
        cell++;
    snprintf(out, room, "%s", cell ? cell : "");
    for (n = strlen(out); n > 0 && isspace((unsigned char)out[n - 1]); n--)
        out[n - 1] = '\0';
}

/* The number at a place, NaN if it is missing; a text that is none is a problem. */
static double number_of(int place)
{
    const struct value *v = &values[place];
    double x = NAN;

    if (!v->word)
        return v->number;
    if (!is_missing(v->word) && !number(v->word, &x) && !problem[0])
        snprintf(problem, sizeof problem, "column %.60s: %.60s is not a number",
                 place < FILE_COLUMNS ? file_columns[place][0] : "that is computed", v->word);
    return x;
}

@STEPS@

/* Which places there are, and which steps are taken.  A file may have what a step would compute. */
static void find_places(void)
{
    for (int i = 0; i < FILE_COLUMNS; i++)
        values[i].here = !lacks[i];
    for (int k = 0; k < STEPS; k++) {
        taken[k] = 1;
        for (const int *n = steps[k].needs; *n >= 0; n++)
            taken[k] = taken[k] && values[*n].here;
        values[FILE_COLUMNS + k].here =
            taken[k] || (steps[k].let && values[steps[k].instead].here);
    }
}

/* Takes the steps.  0; 2: a condition leaves the row out, that of step *by; -1: a problem. */
static int prepare(const char *const *cells, int *by)
{
    static char text[FILE_COLUMNS + 1][1024];

    problem[0] = '\0';
    find_places();
    for (int i = 0; i < FILE_COLUMNS; i++) {
        trim(cells[i], text[i], sizeof text[i]);
        values[i].word = text[i];
    }
    for (int k = 0; k < STEPS; k++) {
        const struct prepared *s = &steps[k];
        struct value *v = &values[FILE_COLUMNS + k];
        if (!taken[k] && s->let)
            *v = values[s->instead];
        if (!taken[k])
            continue;
        const char *word = s->word ? s->word() : NULL;
        v->word = s->word && !word ? "" : word;
        v->number = s->number ? s->number() : NAN;
        *by = k;
        if (problem[0])
            return -1;
        if (!s->let && v->number != 1.0)
            return 2;
    }
    return 0;
}

/* The cells of a row as the model reads them.  0, 1: left out, -1: a problem. */
static int encode(double *x)
{
    static double cell[COLUMNS];
    static int gone[COLUMNS];

    for (int c = 0; c < COLUMNS; c++) {
        const struct value *v = &values[columns[c].place];
        cell[c] = columns[c].levels ? level_of(v, columns[c].levels) : number_of(columns[c].place);
        if (problem[0])
            return -1;
        gone[c] = columns[c].levels ? cell[c] < 0 : isnan(cell[c]);
        if (gone[c] && missing_policy == STOP) {
            snprintf(problem, sizeof problem, "column %.60s: '%.60s' is missing or was never seen",
                     columns[c].name, v->word ? v->word : "");
            return -1;
        }
        if (gone[c] && missing_policy == DROP)
            return 1;
    }
    for (int i = 0; i < INPUTS; i++) {
        const struct input *in = &inputs[i];
        const double v = in->kind == FLAG        ? gone[in->column]
                         : gone[in->column]      ? in->fill
                         : in->kind == NUMBER    ? cell[in->column]
                                                 : cell[in->column] == in->level;
        x[i] = in->kind == CONSTANT ? 0.0 : (v - in->mean) / in->sd;
        if (in->limit > 0.0)
            x[i] = fmin(fmax(x[i], -in->limit), in->limit);
    }
    return 0;
}

/* The first steps of a projection: inputs over their lengthscales, in `size` numbers. */
static void read_inputs(const struct step *s, const double *x, double *v, int size)
{
    if (s->op == APPEND) {
        v[s->count] = s->value;
        return;
    }
    memset(v, 0, (size_t)size * sizeof *v);
    for (int i = 0; i < s->count; i++) {
        const double l = s->scale ? s->scale[i] : 1.0, in = x[s->first + i];
        if (s->op == SCALE_IN) {
            v[i] = in / l;
        } else { /* CIRCLE: `value` is the period */
            v[2 * i] = cos(2.0 * M_PI * in / s->value) / l;
            v[2 * i + 1] = sin(2.0 * M_PI * in / s->value) / l;
        }
    }
}

/* |L^-1 z|^2 for the triangular factor L of n rows; z is overwritten. */
static double solved(int n, double *z)
{
    const double *row = factor;
    double sum = 0.0;

    for (int i = 0; i < n; row += ++i) {
        for (int j = 0; j < i; j++)
            z[i] -= row[j] * z[j];
        z[i] /= row[i];
        sum += z[i] * z[i];
    }
    return sum;
}

@ENGINE@

@CLASSES@

/* Predictions in units of the targets. */
static void in_units(const double *scaled, const double *latent, double weight,
                     struct predicted *out)
{
    if (CLASSES) {
        out->mean[0] = scaled[0];
        out->sd_latent[0] = sqrt(latent[0]);
        out->p = probability(scaled[0], latent[0]);
    }
    for (int j = 0; j < (CLASSES ? 0 : TARGETS); j++) {
        const struct target *t = &targets[j];
        const double middle = scaled[j] * t->sd + t->mean, unit = t->sd * t->sd;
        out->mean[j] = log_target ? exp(middle) : middle;
        if (!FACTOR_SIZE)
            continue;
        const double own = latent[j] * unit, all = own + t->noise * t->noise / weight * unit;
        const double lo = middle - t->reach95 * sqrt(all), hi = middle + t->reach95 * sqrt(all);
        out->sd_latent[j] = sqrt(own);
        out->sd[j] = sqrt(all);
        out->lo95[j] = log_target ? exp(lo) : lo;
        out->hi95[j] = log_target ? exp(hi) : hi;
        if (log_target) { /* a log-normal distribution */
            out->sd_latent[j] = exp(middle + own / 2) * sqrt(expm1(own));
            out->mean[j] = exp(middle + all / 2);
            out->sd[j] = out->mean[j] * sqrt(expm1(all));
        }
    }
}

static int predict_by(const char *const *cells, struct predicted *out, int *by)
{
    static double x[INPUTS + 1], scaled[TARGETS], latent[TARGETS];
    double weight = 1.0;
    int rc = prepare(cells, by);

    rc = rc ? rc : encode(x);
    if (rc)
        return rc;
    if (weight_place >= 0 && values[weight_place].here)
        weight = number_of(weight_place);
    model(x, scaled, latent);
    in_units(scaled, latent, isnan(weight) ? 1.0 : weight, out);
    return problem[0] ? -1 : 0;
}

int predict(const char *const *cells, struct predicted *out);
int predict(const char *const *cells, struct predicted *out)
{
    int by;

    return predict_by(cells, out, &by);
}

#ifndef NO_MAIN
/* Reads a record of a CSV file into one buffer.  Returns the number of cells, whose texts follow
 * one another; 0 at the end of the file. */
static size_t read_record(FILE *f, char **text, size_t *room)
{
    size_t n = 0, cells = 0;
    int quoted = 0, c;

    while ((c = getc(f)) != EOF) {
        if (n + 2 > *room) {
            *room = *room ? 2 * *room : 1024;
            *text = realloc(*text, *room);
            if (!*text)
                abort();
        }
        cells += cells == 0;
        if (c == '"' && quoted) {
            c = getc(f);
            if (c != '"') {
                quoted = 0;
                if (c != EOF)
                    ungetc(c, f);
                continue;
            }
            (*text)[n++] = '"';
        } else if (c == '"') {
            quoted = 1;
        } else if (c == ',' && !quoted) {
            (*text)[n++] = '\0';
            cells++;
        } else if (c == '\n' && !quoted) {
            break;
        } else if (c != '\r' || quoted) {
            (*text)[n++] = (char)c;
        }
    }
    if (cells)
        (*text)[n] = '\0';
    return cells;
}

static void write_header(void)
{
    static const char *const names[] = { "mean", "sd_latent", "sd", "lo95", "hi95" };

    printf(CLASSES ? "row,p,class,mean_latent,sd_latent" : "row");
    for (int j = 0; j < (CLASSES ? 0 : TARGETS); j++)
        for (int k = 0; k < (FACTOR_SIZE ? 5 : 1); k++) {
            printf(",%s%s%s", TARGETS > 1 ? "\"" : "", names[k], TARGETS > 1 ? "_" : "");
            for (const char *p = targets[j].name; TARGETS > 1 && *p; p++) {
                if (*p == '"')
                    putchar('"');
                putchar(*p);
            }
            printf("%s", TARGETS > 1 ? "\"" : "");
        }
    printf("\n");
}

/* The first column that a place lacks. */
static const char *lacking(int place)
{
    while (place >= FILE_COLUMNS) {
        const int *n = steps[place - FILE_COLUMNS].needs;
        while (*n >= 0 && values[*n].here)
            n++;
        place = *n;
    }
    return file_columns[place][0];
}

/* Finds the columns in the first record of a file.  0: one is not there. */
static int find_columns(const char *file, const char *text, size_t n, size_t *at)
{
    for (int c = 0; c < FILE_COLUMNS; c++) {
        lacks[c] = 1;
        for (int k = 0; file_columns[c][k] && lacks[c]; k++) {
            const char *p = text;
            for (at[c] = 0; at[c] < n && strcmp(p, file_columns[c][k]); at[c]++)
                p += strlen(p) + 1;
            lacks[c] = at[c] == n;
        }
    }
    find_places();
    for (int c = 0; c < COLUMNS; c++)
        if (!values[columns[c].place].here) {
            fprintf(stderr, "%s: there is no column %s (the head of this program lists those it "
                    "reads)\n", file, lacking(columns[c].place));
            return 0;
        }
    for (int k = 0; k < STEPS; k++)
        if (!steps[k].let && !taken[k])
            fprintf(stderr, "%s: no row is left out by %s: there is no column %s\n", file,
                    steps[k].text, lacking(FILE_COLUMNS + k));
    return 1;
}

/* Tells which rows have no predictions. */
static void tell_left_out(const size_t *left, size_t dropped)
{
    for (int k = 0; k < STEPS; k++)
        if (left[k])
            fprintf(stderr, "%zu row%s left out by %s\n", left[k], left[k] == 1 ? " is" : "s are",
                    steps[k].text);
    if (dropped)
        fprintf(stderr, "%zu row%s left out for missing cells\n", dropped,
                dropped == 1 ? " is" : "s are");
}

static void write_cell(const char *text)
{
    const int quoted = text[strcspn(text, "\",\r\n")] != '\0';

    putchar(',');
    if (quoted)
        putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    if (quoted)
        putchar('"');
}

static void write_row(size_t row, const struct predicted *p)
{
    printf("%zu", row);
    if (CLASSES) {
        printf(",%.17g", p->p);
        write_cell(class_names[SECOND_CLASS(p->p)]);
        printf(",%.17g,%.17g", p->mean[0], p->sd_latent[0]);
    }
    for (int j = 0; j < (CLASSES ? 0 : TARGETS); j++) {
        printf(",%.17g", p->mean[j]);
        if (FACTOR_SIZE)
            printf(",%.17g,%.17g,%.17g,%.17g", p->sd_latent[j], p->sd[j], p->lo95[j], p->hi95[j]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static size_t at[FILE_COLUMNS + 1], left[STEPS + 1];
    static const char *cells[FILE_COLUMNS + 1];
    struct predicted p;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    char *text = NULL;
    size_t room = 0, n = f ? read_record(f, &text, &room) : 0, row = 0, dropped = 0;

    if (!find_columns(argc > 1 ? argv[1] : "stdin", text, n, at))
        return 1;
    write_header();
    while ((n = read_record(f, &text, &room)) > 0) {
        int by = 0;
        row++;
        memset(cells, 0, sizeof cells);
        const char *cell = text;
        for (size_t k = 0; k < n; k++, cell += strlen(cell) + 1)
            for (int c = 0; c < FILE_COLUMNS; c++)
                if (!lacks[c] && at[c] == k)
                    cells[c] = cell;
        const int rc = predict_by(cells, &p, &by);
        if (rc < 0) {
            fprintf(stderr, "row %zu: %s\n", row, problem);
            return 1;
        }
        dropped += rc == 1;
        left[by] += rc == 2;
        if (rc == 0)
            write_row(row, &p);
    }
    tell_left_out(left, dropped);
    free(text);
    return 0;
}
#endif
