/* app/commands/data_words.c -- see data_words.h. */
#include "app/commands/data_words.h"

#include "data/classes.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"
#include "data/page_use.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t data_words_target_col(const struct dataset *d)
{
    for (size_t i = 0; i < d->table->ncols; i++)
        if (d->role[i] == ROLE_TARGET)
            return i;
    return SIZE_MAX;
}

/* "y1", "y1, y2", "y1, y2, y3 and 9 more"; "none". */
void data_words_target(const struct dataset *d, struct buf *out)
{
    enum { NAMED = 4 };
    const size_t n = dataset_targets(d);
    size_t k = 0;

    for (size_t j = 0; j < d->table->ncols && k < NAMED; j++)
        if (d->role[j] == ROLE_TARGET) {
            buf_puts(out, k++ ? ", " : "");
            text_safe(out, d->table->col[j].name, 40);
        }
    if (n > k)
        buf_printf(out, " and %zu more", n - k);
    if (n == 0)
        buf_puts(out, "none");
}

/* "target": the name of the first target, or null; if there are several, also "targets" with all
 * names. */
void data_words_target_json(struct rec *r, const struct dataset *d)
{
    const char *names[TARGET_COLUMNS_MOST];
    const size_t y = data_words_target_col(d);
    size_t n = 0;

    rec_str(r, "target", y == SIZE_MAX ? NULL : d->table->col[y].name);
    for (size_t j = 0; j < d->table->ncols && n < TARGET_COLUMNS_MOST; j++)
        if (d->role[j] == ROLE_TARGET)
            names[n++] = d->table->col[j].name;
    if (n > 1)
        rec_strs(r, "targets", names, n);
}

/* Describes the inputs after encoding: a category gives one column for each level. */
size_t data_words_inputs(const struct dataset *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        const struct column *c = &d->table->col[i];
        if (d->role[i] == ROLE_INPUT)
            n += c->type == COL_CATEGORY ? c->nlevels : 1;
    }
    return n;
}

static void columns_words(const struct dataset *d, struct buf *out)
{
    size_t real = 0, cat = 0, wide = 0, other = 0, seq = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        if (d->role[i] == ROLE_INPUT && d->table->col[i].type == COL_CATEGORY) {
            cat++;
            wide += d->table->col[i].nlevels;
        } else if (d->role[i] == ROLE_INPUT && kind_of(&d->table->col[i])->words) {
            buf_puts(out, seq++ ? ", " : "");
            kind_of(&d->table->col[i])->words(&d->table->col[i], out);
        } else if (d->role[i] == ROLE_INPUT) {
            real++;
        } else if (d->role[i] != ROLE_TARGET) {
            other++;
        }
    }
    if (real || !seq)
        buf_printf(out, "%s%zu real input%s", seq ? ", " : "", real, real == 1 ? "" : "s");
    if (cat)
        buf_printf(out, ", %zu categor%s (%zu columns one-hot)", cat, cat == 1 ? "y" : "ies", wide);
    if (other)
        buf_printf(out, ", %zu not used", other);
}

static void constant_words(const struct dataset *d, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < d->table->ncols; i++) {
        const struct column *c = &d->table->col[i];
        bool same = c->type == COL_CATEGORY ? c->nlevels < 2 : c->type == COL_REAL;
        for (size_t r = 1; c->type == COL_REAL && r < d->table->n && same; r++)
            same = column_at(c, r) == column_at(c, 0);
        if (!same || d->role[i] != ROLE_INPUT)
            continue;
        buf_puts(out, n++ ? ", " : "");
        text_safe(out, c->name, 24);
    }
    if (!n)
        buf_puts(out, "none");
}

