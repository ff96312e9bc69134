/* app/session/store_load.c -- from the session file back into a workspace.
 *
 * Nothing is believed: every row's checksum is compared, every number has its range, arrays have
 * the size that their owner says, and a data file is read again and compared with what was noted.
 * What is damaged is left out and told; what is left works. */
#include "app/shell/options.h"
#include "app/session/store_impl.h"

#include "app/core/measures.h"

#include "data/checksum.h"
#include "data/formats/npy_set.h"
#include "app/shell/import_args.h"
#include "app/core/advise_state.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MANY = 1 << 24, NAME_MOST = 1 << 20 };
static const int64_t ROWS_MOST = (int64_t)1 << 40;

/* A table that datasets and runs of the session share. */
struct shared_table {
    char *path, *recipe;
    struct table *table;
    bool changed;              /* the file is not what it was */
};
struct loader {
    struct workspace *ws;
    struct sdb *db;
    struct store_loaded *out;
    struct shared_table *table;
    size_t ntable, captable, capversion, caprun, capaway;
    bool recall;               /* later, beside a loaded workspace: its tables serve */
    struct dataset **made;     /* of each version, once made; NULL: not usable */
    bool *tried;
    char *state;               /* body of the workspace's row */
    bool state_damaged;
    size_t damaged_lines;
    enum status rc;
    struct err err;
};

static void damaged(struct loader *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void damaged(struct loader *l, const char *fmt, ...)
{
    char words[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    l->out->skipped++;
    ws_tell(l->ws, REC_WARNING, NULL, "session-damage", NULL, "%s", words);
}

/* Rows. */

static bool fatal(struct loader *l, enum status rc)
{
    if (rc != ST_OK && l->rc == ST_OK)
        l->rc = rc;
    return rc != ST_OK;
}

static bool take_state(void *ctx, int64_t id, const char *name, const char *body, bool good)
{
    struct loader *l = ctx;

    (void)id;
    if (good && strcmp(name, "workspace") == 0) {
        free(l->state);
        l->state = mem_strdup(body, &l->err);
        return !fatal(l, l->state ? ST_OK : ST_NOMEM);
    }
    l->state_damaged |= !good;
    return true;
}

static bool take_version(void *ctx, int64_t id, const char *name, const char *body, bool good)
{
    struct loader *l = ctx;
    struct store_loaded *o = l->out;

    (void)name;
    if (id >= o->next_dataset && id < INT64_MAX)
        o->next_dataset = id + 1;
    if (!good) {
        damaged(l, "a description of a dataset is damaged and left out");
        return true;
    }
    if (fatal(l, mem_grow((void **)&o->version, &l->capversion, o->nversion + 1,
                          sizeof *o->version, "the session", &l->err)))
        return false;
    char *copy = mem_strdup(body, &l->err);
    if (fatal(l, copy ? ST_OK : ST_NOMEM))
        return false;
    o->version[o->nversion++] = (struct store_version){ .id = id, .body = copy };
    return true;
}

static bool take_script(void *ctx, int64_t id, const char *name, const char *body, bool good)
{
    struct loader *l = ctx;
    struct workspace *ws = l->ws;

    (void)id;
    (void)name;
    char **grown = realloc(ws->script, (ws->nscript + 1) * sizeof *grown);
    if (fatal(l, grown ? ST_OK : err_nomem(&l->err, 0, "the script")))
        return false;
    ws->script = grown;
    /* A comment keeps the place, so that the lines' numbers stay. */
    char *line = mem_strdup(good ? body : "# this line was damaged in the session file", &l->err);
    if (fatal(l, line ? ST_OK : ST_NOMEM))
        return false;
    ws->script[ws->nscript++] = line;
    l->damaged_lines += !good;
    return true;
}

/* Data. */

static enum status read_file(const char *path, const struct args *a, size_t mem,
                             struct table **out, struct err *err)
{
    struct import_opts opts = { .header = -1, .mem_limit = mem };
    struct stat st;

    if (strcmp(path, "-") == 0)
        return err_set(err, ST_IO, "it came through a pipe and is gone");
    /* A session must not make us wait for a pipe or read a device.  (Parts are regular files or
     * nothing.) */
    if (*path != '/' || (stat(path, &st) == 0 ? !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)
                                              : !npy_set_is_pattern(path)))
        return err_set(err, ST_IO, "there is no such file now");
    if (a && import_args_options(a, mem, &opts, err) != ST_OK)
        return ST_USAGE;
    return import_file(path, &opts, NULL, out, err);
}

static enum status make_demo(const char *path, const struct args *a, int64_t rows,
                             struct table **out, struct err *err)
{
    struct demo_opts o = { .noise = NAN };
    const char *seed = strstr(path, "seed=");

    if (strncmp(path, "demo:points xy=", 15) == 0) { /* its path holds all of it */
        o.xy = path + 15;
        return demo_make("points", &o, out, err);
    }
    if (!a)
        return err_set(err, ST_FORMAT, "how it was made is not known");
    o.n = (size_t)args_int(a, "n", 0);
    o.kernel = args_text(a, "kernel");
    o.noise = args_num(a, "noise");
    o.seed = seed ? strtoull(seed + 5, NULL, 10) : (uint64_t)args_int(a, "seed", 0);
    if (o.n && o.n != (size_t)rows)
        return err_set(err, ST_FORMAT, "its number of rows is not as noted");
    return demo_make(args_text(a, "name"), &o, out, err);
}

/* Runs no command: only the options of an `open` or `demo` line are taken. */
static enum status table_again(struct loader *l, const char *path, const char *recipe, int64_t rows,
                               struct table **out, struct err *err)
{
    const struct command *cmd = NULL;
    struct args *a = NULL;
    const bool demo = strncmp(path, "demo:", 5) == 0;

    if (recipe && (command_parse(recipe, &cmd, &a, NULL) != ST_OK ||
                   strcmp(cmd->name, demo ? "demo" : "open") != 0)) {
        args_free(a);
        a = NULL;
    }
    enum status rc = demo ? make_demo(path, a, rows, out, err)
                          : read_file(path, a, l->ws->opt.mem, out, err);
    args_free(a);
    return rc;
}

/* The columns as noted. */
struct noted_column {
    char *name;
    enum col_type type;
    enum col_role role;
    uint64_t missing, levels;
};
struct noted {
    struct noted_column *c;
    size_t n, cap;
};

static bool same_columns(const struct noted *k, const struct table *t);

static bool is_table(const struct dataset *d, const char *path, uint64_t size, const char *sum,
                     int64_t rows, const struct noted *k)
{
    return d && d->table->path && strcmp(d->table->path, path) == 0 &&
           d->table->file_size == size && strcmp(d->table->checksum, sum) == 0 &&
           (int64_t)d->table->n == rows && same_columns(k, d->table);
}

/* The table among those in memory: of datasets, runs and states. */
static struct table *in_memory(const struct workspace *ws, const char *path, uint64_t size,
                               const char *sum, int64_t rows, const struct noted *k)
{
    const struct step *s;
    bool done;

    for (size_t i = 0; i < ws->ndata; i++)
        if (is_table(ws->data[i], path, size, sum, rows, k))
            return ws->data[i]->table;
    for (size_t i = 0; i < ws->nrun + ws->nbin; i++) {
        const struct run *r = i < ws->nrun ? ws->run[i] : ws->bin[i - ws->nrun];
        if (is_table(r->data, path, size, sum, rows, k))
            return r->data->table;
    }
    for (size_t i = SIZE_MAX; (s = timeline_step(ws, i, &done)) != NULL; i++)
        for (size_t j = 0; s->state && j < s->state->ndata; j++)
            if (is_table(s->state->data[j], path, size, sum, rows, k))
                return s->state->data[j]->table;
    return NULL;
}

/* The copy of the file that `save data=yes` has put into the session, under the file's own name. */
static bool packed_table(struct loader *l, const char *path, const char *recipe, uint64_t size,
                         const char *sum, int64_t rows, struct shared_table *t)
{
    char *copy = strncmp(path, "demo:", 5) ? store_unpack(l->db, path, sum, size, NULL) : NULL;
    struct table *table = NULL;
    char *name = NULL;

    if (copy && table_again(l, copy, recipe, rows, &table, NULL) == ST_OK &&
        (table->file_size != size || strcmp(table->checksum, sum) != 0)) {
        table_unref(table);
        table = NULL;
    }
    free(copy);
    if (!table)
        return false;
    /* Arrays read in place are looked after under the name that they have. */
    if (!(table_is_out(table) && table->ncols && table->col[0].in) &&
        (name = mem_strdup(path, NULL))) {
        free(table->path);
        table->path = name;
    }
    table_unref(t->table);
    t->table = table;
    return true;
}

static struct shared_table *shared(struct loader *l, const char *path, const char *recipe,
                                   const char *name, uint64_t size, const char *sum, int64_t rows)
{
    struct err why = { 0 };
    char shown[200];
    struct buf safe = { 0 };

    for (size_t i = 0; i < l->ntable; i++)
        if (strcmp(l->table[i].path, path) == 0 &&
            strcmp(l->table[i].recipe, recipe ? recipe : "") == 0)
            return &l->table[i];
    if (fatal(l, mem_grow((void **)&l->table, &l->captable, l->ntable + 1, sizeof *l->table,
                          "the session", &l->err)))
        return NULL;
    struct shared_table *t = &l->table[l->ntable];
    *t = (struct shared_table){ .path = mem_strdup(path, NULL),
                                .recipe = mem_strdup(recipe ? recipe : "", NULL) };
    if (fatal(l, t->path && t->recipe ? ST_OK : err_nomem(&l->err, 0, "the session"))) {
        free(t->path);
        free(t->recipe);
        return NULL;
    }
    l->ntable++;
    text_safe(&safe, path, 150);
    snprintf(shown, sizeof shown, "%s", buf_str(&safe));
    buf_free(&safe);
    const enum status rc = table_again(l, path, recipe, rows, &t->table, &why);
    if (rc != ST_OK)
        t->table = NULL;
    const bool same =
        t->table && t->table->file_size == size && strcmp(t->table->checksum, sum) == 0;
    if (!same && packed_table(l, path, recipe, size, sum, rows, t)) {
        ws_note(l->ws, "session-data", "%s %s: the copy in the session is used", shown,
                rc == ST_OK ? "has changed" : "is not there");
    } else if (rc != ST_OK) {
        ws_tell(
            l->ws, REC_WARNING, NULL, "session-data", "open FILE",
            "the data of %.60s cannot be loaded from %s: %.300s; its fits still predict new data",
            name, shown, why.msg);
    } else if (!same) {
        t->changed = true;
        ws_tell(l->ws, REC_WARNING, NULL, "session-data", "fit",
                "%s has changed since the session was saved: the data is loaded as it is now; fits "
                "made before keep their models, but were made from other data", shown);
    }
    return t;
}

static void noted_free(struct noted *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->c[i].name);
    free(k->c);
}

