/* data/formats/import_csv_sniff.c -- decides from its first records how to read a CSV file:
 * separator, decimal sign, header, missing marks, and the content of each column.
 *
 * A decision is made if the sample leaves no doubt, and reported afterwards. A close decision is an
 * error that names both alternatives. import_csv.c checks on every row what is decided here. */
#include "data/formats/import_csv.h"

#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sample: the first records, split into cells. */

struct sample {
    struct csv_cell *cell;
    size_t ncell, capcell;
    size_t *start, capstart; /* first cell of each record, and one more at the end */
    size_t *line, capline;
    size_t rows;
    char *scratch;
    size_t bytes;            /* bytes of the records taken */
    size_t newlines;         /* line ends inside the quotes of the last record */
    /* CSV_UNCLOSED or CSV_JUNK if the record after the last is defective, otherwise CSV_LINE. */
    enum csv_end defect;
    size_t defect_line;
};

static void sample_free(struct sample *s)
{
    free(s->cell);
    free(s->start);
    free(s->line);
    free(s->scratch);
    *s = (struct sample){ 0 };
}

static size_t width(const struct sample *s, size_t row)
{
    return s->start[row + 1] - s->start[row];
}

static const struct csv_cell *cell_at(const struct sample *s, size_t row, size_t col)
{
    return &s->cell[s->start[row] + col];
}

static enum status sample_grow(struct sample *s, struct err *err)
{
    void *cell = s->cell, *start = s->start, *line = s->line;
    enum status rc = mem_grow(&cell, &s->capcell, s->ncell + 1, sizeof *s->cell, "a sample", err);
    s->cell = cell;
    if (rc == ST_OK)
        rc = mem_grow(&start, &s->capstart, s->rows + 2, sizeof *s->start, "a sample", err);
    s->start = start;
    if (rc == ST_OK)
        rc = mem_grow(&line, &s->capline, s->rows + 1, sizeof *s->line, "a sample", err);
    s->line = line;
    return rc;
}

/* Reads one record at *p. *how is CSV_LINE if it is complete. */
static enum status sample_record(struct sample *s, const char **p, const char *end, bool eof,
                                 char sep, char **scratch, enum csv_end *how, struct err *err)
{
    s->newlines = 0;
    do {
        enum status rc = sample_grow(s, err);
        if (rc != ST_OK)
            return rc;
        struct csv_cell *c = &s->cell[s->ncell];
        *how = csv_cell(p, end, eof, sep, *scratch, c);
        if (*how != CSV_SEP && *how != CSV_LINE)
            return ST_OK;
        if (c->s == *scratch)
            *scratch += c->len;
        s->newlines += c->newlines;
        s->ncell++;
    } while (*how == CSV_SEP);
    return ST_OK;
}

/* True for blank and comment lines, which are skipped as in import_csv.c. */
static bool skips(const char *p, const char *end, char sep)
{
    if (*p == '#')
        return true;
    while (p < end && (*p == ' ' || *p == '\t') && *p != sep)
        p++;
    return p == end || *p == '\n' || *p == '\r';
}

/* Takes at most max_rows complete records of the window. */
static enum status sample_take(struct sample *s, const struct inbuf *in, char sep, size_t max_rows,
                               struct err *err)
{
    const char *p = in->b + in->pos, *end = in->b + in->len;
    size_t line = 1 + in->skipped;
    s->scratch = mem_calloc(in->len - in->pos + 1, 1, "a sample", err);
    if (s->scratch == NULL || sample_grow(s, err) != ST_OK)
        return ST_NOMEM;
    char *scratch = s->scratch;
    s->start[0] = 0;
    s->defect = CSV_LINE;
    while (p < end && s->rows < max_rows) {
        const char *record = p;
        size_t first = s->ncell;
        s->newlines = 0;
        enum csv_end how = CSV_LINE;
        bool skip = skips(p, end, sep);
        if (skip) {
            while (p < end && *p != '\n' && *p != '\r')
                p++;
            if (p == end)
                break;
            p += *p == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 1;
        } else {
            enum status rc = sample_record(s, &p, end, in->eof, sep, &scratch, &how, err);
            if (rc != ST_OK)
                return rc;
        }
        if (how != CSV_LINE) {
            s->ncell = first;
            s->defect = how;
            s->defect_line = line;
            break;
        }
        if (!skip) {
            s->line[s->rows++] = line;
            s->start[s->rows] = s->ncell;
            s->bytes += (size_t)(p - record);
        }
        line += 1 + s->newlines;
    }
    return ST_OK;
}

/* Words for messages. */

void csv_cell_words(const char *s, size_t n, char *out, size_t len)
{
    char few[41];
    size_t cut = n < 40 ? n : 40;
    memcpy(few, s, cut);
    few[cut] = '\0';
    struct buf b = { 0 };
    text_safe(&b, few, 40);
    snprintf(out, len, "'%.60s%s'", buf_str(&b), n > 40 ? ".." : "");
    buf_free(&b);
}

void csv_column_words(const struct csv_plan *plan, size_t col, char *out, size_t len)
{
    if (plan->name != NULL && plan->name[col] != NULL) {
        char name[80];
        csv_cell_words(plan->name[col], strlen(plan->name[col]), name, sizeof name);
        snprintf(out, len, "column %zu %s", col + 1, name);
    } else {
        snprintf(out, len, "column %zu", col + 1);
    }
}