void data_words_text(const struct dataset *d, struct rec *r)
{
    const struct table *t = d->table;
    const size_t y = data_words_target_col(d);
    char n[32], size[32], sec[32];

    text_count(n, sizeof n, t->n);
    text_seconds(sec, sizeof sec, t->seconds);
    rec_safe(r, d->name);
    rec_text(r, "  %s row%s x %zu column%s", n, t->n == 1 ? "" : "s", t->ncols,
             t->ncols == 1 ? "" : "s");
    if (t->file_size) {
        mem_format(size, sizeof size, (double)t->file_size);
        rec_text(r, ", %s read in %s", size, sec);
    } else {
        rec_text(r, ", made in %s", sec);
    }
    if (t->decisions && *t->decisions) {
        rec_text(r, "\n  read as   ");
        /* Further lines of decisions are indented below the first. */
        for (const char *p = t->decisions; *p;) {
            const size_t len = strcspn(p, "\n");
            rec_text(r, "%s%.*s", p == t->decisions ? "" : "\n            ", (int)len, p);
            p += len + (p[len] != '\0');
        }
    }
    rec_text(r, "\n  columns   ");
    columns_words(d, &r->text);
    if (y != SIZE_MAX) {
        rec_text(r, ";  target%s ", dataset_targets(d) > 1 ? "s" : "");
        data_words_target(d, &r->text);
        rec_text(r, "  (change: cols NAME role=target)");
    }
    rec_text(r, "\n  missing   ");
    if (t->missing)
        rec_text(r, "%zu cells  (missing mean|median|drop)", t->missing);
    else
        rec_text(r, "none");
    if (t->duplicates >= 0)
        rec_text(r, "    duplicates %" PRId64 " row%s", t->duplicates,
                 t->duplicates == 1 ? "" : "s");
    rec_text(r, "    constant inputs ");
    constant_words(d, &r->text);
    /* until a policy is chosen, a tuning stops at a missing cell */
    rec_text(r, t->missing && d->missing == MISSING_ERROR
                    ? "\n  next      missing mean  |  split test=20%%  |  summary"
                    : "\n  next      split test=20%%  |  summary  |  tune");
}

void data_words_leaks(struct workspace *ws, const struct dataset *d)
{
    struct buf notes = { 0 };

    if (summary_leaks(d, false, &notes, NULL) == ST_OK) /* without memory it is counted */
        ws_tell_lines(ws, buf_str(&notes));
    buf_free(&notes);
}

void data_words_molecules(struct workspace *ws, const struct dataset *d, bool equal)
{
    const size_t n = d->table->n, y = dataset_target(d);
    const struct column *target = y == SIZE_MAX ? NULL : &d->table->col[y];
    struct smiles_column_repeats r;
    size_t shared;
    char name[64], look[96], differ[80] = "";

    for (size_t j = 0; j < d->table->ncols; j++) {
        const struct column *c = &d->table->col[j];
        if (!smiles_column_is(c) ||
            smiles_column_repeated(c, n, target && target->type == COL_REAL ? target : NULL,
                                   d->split.part, &r, &shared, NULL) != ST_OK || !r.molecules)
            continue;
        text_quoted(c->name, name, sizeof name);
        if (r.differ)
            snprintf(differ, sizeof differ, "; %zu of them ha%s different targets", r.differ,
                     r.differ == 1 ? "s" : "ve");
        if (equal)
            ws_note(ws, "equal-molecules",
                    "%zu molecule%s of %s occur%s more than once, in %zu rows%s", r.molecules,
                    r.molecules == 1 ? "" : "s", name, r.molecules == 1 ? "s" : "", r.rows, differ);
        snprintf(look, sizeof look, "split group=%.60s test=20%%", c->name);
        if (shared)
            ws_tell(ws, REC_WARNING, NULL, "same-molecules", look,
                    "%zu test row%s molecules that are in training rows, too, so the scores are "
                    "better than for new molecules", shared, shared == 1 ? " has" : "s have");
    }
}

/* Words that are classes: dirichlet, unless they are too few or too many. */
static enum status words_target(struct workspace *ws, struct dataset *d, const char *name,
                                const struct classes_look *look, struct err *err)
{
    if (look->more || look->levels < 2) {
        ws_tell(ws, REC_NOTE, NULL, "class", "cols NAME role=target",
                look->more ? "the target %s holds more than %d different words, too many to be "
                             "classes"
                           : "the target %s holds one word alone: no classes can be told apart",
                name, TARGETS_MOST);
        return ST_OK;
    }
    if (d->link)
        return ST_OK;
    d->link = mem_strdup("dirichlet", err);
    if (!d->link)
        return ST_NOMEM;
    d->alpha = DATA_WORDS_ALPHA;
    ws_tell(ws, REC_NOTE, NULL, "class",
            look->levels == 2 ? "likelihood bernoulli  (two classes by the exact kernel)" : NULL,
            "the target %s holds words: %zu classes, by likelihood dirichlet", name, look->levels);
    return ST_OK;
}