static int word_index(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static bool take_column(void *ctx, const char *const text[4])
{
    struct noted *k = ctx;
    uint64_t missing, levels;
    const int type = word_index(store_types, text[1]), role = word_index(store_roles, text[2]);

    if (type < 0 || role < 0 || k->n >= MANY ||
        sscanf(text[3], "[%" SCNu64 ",%" SCNu64 "]", &missing, &levels) != 2 ||
        mem_grow((void **)&k->c, &k->cap, k->n + 1, sizeof *k->c, "the columns", NULL) != ST_OK)
        return false;
    char *name = mem_strdup(text[0], NULL);
    if (!name)
        return false;
    k->c[k->n++] = (struct noted_column){ .name = name, .type = (enum col_type)type,
                                          .role = (enum col_role)role, .missing = missing,
                                          .levels = levels };
    return true;
}

/* Types and roles as they were: by position in the same file, by name in a changed one. */
static void restore_columns(struct jdoc *j, struct dataset *ds, const struct noted *k, bool changed)
{
    const bool in_place = !changed && k->n == ds->table->ncols;
    size_t targets = 0, did;

    for (size_t i = 0; i < k->n; i++) {
        const size_t at = in_place ? i : table_find(ds->table, k->c[i].name);
        if (at != SIZE_MAX && ds->table->col[at].type != k->c[i].type &&
            !strpbrk(k->c[i].name, "*,"))
            (void)dataset_set_type(ds, k->c[i].name, k->c[i].type, &did, NULL);
    }
    for (size_t i = 0; i < k->n; i++) {
        const size_t at = in_place ? i : table_find(ds->table, k->c[i].name);
        if (at != SIZE_MAX)
            ds->role[at] = k->c[i].role;
    }
    for (size_t i = 0; i < ds->table->ncols; i++)
        targets += ds->role[i] == ROLE_TARGET;
    if (targets == 0)
        jdoc_wrong(j, "no target");
}

static void restore_groups(struct jdoc *j, struct dataset *ds, const struct noted *k, bool changed)
{
    const bool in_place = !changed && k->n == ds->table->ncols;

    if (jdoc_has(j, "$.coding"))
        ds->coding = jdoc_str(j, "$.coding");
    if (!jdoc_has(j, "$.groups"))
        return;
    if (jdoc_len(j, MANY, "$.groups") != k->n)
        jdoc_wrong(j, "groups are not those of the columns");
    for (size_t i = 0; jdoc_ok(j) && i < k->n; i++) {
        const size_t at = in_place ? i : table_find(ds->table, k->c[i].name);
        char *group = jdoc_str(j, "$.groups[%zu]", i);
        if (at != SIZE_MAX) {
            free(ds->group[at]);
            ds->group[at] = group;
        } else {
            free(group);
        }
    }
}

/* The same columns with the same types and levels: then the file reads as it did. */
static bool same_columns(const struct noted *k, const struct table *t)
{
    if (k->n != t->ncols)
        return false;
    for (size_t i = 0; i < k->n; i++) {
        const struct column *c = &t->col[i];
        if (strcmp(k->c[i].name, c->name) != 0 || k->c[i].type != c->type ||
            k->c[i].missing != c->missing ||
            k->c[i].levels != (c->type == COL_CATEGORY ? c->nlevels : 0))
            return false;
    }
    return true;
}

static void restore_split(struct loader *l, struct jdoc *j, struct dataset *ds, int64_t id)
{
    const size_t n = ds->table->n;
    struct split s = { .how = jdoc_str(j, "$.split.how") };
    const bool has_parts = jdoc_bool(j, "$.split.parts");
    const size_t folds = (size_t)jdoc_int(j, 0, MANY, "$.split.folds");
    const uint64_t want = jdoc_u64(j, "$.split.sum");
    uint32_t sum = 0;
    char owner[24];
    bool good = true;

    snprintf(owner, sizeof owner, "d%" PRId64, id);
    if (has_parts) {
        s.part = mem_calloc(n, 1, "the split", NULL);
        good = s.part && sdb_get_blob(l->db, owner, "part", s.part, n, NULL) == ST_OK;
        for (size_t i = 0; good && i < n; i++)
            if ((good = s.part[i] < PARTS))
                s.count[s.part[i]]++;
        if (good)
            sum = checksum_add(sum, s.part, n);
    } else {
        s.count[PART_TRAIN] = n;
    }
    if (good && folds) {
        s.fold = mem_calloc(n, sizeof *s.fold, "the folds", NULL);
        s.nfolds = folds;
        good =
            s.fold && sdb_get_blob(l->db, owner, "fold", s.fold, n * sizeof *s.fold, NULL) == ST_OK;
        for (size_t i = 0; good && i < n; i++) {
            s.fold[i] = le32toh(s.fold[i]);
            good = s.fold[i] < folds;
        }
        if (good)
            sum = checksum_add(sum, s.fold, n * sizeof *s.fold);
    }
    if (!good || sum != want) {
        damaged(l, "the split of %.60s (%.80s) is damaged or fits other data; it is not split now",
                ds->name, s.how ? s.how : "none");
        free(s.how);
        free(s.part);
        free(s.fold);
        split_none(ds);
        return;
    }
    split_none(ds);
    free(ds->split.how);
    free(ds->split.part);
    free(ds->split.fold);
    ds->split = s;
}

static const char *target_name(const struct noted *k)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->c[i].role == ROLE_TARGET)
            return k->c[i].name;
    return NULL;
}

static struct dataset *make_dataset(struct loader *l, const struct store_version *v, bool *changed)
{
    struct jdoc j;
    struct err why = { 0 };
    struct dataset *ds = NULL;

    if (!jdoc_open(&j, l->db, v->body)) {
        damaged(l, "a description of a dataset is damaged (%s)", j.bad);
        return NULL;
    }
    char *name = jdoc_str(&j, "$.name"), *path = jdoc_str(&j, "$.path"),
         *recipe = jdoc_str(&j, "$.recipe"), *sum = jdoc_str(&j, "$.checksum");
    const uint64_t size = jdoc_u64(&j, "$.size");
    const int64_t rows = jdoc_int(&j, 0, ROWS_MOST, "$.rows");
    static const char *const fields[4] = { "name", "type", "role", "counts" };
    struct noted noted = { 0 };
    jdoc_each(&j, "$.columns", fields, take_column, &noted);
    const char *target = target_name(&noted);
    struct shared_table *t = NULL, found = { .table = NULL };