bool csv_plain_word(const char *s, size_t len)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-?";
    for (size_t i = 0; i < len; i++)
        if (s[i] == '\0' || strchr(good, s[i]) == NULL)
            return false;
    return len > 0 && len < 40;
}

void csv_column_key(const struct csv_plan *plan, size_t col, char *out, size_t len)
{
    if (plan->name != NULL && plan->name[col] != NULL &&
        csv_plain_word(plan->name[col], strlen(plan->name[col])))
        snprintf(out, len, "%s", plan->name[col]);
    else
        snprintf(out, len, "#%zu", col + 1);
}

/* Separator. */

static const char separators[] = { ',', ';', '\t', '|' };
enum { NSEP = sizeof separators, SEP_ROWS = 300 };

struct fit {
    size_t rows, width; /* the most frequent number of cells */
    size_t agree;       /* the number of records that have it */
    size_t cells, clean; /* number of cells, and of those without another separator */
};

static bool sure_cell(const struct csv_cell *c, char sep)
{
    double x;
    if (c->quoted || scan_number_all(c->s, c->len, '.', &x) ||
        (sep != ',' && scan_number_all(c->s, c->len, ',', &x)))
        return true;
    for (size_t i = 0; i < NSEP; i++)
        if (separators[i] != sep && memchr(c->s, separators[i], c->len) != NULL)
            return false;
    return true;
}

static void measure(const struct sample *s, char sep, struct fit *f)
{
    *f = (struct fit){ .rows = s->rows };
    for (size_t i = 0; i < s->rows; i++) {
        size_t same = 0;
        for (size_t k = 0; k < s->rows; k++)
            same += width(s, k) == width(s, i);
        if (same > f->agree) {
            f->agree = same;
            f->width = width(s, i);
        }
    }
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < width(s, i); j++) {
            f->cells++;
            f->clean += sure_cell(cell_at(s, i, j), sep);
        }
}

static const char *sep_option(char sep)
{
    return sep == ',' ? "','" : sep == ';' ? "';'" : sep == '\t' ? "tab" : "'|'";
}

static enum status close_call(const struct inbuf *in, const struct fit *f, size_t a, size_t b,
                              struct err *err)
{
    err_named(err, ST_FORMAT, "delimiter", "%s: %zu columns with %s, %zu with %s",
              stream_name(in->st), f[a].width, sep_option(separators[a]), f[b].width,
              sep_option(separators[b]));
    static const char *const word[] = { "comma", "semicolon", "tab", "|" };
    err_hint(err, "open FILE sep=%s  or  open FILE sep=%s", word[a], word[b]);
    return ST_FORMAT;
}

/* True if a is clearly the better reading. */
static bool beats(const struct fit *a, const struct fit *b)
{
    bool steady_a = a->width > 1 && a->agree == a->rows;
    bool steady_b = b->width > 1 && b->agree == b->rows;
    if (b->width < 2)
        return a->width > 1 && 2 * a->agree >= a->rows;
    if (steady_a != steady_b)
        return steady_a;
    if (!steady_a) /* both are ragged: prefer the one with far fewer exceptions */
        return a->width > 1 && a->agree > 2 * b->agree;
    return a->clean == a->cells && b->clean < b->cells;
}

static enum status find_separator(const struct inbuf *in, char *sep, struct err *err)
{
    struct fit f[NSEP];
    for (size_t i = 0; i < NSEP; i++) {
        struct sample s = { 0 };
        enum status rc = sample_take(&s, in, separators[i], SEP_ROWS, err);
        if (rc == ST_OK)
            measure(&s, separators[i], &f[i]);
        sample_free(&s);
        if (rc != ST_OK)
            return rc;
    }
    size_t best = 0;
    for (size_t i = 1; i < NSEP; i++)
        if (f[i].width > 1 && (f[best].width < 2 || beats(&f[i], &f[best]) ||
                               (!beats(&f[best], &f[i]) && f[i].agree > f[best].agree)))
            best = i;
    for (size_t i = 0; i < NSEP && f[best].width > 1; i++)
        if (i != best && f[i].width > 1 && !beats(&f[best], &f[i]))
            return close_call(in, f, best, i, err);
    *sep = separators[best];
    return ST_OK;
}

/* Missing marks. */

static const char *const known_marks[] = { "?", "NA", "N/A", "#N/A", "n/a", "null", "NULL",
                                           "None", "-", ".", "NaN", "nan", "NAN", "na" };
/* also accepted among words */
enum { NKNOWN = sizeof known_marks / sizeof *known_marks, NSURE = 4 };

static size_t known_mark(const struct csv_cell *c)
{
    for (size_t k = 0; k < NKNOWN && c->len <= 4; k++) /* no mark is longer */
        if (strlen(known_marks[k]) == c->len && memcmp(known_marks[k], c->s, c->len) == 0)
            return k;
    return NKNOWN;
}

/* Decimal sign. */