enum status data_words_classes(struct workspace *ws, struct dataset *d, bool fresh,
                               struct err *err)
{
    enum { ROWS_EACH = 10 }; /* fewer rows of each value are hardly classes */
    const size_t y = data_words_target_col(d);
    struct classes_look look;
    char name[64];
    enum status rc = d->link_said ? ST_OK : classes_look(d, &look, err);

    if (rc != ST_OK || d->link_said || y == SIZE_MAX)
        return rc;
    text_quoted(d->table->col[y].name, name, sizeof name);
    if (look.words)
        return words_target(ws, d, name, &look, err);
    if (d->link) {
        free(d->link);
        d->link = NULL;
        d->alpha = 0.0;
        d->balanced = false;
        free(d->rule);
        d->rule = NULL;
        ws_tell(ws, REC_NOTE, NULL, "class", "likelihood dirichlet  (classes)",
                "the target %s holds numbers: likelihood gaussian", name);
    } else if (fresh && look.whole && !look.more && look.levels > 1 && !d->table->col[y].date &&
               d->table->n >= ROWS_EACH * look.levels) {
        ws_tell(ws, REC_NOTE, NULL, "class", "likelihood dirichlet  (classes)",
                "the target %s has %zu different values, all whole: it is taken for a number",
                name, look.levels);
    }
    return ST_OK;
}

/* What the inputs share, if they are numbers of one unit, as pixels are. */
struct one_unit { size_t inputs, vary, from_zero, to_top; double top; };

/* The largest of at most LOOKED cells of a column that are whole numbers from 0; NaN of others. */
static double largest_whole(const struct column *c, size_t n, bool *zero)
{
    enum { LOOKED = 10000 };
    const size_t step = n / LOOKED + 1;
    double most = 0.0;

    *zero = false;
    for (size_t i = 0; i < n; i += step) {
        const double v = column_at(c, i);
        if (!(v >= 0.0 && v == floor(v)))
            return NAN;
        most = fmax(most, v);
        *zero |= v == 0.0;
    }
    return most;
}

/* Many inputs, all of them whole numbers from 0 to one top (of three or more: others are flags),
 * which a quarter of those that vary reach; half of them begin at 0. */
static bool of_one_unit(const struct dataset *d, const struct unit_look *looks,
                        struct one_unit *u)
{
    enum { LEAST = 64, LEAST_TOP = 3, MOST_TOP = 65535 };
    const struct table *t = d->table;

    *u = (struct one_unit){ .top = 0.0 };
    for (size_t j = 0; j < t->ncols; j++) {
        const double most = looks[j].most;
        if (d->role[j] != ROLE_INPUT)
            continue;
        if (!(most <= MOST_TOP))
            return false;
        u->inputs++;
        u->vary += most > 0.0;
        u->from_zero += most > 0.0 && looks[j].zero;
        u->to_top = most > u->top ? 1 : u->to_top + (most == u->top);
        u->top = fmax(u->top, most);
    }
    return u->inputs >= LEAST && u->top >= LEAST_TOP && 2 * u->from_zero >= u->vary &&
           4 * u->to_top >= u->vary;
}

struct unit_look *data_words_looks(const struct table *t, struct err *err)
{
    struct unit_look *looks = mem_calloc(t->ncols + 1, sizeof *looks, "columns", err);

    for (size_t j = 0; looks && j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        looks[j].most = c->type == COL_REAL && !c->date ? largest_whole(c, t->n, &looks[j].zero)
                                                        : NAN;
    }
    /* What was seen of a file that has changed meanwhile is worth nothing. */
    const bool changed = t->n > 0 && page_use_check(t, 0, t->n - 1, NULL) != ST_OK;
    for (size_t j = 0; looks && changed && j < t->ncols; j++)
        looks[j].most = NAN;
    return looks;
}

void data_words_units(struct workspace *ws, struct dataset *d, const struct unit_look *looks)
{
    struct one_unit u;

    if (d->xscale != X_STANDARD || d->table->n == 0 || !of_one_unit(d, looks, &u))
        return;
    d->xscale = X_COMMON;
    ws_tell(ws, REC_NOTE, NULL, "unit", "scale x=standard  (each by its own)",
            "the %zu inputs are whole numbers from 0 to %g, as pixels are, so they are all divided "
            "by one sd (scale x=common)", u.inputs, u.top);
}
