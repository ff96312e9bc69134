/* app/session/store_read_data.c -- reads datasets from the session. The file is read again and
 * compared with what was recorded; roles, types and split are restored. */
#include "app/session/store_load.h"

#include "app/shell/import_args.h"
#include "app/shell/options.h"
#include "data/checksum.h"
#include "data/formats/npy_set.h"
#include "data/prepare.h"
#include "data/kinds/kind.h"
#include "base/mem.h"
#include "app/core/ws_tell.h"
#include "base/text.h"
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum status read_file(const char *path, const struct args *a, size_t mem,
                             struct table **out, struct err *err)
{
    struct import_opts opts = { .header = -1, .mem_limit = mem };
    struct stat st;

    if (strcmp(path, "-") == 0)
        return err_set(err, ST_IO, "it came through a pipe and is gone");
    /* A session must not make the program wait for a pipe or read a device. The parts of a table
     * are regular files, or it is refused. */
    if (*path != '/' || (stat(path, &st) == 0 ? !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)
                                              : !npy_set_is_pattern(path)))
        return err_set(err, ST_IO, "the file no longer exists");
    if (a && import_args_options(a, mem, &opts, err) != ST_OK)
        return ST_USAGE;
    return import_file(path, &opts, NULL, out, err);
}

static enum status make_demo(const char *path, const struct args *a, int64_t rows,
                             struct table **out, struct err *err)
{
    struct demo_opts o = { .noise = NAN };
    const char *seed = strstr(path, "seed=");

    if (strncmp(path, "demo:points xy=", 15) == 0) { /* its path contains all of its data */
        o.xy = path + 15;
        return demo_make("points", &o, out, err);
    }
    const char *name = a ? args_text(a, "name") : NULL;
    if (!name)
        return err_set(err, ST_FORMAT, "how it was made is not known");
    o.n = (size_t)args_int(a, "n", 0);
    o.kernel = args_text(a, "kernel");
    o.noise = args_num(a, "noise");
    o.seed = seed ? strtoull(seed + 5, NULL, 10) : (uint64_t)args_int(a, "seed", 0);
    if (o.n && rows >= 0 && o.n != (size_t)rows)
        return err_set(err, ST_FORMAT, "its number of rows is not as noted");
    return demo_make(name, &o, out, err);
}

/* rows: as noted; -1: not known, because steps may have left rows out.
 *
 * Executes no command: only the options of an `open` or `demo` line are used. The path of generated
 * data tells all of them, for a line that was not kept. */
static enum status table_again(struct loader *l, const char *path, const char *recipe, int64_t rows,
                               struct table **out, struct err *err)
{
    const struct command *cmd = NULL;
    struct args *a = NULL;
    const bool demo = strncmp(path, "demo:", 5) == 0;
    struct buf line = { 0 };

    if (!recipe && demo) {
        buf_printf(&line, "demo %s", path + 5);
        recipe = buf_str(&line);
    }
    if (recipe && (command_parse(recipe, &cmd, &a, NULL) != ST_OK ||
                   strcmp(cmd->name, demo ? "demo" : "open") != 0)) {
        args_free(a);
        a = NULL;
    }
    buf_free(&line);
    enum status rc = demo ? make_demo(path, a, rows, out, err)
                          : read_file(path, a, l->ws->opt.mem, out, err);
    args_free(a);
    return rc;
}

/* The columns as recorded. */
struct noted_column {
    char *name;
    const char *type; /* as kind_type_at has it */
    enum col_role role;
    uint64_t missing, levels;
};
struct noted {
    struct noted_column *c;
    size_t n, cap;
    char *steps; /* NULL: none */
};

static bool same_columns(const struct noted *k, const struct table *t);

static bool same_steps(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_table(const struct dataset *d, const char *path, uint64_t size, const char *sum,
                     int64_t rows, const struct noted *k)
{
    return d && same_steps(d->steps, k->steps) && d->table->path &&
           strcmp(d->table->path, path) == 0 &&
           d->table->file_size == size && strcmp(d->table->checksum, sum) == 0 &&
           (int64_t)d->table->n == rows && same_columns(k, d->table);
}

/* Finds the table among those in memory: those of datasets, runs and states. */
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

/* Reads the copy of the file that `save data=yes` put into the session, under the file's own
 * name. */
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
    /* Arrays that are read in place are monitored under the name that they have. */
    if (!(table_is_out(table) && table->ncols && table->col[0].in) &&
        (name = mem_strdup(path, NULL))) {
        free(table->path);
        table->path = name;
    }
    table_unref(t->table);
    t->table = table;
    return true;
}