    if (!name || !path || !sum || !target)
        jdoc_wrong(&j, "name, path, checksum or target is missing");
    if (jdoc_ok(&j) && l->recall &&
        (found.table = in_memory(l->ws, path, size, sum, rows, &noted)) != NULL)
        t = &found;
    else if (jdoc_ok(&j))
        t = shared(l, path, recipe, name, size, sum, rows);
    if (t && t->table) {
        *changed = t->changed;
        ds = dataset_new(t->table, name, table_find(t->table, target) != SIZE_MAX ? target : NULL,
                         &why);
        if (!ds)
            damaged(l, "dataset %.60s cannot be made: %.200s", name, why.msg);
    }
    if (ds) {
        restore_columns(&j, ds, &noted, t->changed);
        restore_groups(&j, ds, &noted, t->changed);
        *changed |= (int64_t)ds->table->n != rows || !same_columns(&noted, ds->table);
        ds->missing = (enum missing_policy)jdoc_word(&j, store_missing, "$.missing");
        ds->missing_flag = jdoc_bool(&j, "$.missing_flag");
        ds->yscale = (enum y_scale)jdoc_word(&j, store_yscales, "$.yscale");
        ds->xscale = (enum x_scale)jdoc_word(&j, store_xscales, "$.xscale");
        restore_split(l, &j, ds, v->id);
    }
    if (!jdoc_ok(&j)) {
        damaged(l, "the description of dataset %.60s is damaged (%.160s)", name ? name : "?",
                j.bad);
        dataset_unref(ds);
        ds = NULL;
    }
    jdoc_close(&j);
    free(name);
    free(path);
    free(recipe);
    free(sum);
    noted_free(&noted);
    return ds;
}

/* The dataset of a version, made on first use; *changed: its file is not what it was. */
static struct dataset *dataset_of(struct loader *l, int64_t id, bool *changed)
{
    *changed = false;
    for (size_t i = 0; i < l->out->nversion; i++)
        if (l->out->version[i].id == id) {
            bool other = false;
            if (!l->tried[2 * i]) {
                l->made[i] = make_dataset(l, &l->out->version[i], &other);
                l->tried[2 * i] = true;
                l->tried[2 * i + 1] = other;
            }
            *changed = l->tried[2 * i + 1];
            return l->made[i];
        }
    return NULL;
}

/* n doubles of a run; NULL with the reason when they are not all there, whole. */
static double *doubles(struct loader *l, const char *owner, const char *what, size_t n,
                       struct err *err)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, sizeof(double), &bytes) ||
        sdb_blob_size(l->db, owner, what) != bytes) {
        err_set(err, ST_FORMAT, "%s of %s is missing or has another size", what, owner);
        return NULL;
    }
    double *v = mem_aligned(n, sizeof *v, "a model", err);
    if (v && sdb_get_blob(l->db, owner, what, v, bytes, err) != ST_OK) {
        free(v);
        return NULL;
    }
    if (v)
        store_pack_doubles(v, n);
    return v;
}

/* Numbers of runs. */

static bool read_kernel(struct jdoc *j, struct kernel *k, const char *path)
{
    double set[KERNEL_MAX_HP];
    char *text = jdoc_str(j, "%s", path);
    const bool ok = text && kernel_parse(text, k, set, NULL) == ST_OK;

    if (!ok)
        jdoc_wrong(j, "%s is no kernel", path);
    free(text);
    return ok;
}

static void read_hp(struct jdoc *j, double *hp, size_t n, const char *path)
{
    const size_t have = jdoc_len(j, KERNEL_MAX_HP, "%s", path);

    if (have != n)
        jdoc_wrong(j, "%s has %zu values, not %zu", path, have, n);
    for (size_t i = 0; i < n; i++) {
        hp[i] = jdoc_num(j, "%s[%zu]", path, i);
        if (!(hp[i] > 0))
            jdoc_wrong(j, "%s[%zu] is not positive", path, i);
    }
}

static double positive(struct jdoc *j, const char *path, bool zero)
{
    const double x = jdoc_num(j, "%s", path);

    if (!(x > 0 || (zero && x == 0)))
        jdoc_wrong(j, "%s is not positive", path);
    return x;
}

static void read_bound(struct jdoc *j, struct tune_bound *b, const char *path)
{
    b->lo = jdoc_num(j, "%s.lo", path);
    b->hi = jdoc_num(j, "%s.hi", path);
    b->fixed = jdoc_bool(j, "%s.fixed", path);
    b->value = jdoc_num(j, "%s.value", path);
}

static void read_bounds(struct jdoc *j, const char *in, struct tune_bound *hp, size_t n,
                        struct tune_bound *amplitude, struct tune_bound *noise)
{
    char path[64];

    if (jdoc_len(j, KERNEL_MAX_HP, "%s.bounds", in) != n)
        jdoc_wrong(j, "%s.bounds has another length", in);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s.bounds[%zu]", in, i);
        read_bound(j, &hp[i], path);
    }
    snprintf(path, sizeof path, "%s.amplitude_bound", in);
    read_bound(j, amplitude, path);
    snprintf(path, sizeof path, "%s.noise_bound", in);
    read_bound(j, noise, path);
}

static size_t size_at(struct jdoc *j, const char *path)
{
    return (size_t)jdoc_int(j, 0, ROWS_MOST, "%s", path);
}

static enum outcome read_outcome(struct jdoc *j, const char *path)
{
    return (enum outcome)store_outcome_values[jdoc_word(j, store_outcomes, "%s", path)];
}

/* Settings point at the names that the registries own. */
static const char *solver_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = jdoc_str(j, "$.fit.solver");

    if (text && solver_is_free(text))
        found = "auto";
    if (text && !found)
        found = model_kind_of(text)->solver;
    for (size_t i = 0; text && !found && solver_at(i); i++)
        found = strcmp(solver_at(i)->name, text) == 0 ? solver_at(i)->name : NULL;
    if (text && !found)
        jdoc_wrong(j, "$.fit.solver is not known");
    free(text);
    return found;
}

static const char *read_precond_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = jdoc_str(j, "$.fit.precond");

    for (size_t i = 0; text && !found && precond_at(i); i++)
        found = strcmp(precond_at(i)->name, text) == 0 ? precond_at(i)->name : NULL;
    if (text && !found)
        jdoc_wrong(j, "$.fit.precond is not known");
    free(text);
    return found;
}

static const char *tuner_name(struct jdoc *j)
{
    const char *found = NULL;
    char *text = jdoc_str(j, "$.tune.method");

    for (size_t i = 0; text && !found && tuner_at(i); i++)
        found = strcmp(tuner_at(i)->name, text) == 0 ? tuner_at(i)->name : NULL;
    if (text && !found)
        jdoc_wrong(j, "$.tune.method is not known");
    free(text);
    return found;
}

/* One figure of the table (app/core/measures.h), into the struct that has it. */
static void measure(struct jdoc *j, const char *in, const struct measure *m, void *base)
{
    char *p = (char *)base + m->at, path[96];

    snprintf(path, sizeof path, "%s.%s", in, m->session);
    const bool there = m->age == MEASURE_ALWAYS || jdoc_has(j, "%s", path);

    switch (m->type) {
    case MEASURE_REAL: *(double *)p = there ? jdoc_num(j, "%s", path) : NAN; break;
    case MEASURE_COUNT:
        *(size_t *)p = !there                     ? 0
                       : !strcmp(m->unit ? m->unit : "", "bytes") ? (size_t)jdoc_u64(j, "%s", path)
                                                  : size_at(j, path);
        break;
    case MEASURE_FLAG: *(bool *)p = there && jdoc_bool(j, "%s", path); break;
    case MEASURE_WORD: jdoc_strn(j, p, m->size, "%s", path); break;
    case MEASURE_OUTCOME: *(enum outcome *)p = read_outcome(j, path); break;
    }
}

static void measures(struct jdoc *j, const char *in, enum measure_of of, void *base)
{
    const struct measure *m;

    for (size_t i = 0; (m = measure_at(i)) != NULL; i++)
        if (m->session && (m->of == MEASURE_OF_SCALED ? MEASURE_OF_RAW : m->of) == of)
            measure(j, in, m, base);
}

static size_t targets_at(struct jdoc *j, const char *path)
{
    const size_t n = jdoc_has(j, "%s", path) ? jdoc_len(j, TARGETS_MOST, "%s", path) : 1;

    if (n == 0)
        jdoc_wrong(j, "%s is empty", path);
    return n ? n : 1;
}