/* True for 1,234 or -12,345, which may contain a thousands separator. */
static bool like_thousands(const struct csv_cell *c)
{
    const char *s = c->s, *end = c->s + c->len;
    s += s < end && (*s == '-' || *s == '+');
    if (s < end && *s == '0')
        return false;
    const char *comma = memchr(s, ',', (size_t)(end - s));
    if (comma == NULL || comma - s < 1 || comma - s > 3 || end - comma != 4)
        return false;
    for (; s < end && (s == comma || (*s >= '0' && *s <= '9')); s++)
        ;
    return s == end;
}

/* True for 1,234,567: no decimal mark stands twice. */
static bool repeats(const struct csv_cell *c, char mark)
{
    const char *first = memchr(c->s, mark, c->len);

    return first != NULL &&
           memchr(first + 1, mark, c->len - (size_t)(first + 1 - c->s)) != NULL;
}

/* A column of numbers in which some have groups of three digits with `mark` between them, and
 * others are short or have decimals, so that it is no list of numbers. */
static bool grouped_column(const struct sample *s, size_t col, char mark, size_t *points,
                           size_t *commas)
{
    size_t groups = 0, plain = 0;
    double x;

    for (size_t i = 1; i < s->rows; i++) {
        if (width(s, i) <= col)
            continue;
        const struct csv_cell *c = cell_at(s, i, col);
        if (c->len == 0 || known_mark(c) < NKNOWN)
            continue;
        const bool comma = memchr(c->s, ',', c->len) != NULL,
                   point = memchr(c->s, '.', c->len) != NULL;
        if (!scan_number_marked(c->s, c->len, comma ? ',' : '.', mark, &x))
            return false;
        const bool whole = scan_number_all(c->s, c->len, comma ? ',' : '.', &x);
        groups += !whole;
        plain += comma || point || (whole && fabs(x) < 1000.0);
        *points += point;
        *commas += comma;
    }
    return groups > 0 && plain > 0;
}

/* 1 234,5 and 1'234.5: no other reading of such a column is likely. */
static bool blank_thousands(const struct sample *s, struct csv_plan *plan)
{
    static const char marks[] = { ' ', '\'' };

    for (size_t m = 0; m < sizeof marks; m++) {
        size_t found = 0, points = 0, commas = 0;
        for (size_t j = 0; s->rows > 0 && j < width(s, 0); j++)
            found += plan->sep != marks[m] && grouped_column(s, j, marks[m], &points, &commas);
        if (found == 0 || (points > 0 && commas > 0))
            continue;
        plan->dec = commas > 0 ? ',' : '.';
        plan->thousands = marks[m];
        return true;
    }
    return false;
}

/* Cells with both marks, 1.234,50 or 1,234.50, show which is which. */
static bool find_thousands(const struct sample *s, struct csv_plan *plan)
{
    size_t points = 0, commas = 0;
    double x;
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < width(s, i); j++) {
            const struct csv_cell *c = cell_at(s, i, j);
            if (memchr(c->s, '.', c->len) == NULL || memchr(c->s, ',', c->len) == NULL) {
                points += repeats(c, '.') && scan_number_marked(c->s, c->len, ',', '.', &x);
                commas += repeats(c, ',') && scan_number_marked(c->s, c->len, '.', ',', &x);
                continue;
            }
            points += scan_number_marked(c->s, c->len, ',', '.', &x);
            commas += scan_number_marked(c->s, c->len, '.', ',', &x);
        }
    if (points == 0 && commas == 0)
        return blank_thousands(s, plan);
    if ((points > 0) == (commas > 0))
        return false;
    plan->dec = points > 0 ? ',' : '.';
    plan->thousands = points > 0 ? '.' : ',';
    return true;
}

static enum status find_decimal(const struct inbuf *in, const struct sample *s,
                                struct csv_plan *plan, struct err *err)
{
    size_t commas = 0, points = 0, thousands = 0;
    const struct csv_cell *like = NULL;
    size_t like_line = 0;
    double x;
    plan->dec = '.';
    if ((plan->thousands == '\0' && find_thousands(s, plan)) || plan->sep == ',')
        return ST_OK;
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < width(s, i); j++) {
            const struct csv_cell *c = cell_at(s, i, j);
            if (c->len == 0)
                continue;
            if (scan_number_all(c->s, c->len, '.', &x)) {
                points += memchr(c->s, '.', c->len) != NULL;
            } else if (scan_number_all(c->s, c->len, ',', &x)) {
                commas++;
                thousands += like_thousands(c);
                like = c;
                like_line = s->line[i];
            }
        }
    if (commas == 0 || points > 0)
        return ST_OK;
    plan->dec = ',';
    if (commas > thousands)
        return ST_OK;
    char value[80];
    csv_cell_words(like->s, like->len, value, sizeof value);
    err_named(err, ST_FORMAT, "decimal", "%s line %zu: %s may have a decimal comma or a mark for "
              "thousands", stream_name(in->st), like_line, value);
    err_hint(err, "open FILE decimal=comma  or  open FILE thousands=comma");
    return ST_FORMAT;
}

bool csv_is_mark(const struct csv_plan *plan, const char *s, size_t len)
{
    for (size_t i = 0; i < plan->nmark; i++)
        if (strlen(plan->mark[i]) == len && memcmp(plan->mark[i], s, len) == 0)
            return true;
    return false;
}

