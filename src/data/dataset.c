/* data/dataset.c -- what the columns of a table mean: roles and types, the target, and what can be
 * said about them before anything is fitted. */
#include "data/dataset.h"

#include "data/expr.h"
#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const dataset_part_words[] = { "train", "valid", "test", NULL };
const char *const dataset_part_names[] = { "training", "validation", "test", NULL };

const char *dataset_role_name(enum col_role role)
{
    static const char *const name[] = { "input", "target", "id", "split", "skip", "weight" };
    return name[role];
}

/* Creating and freeing. */

void dataset_split_none(struct dataset *d)
{
    free(d->split.how);
    free(d->split.column);
    free(d->split.part);
    free(d->split.fold);
    d->split = (struct split){ 0 };
    d->split.count[PART_TRAIN] = d->table != NULL ? d->table->n : 0;
}

struct dataset *dataset_ref(struct dataset *d)
{
    if (d != NULL)
        __atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
    return d;
}

void dataset_unref(struct dataset *d)
{
    if (d == NULL || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    dataset_split_none(d);
    for (size_t j = 0; d->group != NULL && j < d->table->ncols; j++)
        free(d->group[j]);
    free(d->group);
    free(d->coding);
    free(d->steps);
    free(d->link);
    free(d->positive);
    free(d->rule);
    table_unref(d->table);
    free(d->name);
    free(d->role);
    free(d->notes);
    free(d);
}

enum status dataset_grow(struct dataset *d, size_t n, size_t more, struct err *err)
{
    enum col_role *role = realloc(d->role, (n + more + 1) * sizeof *role);
    char **group = role != NULL ? realloc(d->group, (n + more + 1) * sizeof *group) : NULL;

    d->role = role != NULL ? role : d->role;
    d->group = group != NULL ? group : d->group;
    if (role == NULL || group == NULL)
        return err_nomem(err, n * sizeof *role, "a dataset");
    for (size_t j = n; j < n + more; j++) {
        d->role[j] = ROLE_INPUT;
        d->group[j] = NULL;
    }
    return ST_OK;
}

void dataset_exchange(struct dataset *d, struct dataset *c)
{
    const struct dataset was = *d;
    const int refs = d->refs, others = c->refs;

    *d = *c;
    *c = was;
    d->refs = refs;
    c->refs = others;
}

static char **copy_groups(const struct dataset *d, struct err *err)
{
    char **to = mem_calloc(d->table->ncols, sizeof *to, "a dataset", err);
    bool good = to != NULL;
    for (size_t j = 0; good && j < d->table->ncols; j++)
        if (d->group[j] != NULL)
            good = (to[j] = mem_strdup(d->group[j], err)) != NULL;
    for (size_t j = 0; to != NULL && !good && j < d->table->ncols; j++)
        free(to[j]);
    if (!good) {
        free(to);
        to = NULL;
    }
    return to;
}

static void *copy_array(const void *from, size_t count, size_t size, struct err *err)
{
    void *to = mem_calloc(count, size, "a dataset", err);
    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

struct dataset *dataset_snapshot(const struct dataset *d, struct err *err)
{
    struct dataset *c = mem_calloc(1, sizeof *c, "a dataset", err);
    if (c == NULL)
        return NULL;
    const size_t n = d->table->n;
    *c = *d;
    c->refs = 1;
    c->table = table_ref(d->table);
    c->split.how = d->split.how != NULL ? mem_strdup(d->split.how, err) : NULL;
    c->split.column = d->split.column != NULL ? mem_strdup(d->split.column, err) : NULL;
    c->split.part = d->split.part != NULL ? copy_array(d->split.part, n, 1, err) : NULL;
    c->split.fold = d->split.fold != NULL ? copy_array(d->split.fold, n, 4, err) : NULL;
    c->name = mem_strdup(d->name, err);
    c->notes = mem_strdup(d->notes, err);
    c->role = copy_array(d->role, d->table->ncols, sizeof *d->role, err);
    c->group = copy_groups(d, err);
    c->coding = d->coding != NULL ? mem_strdup(d->coding, err) : NULL;
    c->steps = d->steps != NULL ? mem_strdup(d->steps, err) : NULL;
    c->link = d->link != NULL ? mem_strdup(d->link, err) : NULL;
    c->alpha = d->alpha;
    c->rule = d->rule != NULL ? mem_strdup(d->rule, err) : NULL;
    c->positive = d->positive != NULL ? mem_strdup(d->positive, err) : NULL;
    if (c->name == NULL || c->notes == NULL || c->role == NULL || c->group == NULL ||
        (d->coding != NULL && c->coding == NULL) || (d->steps != NULL && c->steps == NULL) ||
        (d->rule != NULL && c->rule == NULL) ||
        (d->link != NULL && c->link == NULL) || (d->positive != NULL && c->positive == NULL) ||
        (d->split.how != NULL && c->split.how == NULL) ||
        (d->split.column != NULL && c->split.column == NULL) ||
        (d->split.part != NULL && c->split.part == NULL) ||
        (d->split.fold != NULL && c->split.fold == NULL)) {
        dataset_unref(c);
        return NULL;
    }
    return c;
}

/* The roles that a new dataset gives to its columns. */

/* "…/kin40k/data.csv.gz" -> "kin40k", "sales.csv" -> "sales", "demo:co2 n=3" -> "co2". */
static char *name_from_path(const char *path, struct err *err)
{
    if (strncmp(path, "demo:", 5) == 0)
        return strndup(path + 5, strcspn(path + 5, " "));
    if (strcmp(path, "-") == 0)
        return mem_strdup("stdin", err);
    const char *slash = strrchr(path, '/'), *stem = slash != NULL ? slash + 1 : path;
    size_t len = strcspn(stem, ".");
    if (len == 0) /* ".hidden" */
        len = strlen(stem);
    static const char *const plain[] = { "data", "train", "test" };
    if (memchr(stem, '*', strlen(stem)) != NULL && slash != NULL && slash > path)
        len = 4, stem = plain[0]; /* a pattern: the dataset is named after the directory */
    for (size_t i = 0; i < 3 && slash != NULL && slash > path; i++)
        if (strlen(plain[i]) == len && strncmp(plain[i], stem, len) == 0) {
            const char *dir = slash;
            while (dir > path && dir[-1] != '/')
                dir--;
            if (dir < slash)
                return strndup(dir, (size_t)(slash - dir));
        }
    return strndup(stem, len);
}

static bool is_split_word(const char *s)
{
    static const char *const words[] = { "train", "valid", "val", "validation", "test" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

static bool holds_split_words(const struct column *c)
{
    if (c->type != COL_CATEGORY || c->nlevels < 2)
        return false;
    for (size_t k = 0; k < c->nlevels; k++)
        if (!is_split_word(c->level[k]))
            return false;
    return true;
}

/* True if the column is named like an identifier and has whole numbers, ascending without
 * repeats. */
static bool is_identifier(const struct column *c, size_t n)
{
    static const char *const names[] = { "id", "index", "row", "rowid", "rownum", "row_number",
                                         "unnamed: 0", "no", "nr", "#" };
    if (c->type != COL_REAL || !c->integers || c->missing > 0 || n < 3)
        return false;
    size_t len = strlen(c->name);
    bool named = !c->named || (len > 3 && strcasecmp(c->name + len - 3, "_id") == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named = named || strcasecmp(c->name, names[i]) == 0;
    if (!named)
        return false;
    for (size_t i = 1; i < n; i++)
        if (column_at(c, i) != column_at(c, i - 1) + 1.0)
            return false;
    return true;
}

static void default_role(struct dataset *d, size_t j, struct buf *notes)
{
    const struct column *c = &d->table->col[j];
    char name[64];
    text_quoted(c->name, name, sizeof name);
    d->role[j] = ROLE_INPUT;
    if (c->missing == d->table->n) {
        d->role[j] = ROLE_SKIP;
        buf_printf(notes, "note[skip]: column %s is empty: not used\n", name);
    } else if (c->type == COL_TEXT) {
        d->role[j] = ROLE_SKIP;
        buf_printf(notes, "note[skip]: column %s holds text (nearly unique words): not used as "
                   "input (cols NAME type=sequence lets kernel spectrum compare texts)\n", name);
    } else if (is_identifier(c, d->table->n)) {
        d->role[j] = ROLE_ID;
        buf_printf(notes, "note[id]: column %s numbers the rows: not used as input "
                   "(cols NAME role=input)\n", name);
    } else if (holds_split_words(c)) {
        d->role[j] = ROLE_SKIP;
        buf_printf(notes, "note[split-column]: column %s says train or test: not used as input "
                   "(split column=NAME)\n", name);
    }
}

enum { NAMED = 8 }; /* columns that an error names, at most */

/* Adds the nearest column names as a hint; false: there are none. */
static bool suggest_column(const struct table *t, const char *word, struct err *err)
{
    size_t best[3] = { SIZE_MAX, SIZE_MAX, SIZE_MAX }, dist[3] = { 4, 4, 4 };
    for (size_t j = 0; j < t->ncols; j++) {
        size_t k = text_distance(word, t->col[j].name, 3);
        for (size_t i = 0; i < 3; i++)
            if (k < dist[i]) {
                for (size_t m = 2; m > i; m--) {
                    best[m] = best[m - 1];
                    dist[m] = dist[m - 1];
                }
                best[i] = j;
                dist[i] = k;
                break;
            }
    }
    struct buf b = { 0 };
    for (size_t i = 0; i < 3 && best[i] != SIZE_MAX; i++) {
        buf_puts(&b, i > 0 ? ", " : "");
        text_safe(&b, t->col[best[i]].name, 40);
    }
    if (b.len > 0)
        err_hint(err, "near: %s", buf_str(&b));
    buf_free(&b);
    return best[0] != SIZE_MAX;
}

/* "smiles, target and 12 more": a table that failed to open has no summary. */
static void name_columns(struct buf *b, const struct table *t)
{
    const size_t most = t->ncols > NAMED ? NAMED - 1 : t->ncols;

    for (size_t j = 0; j < most; j++) {
        buf_puts(b, j > 0 ? ", " : "");
        text_safe(b, t->col[j].name, 24);
    }
    if (most < t->ncols)
        buf_printf(b, " and %zu more", t->ncols - most);
}

static enum status no_column(const struct table *t, const char *name, struct err *err)
{
    char word[64];
    struct buf b = { 0 };

    err_set(err, ST_NOT_FOUND, "there is no column %s", text_quoted(name, word, sizeof word));
    if (suggest_column(t, name, err))
        return ST_NOT_FOUND;
    name_columns(&b, t);
    err_set(err, ST_NOT_FOUND, "there is no column %s; there are %s",
            text_quoted(name, word, sizeof word), buf_str(&b));
    err_hint(err, "summary  (lists the columns)");
    buf_free(&b);
    return ST_NOT_FOUND;
}

enum status dataset_find_column(const struct table *t, const char *name, struct err *err)
{
    return table_find(t, name) != SIZE_MAX ? ST_OK : no_column(t, name, err);
}

size_t dataset_sole(const struct table *t)
{
    size_t meek = t->ncols;

    for (size_t j = 0; j < t->ncols; j++) {
        const struct row_kind *kind = kind_of(&t->col[j]);
        if (!kind->sole || t->col[j].missing == t->n)
            continue;
        if (!kind->meek)
            return j;
        meek = meek < t->ncols ? meek : j;
    }
    return meek;
}

/* The target beside it: a column named like a target, otherwise the first numeric column after
 * it. */
static size_t likely_target(const struct table *t, size_t sole)
{
    static const char *const names[] = { "target", "y", "label", "score", "fitness", "value" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < t->ncols; j++)
            if (t->col[j].type == COL_REAL && strcasecmp(t->col[j].name, names[i]) == 0)
                return j;
    for (size_t k = 1; k < t->ncols; k++) {
        const size_t j = (sole + k) % t->ncols;
        if (t->col[j].type == COL_REAL && t->col[j].missing < t->n)
            return j;
    }
    return SIZE_MAX;
}

static enum status select_columns(const struct table *t, const char *list, bool *in, size_t *n,
                                  struct err *err);

static enum status too_many(size_t n, struct err *err)
{
    return err_set(err, ST_USAGE, "%zu columns are named; a model has %d targets at most", n,
                   TARGET_COLUMNS_MOST);
}

static enum status named_targets(struct dataset *d, const char *target, struct err *err)
{
    const struct table *t = d->table;
    bool *in = mem_calloc(t->ncols, sizeof *in, "columns", err);
    char name[64];
    size_t n = 0;
    enum status rc = in != NULL ? select_columns(t, target, in, &n, err) : ST_NOMEM;
    if (rc == ST_OK && n > TARGET_COLUMNS_MOST)
        rc = too_many(n, err);
    for (size_t j = 0; j < t->ncols && rc == ST_OK; j++) {
        if (in[j] && (t->col[j].type == COL_TEXT || t->col[j].type == COL_HELD)) {
            rc = err_set(err, ST_STATE, "column %s holds %s: it cannot be the target",
                         text_quoted(t->col[j].name, name, sizeof name),
                         t->col[j].type == COL_TEXT ? "text" : kind_of(&t->col[j])->several);
            err_hint(err, "types=NAME=category, when they are classes  |  types=NAME=real, when "
                     "they are numbers");
        } else if (in[j]) {
            d->role[j] = ROLE_TARGET;
        }
    }
    free(in);
    return rc;
}

/* The last column whose words repeat, as those of classes do; SIZE_MAX: there is none. */
static size_t last_classes(const struct dataset *d)
{
    const struct table *t = d->table;
    size_t found = SIZE_MAX;

    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_CATEGORY && d->role[j] != ROLE_SKIP &&
            2 * t->col[j].nlevels <= t->n)
            found = j;
    return found;
}

static enum status choose_target(struct dataset *d, const char *target, struct buf *notes,
                                 struct err *err)
{
    const struct table *t = d->table;
    size_t j = t->ncols - 1;
    char name[64];
    if (target != NULL)
        return named_targets(d, target, err);
    if (t->targets > 0) {
        const bool all = t->targets <= TARGET_COLUMNS_MOST;
        j = t->ncols - t->targets;
        for (size_t k = j + 1; k < t->ncols; k++)
            d->role[k] = all ? ROLE_TARGET : ROLE_SKIP;
        if (!all)
            buf_printf(
                notes,
                "note[target]: %zu columns were read as targets, more than the %d that "
                "a model has: the first, %s, is predicted, the others are left out (cols NAME "
                "role=target)\n",
                t->targets, TARGET_COLUMNS_MOST, text_quoted(t->col[j].name, name, sizeof name));
    } else if (dataset_sole(t) < t->ncols) {
        j = likely_target(t, dataset_sole(t));
        if (j == SIZE_MAX)
            return ST_OK;
        buf_printf(notes, "note[target]: the target is %s (cols NAME role=target)\n",
                   text_quoted(t->col[j].name, name, sizeof name));
    } else {
        while (j > 0 && (t->col[j].type != COL_REAL || d->role[j] == ROLE_SKIP))
            j--;
        const bool numbers = t->col[j].type == COL_REAL && d->role[j] != ROLE_SKIP;
        if (!numbers && (j = last_classes(d)) == SIZE_MAX)
            return ST_OK; /* there is nothing to predict, but roles can still be set */
        if (!numbers)
            buf_printf(notes, "note[target]: no column holds numbers: the target is %s, of words "
                       "(cols NAME role=target)\n",
                       text_quoted(t->col[j].name, name, sizeof name));
        else if (j != t->ncols - 1) {
            const bool classes = last_classes(d) == t->ncols - 1;
            buf_printf(notes, "note[target]: the last column holds no numbers: the target is %s "
                       "(cols ", text_quoted(t->col[j].name, name, sizeof name));
            text_safe(notes, classes ? t->col[t->ncols - 1].name : "NAME", 40);
            buf_printf(notes, " role=target%s)\n", classes ? " predicts the last one, as classes"
                                                           : "");
        }
    }
    d->role[j] = ROLE_TARGET;
    return ST_OK;
}

/* If there is a sequence or the like, it is the only input: counts of mutations, barcodes and
 * similar columns would leak the target. */
static void only_sole(struct dataset *d, size_t sole, struct buf *notes)
{
    size_t n = 0;
    char name[64];

    for (size_t j = 0; j < d->table->ncols; j++) {
        if (d->role[j] != ROLE_INPUT || j == sole)
            continue;
        d->role[j] = ROLE_SKIP;
        if (n++ == 0)
            buf_printf(notes, "note[cols]: the %s is the input; left out until cols NAME "
                       "role=input: ", kind_of(&d->table->col[sole])->whole);
        else
            buf_puts(notes, ", ");
        buf_puts(notes, text_quoted(d->table->col[j].name, name, sizeof name));
    }
    if (n)
        buf_putc(notes, '\n');
}

struct dataset *dataset_new(struct table *t, const char *name, const char *target, struct err *err)
{
    struct dataset *d = mem_calloc(1, sizeof *d, "a dataset", err);
    if (d == NULL)
        return NULL;
    d->refs = 1;
    d->table = table_ref(t);
    d->name = name != NULL ? mem_strdup(name, err) : name_from_path(t->path, err);
    d->role = mem_calloc(t->ncols, sizeof *d->role, "a dataset", err);
    d->group = mem_calloc(t->ncols, sizeof *d->group, "a dataset", err);
    dataset_split_none(d);
    struct buf notes = { 0 };
    enum status rc = ST_OK;
    if (d->name == NULL || d->role == NULL || d->group == NULL)
        rc = err_nomem(err, 64, "a dataset");
    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++)
        default_role(d, j, &notes);
    if (rc == ST_OK)
        rc = choose_target(d, target, &notes, err);
    if (rc == ST_OK && dataset_sole(t) < t->ncols)
        only_sole(d, dataset_sole(t), &notes);
    d->notes = buf_take(&notes);
    if (rc == ST_OK && d->notes == NULL)
        rc = err_nomem(err, 64, "a dataset");
    if (rc != ST_OK) {
        dataset_unref(d);
        return NULL;
    }
    return d;
}

static size_t first_with(const struct dataset *d, enum col_role role)
{
    for (size_t j = 0; j < d->table->ncols; j++)
        if (d->role[j] == role)
            return j;
    return SIZE_MAX;
}

size_t dataset_target(const struct dataset *d)
{
    return first_with(d, ROLE_TARGET);
}

size_t dataset_targets(const struct dataset *d)
{
    size_t n = 0;
    for (size_t j = 0; j < d->table->ncols; j++)
        n += d->role[j] == ROLE_TARGET;
    return n;
}

size_t dataset_weight(const struct dataset *d)
{
    return first_with(d, ROLE_WEIGHT);
}

size_t dataset_inputs_for_tests(const struct dataset *d)
{
    size_t n = 0;
    for (size_t j = 0; j < d->table->ncols; j++) {
        const struct column *c = &d->table->col[j];
        if (d->role[j] != ROLE_INPUT)
            continue;
        n += c->type == COL_CATEGORY            ? c->nlevels
             : kind_of(c)->longest != NULL ? kind_of(c)->longest(c)
                                           : 1;
        n += d->missing_flag && c->missing > 0;
    }
    return n;
}

/* Patterns. */

/* * matches any bytes. */
static bool matches(const char *pattern, const char *end, const char *s)
{
    const char *star = NULL, *again = NULL;
    while (*s != '\0') {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            again = s;
        } else if (pattern < end && *pattern == *s) {
            pattern++;
            s++;
        } else if (star != NULL) {
            pattern = star;
            s = ++again;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

/* Marks the columns that a list of patterns names. A name that contains a comma or * is first tried
 * as a whole. */
static enum status select_columns(const struct table *t, const char *list, bool *in, size_t *n,
                                  struct err *err)
{
    size_t whole = table_find(t, list);
    *n = 0;
    if (whole != SIZE_MAX) {
        in[whole] = true;
        *n = 1;
        return ST_OK;
    }
    for (const char *p = list; *p != '\0';) {
        size_t len = strcspn(p, ","), found = 0;
        for (size_t j = 0; j < t->ncols && len > 0; j++)
            if (matches(p, p + len, t->col[j].name)) {
                *n += !in[j];
                in[j] = true;
                found++;
            }
        if (len > 0 && found == 0) {
            char *word = strndup(p, len);
            enum status rc = word == NULL ? err_nomem(err, len, "a name") : no_column(t, word, err);
            free(word);
            return rc;
        }
        p += len + (p[len] == ',');
    }
    return *n > 0 ? ST_OK : err_set(err, ST_USAGE, "no column is named");
}

enum status dataset_select(const struct table *t, const char *list, bool *in, struct err *err)
{
    size_t n;

    for (const char *p = list; *p != '\0';) {
        const bool quoted = *p == '"';
        const char *from = p + quoted, *end = from + strcspn(from, quoted ? "\"" : ",");
        char *word = strndup(from, (size_t)(end - from));
        if (word == NULL)
            return err_nomem(err, 64, "a name");
        const size_t j = quoted ? table_find(t, word) : SIZE_MAX;
        enum status rc = ST_OK;
        if (j != SIZE_MAX)
            in[j] = true;
        else
            rc = quoted ? no_column(t, word, err) : select_columns(t, word, in, &n, err);
        free(word);
        if (rc != ST_OK)
            return rc;
        p = end + (*end == '"');
        p += *p == ',';
    }
    return ST_OK;
}

static enum status check_role(const struct dataset *d, size_t j, enum col_role role,
                              struct err *err)
{
    const struct column *c = &d->table->col[j];
    char name[64];
    if (role == ROLE_WEIGHT && c->type != COL_REAL) {
        err_set(err, ST_STATE, "column %s holds words: weights are numbers above 0",
                text_quoted(c->name, name, sizeof name));
        err_hint(err, "cols NAME type=real");
        return ST_STATE;
    }
    if (role == ROLE_TARGET && c->type == COL_HELD)
        return err_set(err, ST_STATE, "column %s holds %s: it can be no target",
                       text_quoted(c->name, name, sizeof name), kind_of(c)->several);
    if ((role != ROLE_INPUT && role != ROLE_TARGET) || c->type != COL_TEXT)
        return ST_OK;
    err_set(err, ST_STATE, "column %s holds text: it can be no %s",
            text_quoted(c->name, name, sizeof name), dataset_role_name(role));
    if (role == ROLE_INPUT)
        err_hint(err, "cols NAME type=sequence, then kernel spectrum(n=3,norm=cosine)  |  "
                 "cols NAME type=category  (each distinct text becomes a level)");
    else
        err_hint(err, "cols NAME type=category  (each distinct word becomes a level)");
    return ST_STATE;
}

enum status dataset_set_role(struct dataset *d, const char *pattern, enum col_role role,
                             size_t *changed, struct err *err)
{
    size_t n, m = d->table->ncols;
    *changed = 0;
    bool *in = mem_calloc(m, sizeof *in, "columns", err);
    if (in == NULL)
        return ST_NOMEM;
    enum status rc = select_columns(d->table, pattern, in, &n, err);
    if (rc == ST_OK && role == ROLE_TARGET && n > TARGET_COLUMNS_MOST)
        rc = too_many(n, err);
    if (rc == ST_OK && role == ROLE_WEIGHT && n != 1)
        rc = err_set(err, ST_USAGE, "%zu columns are named; one holds the weights", n);
    for (size_t j = 0; j < m && rc == ST_OK; j++)
        if (in[j])
            rc = check_role(d, j, role, err);
    size_t weight = dataset_weight(d), left = 0;
    for (size_t j = 0; j < m && rc == ST_OK && role == ROLE_TARGET; j++)
        if (!in[j] && d->role[j] == ROLE_TARGET) {
            d->role[j] = dataset_sole(d->table) < m ? ROLE_SKIP : ROLE_INPUT;
            left++;
        }
    for (size_t j = 0; j < m && rc == ST_OK; j++) {
        if (!in[j] || d->role[j] == role)
            continue;
        if (role == ROLE_WEIGHT && weight != SIZE_MAX)
            d->role[weight] = ROLE_SKIP;
        d->role[j] = role;
        ++*changed;
    }
    if (*changed == 0)
        *changed = left;
    free(in);
    return rc;
}

enum status dataset_set_coding(struct dataset *d, const char *word, struct err *err)
{
    const struct table *t = d->table;
    enum status rc = ST_STATE;
    size_t choices = 0, first = 0;
    char *copy = NULL;

    for (size_t j = 0; rc != ST_OK && j < t->ncols; j++) {
        if (d->role[j] != ROLE_INPUT || kind_of(&t->col[j])->coding == NULL)
            continue;
        first = choices++ == 0 ? j : first;
        rc = kind_of(&t->col[j])->coding(&t->col[j], word, NULL);
    }
    if (choices == 0)
        return err_set(err, ST_STATE, "no input is a sequence: there are no letters to encode");
    if (rc != ST_OK)
        rc = kind_of(&t->col[first])->coding(&t->col[first], word, err);
    if (rc == ST_OK && strcmp(word, "onehot") != 0) {
        copy = mem_strdup(word, err);
        rc = copy != NULL ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        free(d->coding);
        d->coding = copy;
    }
    return rc;
}

/* Groups. */

enum status dataset_set_group(struct dataset *d, const char *pattern, const char *group,
                              size_t *changed, struct err *err)
{
    size_t n, m = d->table->ncols;
    *changed = 0;
    bool *in = mem_calloc(m, sizeof *in, "columns", err);
    if (in == NULL)
        return ST_NOMEM;
    enum status rc = select_columns(d->table, pattern, in, &n, err);
    for (size_t j = 0; j < m && rc == ST_OK; j++) {
        const char *was = d->group[j];
        if (!in[j] || (was == NULL && group == NULL) ||
            (was != NULL && group != NULL && strcmp(was, group) == 0))
            continue;
        char *copy = group != NULL ? mem_strdup(group, err) : NULL;
        if (group != NULL && copy == NULL) {
            rc = ST_NOMEM;
            break;
        }
        free(d->group[j]);
        d->group[j] = copy;
        ++*changed;
    }
    free(in);
    return rc;
}

enum { NAMED_GROUPS = 12 };

/* Writes "note[groups]: 3 lengthscales: mix (cement, slag), 2 age, ...": group g has number g +
 * 1. */
static void group_note(const struct dataset *d, const struct encoding *e, const size_t *group,
                       struct buf *notes)
{
    struct buf all = { 0 };
    size_t n = 0;
    for (size_t j = 0; j < e->ncol; j++) {
        size_t first = 0;
        while (group[first] != group[j])
            first++;
        if (first < j || ++n > NAMED_GROUPS)
            continue;
        const char *name = group[j] < d->table->ncols ? d->group[group[j]] : NULL;
        buf_printf(&all, "%s%zu ", n > 1 ? ", " : "", n);
        text_safe(&all, name != NULL ? name : e->col[j].column, 40);
        size_t members = 0;
        const char *last = NULL;
        for (size_t k = j; name != NULL && k < e->ncol; k++) {
            if (group[k] != group[j] || (last != NULL && strcmp(last, e->col[k].column) == 0))
                continue;
            last = e->col[k].column;
            if (members++ < 6) {
                buf_puts(&all, members > 1 ? " " : " (");
                text_safe(&all, last, 40);
            }
        }
        if (members > 0)
            buf_puts(&all, members > 6 ? " ...)" : ")");
    }
    buf_printf(notes, "note[groups]: %zu lengthscale%s for %zu inputs: %s%s\n", n,
               n == 1 ? "" : "s", e->ncol, buf_str(&all), n > NAMED_GROUPS ? ", ..." : "");
    buf_free(&all);
}

enum status dataset_groups(const struct dataset *d, const struct encoding *e, size_t *group,
                           struct buf *notes, struct err *err)
{
    const struct table *t = d->table;
    size_t at = SIZE_MAX, *head = mem_calloc(t->ncols, sizeof *head, "groups of columns", err);
    if (head == NULL)
        return ST_NOMEM;
    for (size_t c = 0; c < t->ncols; c++) { /* the first column of its group */
        for (head[c] = 0; head[c] < c; head[c]++)
            if (d->group[c] != NULL && d->group[head[c]] != NULL &&
                strcmp(d->group[c], d->group[head[c]]) == 0)
                break;
    }
    for (size_t j = 0; j < e->ncol; j++) {
        const char *column = e->col[j].column;
        if (j == 0 || strcmp(column, e->col[j - 1].column) != 0)
            at = table_find(t, column);
        group[j] = at != SIZE_MAX ? head[at]
                   : j > 0 && strcmp(column, e->col[j - 1].column) == 0 ? group[j - 1]
                                                                        : t->ncols + j;
    }
    free(head);
    if (notes != NULL)
        group_note(d, e, group, notes);
    return ST_OK;
}

/* Types. */

static enum status not_numbers(const struct column *c, const char *word, struct err *err)
{
    char name[64], value[64];
    err_named(err, ST_STATE, "cell", "column %s holds %s, which is not a number",
              text_quoted(c->name, name, sizeof name), text_quoted(word, value, sizeof value));
    err_hint(err, "open FILE missing=... when it stands for a missing cell");
    return ST_STATE;
}

static enum status word_to_number(const struct column *c, const char *word, double *x,
                                  struct err *err)
{
    return scan_number_all(word, strlen(word), '.', x) && isfinite(*x) ? ST_OK
                                                                       : not_numbers(c, word, err);
}

static enum col_type type_of(const char *word)
{
    enum col_type type = COL_REAL;

    while (type < COL_HELD && strcmp(kind_type_at(type), word) != 0)
        type++;
    return type;
}

enum status dataset_convert(const struct table *t, size_t j, const char *word, struct column *to,
                            struct err *err)
{
    const struct column *c = &t->col[j];
    const enum col_type type = type_of(word);
    struct grow g = { .type = type };
    struct buf cell = { 0 };
    char name[64];
    if (type == COL_HELD && (c->type == COL_TEXT || c->type == COL_CATEGORY))
        return kind_make(t, j, word, to, err);
    if (type == COL_HELD)
        return err_named(err, ST_STATE, "cell", "column %s holds %s: they cannot become type=%.40s",
                         text_quoted(c->name, name, sizeof name),
                         c->type == COL_REAL ? "numbers" : kind_of(c)->several, word);
    enum status rc = table_grow_reserve(&g, t->n + 1, err);
    for (size_t i = 0; i < t->n && rc == ST_OK; i++) {
        buf_clear(&cell);
        table_cell(t, i, j, &cell);
        bool missing = cell.len == 0;
        if (cell.failed)
            rc = err_nomem(err, 64, "a cell");
        else if (type == COL_REAL && missing)
            g.v[i] = NAN;
        else if (type == COL_REAL)
            rc = word_to_number(c, buf_str(&cell), &g.v[i], err);
        else if (type == COL_CATEGORY && missing)
            g.code[i] = UINT32_MAX;
        else if (type == COL_CATEGORY)
            rc = table_intern_code(&g.levels, buf_str(&cell), cell.len, &g.code[i], err);
        else if (missing)
            g.off[i] = SIZE_MAX;
        else
            rc = table_grow_text(&g, i, buf_str(&cell), cell.len, err);
    }
    buf_free(&cell);
    if (rc == ST_OK)
        rc = table_grow_finish(&g, t->n, to, err);
    table_grow_free(&g);
    if (rc != ST_OK)
        table_column_clear(to);
    return rc;
}

/* Copies the cells into arrays of their own. */
static enum status duplicate_column(const struct table *t, size_t j, struct column *to,
                                    struct err *err)
{
    const struct column *c = &t->col[j];
    if (c->type == COL_HELD)
        return c->cells->copy(c, t->n, to, err);
    if (c->type != COL_REAL)
        return dataset_convert(t, j, kind_type(c), to, err);
    to->in = mapped_array_ref(c->in);
    to->incol = c->incol;
    to->v = c->in ? NULL : spill_array(t->n, sizeof *c->v, "a column of numbers", err);
    if (to->v != NULL)
        memcpy(to->v, c->v, t->n * sizeof *c->v);
    to->type = COL_REAL;
    to->missing = c->missing;
    to->integers = c->integers;
    return to->v != NULL || to->in != NULL ? ST_OK : ST_NOMEM;
}

static struct table *duplicate_table(const struct table *t, struct err *err)
{
    struct table *c = table_new(t->path, t->ncols, err);
    if (c == NULL)
        return NULL;
    free(c->decisions);
    free(c->notes);
    c->decisions = mem_strdup(t->decisions, err);
    c->notes = mem_strdup(t->notes, err);
    c->n = t->n;
    c->file_size = t->file_size;
    memcpy(c->checksum, t->checksum, sizeof c->checksum);
    c->missing = t->missing;
    c->duplicates = t->duplicates;
    c->targets = t->targets;
    c->parsed = t->parsed;
    c->cuts = t->cuts;
    c->seconds = t->seconds;
    bool good = c->decisions != NULL && c->notes != NULL;
    for (size_t j = 0; j < t->ncols && good; j++) {
        good = duplicate_column(t, j, &c->col[j], err) == ST_OK &&
               (c->col[j].name = mem_strdup(t->col[j].name, err)) != NULL;
        c->col[j].date = t->col[j].date;
        c->col[j].named = t->col[j].named;
    }
    if (good)
        return c;
    table_unref(c);
    return NULL;
}

/* Makes sure that the table is ours alone: the present one if nobody else refers to it, otherwise a
 * copy. */
static struct table *own_table(struct dataset *d, struct err *err)
{
    if (__atomic_load_n(&d->table->refs, __ATOMIC_ACQUIRE) == 1)
        return table_ref(d->table);
    return duplicate_table(d->table, err);
}

/* Adds the change of types to the steps, because later steps depend on it. */
static enum status note_types(struct dataset *d, const struct table *t, const bool *in,
                              const char *type, struct err *err)
{
    struct buf b = { 0 };

    buf_puts(&b, d->steps != NULL ? d->steps : "");
    for (size_t j = 0; j < t->ncols; j++) {
        if (!in[j])
            continue;
        buf_puts(&b, b.len > 0 ? "\ntype " : "type ");
        expr_write_name(&b, t->col[j].name);
        buf_printf(&b, " = %s", type);
    }
    char *steps = buf_take(&b);
    if (steps == NULL)
        return err_nomem(err, 64, "a step");
    free(d->steps);
    d->steps = steps;
    return ST_OK;
}

enum status dataset_set_type(struct dataset *d, const char *pattern, const char *type,
                             size_t *changed, struct err *err)
{
    size_t n, m = d->table->ncols;
    *changed = 0;
    bool *in = mem_calloc(m, sizeof *in, "columns", err);
    struct column *fresh = mem_calloc(m, sizeof *fresh, "columns", err);
    enum status rc = in == NULL || fresh == NULL ? ST_NOMEM
                                                 : select_columns(d->table, pattern, in, &n, err);
    for (size_t j = 0; j < m && rc == ST_OK; j++) {
        in[j] = in[j] && strcmp(kind_type(&d->table->col[j]), type) != 0;
        if (in[j])
            rc = dataset_convert(d->table, j, type, &fresh[j], err);
        *changed += in[j];
    }
    struct table *t = rc == ST_OK && *changed > 0 ? own_table(d, err) : NULL;
    if (rc == ST_OK && *changed > 0 && t == NULL)
        rc = ST_NOMEM;
    for (size_t j = 0; j < m && t != NULL; j++) {
        if (!in[j])
            continue;
        fresh[j].name = t->col[j].name;
        fresh[j].named = t->col[j].named;
        t->col[j].name = NULL;
        table_column_clear(&t->col[j]);
        t->col[j] = fresh[j];
        fresh[j] = (struct column){ 0 };
        const bool text = t->col[j].type == COL_TEXT;
        if (text && (d->role[j] == ROLE_INPUT || d->role[j] == ROLE_TARGET))
            d->role[j] = ROLE_SKIP;
        else if (!text && d->role[j] == ROLE_SKIP)
            d->role[j] = ROLE_INPUT;
    }
    if (t != NULL) {
        rc = note_types(d, t, in, type, err);
        table_unref(d->table);
        d->table = t;
    }
    for (size_t j = 0; fresh != NULL && j < m; j++)
        table_column_clear(&fresh[j]);
    if (rc != ST_OK)
        *changed = 0;
    free(fresh);
    free(in);
    return rc;
}

/* Rows. */

static enum status collect(size_t n, const struct dataset *d, bool (*want)(const struct dataset *,
                           size_t row, size_t arg, bool in), size_t arg, bool in, size_t **rows,
                           size_t *count, struct err *err)
{
    *rows = mem_calloc(n + 1, sizeof **rows, "row numbers", err);
    *count = 0;
    if (*rows == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (want(d, i, arg, in))
            (*rows)[(*count)++] = i;
    return ST_OK;
}

static bool in_part(const struct dataset *d, size_t row, size_t part, bool in)
{
    (void)in;
    return d->split.part == NULL ? part == PART_TRAIN : d->split.part[row] == part;
}

enum status dataset_rows(const struct dataset *d, enum part part, size_t **rows, size_t *n,
                         struct err *err)
{
    return collect(d->table->n, d, in_part, (size_t)part, true, rows, n, err);
}

static bool in_fold(const struct dataset *d, size_t row, size_t fold, bool in)
{
    const size_t own = d->split.fold[row];

    if (!in && d->split.by == SPLIT_BY_TIME) /* the first block has the number of folds */
        return own < fold || own == d->split.nfolds;
    return (own == fold) == in;
}

enum status dataset_fold_rows(const struct dataset *d, size_t fold, bool in, size_t **rows,
                              size_t *n, struct err *err)
{
    if (d->split.fold == NULL || fold >= d->split.nfolds) {
        *rows = NULL;
        *n = 0;
        err_set(err, ST_STATE, "the data is not split into that many folds");
        err_hint(err, "split folds=5");
        return ST_STATE;
    }
    return collect(d->table->n, d, in_fold, fold, in, rows, n, err);
}