/* Amplitudes or noises of t targets, positive; of one target the number read before. */
static void read_each(struct jdoc *j, const char *path, size_t t, double *each)
{
    if (t > 1 && jdoc_len(j, TARGETS_MOST, "%s", path) != t)
        jdoc_wrong(j, "%s is not of %zu targets", path, t);
    for (size_t i = 0; t > 1 && i < t; i++) {
        each[i] = jdoc_num(j, "%s[%zu]", path, i);
        if (!(each[i] > 0.0) || !isfinite(each[i]))
            jdoc_wrong(j, "%s[%zu] is not positive", path, i);
    }
}

static void read_targets_info(struct jdoc *j, struct run *r)
{
    struct fit_info *f = &r->info;

    r->fit.targets = jdoc_has(j, "$.fit.targets")
                         ? (size_t)jdoc_int(j, 1, TARGETS_MOST, "$.fit.targets")
                         : 1;
    f->targets = targets_at(j, "$.info.target_iterations");
    f->target[0].iterations = f->why == OUT_DIRECT ? NAN : (double)f->iterations;
    f->target[0].residual = f->residual;
    f->target[0].true_residual = f->true_residual;
    for (size_t i = 0; f->targets > 1 && i < f->targets; i++) {
        f->target[i].iterations = jdoc_num(j, "$.info.target_iterations[%zu]", i);
        f->target[i].residual = jdoc_num(j, "$.info.target_residual[%zu]", i);
        f->target[i].true_residual = jdoc_num(j, "$.info.target_true_residual[%zu]", i);
    }
}

static void read_solver_info(struct jdoc *j, struct run *r)
{
    const struct solver_ops *s = r->fit.solver ? solver_find(r->fit.solver, NULL) : NULL;

    for (size_t i = 0; s && s->params && s->params[i].name; i++) {
        const struct solver_param *p = &s->params[i];
        const double v = jdoc_has(j, "$.fit.solver_params[%zu]", i)
                             ? jdoc_num(j, "$.fit.solver_params[%zu]", i)
                             : 0.0;
        if (v != 0.0 && !(v >= p->lo && v <= p->hi))
            jdoc_wrong(j, "$.fit.solver_params[%zu] is out of range", i);
        r->fit.solver_params[i] = v;
    }
    r->fit.keep_scale = jdoc_has(j, "$.fit.keep_scale") && jdoc_bool(j, "$.fit.keep_scale");
}

static void read_fit(struct jdoc *j, struct run *r)
{
    struct fit_opts *o = &r->fit;
    struct fit_info *f = &r->info;

    o->solver = solver_name(j);
    o->precond = read_precond_name(j);
    o->features = size_at(j, "$.fit.features");
    o->rank = size_at(j, "$.fit.rank");
    o->rtol = jdoc_num(j, "$.fit.rtol");
    o->maxit = size_at(j, "$.fit.maxit");
    o->variance = (enum variance_mode)jdoc_word(j, store_variances, "$.fit.variance");
    o->variance_count = size_at(j, "$.fit.variance_count");
    o->plan = (enum plan)jdoc_word(j, store_plans, "$.fit.plan");
    o->store = jdoc_has(j, "$.fit.store") ? (enum storing)jdoc_word(j, store_stores, "$.fit.store")
                                          : STORE_AUTO; /* older sessions know of none */
    o->precision = (enum precision)jdoc_word(j, store_precisions, "$.fit.precision");
    o->mem_limit = (size_t)jdoc_u64(j, "$.fit.mem_limit");
    o->seed = jdoc_u64(j, "$.fit.seed");
    if (read_kernel(j, &o->kernel, "$.fit.kernel"))
        read_hp(j, o->hp, kernel_nhp(&o->kernel), "$.fit.hp");
    o->amplitude = positive(j, "$.fit.amplitude", false);
    o->noise = positive(j, "$.fit.noise", true);
    read_solver_info(j, r);
    measures(j, "$.info", MEASURE_OF_INFO, f);
    f->rank_seconds = NAN; /* not kept */
    if (!jdoc_has(j, "$.info.predicted_bytes"))
        f->predicted_bytes = f->peak_bytes;
    read_targets_info(j, r);
}

static void read_solve(struct loader *l, struct jdoc *j, struct run *r)
{
    struct solve_info *s = &r->solve;
    const size_t n = (size_t)jdoc_int(j, 0, MANY, "$.solve.history");

    s->why = read_outcome(j, "$.solve.why");
    s->iterations = size_at(j, "$.solve.iterations");
    s->residual = jdoc_num(j, "$.solve.residual");
    s->true_residual = jdoc_num(j, "$.solve.true_residual");
    s->drift = jdoc_num(j, "$.solve.drift");
    s->float_limit = jdoc_bool(j, "$.solve.float_limit");
    if (n == 0)
        return;
    double *both = doubles(l, r->id, "cg", 2 * n, NULL);
    s->alpha = both ? mem_calloc(n, sizeof *s->alpha, "a trace", NULL) : NULL;
    s->beta = both ? mem_calloc(n, sizeof *s->beta, "a trace", NULL) : NULL;
    if (s->alpha && s->beta) {
        memcpy(s->alpha, both, n * sizeof *both);
        memcpy(s->beta, both + n, n * sizeof *both);
        s->nhist = n;
    } else {
        damaged(l, "the coefficients of the solver of %s are damaged", r->id);
        free(s->alpha);
        free(s->beta);
        s->alpha = s->beta = NULL;
    }
    free(both);
}

static void read_point(struct jdoc *j, struct tune_point *p, size_t nhp, size_t targets,
                       const char *in)
{
    char path[80];

    snprintf(path, sizeof path, "%s.hp", in);
    read_hp(j, p->hp, nhp, path);
    p->amplitude = jdoc_num(j, "%s.amplitude", in);
    p->noise = jdoc_num(j, "%s.noise", in);
    p->amplitudes[0] = p->amplitude;
    p->noises[0] = p->noise;
    snprintf(path, sizeof path, "%s.amplitudes", in);
    read_each(j, path, targets, p->amplitudes);
    snprintf(path, sizeof path, "%s.noises", in);
    read_each(j, path, targets, p->noises);
    measures(j, in, MEASURE_OF_POINT, p);
}

/* Every evaluation of a tuning; without them its result still stands. */
static void read_tuning(struct loader *l, struct run *r, size_t n)
{
    struct tune_result *t = &r->tune;
    const size_t width = t->nhp + STORE_TUNE_EXTRA;
    double *all = n ? doubles(l, r->id, "tuning", n * width, NULL) : NULL;

    t->trace = all ? mem_calloc(n, sizeof *t->trace, "a trace", NULL) : NULL;
    if (n && !t->trace)
        damaged(l, "the evaluations of %s are damaged", r->id);
    for (size_t i = 0; t->trace && i < n; i++) {
        struct tune_point *p = &t->trace[t->ntrace++];
        const double *from = all + i * width, *tail = from + t->nhp;
        memcpy(p->hp, from, t->nhp * sizeof *from);
        p->amplitude = p->amplitudes[0] = tail[0];
        p->noise = p->noises[0] = tail[1];
        p->nmll = tail[2];
        p->effdim = tail[3];
        p->subsampled = tail[4] != 0;
        p->score = tail[5];
        p->se = tail[6];
    }
    free(all);
}

static void read_tune(struct loader *l, struct jdoc *j, struct run *r)
{
    struct tune_opts *o = &r->topt;
    struct tune_result *t = &r->tune;
    struct kernel k;

    if (!read_kernel(j, &k, "$.kernel"))
        return;
    r->fit.kernel = k;
    o->method = tuner_name(j);
    o->objective = (enum tune_objective)jdoc_word(j, store_objectives, "$.tune.objective");
    o->targets = jdoc_has(j, "$.tune.targets")
                     ? (size_t)jdoc_int(j, 1, TARGETS_MOST, "$.tune.targets")
                     : 1;
    o->exact = jdoc_bool(j, "$.tune.exact");
    o->approx = jdoc_bool(j, "$.tune.approx");
    o->rank = size_at(j, "$.tune.rank");
    o->probes = size_at(j, "$.tune.probes");
    o->error = jdoc_has(j, "$.tune.error") ? jdoc_num(j, "$.tune.error") : 0.0;
    o->features = size_at(j, "$.tune.features");
    o->max_evals = size_at(j, "$.tune.max_evals");
    o->restart = jdoc_has(j, "$.tune.restart") ? size_at(j, "$.tune.restart") : 0;
    o->restarts = jdoc_has(j, "$.tune.restarts") ? size_at(j, "$.tune.restarts") : 0;
    o->subsample = size_at(j, "$.tune.subsample");
    o->polish = jdoc_bool(j, "$.tune.polish");
    o->seed = jdoc_u64(j, "$.tune.seed");
    o->precision = (enum precision)jdoc_word(j, store_precisions, "$.tune.precision");
    o->plan = (enum plan)jdoc_word(j, store_plans, "$.tune.plan");
    o->mem_limit = (size_t)jdoc_u64(j, "$.tune.mem_limit");
    read_bounds(j, "$.tune", o->hp, kernel_nhp(&k), &o->amplitude, &o->noise);
    t->why = (enum outcome_tune)jdoc_word(j, store_tune_outcomes, "$.result.why");
    t->nhp = (size_t)jdoc_int(j, 0, KERNEL_MAX_HP, "$.result.nhp");
    measures(j, "$.result", MEASURE_OF_RESULT, t);
    t->at_lower = (unsigned)jdoc_int(j, 0, UINT32_MAX, "$.result.at_lower");
    t->at_upper = (unsigned)jdoc_int(j, 0, UINT32_MAX, "$.result.at_upper");
    if (t->nhp) /* 0: it never came to a first point */
        read_point(j, &t->best, t->nhp, o->targets, "$.result.best");
    read_tuning(l, r, (size_t)jdoc_int(j, 0, MANY, "$.result.points"));
}