static enum status add_mark(struct csv_plan *plan, const char *s, size_t len, struct err *err)
{
    size_t cap = plan->nmark;
    void *p = plan->mark;
    enum status rc = mem_grow(&p, &cap, plan->nmark + 1, sizeof *plan->mark, "marks", err);
    plan->mark = p;
    if (rc != ST_OK)
        return rc;
    char *m = mem_calloc(len + 1, 1, "marks", err);
    if (m == NULL)
        return ST_NOMEM;
    memcpy(m, s, len);
    plan->mark[plan->nmark++] = m;
    return ST_OK;
}

/* "NA,?,-" */
static enum status take_marks(struct csv_plan *plan, const char *list, struct err *err)
{
    plan->marks_given = true;
    while (*list != '\0') {
        size_t len = strcspn(list, ",");
        if (len > 0) {
            enum status rc = add_mark(plan, list, len, err);
            if (rc != ST_OK)
                return rc;
        }
        list += len + (list[len] == ',');
    }
    return ST_OK;
}

int csv_find_mark(const char *s, size_t len)
{
    const size_t k = known_mark(&(struct csv_cell){ .s = s, .len = len });

    return k < NKNOWN ? (int)k : -1;
}

const char *csv_usual_mark(int i)
{
    return known_marks[i];
}

/* The content of columns. */

struct tally {
    size_t numbers, words, empty, bytes;
    size_t percents;    /* cells such as "12 %" */
    size_t thousands;   /* words such as 1,234 */
    unsigned orders;    /* orders in which all words are dates */
    size_t mark[NKNOWN];
    size_t first_word;  /* row of the sample */
    size_t not_finite;  /* row of the first nan or inf, plus 1 */
    bool zeros;
};

static bool leading_zero(const struct csv_cell *c)
{
    return c->len > 1 && c->s[0] == '0' && c->s[1] >= '0' && c->s[1] <= '9';
}

static void tally_column(const struct sample *s, const struct csv_plan *plan, size_t col,
                         bool guess_marks, struct tally *t)
{
    double x;
    *t = (struct tally){ .orders = ~0u };
    for (size_t i = plan->header; i < s->rows; i++) {
        if (width(s, i) != plan->ncols)
            continue; /* reported when every row is read */
        const struct csv_cell *c = cell_at(s, i, col);
        size_t k = guess_marks ? known_mark(c) : NKNOWN;
        if (c->len == 0 || csv_is_mark(plan, c->s, c->len)) {
            t->empty++;
        } else if (k < NKNOWN) {
            t->mark[k]++;
        } else if (scan_number_marked(c->s, c->len, plan->dec, plan->thousands, &x)) {
            t->numbers++;
            t->zeros |= leading_zero(c);
        } else {
            if (t->not_finite == 0 && scan_not_finite(c->s, c->len))
                t->not_finite = i + 1;
            t->orders &= t->orders != 0 ? scan_date_orders(c->s, c->len) : 0;
            t->percents += csv_cell_percent(c, plan->dec, plan->thousands, &x);
            t->thousands += like_thousands(c);
            if (t->words++ == 0)
                t->first_word = i;
            t->bytes += c->len;
        }
    }
}

/* Whether the cells of a column, its marks apart, are numbers, percentages or dates throughout. */
static bool measured(const struct tally *t)
{
    return t->words == 0 ? t->numbers > 0
                         : t->numbers == 0 && (t->percents == t->words || t->orders != 0);
}

/* A mark counts for the whole file once it is clearly no value of some column: any mark beside
 * numbers, percentages or dates, the usual ones also beside words. */
static enum status guess_marks(const struct sample *s, struct csv_plan *plan, struct err *err)
{
    bool found[NKNOWN] = { false };
    for (size_t j = 0; j < plan->ncols; j++) {
        struct tally t;
        tally_column(s, plan, j, true, &t);
        for (size_t k = 0; k < NKNOWN; k++)
            found[k] |= t.mark[k] > 0 && (k < NSURE || measured(&t));
    }
    enum status rc = ST_OK;
    for (size_t k = 0; k < NKNOWN && rc == ST_OK; k++)
        if (found[k])
            rc = add_mark(plan, known_marks[k], strlen(known_marks[k]), err);
    return rc;
}

static int by_cell(const void *a, const void *b)
{
    const struct csv_cell *x = *(const struct csv_cell *const *)a;
    const struct csv_cell *y = *(const struct csv_cell *const *)b;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->s, y->s, n);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Words that hardly repeat, or are long, are text; others are categories. */
static enum status word_kind(const struct sample *s, struct csv_plan *plan, size_t col,
                             const struct tally *t, struct err *err)
{
    const struct csv_cell **list = mem_calloc(s->rows, sizeof *list, "a sample", err);
    if (list == NULL)
        return ST_NOMEM;
    size_t n = 0, unique = 0;
    for (size_t i = plan->header; i < s->rows; i++) {
        const struct csv_cell *c;
        if (width(s, i) == plan->ncols && (c = cell_at(s, i, col))->len > 0 &&
            !csv_is_mark(plan, c->s, c->len))
            list[n++] = c;
    }
    qsort(list, n, sizeof *list, by_cell);
    for (size_t i = 0; i < n; i++)
        unique += i == 0 || by_cell(&list[i - 1], &list[i]) != 0;
    free(list);
    bool text = (unique > 10 && unique > n / 2) || t->bytes > 200 * t->words;
    plan->kind[col] = text ? KIND_TEXT : KIND_CATEGORY;
    return ST_OK;
}