/* A new entry of the list of tables, without a table; NULL if memory is short. */
static struct shared_table *add_shared(struct loader *l, const char *path, const char *recipe,
                                       const char *steps)
{
    if (store_load_fatal(l, mem_grow((void **)&l->table, &l->captable, l->ntable + 1,
                                     sizeof *l->table, "the session", &l->err)))
        return NULL;
    struct shared_table *t = &l->table[l->ntable];
    *t = (struct shared_table){ .path = mem_strdup(path, NULL),
                                .recipe = mem_strdup(recipe ? recipe : "", NULL),
                                .steps = mem_strdup(steps, NULL) };
    if (store_load_fatal(l, t->path && t->recipe && t->steps
                                ? ST_OK
                                : err_nomem(&l->err, 0, "the session"))) {
        free(t->path);
        free(t->recipe);
        free(t->steps);
        return NULL;
    }
    l->ntable++;
    return t;
}

static struct shared_table *find_shared(struct loader *l, const char *path, const char *recipe,
                                        const char *steps)
{
    for (size_t i = 0; i < l->ntable; i++)
        if (strcmp(l->table[i].path, path) == 0 &&
            strcmp(l->table[i].recipe, recipe ? recipe : "") == 0 &&
            strcmp(l->table[i].steps, steps) == 0)
            return &l->table[i];
    return NULL;
}

/* Of what steps note, the warnings: the rest was said when they were made. */
static void tell_warnings(struct workspace *ws, const char *notes)
{
    struct buf b = { 0 };

    for (const char *p = notes; *p != '\0';) {
        const size_t len = strcspn(p, "\n") + 1;
        if (strncmp(p, "warning[rdkit]", 14) == 0)
            buf_putn(&b, p, len);
        p += len;
    }
    ws_tell_lines(ws, buf_str(&b));
    buf_free(&b);
}

/* The table after the steps of a dataset. Datasets with the same steps share it, because undo
 * compares tables by their addresses. */
static struct shared_table *prepared(struct loader *l, struct shared_table *raw, const char *recipe,
                                     const char *name, const char *steps)
{
    struct shared_table *found = find_shared(l, raw->path, recipe, steps);
    struct table *table = table_ref(raw->table);
    const bool changed = raw->changed;
    struct buf notes = { 0 };
    struct err why = { 0 };

    if (found || !table) {
        table_unref(table);
        return found ? found : raw;
    }
    found = add_shared(l, raw->path, recipe, steps); /* raw may have moved */
    if (!found) {
        table_unref(table);
        return NULL;
    }
    found->changed = changed;
    if (prepare_table(&table, steps, NULL, &notes, &why) == ST_OK) {
        found->table = table;
        tell_warnings(l->ws, buf_str(&notes));
        buf_free(&notes);
        return found;
    }
    buf_free(&notes);
    table_unref(table);
    ws_tell(l->ws, REC_WARNING, NULL, "session-data", "open FILE",
            "the data of %.60s cannot be prepared as the session says: %.300s; its fits still "
            "predict new data", name, why.msg);
    return found;
}

static struct shared_table *shared(struct loader *l, const char *path, const char *recipe,
                                   const char *name, uint64_t size, const char *sum, int64_t rows)
{
    struct err why = { 0 };
    char shown[200];
    struct buf safe = { 0 };
    struct shared_table *t = find_shared(l, path, recipe, "");

    if (t)
        return t;
    t = add_shared(l, path, recipe, "");
    if (!t)
        return NULL;
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
    free(k->steps);
}

/* A type's word as long as the program runs; NULL: there is no such type. */
static const char *type_word(const char *text)
{
    const char *type = NULL;

    for (size_t i = 0; text && (type = kind_type_at(i)) != NULL && strcmp(type, text) != 0; i++)
        ;
    return type;
}