static void read_metrics(struct jdoc *j, struct metrics *m, const char *in)
{
    measures(j, in, MEASURE_OF_RAW, m);
}

/* Scores of the targets after the first. */
static void read_more(struct jdoc *j, struct run *r)
{
    char path[64];
    const size_t n =
        jdoc_has(j, "$.score.more") ? jdoc_len(j, TARGETS_MOST - 1, "$.score.more") : 0;

    r->more = n ? mem_calloc(n, sizeof *r->more, "scores", NULL) : NULL;
    r->nmore = r->more ? n : 0;
    for (size_t i = 0; i < r->nmore; i++)
        for (int raw = 0; raw < 2; raw++) {
            snprintf(path, sizeof path, "$.score.more[%zu].%s", i, raw ? "raw" : "scaled");
            read_metrics(j, &r->more[i][raw], path);
        }
}

/* Models. */

/* The factor from its packed lower triangle. */
static double *factor(struct loader *l, const char *owner, size_t n, struct err *err)
{
    const size_t packed = n % 2 ? (n + 1) / 2 * n : n / 2 * (n + 1);

    if (sdb_blob_size(l->db, owner, "L") != packed * sizeof(double))
        return NULL;
    double *p = doubles(l, owner, "L", packed, err);
    double *full = p ? mem_calloc(n * n, sizeof *full, "a variance factor", err) : NULL;
    const double *from = p;
    for (size_t j = 0; full && j < n; j++) {
        memcpy(full + j * n + j, from, (n - j) * sizeof *full);
        from += n - j;
    }
    free(p);
    return full;
}

static void read_arrays(struct loader *l, struct run *r, struct model *m, bool inputs)
{
    struct err why = { 0 };

    m->w = doubles(l, r->id, "w", m->t * m->M, &why);
    if (m->w && inputs)
        m->X = doubles(l, r->id, "X", m->M * m->d, &why);
    if (!m->w || (inputs && !m->X)) {
        damaged(l, "the model of %s is damaged (%.200s): fit it again", r->id, why.msg);
        model_unref(m);
        return;
    }
    r->model = m;
}

/* Which columns each kernel reads. */
static bool parts_agree(const struct kernel *k, const struct encoding *e)
{
    if (e->nparts == 0)
        return !kernel_reads_parts(k);
    if (e->nparts != k->nterms)
        return false;
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].first != e->part[t].first || k->term[t].count != e->part[t].n)
            return false;
    return true;
}

/* Variance factors, newest first, as far as a quarter of the memory goes; what is not loaded (or
 * was not kept) is worked out again from the data when it is needed. */
static void read_factors(struct loader *l)
{
    double budget = (l->ws->opt.mem ? (double)l->ws->opt.mem : (double)mem_physical()) / 4;

    for (size_t i = l->ws->nrun == l->out->nrun ? l->ws->nrun : 0; i-- > 0;) {
        struct run *r = l->ws->run[i];
        struct model *m = r->model;
        struct err why = { 0 };
        const size_t bytes = sdb_blob_size(l->db, r->id, "L");
        if (!m || !m->Mv || m->Mv > 1 << 16 || bytes == 0)
            continue;
        if (bytes < m->Mv * (m->Mv + 1) / 2 * sizeof(double)) {
            l->out->run[i].unfinished = true; /* the program ended before all of it was written */
            continue;
        }
        l->out->run[i].factor = true; /* it is in the file, loaded or not */
        budget -= (double)m->Mv * (double)m->Mv * sizeof(double);
        if (budget < 0)
            return;
        m->L = factor(l, r->id, m->Mv, &why);
        if (!m->L) {
            l->out->run[i].factor = false;
            damaged(l, "the variance factor of %s is damaged; it is worked out again from the data",
                    r->id);
        }
    }
}

static const struct model_ops *read_kind(struct jdoc *j)
{
    const char *words[16] = { NULL };

    for (size_t i = 0; i + 1 < sizeof words / sizeof *words && model_kind_at(i); i++)
        words[i] = model_kind_at(i)->name;
    return model_kind_at((size_t)jdoc_word(j, words, "$.model.kind"));
}

static void read_model(struct loader *l, struct jdoc *j, struct run *r)
{
    struct model *m = mem_calloc(1, sizeof *m, "a model", NULL);

    if (!m) {
        jdoc_wrong(j, "out of memory");
        return;
    }
    m->refs = 1;
    m->kind = read_kind(j);
    if (read_kernel(j, &m->kernel, "$.model.kernel"))
        read_hp(j, m->hp, kernel_nhp(&m->kernel), "$.model.hp");
    m->amplitude = positive(j, "$.model.amplitude", false);
    m->noise = positive(j, "$.model.noise", true);
    m->t = targets_at(j, "$.model.amplitudes");
    m->amplitudes[0] = m->amplitude;
    m->noises[0] = m->noise;
    read_each(j, "$.model.amplitudes", m->t, m->amplitudes);
    read_each(j, "$.model.noises", m->t, m->noises);
    m->seed = jdoc_u64(j, "$.model.seed");
    m->d = (size_t)jdoc_int(j, 1, MANY, "$.model.d");
    m->M = (size_t)jdoc_int(j, 1, MANY, "$.model.M");
    m->Mv = (size_t)jdoc_int(j, 0, MANY, "$.model.Mv");
    m->precision = (enum precision)jdoc_word(j, store_precisions, "$.model.precision");
    const bool inputs = jdoc_bool(j, "$.model.inputs");
    if (inputs != m->kind->keeps_inputs || (m->kind->draws && m->M % 2) || m->Mv > m->M)
        jdoc_wrong(j, "$.model contradicts itself");
    if (r->has_enc && r->enc.d != m->d)
        jdoc_wrong(j, "the model and its encoding have %zu and %zu inputs", m->d, r->enc.d);
    const struct layer *layer = &m->kernel.layer, *seen = &r->enc.seq.layer;
    if (r->has_enc && (kernel_reads_windows(&m->kernel) != (r->enc.seq.inputs > 0) ||
                       (kernel_reads_windows(&m->kernel) &&
                        (layer->channels != seen->channels || layer->width != seen->width ||
                         layer->symbols != seen->symbols || layer->flat != r->enc.ncol)) ||
                       !parts_agree(&m->kernel, &r->enc)))
        jdoc_wrong(j, "the model and its encoding read sequences differently");
    if (jdoc_ok(j) && r->has_enc)
        read_arrays(l, r, m, inputs);
    else
        model_unref(m);
}

/* Runs. */

static void read_trace(struct loader *l, struct jdoc *j, struct run *r, size_t *parts)
{
    const size_t expected = (size_t)jdoc_int(j, 0, MANY, "$.points");
    void *bytes = NULL;
    size_t n = 0;
    bool cut = false;

    if (sdb_get_parts(l->db, r->id, "trace", &bytes, &n, parts, &cut, NULL) != ST_OK)
        cut = true;
    const size_t points = bytes ? n / STORE_POINT : 0;
    if (cut || points < expected)
        damaged(l, "the trace of %s is damaged after point %zu", r->id, points);
    r->trace = points ? mem_calloc(points, sizeof *r->trace, "a trace", NULL) : NULL;
    if (r->trace) {
        store_unpack_points(r->trace, bytes, points);
        r->ntrace = r->captrace = points;
    }
    free(bytes);
}