static enum status mixed(const struct inbuf *in, const struct sample *s, struct csv_plan *plan,
                         size_t col, const struct tally *t, struct err *err)
{
    size_t row = t->not_finite > 0 ? t->not_finite - 1 : t->first_word;
    const struct csv_cell *c = cell_at(s, row, col);
    char where[120], key[80], value[80];
    csv_column_words(plan, col, where, sizeof where);
    csv_column_key(plan, col, key, sizeof key);
    csv_cell_words(c->s, c->len, value, sizeof value);
    if (t->not_finite > 0) {
        err_named(err, ST_FORMAT, "not-finite", "%s line %zu, %s: %s is not a finite number",
                  stream_name(in->st), s->line[row], where, value);
        err_hint(err, "open FILE missing=%.*s", (int)c->len, c->s); /* a known short word */
        return ST_FORMAT;
    }
    err_named(err, ST_FORMAT, "cell", "%s line %zu, %s: %s is not a number, as %zu of the first "
              "%zu cells are", stream_name(in->st), s->line[row], where, value, t->numbers,
              t->numbers + t->words);
    if (t->thousands == t->words)
        err_hint(err, "open FILE thousands=comma  or  open FILE decimal=comma");
    else if (csv_plain_word(c->s, c->len))
        err_hint(err, "open FILE missing=%.*s  or  open FILE types=%s=category", (int)c->len, c->s,
                 key);
    else
        err_hint(err, "open FILE types=%s=category  (or =text)", key);
    return ST_FORMAT;
}

/* Chooses the order of the parts of dates. False if day and month could be exchanged: then no cell
 * has a day above 12, and the option does not say. With points the day comes first. */
static bool one_order(struct csv_plan *plan, size_t col, unsigned orders)
{
    unsigned k = 0;

    if (plan->dates >= 0 && (orders & 1u << plan->dates) != 0)
        k = (unsigned)plan->dates;
    else if ((orders & 1u << DATE_DMY) != 0 && (orders & 1u << DATE_MDY) != 0) {
        plan->unclear = plan->unclear != 0 ? plan->unclear : (int)col + 1;
        return false;
    } else {
        while ((orders & 1u << k) == 0)
            k++;
    }
    plan->order[col] = (enum date_order)k;
    return true;
}

static enum status unclear_dates(const struct inbuf *in, const struct csv_plan *plan, size_t col,
                                 struct err *err)
{
    char where[120];

    csv_column_words(plan, col, where, sizeof where);
    err_named(err, ST_FORMAT, "dates", "%s, %s: the dates may have the day or the month first",
              stream_name(in->st), where);
    err_hint(err, "open FILE dates=dmy  or  open FILE dates=mdy");
    return ST_FORMAT;
}

static enum status find_kind(const struct inbuf *in, const struct sample *s, struct csv_plan *plan,
                             size_t col, struct err *err)
{
    struct tally t;
    tally_column(s, plan, col, false, &t);
    if (plan->forced[col] && plan->kind[col] == KIND_DATE && t.words > 0 && t.orders != 0)
        return one_order(plan, col, t.orders) ? ST_OK : unclear_dates(in, plan, col, err);
    if (plan->forced[col])
        return ST_OK;
    plan->leading_zeros |= t.zeros && t.words == 0;
    if (t.numbers + t.words == 0)
        plan->kind[col] = KIND_EMPTY;
    else if (t.words == 0)
        plan->kind[col] = KIND_REAL;
    else if (t.percents == t.words && t.numbers == 0)
        plan->kind[col] = KIND_PERCENT;
    else if (t.orders != 0 && t.numbers == 0 && one_order(plan, col, t.orders))
        plan->kind[col] = KIND_DATE;
    else if (t.numbers >= t.words || (t.not_finite > 0 && t.numbers > 0))
        return mixed(in, s, plan, col, &t, err);
    else {
        if (t.numbers == 0 && t.thousands == t.words && plan->marked == 0)
            plan->marked = (int)col + 1;
        return word_kind(s, plan, col, &t, err);
    }
    return ST_OK;
}

/* Header. */

/* Line 1 is a header if none of its cells is a number or empty throughout, and either a column of
 * numbers or dates is below, or no name occurs again in its column. It is also a header if most
 * numeric columns have a word there, even if another name looks like a number ("-1", "2019"). */