static bool take_column(void *ctx, const char *const text[4])
{
    struct noted *k = ctx;
    uint64_t missing, levels;
    const int role = store_read_field_word(store_roles, text[2]);
    const char *type = type_word(text[1]);

    if (!type || role < 0 || k->n >= STORE_MANY ||
        sscanf(text[3], "[%" SCNu64 ",%" SCNu64 "]", &missing, &levels) != 2 ||
        mem_grow((void **)&k->c, &k->cap, k->n + 1, sizeof *k->c, "the columns", NULL) != ST_OK)
        return false;
    char *name = mem_strdup(text[0], NULL);
    if (!name)
        return false;
    k->c[k->n++] = (struct noted_column){ .name = name, .type = type,
                                          .role = (enum col_role)role, .missing = missing,
                                          .levels = levels };
    return true;
}

/* Restores types and roles: by position in the same file, by name in a changed one. */
static void restore_columns(struct jdoc *j, struct dataset *ds, const struct noted *k, bool changed)
{
    const bool in_place = !changed && k->n == ds->table->ncols;
    size_t targets = 0, did;

    for (size_t i = 0; i < k->n; i++) {
        const size_t at = in_place ? i : table_find(ds->table, k->c[i].name);
        if (at != SIZE_MAX && strcmp(kind_type(&ds->table->col[at]), k->c[i].type) != 0 &&
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
        store_doc_wrong(j, "no target");
}

static void restore_groups(struct jdoc *j, struct dataset *ds, const struct noted *k, bool changed)
{
    const bool in_place = !changed && k->n == ds->table->ncols;

    if (store_doc_has(j, "$.coding"))
        ds->coding = store_doc_str(j, "$.coding");
    if (!store_doc_has(j, "$.groups"))
        return;
    if (store_doc_len(j, STORE_MANY, "$.groups") != k->n)
        store_doc_wrong(j, "groups are not those of the columns");
    for (size_t i = 0; store_doc_ok(j) && i < k->n; i++) {
        const size_t at = in_place ? i : table_find(ds->table, k->c[i].name);
        char *group = store_doc_str(j, "$.groups[%zu]", i);
        if (at != SIZE_MAX) {
            free(ds->group[at]);
            ds->group[at] = group;
        } else {
            free(group);
        }
    }
}

/* True if the columns have the same types and levels, so that the file reads as before. */
static bool same_columns(const struct noted *k, const struct table *t)
{
    if (k->n != t->ncols)
        return false;
    for (size_t i = 0; i < k->n; i++) {
        const struct column *c = &t->col[i];
        if (strcmp(k->c[i].name, c->name) != 0 || strcmp(k->c[i].type, kind_type(c)) != 0 ||
            k->c[i].missing != c->missing ||
            k->c[i].levels != (c->type == COL_CATEGORY ? c->nlevels : 0))
            return false;
    }
    return true;
}

static void restore_split(struct loader *l, struct jdoc *j, struct dataset *ds, int64_t id)
{
    const size_t n = ds->table->n;
    struct split s = { .how = store_doc_str(j, "$.split.how") };
    const bool has_parts = store_doc_bool(j, "$.split.parts");
    const size_t folds = (size_t)store_doc_int(j, 0, STORE_MANY, "$.split.folds");
    const uint64_t want = store_doc_u64(j, "$.split.sum");
    uint32_t sum = 0;
    char owner[24];
    bool good = true;

    if (store_doc_has(j, "$.split.by")) {
        s.by = (enum split_by)store_doc_word(j, split_by_words, "$.split.by");
        s.column = store_doc_str(j, "$.split.column");
    }
    snprintf(owner, sizeof owner, "d%" PRId64, id);
    if (has_parts) {
        s.part = mem_calloc(n, 1, "the split", NULL);
        good = s.part && store_db_get_blob(l->db, owner, "part", s.part, n, NULL) == ST_OK;
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
        good = s.fold &&
               store_db_get_blob(l->db, owner, "fold", s.fold, n * sizeof *s.fold, NULL) == ST_OK;
        for (size_t i = 0; good && i < n; i++) {
            s.fold[i] = le32toh(s.fold[i]);
            good = s.fold[i] < folds + (s.by == SPLIT_BY_TIME);
        }
        if (good)
            sum = checksum_add(sum, s.fold, n * sizeof *s.fold);
    }
    if (!good || sum != want) {
        store_load_damaged(l, "the split of %.60s (%.80s) is damaged or fits other data; it is not "
                           "split now",
                ds->name, s.how ? s.how : "none");
        free(s.how);
        free(s.column);
        free(s.part);
        free(s.fold);
        dataset_split_none(ds);
        return;
    }
    dataset_split_none(ds);
    free(ds->split.how);
    free(ds->split.column);
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

    if (!store_doc_open(&j, l->db, v->body)) {
        store_load_damaged(l, "a description of a dataset is damaged (%s)", j.bad);
        return NULL;
    }
    char *name = store_doc_str(&j, "$.name"), *path = store_doc_str(&j, "$.path"),
         *recipe = store_doc_str(&j, "$.recipe"), *sum = store_doc_str(&j, "$.checksum");
    const uint64_t size = store_doc_u64(&j, "$.size");
    const int64_t rows = store_doc_int(&j, 0, STORE_ROWS_MOST, "$.rows");
    static const char *const fields[4] = { "name", "type", "role", "counts" };
    struct noted noted = { 0 };
    store_doc_each(&j, "$.columns", fields, take_column, &noted);
    if (store_doc_has(&j, "$.steps"))
        noted.steps = store_doc_str(&j, "$.steps");
    const char *target = target_name(&noted);
    struct shared_table *t = NULL, found = { .table = NULL };

    if (!name || !path || !sum || !target)
        store_doc_wrong(&j, "name, path, checksum or target is missing");
    if (store_doc_ok(&j) && l->recall &&
        (found.table = in_memory(l->ws, path, size, sum, rows, &noted)) != NULL)
        t = &found;
    else if (store_doc_ok(&j))
        t = shared(l, path, recipe, name, size, sum, noted.steps ? -1 : rows);
    if (t && t != &found && noted.steps)
        t = prepared(l, t, recipe, name, noted.steps);
    if (t && t->table) {
        *changed = t->changed;
        ds = dataset_new(t->table, name, table_find(t->table, target) != SIZE_MAX ? target : NULL,
                         &why);
        if (!ds)
            store_load_damaged(l, "dataset %.60s cannot be made: %.200s", name, why.msg);
    }
    if (ds) {
        ds->steps = noted.steps; /* moved */
        noted.steps = NULL;
        restore_columns(&j, ds, &noted, t->changed);
        restore_groups(&j, ds, &noted, t->changed);
        *changed |= (int64_t)ds->table->n != rows || !same_columns(&noted, ds->table);
        ds->missing = (enum missing_policy)store_doc_word(&j, encoding_missing_words, "$.missing");
        ds->missing_flag = store_doc_bool(&j, "$.missing_flag");
        ds->yscale = (enum y_scale)store_doc_word(&j, encoding_yscale_words, "$.yscale");
        ds->xscale = (enum x_scale)store_doc_word(&j, encoding_xscale_words, "$.xscale");
        if (store_doc_has(&j, "$.link") && store_read_field_link(&j, "$.link"))
            ds->link = store_doc_str(&j, "$.link");
        ds->link_said = store_doc_has(&j, "$.link_said") ? store_doc_bool(&j, "$.link_said")
                                                         : ds->link != NULL;
        ds->balanced = store_doc_has(&j, "$.balanced") && store_doc_bool(&j, "$.balanced");
        if (ds->link && store_doc_has(&j, "$.rule"))
            ds->rule = store_doc_str(&j, "$.rule");
        if (ds->link && store_doc_has(&j, "$.positive"))
            ds->positive = store_doc_str(&j, "$.positive");
        if (ds->link && store_doc_has(&j, "$.alpha"))
            ds->alpha = store_read_field_positive(&j, "$.alpha", false);
        const struct likelihood_ops *likelihood = likelihood_linked(ds->link);
        if (likelihood && likelihood->several != (ds->alpha > 0.0))
            store_doc_wrong(&j, "$.alpha does not suit the likelihood");
        restore_split(l, &j, ds, v->id);
    }
    if (!store_doc_ok(&j)) {
        store_load_damaged(l, "the description of dataset %.60s is damaged (%.160s)",
                           name ? name : "?",
                j.bad);
        dataset_unref(ds);
        ds = NULL;
    }
    store_doc_close(&j);
    free(name);
    free(path);
    free(recipe);
    free(sum);
    noted_free(&noted);
    return ds;
}

/* The dataset of a version, made on first use. *changed: its file has changed. */
struct dataset *store_read_dataset(struct loader *l, int64_t id, bool *changed)
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