static void read_encoding(struct loader *l, struct jdoc *j, struct run *r)
{
    struct err why = { 0 };
    void *text = NULL;
    size_t n = 0, parts;
    bool cut = true;

    if (!jdoc_bool(j, "$.encoding"))
        return;
    (void)sdb_get_parts(l->db, r->id, "encoding", &text, &n, &parts, &cut, NULL);
    if (cut || !text || memchr(text, '\0', n)) {
        damaged(l, "the encoding of %s is damaged: fit it again", r->id);
    } else {
        ((char *)text)[n] = '\0'; /* sdb_get_parts leaves room */
        r->has_enc = encoding_from_json(text, &r->enc, &why) == ST_OK;
        if (!r->has_enc)
            damaged(l, "the encoding of %s is damaged (%.200s): fit it again", r->id, why.msg);
    }
    free(text);
}

static void read_failure(struct jdoc *j, struct run *r)
{
    char name[32];

    jdoc_strn(j, name, sizeof name, "$.failure.status");
    r->failure.code = ST_INTERNAL;
    for (int i = 0; i < N_STATUS; i++)
        if (strcmp(status_name((enum status)i), name) == 0)
            r->failure.code = (enum status)i;
    jdoc_strn(j, r->failure.name, sizeof r->failure.name, "$.failure.name");
    jdoc_strn(j, r->failure.msg, sizeof r->failure.msg, "$.failure.msg");
    jdoc_strn(j, r->failure.hint, sizeof r->failure.hint, "$.failure.hint");
}

static void read_common(struct jdoc *j, struct run *r)
{
    r->state = (enum run_state)jdoc_word(j, store_states, "$.state");
    r->dataset_name = jdoc_str(j, "$.dataset");
    r->kernel_text = jdoc_str(j, "$.kernel");
    r->command = jdoc_str(j, "$.command");
    r->created = jdoc_int(j, 0, INT64_MAX, "$.created");
    r->trace_target = jdoc_num(j, "$.target");
    r->started = 0;
    r->ended = jdoc_num(j, "$.seconds");
    r->note = jdoc_str(j, "$.note");
    r->star = jdoc_bool(j, "$.star");
    r->dropped = jdoc_has(j, "$.dropped") && jdoc_bool(j, "$.dropped");
    if (jdoc_has(j, "$.serial"))
        r->serial = (size_t)jdoc_int(j, 0, MANY, "$.serial");
    jdoc_strn(j, r->verdict, sizeof r->verdict, "$.verdict");
    if (!r->dataset_name || !r->kernel_text)
        jdoc_wrong(j, "dataset or kernel is missing");
    if (!(r->ended >= 0))
        r->ended = 0;
}

static void read_run(struct loader *l, struct jdoc *j, struct run *r, size_t *parts)
{
    read_common(j, r);
    read_encoding(l, j, r);
    if (r->kind == RUN_FIT) {
        read_fit(j, r);
        read_solve(l, j, r);
        if (jdoc_has(j, "$.model"))
            read_model(l, j, r);
    } else {
        read_tune(l, j, r);
    }
    if (jdoc_has(j, "$.score")) {
        r->has_score = true;
        r->score_part = (enum part)jdoc_word(j, store_parts, "$.score.part");
        r->score_rows = size_at(j, "$.score.rows");
        read_metrics(j, &r->score_scaled, "$.score.scaled");
        read_metrics(j, &r->score_raw, "$.score.raw");
        read_more(j, r);
    }
    if (jdoc_has(j, "$.failure"))
        read_failure(j, r);
    read_trace(l, j, r, parts);
    const int64_t id = jdoc_int(j, 0, INT64_MAX, "$.data");
    if (id && jdoc_ok(j)) {
        bool changed;
        struct dataset *ds = dataset_of(l, id, &changed);
        /* A run's own data is only what it was made from. */
        r->data = ds && !changed ? dataset_ref(ds) : NULL;
    }
    if (r->state == RUN_QUEUED || r->state == RUN_RUNNING) {
        r->state = RUN_STOPPED;
        snprintf(r->verdict, sizeof r->verdict, "interrupted at step %u, when gpdesk ended",
                 r->ntrace ? (unsigned)r->trace[r->ntrace - 1].step : 0u);
    }
}

/* "r7" or "t2"; 0: neither. */
static size_t run_number(const char *name)
{
    char *end;

    if ((name[0] != 'r' && name[0] != 't') || !isdigit((unsigned char)name[1]))
        return 0;
    const unsigned long n = strtoul(name + 1, &end, 10);
    return *end || n > MANY ? 0 : n;
}

static void remember_run(struct loader *l, const struct run *r, int64_t row, int64_t data,
                         size_t parts, const char *body)
{
    struct store_loaded *o = l->out;

    if (fatal(l, mem_grow((void **)&o->run, &l->caprun, o->nrun + 1, sizeof *o->run, "the session",
                          &l->err)))
        return;
    o->run[o->nrun].body = mem_strdup(body, NULL); /* NULL: it is written again, no harm */
    o->run[o->nrun].row = row;
    o->run[o->nrun].parts = parts;
    o->run[o->nrun].data = data;
    o->run[o->nrun].points = r->ntrace;
    o->run[o->nrun].model = r->model != NULL;
    o->run[o->nrun].factor = false; /* read_factors knows */
    snprintf(o->run[o->nrun].name, sizeof o->run[o->nrun].name, "%s", r->id);
    o->nrun++;
}

static bool take_run(void *ctx, int64_t row, const char *name, const char *body, bool good)
{
    struct loader *l = ctx;
    struct workspace *ws = l->ws;
    struct jdoc j = { 0 };
    const size_t number = good ? run_number(name) : 0;
    size_t parts = 0;

    if (row >= l->out->next_run && row < INT64_MAX)
        l->out->next_run = row + 1;
    if (!number || !jdoc_open(&j, l->db, body)) {
        damaged(l, "a run%s%.16s is damaged and left out", number ? " " : "", number ? name : "");
        return true;
    }
    const enum run_kind kind = (enum run_kind)jdoc_word(&j, store_kinds, "$.kind");
    struct run *r = ws_run_new(ws, kind, &l->err);
    if (fatal(l, r ? ST_OK : ST_NOMEM)) {
        jdoc_close(&j);
        return false;
    }
    if ((name[0] == 'r') != (kind == RUN_FIT))
        jdoc_wrong(&j, "its kind does not fit its name");
    snprintf(r->id, sizeof r->id, "%s", name);
    size_t *counter = kind == RUN_FIT ? &ws->nfit : &ws->ntune;
    --*counter; /* ws_run_new counted */
    if (number > *counter)
        *counter = number;
    read_run(l, &j, r, &parts);
    const int64_t data = jdoc_has(&j, "$.data") ? jdoc_int(&j, 0, INT64_MAX, "$.data") : 0;
    jdoc_close(&j);
    if (!jdoc_ok(&j)) {
        damaged(l, "run %s is damaged and left out (%.160s)", r->id, j.bad);
        ws->nrun--;
        run_free(r);
        return true;
    }
    ws->runs_made = r->serial >= ws->runs_made ? r->serial + 1 : ws->runs_made;
    remember_run(l, r, row, data, parts, body);
    return l->rc == ST_OK;
}

/* The workspace. */

/* Not loaded now (its file is missing, say), and not to be lost for that. */
static void put_away(struct loader *l, int64_t id)
{
    struct store_loaded *o = l->out;
    struct jdoc j = { 0 };

    for (size_t i = 0; i < o->nversion; i++) {
        if (o->version[i].id != id || !jdoc_open(&j, l->db, o->version[i].body))
            continue;
        char *name = jdoc_str(&j, "$.name");
        jdoc_close(&j);
        if (!name || !jdoc_ok(&j) ||
            fatal(l, mem_grow((void **)&o->away, &l->capaway, o->naway + 1, sizeof *o->away,
                              "the session", &l->err))) {
            free(name);
            return;
        }
        o->away[o->naway++] = (struct store_away){ .id = id, .name = name };
        return;
    }
}

static void take_datasets(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    const size_t n = jdoc_len(j, MANY, "$.datasets");
    const int64_t current = jdoc_int(j, -1, MANY, "$.current");

    for (size_t i = 0; i < n && jdoc_ok(j) && l->rc == ST_OK; i++) {
        bool changed;
        const int64_t id = jdoc_int(j, 0, INT64_MAX, "$.datasets[%zu]", i);
        struct dataset *made = dataset_of(l, id, &changed), *own, **grown;
        if (!made) {
            put_away(l, id);
            continue;
        }
        /* The workspace changes its datasets in place; runs keep the one they were made from. */
        own = dataset_snapshot(made, &l->err);
        grown = own ? realloc(ws->data, (ws->ndata + 1) * sizeof *grown) : NULL;
        if (!grown) {
            dataset_unref(own);
            fatal(l, err_nomem(&l->err, 0, "the datasets"));
            return;
        }
        ws->data = grown;
        ws->data[ws->ndata++] = own;
        if ((int64_t)i == current)
            ws->cur = ws->ndata - 1;
    }
    if (ws->cur >= ws->ndata)
        ws->cur = ws->ndata ? ws->ndata - 1 : SIZE_MAX;
}