static void find_header(const struct sample *s, int option, struct csv_plan *plan)
{
    size_t words = 0, numbers = 0, below = 0, over = 0, repeated = 0;
    double x;
    for (size_t j = 0; j < width(s, 0); j++) {
        const struct csv_cell *name = cell_at(s, 0, j);
        if (name->len == 0)
            continue;
        bool number = scan_number_marked(name->s, name->len, plan->dec, plan->thousands, &x) ||
                      known_mark(name) < NSURE || scan_not_finite(name->s, name->len) ||
                      scan_date_orders(name->s, name->len) != 0 ||
                      csv_cell_percent(name, plan->dec, plan->thousands, &x);
        numbers += number;
        words += !number;
        size_t n = 0, good = 0;
        for (size_t i = 1; i < s->rows; i++) {
            if (width(s, i) <= j)
                continue;
            const struct csv_cell *c = cell_at(s, i, j);
            if (c->len == 0 || known_mark(c) < NKNOWN)
                continue;
            n++;
            good += scan_number_marked(c->s, c->len, plan->dec, plan->thousands, &x) ||
                    scan_date_orders(c->s, c->len) != 0 ||
                    csv_cell_percent(c, plan->dec, plan->thousands, &x);
            repeated += by_cell(&name, &c) == 0;
        }
        below += n > 0 && good * 2 >= n;
        over += n > 0 && good == n && !number;
    }
    if (option >= 0) {
        plan->header = option > 0;
        buf_puts(&plan->why, " (as said)");
    } else if (numbers > 0 && s->rows > 2 && over * 2 > below) {
        plan->header = true;
        buf_printf(&plan->why, " (line %zu has words over %zu of %zu columns of numbers)",
                   s->line[0], over, below);
    } else if (numbers > 0 || words == 0) {
        plan->header = false;
        buf_printf(&plan->why, " (line %zu %s)", s->line[0],
                   words > 0 ? "has numbers" : "has numbers only");
    } else if (below > 0) {
        plan->header = true;
        if (below == width(s, 0))
            buf_printf(&plan->why, " (line %zu has words, the rest numbers)", s->line[0]);
        else
            buf_printf(&plan->why, " (line %zu has words, %zu of %zu columns numbers below)",
                       s->line[0], below, width(s, 0));
    } else {
        plan->header = repeated == 0;
        buf_printf(&plan->why, repeated == 0 ? " (line %zu holds words that are not repeated)"
                                             : " (line %zu holds words that are repeated)",
                   s->line[0]);
    }
}

static int by_name(const void *a, const void *b)
{
    char **const x = *(char **const *)a, **const y = *(char **const *)b;
    const int order = strcmp(*x, *y);

    return order != 0 ? order : (x > y) - (x < y); /* the first column keeps its name */
}

static int by_text(const void *key, const void *item)
{
    return strcmp(key, **(char **const *)item);
}

/* The first of NAME_2, NAME_3, .. that is no name of the file, from *number on. list: n names,
 * sorted. Two names cannot get the same one, because only digits follow the last "_". */
static char *numbered(const char *name, char ***list, size_t n, size_t *number, struct err *err)
{
    struct buf b = { 0 };

    do {
        buf_clear(&b);
        buf_printf(&b, "%s_%zu", name, ++*number);
    } while (!b.failed && bsearch(buf_str(&b), list, n, sizeof *list, by_text) != NULL);
    char *given = buf_take(&b);
    if (given == NULL)
        err_nomem(err, 64, "a column's name");
    return given;
}

/* Names that occur again get a number, so that every column can be named. */
static enum status number_twins(struct csv_plan *plan, struct err *err)
{
    enum { TOLD = 8 };
    char ***list = mem_calloc(plan->ncols, sizeof *list, "names", err);
    char **fresh = mem_calloc(plan->ncols, sizeof *fresh, "names", err), name[80];
    size_t n = 0, number = 1, told = 0;
    enum status rc = list != NULL && fresh != NULL ? ST_OK : ST_NOMEM;

    for (size_t j = 0; rc == ST_OK && j < plan->ncols; j++)
        if (plan->name[j] != NULL)
            list[n++] = &plan->name[j];
    if (n > 0)
        qsort(list, n, sizeof *list, by_name);
    for (size_t i = 1; i < n && rc == ST_OK; i++) {
        const bool again = strcmp(*list[i - 1], *list[i]) == 0;
        const size_t j = (size_t)(list[i] - plan->name);
        number = again ? number : 1;
        if (again && (fresh[j] = numbered(*list[i], list, n, &number, err)) == NULL)
            rc = ST_NOMEM;
    }
    for (size_t j = 0; rc == ST_OK && j < plan->ncols; j++) {
        if (fresh[j] == NULL)
            continue;
        free(plan->name[j]);
        plan->name[j] = fresh[j];
        fresh[j] = NULL;
        csv_cell_words(plan->name[j], strlen(plan->name[j]), name, sizeof name);
        if (++told <= TOLD)
            buf_printf(&plan->renamed, "%scolumn %zu is %s", told > 1 ? ", " : "", j + 1, name);
    }
    if (told > TOLD)
        buf_printf(&plan->renamed, " and %zu more", told - TOLD);
    for (size_t j = 0; fresh != NULL && j < plan->ncols; j++)
        free(fresh[j]);
    free(fresh);
    free(list);
    return rc;
}