static void take_settings(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    struct kernel k;
    double hp[KERNEL_MAX_HP] = { 0 };
    struct tune_bound bounds[KERNEL_MAX_HP], amp, noise_bound;

    memset(bounds, 0, sizeof bounds);
    if (!read_kernel(j, &k, "$.kernel"))
        return;
    const size_t nhp = kernel_nhp(&k);
    read_hp(j, hp, nhp, "$.hp");
    const double amplitude = positive(j, "$.amplitude", false),
                 noise = positive(j, "$.noise", true);
    const bool tuned = jdoc_bool(j, "$.tuned");
    read_bounds(j, "$", bounds, nhp, &amp, &noise_bound);
    const uint64_t seed = jdoc_u64(j, "$.seed");
    const enum precision precision = (enum precision)jdoc_word(j, store_precisions, "$.precision");
    if (!jdoc_ok(j))
        return;
    ws->kernel = k;
    memcpy(ws->hp, hp, sizeof hp);
    memcpy(ws->hp_bound, bounds, sizeof bounds);
    ws->amp_bound = amp;
    ws->noise_bound = noise_bound;
    ws->amplitude = amplitude;
    ws->noise = noise;
    ws->hp_tuned = tuned;
    ws->scale_tuned = tuned && jdoc_bool(j, "$.scale_tuned");
    const bool typed = ws->origin && !strcmp(option_origin(ws->origin, "seed"), "command line");
    if (!typed) { /* the command line is stronger than what the session kept */
        ws->opt.seed = seed;
        if (ws->origin)
            option_mark(ws->origin, "seed", BY_SESSION);
    }
    ws->opt.precision = precision;
}

/* What was set; the command line of now is stronger. */
static void take_options(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    const struct option_row *o;

    for (size_t i = 0; ws->origin && jdoc_has(j, "$.options") && (o = option_at(i)) != NULL; i++) {
        if (!jdoc_has(j, "$.options.\"%s\"", o->arg.name))
            continue;
        char *value = jdoc_str(j, "$.options.\"%s\"", o->arg.name);
        if (!value ||
            option_set(&ws->opt, ws->origin, o->arg.name, value, BY_SESSION, NULL) != ST_OK)
            jdoc_wrong(j, "option %s is not as it can be set", o->arg.name);
        free(value);
    }
}

static void take_counts(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    const size_t fits = (size_t)jdoc_int(j, 0, MANY, "$.fits"),
                 tunes = (size_t)jdoc_int(j, 0, MANY, "$.tunes"),
                 runs = (size_t)jdoc_int(j, 0, 2 * MANY, "$.runs"),
                 lines = (size_t)jdoc_int(j, 0, INT64_MAX, "$.script");

    jdoc_strn(j, ws->last_fit, sizeof ws->last_fit, "$.last_fit");
    if (*ws->last_fit && !ws_run(ws, ws->last_fit, NULL))
        *ws->last_fit = '\0';
    ws->nfit = fits > ws->nfit ? fits : ws->nfit;
    ws->ntune = tunes > ws->ntune ? tunes : ws->ntune;
    if (jdoc_ok(j) && (runs > ws->nrun + l->out->skipped || lines > ws->nscript))
        damaged(l, "%zu of %zu runs and %zu of %zu script lines are in the file", ws->nrun, runs,
                ws->nscript, lines);
    while (jdoc_ok(j) && ws->nscript > lines) /* written, and then came the end: it had no effect */
        free(ws->script[--ws->nscript]);
    l->out->nscript = ws->nscript;
    if (jdoc_has(j, "$.made")) {
        const size_t made = (size_t)jdoc_int(j, 0, MANY, "$.made");
        ws->runs_made = made > ws->runs_made ? made : ws->runs_made;
    }
}

static void read_rank(struct jdoc *j, struct rank_guess *g, size_t i)
{
    double v[10];

    for (size_t k = 0; k < 10; k++)
        v[k] = jdoc_num(j, "$.advice.rows[%zu][%zu]", i, k);
    if (!(v[0] >= 0 && v[0] <= 1e6) || !(v[2] > 0))
        jdoc_wrong(j, "row %zu of the advice has rank %g and %g iterations", i, v[0], v[2]);
    else
        *g = (struct rank_guess){(size_t)v[0], v[1], v[2], v[3], v[4],
                                 v[5],         v[6], v[7], v[8], v[9] != 0};
}

static size_t whole(double v)
{
    return v >= 0 && v <= 1e15 ? (size_t)v : 0; /* false for NaN */
}

/* The last advice.  One that cannot be read is left out: it can be asked for again. */
static void take_advice(struct loader *l, struct jdoc *j)
{
    enum { NUMBERS = 19 };
    struct advise_state *s =
        jdoc_has(j, "$.advice") ? mem_calloc(1, sizeof *s, "advice", NULL) : NULL;
    double v[NUMBERS];

    if (!s)
        return;
    for (size_t i = 0; i < NUMBERS; i++)
        v[i] = jdoc_num(j, "$.advice.numbers[%zu]", i);
    s->a = (struct advice){.n = whole(v[0]),
                           .M = whole(v[1]),
                           .sample = whole(v[2]),
                           .solves = whole(v[3]),
                           .given = v[4],
                           .ratio = v[5],
                           .effective_dimension = v[6],
                           .kernel_dimension = v[7],
                           .direct_seconds = v[8],
                           .direct_bytes = v[9]};
    s->rtol = v[10], s->factor = v[11], s->maxit = whole(v[12]), s->features = whole(v[14]),
    s->seconds = v[15];
    s->threads = whole(v[13]) ? whole(v[13]) : 1;
    s->error_sum = v[16], s->errors = whole(v[17]), s->plain = v[18] != 0;
    s->dataset = jdoc_str(j, "$.advice.dataset");
    s->kernel = jdoc_str(j, "$.advice.kernel");
    s->command = jdoc_str(j, "$.advice.command");
    s->a.rows = jdoc_len(j, RANK_GUESSES, "$.advice.rows");
    for (size_t i = 0; i < s->a.rows; i++)
        read_rank(j, &s->a.row[i], i);
    s->ntruth = jdoc_len(j, ADVISE_TRUTHS, "$.advice.truths");
    for (size_t i = 0; i < s->ntruth; i++) {
        struct advise_truth *t = &s->truth[i];
        jdoc_strn(j, t->run, sizeof t->run, "$.advice.truths[%zu].run", i);
        t->rank = whole(jdoc_num(j, "$.advice.truths[%zu].is[0]", i));
        t->expected = jdoc_num(j, "$.advice.truths[%zu].is[1]", i);
        t->iterations = jdoc_num(j, "$.advice.truths[%zu].is[2]", i);
        t->build = jdoc_num(j, "$.advice.truths[%zu].is[3]", i);
        t->solve = jdoc_num(j, "$.advice.truths[%zu].is[4]", i);
    }
    s->have = jdoc_ok(j) && s->dataset && s->kernel && s->a.rows && s->factor > 0 && s->rtol > 0;
    if (s->have) {
        owner_take(l->ws, &advise_state_owner, s);
    } else {
        advise_state_free(s);
    }
}

static bool take_step(void *ctx, const char *const text[4])
{
    struct loader *l = ctx;
    char *end;
    const long long id = strtoll(text[0], &end, 10);

    if (*end || id < 0)
        return false;
    const unsigned long script = strtoul(text[2], &end, 10);
    if (*end || script > l->ws->nscript)
        return false;
    return timeline_restore_step(l->ws, id, *text[1] ? text[1] : NULL, script, NULL) == ST_OK;
}

/* What can be undone, and what each line of the script was. */
static void take_time(struct loader *l, struct jdoc *j)
{
    static const char *const fields[4] = { "state", "line", "script", "script" };
    struct workspace *ws = l->ws;
    const size_t n = ws->nscript;
    struct past *p = mem_calloc(n ? n : 1, sizeof *p, "the history", NULL);
    size_t bad = 0;

    if (p && sdb_get_past(l->db, p, n, &bad, NULL) == ST_OK)
        (void)timeline_restore_past(ws, p, n, NULL);
    free(p);
    if (bad)
        damaged(
            l,
            "what is known of %zu lines of the script is damaged; they cannot be looked at again",
            bad);
    if (!jdoc_has(j, "$.steps"))
        return;
    const int64_t at = jdoc_int(j, 0, MANY, "$.step");
    if (!jdoc_each(j, "$.steps", fields, take_step, l) || !jdoc_ok(j)) {
        timeline_clear(timeline_of(ws));
        return;
    }
    timeline_restore_end(ws, (size_t)at);
}