static enum status take_names(const struct inbuf *in, const struct sample *s,
                              struct csv_plan *plan, struct err *err)
{
    for (size_t j = 0; plan->header && j < plan->ncols; j++) {
        const struct csv_cell *c = cell_at(s, 0, j);
        if (c->len > IMPORT_MAX_NAME)
            return err_named(err, ST_FORMAT, "name", "%s: the name of column %zu has %zu bytes; "
                             "the limit is %zu", stream_name(in->st), j + 1, c->len,
                             IMPORT_MAX_NAME);
        if (memchr(c->s, '\0', c->len) != NULL)
            return err_named(err, ST_FORMAT, "binary", "%s: the name of column %zu holds a zero "
                             "byte: this is not text", stream_name(in->st), j + 1);
        if (c->len == 0)
            continue;
        plan->name[j] = mem_calloc(c->len + 1, 1, "a column's name", err);
        if (plan->name[j] == NULL)
            return ST_NOMEM;
        memcpy(plan->name[j], c->s, c->len);
    }
    return plan->header ? number_twins(plan, err) : ST_OK;
}

/* Types=. */

static size_t column_by_key(const struct csv_plan *plan, const char *key)
{
    char *end;
    for (size_t j = 0; j < plan->ncols; j++)
        if (plan->name[j] != NULL && strcmp(plan->name[j], key) == 0)
            return j;
    if (*key != '#' && *key != 'x')
        return SIZE_MAX;
    unsigned long k = strtoul(key + 1, &end, 10);
    if (end == key + 1 || *end != '\0' || k < 1 || k > plan->ncols)
        return SIZE_MAX;
    return *key == '#' || plan->name[k - 1] == NULL ? k - 1 : SIZE_MAX;
}

enum { PLAIN_TYPES = 3 }; /* those of columns, which come first; a date is one more */

/* Columns of special kinds are read as text and recognised later (data/kinds). */
static bool type_by_word(const char *word, enum csv_kind *kind)
{
    static const enum csv_kind plain[PLAIN_TYPES] = { KIND_REAL, KIND_CATEGORY, KIND_TEXT };
    const char *type;

    for (size_t i = 0; (type = kind_type_at(i)) != NULL; i++)
        if (strcmp(word, type) == 0) {
            *kind = i < PLAIN_TYPES ? plain[i] : KIND_TEXT;
            return true;
        }
    *kind = KIND_DATE;
    return strcmp(word, "date") == 0;
}

static enum status force_one(struct csv_plan *plan, const char *item, size_t len, struct err *err)
{
    enum csv_kind kind = KIND_TEXT;
    char *copy = strndup(item, len);
    if (copy == NULL)
        return err_nomem(err, len, "types=");
    enum status rc = ST_OK;
    char *eq = strrchr(copy, '=');
    bool known = false;
    size_t col = SIZE_MAX;
    if (eq != NULL) {
        *eq = '\0';
        known = type_by_word(eq + 1, &kind);
        col = column_by_key(plan, copy);
    }
    if (!known) {
        struct buf words = { 0 };
        const char *type;
        for (size_t i = 0; (type = kind_type_at(i)) != NULL; i++)
            buf_printf(&words, "%s%s%s", i > 0 ? "|" : "", i == PLAIN_TYPES ? "date|" : "", type);
        rc = err_set(err, ST_USAGE, "types= takes NAME=%s, separated by commas", buf_str(&words));
        buf_free(&words);
    } else if (col == SIZE_MAX) {
        char words[80];
        csv_cell_words(copy, strlen(copy), words, sizeof words);
        rc = err_set(err, ST_NOT_FOUND, "types=: there is no column %s", words);
        err_hint(err, "the name in the file, or #3 for the third column");
    } else {
        plan->kind[col] = kind;
        plan->forced[col] = true;
    }
    free(copy);
    return rc;
}

static enum status force_types(struct csv_plan *plan, const char *list, struct err *err)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");
        enum status rc = len > 0 ? force_one(plan, list, len, err) : ST_OK;
        if (rc != ST_OK)
            return rc;
        list += len + (list[len] == ',');
    }
    return ST_OK;
}

/* Putting it together. */

/* The first record must be complete, because names may be long. */
static enum status whole_record(struct inbuf *in, char sep, struct err *err)
{
    for (;;) {
        struct sample s = { 0 };
        enum status rc = sample_take(&s, in, sep, 1, err);
        bool good = s.rows > 0 || in->eof;
        enum csv_end defect = s.defect;
        sample_free(&s);
        if (rc != ST_OK || good || defect == CSV_JUNK)
            return rc;
        rc = stream_inbuf_fill(in, IMPORT_MAX_LINE, err);
        if (rc == ST_LIMIT) {
            err_named(err, ST_FORMAT, "limit", "%s: the first line is longer than %zu bytes, the "
                      "limit for one line", stream_name(in->st), IMPORT_MAX_LINE);
            err_hint(err, "is it a table? look for a quote that is never closed");
            return ST_FORMAT;
        }
        if (rc != ST_OK)
            return rc;
    }
}

static enum status no_record(const struct inbuf *in, const struct sample *s, struct err *err)
{
    if (s->defect == CSV_UNCLOSED || s->defect == CSV_JUNK) {
        err_named(err, ST_FORMAT, "quote", s->defect == CSV_UNCLOSED
                  ? "%s line %zu: a quote is never closed"
                  : "%s line %zu: more text follows a closing quote",
                  stream_name(in->st), s->defect_line);
        err_hint(err, "inside a quoted cell a quote is written twice");
    } else {
        err_named(err, ST_FORMAT, "empty", "%s holds no records", stream_name(in->st));
    }
    return ST_FORMAT;
}