static void take_workspace(struct loader *l)
{
    struct jdoc j;

    if (!l->state) {
        if (l->state_damaged)
            damaged(l, "what was current (dataset, kernel, hyperparameters) is damaged");
        return;
    }
    if (jdoc_open(&j, l->db, l->state)) {
        take_settings(l, &j);
        take_options(l, &j);
        take_counts(l, &j);
        take_datasets(l, &j);
        take_time(l, &j);
        take_advice(l, &j);
        jdoc_close(&j);
    }
    if (!jdoc_ok(&j))
        damaged(l, "what was current is damaged (%.160s)", j.bad);
}

/* Without a note of what was last fitted, the newest fit is it. */
static void find_last_fit(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0 && !*ws->last_fit;)
        if (ws->run[i]->kind == RUN_FIT && ws->run[i]->model)
            snprintf(ws->last_fit, sizeof ws->last_fit, "%s", ws->run[i]->id);
}

static void loader_free(struct loader *l)
{
    for (size_t i = 0; i < l->ntable; i++) {
        table_unref(l->table[i].table);
        free(l->table[i].path);
        free(l->table[i].recipe);
    }
    for (size_t i = 0; l->made && i < l->out->nversion; i++)
        dataset_unref(l->made[i]);
    free(l->table);
    free(l->made);
    free(l->tried);
    free(l->state);
}

enum status store_load(struct workspace *ws, struct sdb *db, struct store_loaded *out,
                       struct err *err)
{
    struct loader l = { .ws = ws, .db = db, .out = out };
    enum status rc = sdb_each_state(db, take_state, &l, err);

    timeline_base(ws);
    if (rc == ST_OK)
        rc = sdb_each_dataset(db, take_version, &l, err);
    if (rc == ST_OK)
        rc = sdb_each_script(db, take_script, &l, err);
    out->nscript = ws->nscript;
    l.made = mem_calloc(out->nversion, sizeof *l.made, "the session", err);
    l.tried = mem_calloc(out->nversion, 2 * sizeof *l.tried, "the session", err);
    if (rc == ST_OK && (!l.made || !l.tried))
        rc = ST_NOMEM;
    if (rc == ST_OK && l.rc == ST_OK)
        rc = sdb_each_run(db, take_run, &l, err);
    if (rc == ST_OK && l.rc == ST_OK) {
        read_factors(&l);
        take_workspace(&l);
    }
    out->next_snapshot = sdb_last_snapshot(db) + 1;
    timeline_arrange(ws, SIZE_MAX);
    if (l.damaged_lines)
        damaged(&l, "%zu lines of the script are damaged", l.damaged_lines);
    find_last_fit(ws);
    if (rc == ST_OK && l.rc != ST_OK) {
        rc = l.rc;
        if (err)
            *err = l.err;
    }
    loader_free(&l);
    ws->serial++;
    return rc;
}

/* One state of before. */

static bool take_mark(void *ctx, const char *const text[4])
{
    struct snapshot *s = ctx;
    static const char *const words[] = { "plain", "star", "dropped", "both", NULL };
    const int is = word_index(words, text[1]);
    struct run_mark *grown = realloc(s->mark, (s->nmark + 1) * sizeof *grown);

    if (grown)
        s->mark = grown;
    if (!grown || is < 0 || !run_number(text[0]))
        return false;
    struct run_mark *m = &s->mark[s->nmark++];
    *m = (struct run_mark){ .star = is & 1, .dropped = is & 2 };
    snprintf(m->id, sizeof m->id, "%.15s", text[0]);
    m->note = strcmp(text[2], "note") ? NULL : mem_strdup(text[3], NULL);
    return true;
}

/* Those that were set then; the rest is as the program began, and so is what its command line says.
 */
static void read_options(struct loader *l, struct jdoc *j, struct snapshot *s)
{
    const struct options_origin *who;
    const struct option_row *o;

    s->opt = *timeline_options(l->ws, &who);
    s->who = who ? options_origin_copy(who, NULL) : NULL;
    for (size_t i = 0; s->who && (o = option_at(i)) != NULL; i++) {
        const bool has = jdoc_has(j, "$.options.\"%s\"", o->arg.name);
        char *value = has ? jdoc_str(j, "$.options.\"%s\"", o->arg.name) : NULL;
        if (value && option_set(&s->opt, s->who, o->arg.name, value, BY_SESSION, NULL) != ST_OK)
            jdoc_wrong(j, "option %s is not as it can be set", o->arg.name);
        free(value);
    }
    if (!s->who)
        s->opt = l->ws->opt;
}

static void read_datasets(struct loader *l, struct jdoc *j, struct snapshot *s)
{
    const size_t n = jdoc_len(j, MANY, "$.datasets");
    const int64_t current = jdoc_int(j, -1, MANY, "$.current");

    s->cur = SIZE_MAX;
    s->data = jdoc_ok(j) ? mem_calloc(n ? n : 1, sizeof *s->data, "the datasets", NULL) : NULL;
    for (size_t i = 0; s->data && i < n; i++) {
        bool changed;
        struct dataset *made =
            dataset_of(l, jdoc_int(j, 0, INT64_MAX, "$.datasets[%zu]", i), &changed);
        if (!made)
            continue; /* told */
        s->data[s->ndata++] = dataset_ref(made);
        if ((int64_t)i == current)
            s->cur = s->ndata - 1;
    }
    if (s->cur == SIZE_MAX && s->ndata)
        s->cur = s->ndata - 1;
}

static void read_snapshot(struct loader *l, struct jdoc *j, struct snapshot *s)
{
    static const char *const fields[4] = { "run", "is", "has", "note" };

    if (!read_kernel(j, &s->kernel, "$.kernel"))
        return;
    s->nhp = kernel_nhp(&s->kernel);
    s->hp = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->hp, "a state", NULL);
    s->bound = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->bound, "a state", NULL);
    if (!s->hp || !s->bound) {
        jdoc_wrong(j, "out of memory");
        return;
    }
    read_hp(j, s->hp, s->nhp, "$.hp");
    s->amplitude = positive(j, "$.amplitude", false);
    s->noise = positive(j, "$.noise", true);
    s->hp_tuned = jdoc_bool(j, "$.tuned");
    s->scale_tuned = jdoc_bool(j, "$.scale_tuned");
    read_bounds(j, "$", s->bound, s->nhp, &s->amp_bound, &s->noise_bound);
    read_options(l, j, s);
    jdoc_each(j, "$.marks", fields, take_mark, s);
    if (jdoc_ok(j))
        read_datasets(l, j, s);
}

enum status store_load_snapshot(struct workspace *ws, struct sdb *db,
                                const struct store_version *version, size_t nversion,
                                const char *body, struct snapshot **out, struct err *err)
{
    struct store_loaded fake = { .version = (struct store_version *)version, .nversion = nversion };
    struct loader l = { .ws = ws, .db = db, .out = &fake, .recall = true };
    struct snapshot *s = mem_calloc(1, sizeof *s, "a state", err);
    struct jdoc j;

    l.made = mem_calloc(nversion ? nversion : 1, sizeof *l.made, "the session", err);
    l.tried = mem_calloc(nversion ? nversion : 1, 2 * sizeof *l.tried, "the session", err);
    enum status rc = s && l.made && l.tried ? ST_OK : ST_NOMEM;
    if (s)
        s->refs = 1;
    if (rc == ST_OK && jdoc_open(&j, db, body)) {
        read_snapshot(&l, &j, s);
        jdoc_close(&j);
    }
    if (rc == ST_OK && !jdoc_ok(&j))
        rc = err_named(err, ST_FORMAT, "session-damage", "the state of then is damaged (%.160s)",
                       j.bad);
    loader_free(&l);
    if (rc != ST_OK) {
        snapshot_unref(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void store_loaded_free(struct store_loaded *o)
{
    for (size_t i = 0; i < o->nversion; i++)
        free(o->version[i].body);
    for (size_t i = 0; i < o->naway; i++)
        free(o->away[i].name);
    for (size_t i = 0; i < o->nrun; i++)
        free(o->run[i].body);
    free(o->version);
    free(o->run);
    free(o->away);
    *o = (struct store_loaded){ 0 };
}