/* The number of columns is that of line 1, unless all other lines agree on another number. */
static enum status find_width(const struct inbuf *in, const struct sample *s,
                              struct csv_plan *plan, struct err *err)
{
    plan->ncols = width(s, 0);
    if (plan->ncols > IMPORT_MAX_COLS)
        return err_named(err, ST_FORMAT, "limit", "%s has %zu columns; the limit is %zu",
                         stream_name(in->st), plan->ncols, IMPORT_MAX_COLS);
    if (s->rows < 3 || width(s, 1) == plan->ncols)
        return ST_OK;
    size_t other = width(s, 1), same = 0;
    for (size_t i = 1; i < s->rows; i++)
        same += width(s, i) == other;
    if (same + 1 < s->rows)
        return ST_OK;
    err_named(err, ST_FORMAT, "ragged", "%s line %zu has %zu cells, all lines below have %zu",
              stream_name(in->st), s->line[0], plan->ncols, other);
    err_hint(err, plan->ncols + 1 == other
                      ? "the header has one name too few: name the first column"
                      : "correct the first line, put # before it, or set sep=");
    return ST_FORMAT;
}

static void look_at_bytes(const struct inbuf *in, const struct sample *s, struct csv_plan *plan)
{
    const char *nl = memchr(in->b + in->pos, '\n', in->len - in->pos);
    plan->crlf = nl != NULL && nl > in->b + in->pos && nl[-1] == '\r';
    for (size_t k = 0; k < s->ncell; k++)
        plan->quotes |= s->cell[k].quoted;
    plan->row_bytes = s->rows > 0 ? (double)s->bytes / (double)s->rows : 1.0;
    plan->rows = s->rows - (s->rows > 0 && plan->header);
}

static enum status decide(struct inbuf *in, const struct import_opts *o, struct sample *s,
                          struct csv_plan *plan, struct err *err)
{
    enum status rc = sample_take(s, in, plan->sep, SIZE_MAX, err);
    if (rc == ST_OK && s->rows == 0)
        rc = no_record(in, s, err);
    if (rc == ST_OK)
        rc = find_width(in, s, plan, err);
    if (rc != ST_OK)
        return rc;
    plan->name = mem_calloc(plan->ncols, sizeof *plan->name, "columns", err);
    plan->kind = mem_calloc(plan->ncols, sizeof *plan->kind, "columns", err);
    plan->forced = mem_calloc(plan->ncols, sizeof *plan->forced, "columns", err);
    plan->order = mem_calloc(plan->ncols, sizeof *plan->order, "columns", err);
    if (plan->name == NULL || plan->kind == NULL || plan->forced == NULL || plan->order == NULL)
        return ST_NOMEM;
    plan->dates = o->dates == NULL            ? -1
                  : strcmp(o->dates, "dmy") == 0 ? DATE_DMY
                  : strcmp(o->dates, "mdy") == 0 ? DATE_MDY
                                                 : DATE_YMD;
    plan->dec = o->decimal;
    plan->thousands = o->thousands;
    if (o->decimal == 0 && o->thousands != '\0' && strchr(".,", o->thousands) != NULL)
        plan->dec = o->thousands == ',' ? '.' : ',';
    else if (o->decimal == 0)
        rc = find_decimal(in, s, plan, err);
    if (rc == ST_OK) {
        find_header(s, o->header, plan);
        rc = take_names(in, s, plan, err);
    }
    if (rc == ST_OK)
        rc = force_types(plan, o->types, err);
    if (rc == ST_OK)
        rc = o->missing != NULL ? take_marks(plan, o->missing, err) : guess_marks(s, plan, err);
    for (size_t j = 0; j < plan->ncols && rc == ST_OK; j++)
        rc = find_kind(in, s, plan, j, err);
    look_at_bytes(in, s, plan);
    return rc;
}

enum status csv_sniff(struct inbuf *in, const struct import_opts *o, struct csv_plan *plan,
                      struct err *err)
{
    if (in->len - in->pos >= 3 && memcmp(in->b + in->pos, "\xef\xbb\xbf", 3) == 0) {
        in->pos += 3;
        plan->bom = true;
    }
    plan->sep = o->sep;
    enum status rc = whole_record(in, o->sep != 0 ? o->sep : ',', err);
    if (rc == ST_OK && o->sep == 0)
        rc = find_separator(in, &plan->sep, err);
    struct sample s = { 0 };
    if (rc == ST_OK)
        rc = decide(in, o, &s, plan, err);
    sample_free(&s);
    return rc;
}

void csv_plan_free(struct csv_plan *plan)
{
    for (size_t j = 0; plan->name != NULL && j < plan->ncols; j++)
        free(plan->name[j]);
    for (size_t i = 0; i < plan->nmark; i++)
        free(plan->mark[i]);
    free(plan->name);
    free(plan->kind);
    free(plan->forced);
    free(plan->order);
    free(plan->mark);
    buf_free(&plan->renamed);
    buf_free(&plan->why);
    *plan = (struct csv_plan){ 0 };
}
