/* app/session/store_load.c -- reads the session file back into a workspace.
 *
 * Nothing is trusted: every row's checksum is compared, every number has its range, arrays have the
 * size that their owner says, and a data file is read again and compared with what was recorded.
 * Damaged parts are left out and reported; the rest works. */
#include "app/session/store_load.h"

#include "app/shell/options.h"

#include "app/core/advise_state.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void store_load_damaged(struct loader *l, const char *fmt, ...)
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

bool store_load_fatal(struct loader *l, enum status rc)
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
        return !store_load_fatal(l, l->state ? ST_OK : ST_NOMEM);
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
        store_load_damaged(l, "a description of a dataset is damaged and left out");
        return true;
    }
    if (store_load_fatal(l, mem_grow((void **)&o->version, &l->capversion, o->nversion + 1,
                          sizeof *o->version, "the session", &l->err)))
        return false;
    char *copy = mem_strdup(body, &l->err);
    if (store_load_fatal(l, copy ? ST_OK : ST_NOMEM))
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
    if (store_load_fatal(l, grown ? ST_OK : err_nomem(&l->err, 0, "the script")))
        return false;
    ws->script = grown;
    /* A comment takes its place, so that the numbers of the other lines stay the same. */
    char *line = mem_strdup(good ? body : "# this line was damaged in the session file", &l->err);
    if (store_load_fatal(l, line ? ST_OK : ST_NOMEM))
        return false;
    ws->script[ws->nscript++] = line;
    l->damaged_lines += !good;
    return true;
}

/* The workspace. */

/* A dataset that is not loaded now (because its file is missing, say) must not be lost. */
static void put_away(struct loader *l, int64_t id)
{
    struct store_loaded *o = l->out;
    struct jdoc j = { 0 };

    for (size_t i = 0; i < o->nversion; i++) {
        if (o->version[i].id != id || !store_doc_open(&j, l->db, o->version[i].body))
            continue;
        char *name = store_doc_str(&j, "$.name");
        store_doc_close(&j);
        if (!name || !store_doc_ok(&j) ||
            store_load_fatal(l, mem_grow((void **)&o->away, &l->capaway, o->naway + 1,
                                         sizeof *o->away,
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
    const size_t n = store_doc_len(j, STORE_MANY, "$.datasets");
    const int64_t current = store_doc_int(j, -1, STORE_MANY, "$.current");

    for (size_t i = 0; i < n && store_doc_ok(j) && l->rc == ST_OK; i++) {
        bool changed;
        const int64_t id = store_doc_int(j, 0, INT64_MAX, "$.datasets[%zu]", i);
        struct dataset *made = store_read_dataset(l, id, &changed), *own, **grown;
        if (!made) {
            put_away(l, id);
            continue;
        }
        /* The workspace changes its datasets in place; runs keep the one they were made from. */
        own = dataset_snapshot(made, &l->err);
        grown = own ? realloc(ws->data, (ws->ndata + 1) * sizeof *grown) : NULL;
        if (!grown) {
            dataset_unref(own);
            store_load_fatal(l, err_nomem(&l->err, 0, "the datasets"));
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

/* Sessions written before kernels followed the data keep the kernel that they have. */
static bool was_chosen(struct jdoc *j)
{
    return !store_doc_has(j, "$.kernel_chosen") || store_doc_bool(j, "$.kernel_chosen");
}

static void take_settings(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    struct kernel k;
    double hp[KERNEL_MAX_HP] = { 0 };
    struct tune_bound bounds[KERNEL_MAX_HP], amp, noise_bound;

    memset(bounds, 0, sizeof bounds);
    if (!store_read_field_current(j, &k, "$.kernel"))
        return;
    const size_t nhp = kernel_nhp(&k);
    store_read_field_hp(j, hp, nhp, "$.hp");
    const double amplitude = store_read_field_positive(j, "$.amplitude", false),
                 noise = store_read_field_positive(j, "$.noise", true);
    const bool tuned = store_doc_bool(j, "$.tuned");
    store_read_field_bounds(j, "$", bounds, nhp, &amp, &noise_bound);
    const uint64_t seed = store_doc_u64(j, "$.seed");
    const enum precision precision =
        (enum precision)store_doc_word(j, store_precisions, "$.precision");
    if (!store_doc_ok(j))
        return;
    ws->kernel = k;
    memcpy(ws->hp, hp, sizeof hp);
    memcpy(ws->hp_bound, bounds, sizeof bounds);
    ws->amp_bound = amp;
    ws->noise_bound = noise_bound;
    ws->amplitude = amplitude;
    ws->noise = noise;
    ws->hp_tuned = tuned;
    ws->scale_tuned = tuned && store_doc_bool(j, "$.scale_tuned");
    ws->kernel_chosen = was_chosen(j);
    const bool typed = ws->origin && !strcmp(option_origin(ws->origin, "seed"), "command line");
    if (!typed) { /* the command line takes precedence over the session */
        ws->opt.seed = seed;
        if (ws->origin)
            option_mark(ws->origin, "seed", BY_SESSION);
    }
    ws->opt.precision = precision;
}

/* The options that were set; those of the present command line take precedence. */
static void take_options(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    const struct option_row *o;

    for (size_t i = 0; ws->origin && store_doc_has(j, "$.options") && (o = option_at(i)) != NULL;
         i++) {
        if (!store_doc_has(j, "$.options.\"%s\"", o->arg.name))
            continue;
        char *value = store_doc_str(j, "$.options.\"%s\"", o->arg.name);
        if (!value ||
            option_set(&ws->opt, ws->origin, o->arg.name, value, BY_SESSION, NULL) != ST_OK)
            store_doc_wrong(j, "option %s is not as it can be set", o->arg.name);
        free(value);
    }
}

static void take_counts(struct loader *l, struct jdoc *j)
{
    struct workspace *ws = l->ws;
    const size_t fits = (size_t)store_doc_int(j, 0, STORE_MANY, "$.fits"),
                 tunes = (size_t)store_doc_int(j, 0, STORE_MANY, "$.tunes"),
                 runs = (size_t)store_doc_int(j, 0, 2 * STORE_MANY, "$.runs"),
                 lines = (size_t)store_doc_int(j, 0, INT64_MAX, "$.script");

    store_doc_strn(j, ws->last_fit, sizeof ws->last_fit, "$.last_fit");
    if (*ws->last_fit && !ws_run(ws, ws->last_fit, NULL))
        *ws->last_fit = '\0';
    ws->nfit = fits > ws->nfit ? fits : ws->nfit;
    ws->ntune = tunes > ws->ntune ? tunes : ws->ntune;
    if (store_doc_ok(j) && (runs > ws->nrun + l->out->skipped || lines > ws->nscript))
        store_load_damaged(l, "%zu of %zu runs and %zu of %zu script lines are in the "
                           "file", ws->nrun, runs, ws->nscript, lines);
    /* a line can be written before the program ends without having run it */
    while (store_doc_ok(j) && ws->nscript > lines)
        free(ws->script[--ws->nscript]);
    l->out->nscript = ws->nscript;
    if (store_doc_has(j, "$.made")) {
        const size_t made = (size_t)store_doc_int(j, 0, STORE_MANY, "$.made");
        ws->runs_made = made > ws->runs_made ? made : ws->runs_made;
    }
    if (store_doc_has(j, "$.asked"))
        ws->asked = (size_t)store_doc_int(j, 0, STORE_MANY, "$.asked");
}

static void read_rank(struct jdoc *j, struct rank_guess *g, size_t i)
{
    double v[10]; /* the last: 1 capped, 2 without an upper end, 0 neither */

    for (size_t k = 0; k < 10; k++)
        v[k] = store_doc_num(j, "$.advice.rows[%zu][%zu]", i, k);
    if (!(v[0] >= 0 && v[0] <= 1e6) || !(v[2] > 0))
        store_doc_wrong(j, "row %zu of the advice has rank %g and %g iterations", i, v[0], v[2]);
    else
        *g = (struct rank_guess){(size_t)v[0], v[1], v[2], v[3], v[4],
                                 v[5],         v[6], v[7], v[8], v[9] == 1.0,
                                 v[9] != 0};
    if (g->more)
        g->high = INFINITY;
}

static size_t whole(double v)
{
    return v >= 0 && v <= 1e15 ? (size_t)v : 0; /* false for NaN */
}

/* The last advice. If it cannot be read, it is left out: it can be asked for again. */
static void take_advice(struct loader *l, struct jdoc *j)
{
    enum { NUMBERS = 19 };
    struct advise_state *s =
        store_doc_has(j, "$.advice") ? mem_calloc(1, sizeof *s, "advice", NULL) : NULL;
    double v[NUMBERS];

    if (!s)
        return;
    for (size_t i = 0; i < NUMBERS; i++)
        v[i] = store_doc_num(j, "$.advice.numbers[%zu]", i);
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
    if (store_doc_has(j, "$.advice.numbers[%d]", NUMBERS)) /* later than the others */
        s->a.search_seconds = store_doc_num(j, "$.advice.numbers[%d]", NUMBERS);
    s->rtol = v[10], s->factor = v[11], s->maxit = whole(v[12]), s->features = whole(v[14]),
    s->seconds = v[15];
    s->threads = whole(v[13]) ? whole(v[13]) : 1;
    s->error_sum = v[16], s->errors = whole(v[17]), s->plain = v[18] != 0;
    s->dataset = store_doc_str(j, "$.advice.dataset");
    s->kernel = store_doc_str(j, "$.advice.kernel");
    s->command = store_doc_str(j, "$.advice.command");
    if (store_doc_has(j, "$.advice.ways"))
        s->a.ways = store_doc_len(j, ADVICE_WAYS, "$.advice.ways");
    for (size_t i = 0; i < s->a.ways; i++) {
        struct advice_way *w = &s->a.way[i];
        store_doc_strn(j, w->name, sizeof w->name, "$.advice.ways[%zu].solver", i);
        w->seconds = store_doc_num(j, "$.advice.ways[%zu].is[0]", i);
        w->bytes = store_doc_num(j, "$.advice.ways[%zu].is[1]", i);
    }
    s->a.rows = store_doc_len(j, RANK_GUESSES, "$.advice.rows");
    for (size_t i = 0; i < s->a.rows; i++)
        read_rank(j, &s->a.row[i], i);
    s->ntruth = store_doc_len(j, ADVISE_TRUTHS, "$.advice.truths");
    for (size_t i = 0; i < s->ntruth; i++) {
        struct advise_truth *t = &s->truth[i];
        store_doc_strn(j, t->run, sizeof t->run, "$.advice.truths[%zu].run", i);
        t->rank = whole(store_doc_num(j, "$.advice.truths[%zu].is[0]", i));
        t->expected = store_doc_num(j, "$.advice.truths[%zu].is[1]", i);
        t->iterations = store_doc_num(j, "$.advice.truths[%zu].is[2]", i);
        t->build = store_doc_num(j, "$.advice.truths[%zu].is[3]", i);
        t->solve = store_doc_num(j, "$.advice.truths[%zu].is[4]", i);
    }
    s->have =
        store_doc_ok(j) && s->dataset && s->kernel && s->a.rows && s->factor > 0 && s->rtol > 0;
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

/* What can be undone, and what each line of the script did. */
static void take_time(struct loader *l, struct jdoc *j)
{
    static const char *const fields[4] = { "state", "line", "script", "script" };
    struct workspace *ws = l->ws;
    const size_t n = ws->nscript;
    struct past *p = mem_calloc(n ? n : 1, sizeof *p, "the history", NULL);
    size_t bad = 0;

    if (p && store_db_get_past(l->db, p, n, &bad, NULL) == ST_OK)
        (void)timeline_restore_past(ws, p, n, NULL);
    free(p);
    if (bad)
        store_load_damaged(
            l,
            "the record of %zu lines of the script is damaged; their states cannot be shown again",
            bad);
    if (!store_doc_has(j, "$.steps"))
        return;
    const int64_t at = store_doc_int(j, 0, STORE_MANY, "$.step");
    if (!store_doc_each(j, "$.steps", fields, take_step, l) || !store_doc_ok(j)) {
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
            store_load_damaged(l, "the record of the current dataset, kernel and "
                                  "hyperparameters is damaged");
        return;
    }
    if (store_doc_open(&j, l->db, l->state)) {
        take_settings(l, &j);
        take_options(l, &j);
        take_counts(l, &j);
        take_datasets(l, &j);
        take_time(l, &j);
        take_advice(l, &j);
        store_doc_close(&j);
    }
    if (!store_doc_ok(&j))
        store_load_damaged(l, "the record of the current state is damaged (%.160s)", j.bad);
}

/* If the last fit is not recorded, the newest fit takes its place. */
static void find_last_fit(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0 && !*ws->last_fit;)
        if (ws->run[i]->kind == RUN_FIT && ws->run[i]->model)
            snprintf(ws->last_fit, sizeof ws->last_fit, "%s", ws->run[i]->id);
}

/* The commands of runs that were running when the program ended; restarts share one. */
static void note_interrupted(struct loader *l)
{
    struct workspace *ws = l->ws;

    for (size_t i = 0; i < l->ninterrupted; i++) {
        const char *command = l->interrupted[i];
        bool told = false;
        for (size_t k = 0; k < i && !told; k++)
            told = strcmp(l->interrupted[k], command) == 0;
        if (!told)
            timeline_note_interrupted(ws, command);
    }
}

static void loader_free(struct loader *l)
{
    for (size_t i = 0; i < l->ninterrupted; i++)
        free(l->interrupted[i]);
    free(l->interrupted);

    for (size_t i = 0; i < l->ntable; i++) {
        table_unref(l->table[i].table);
        free(l->table[i].path);
        free(l->table[i].recipe);
        free(l->table[i].steps);
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
    const size_t refused = err_refused();
    enum status rc = store_db_each_state(db, take_state, &l, err);

    timeline_base(ws);
    if (rc == ST_OK)
        rc = store_db_each_dataset(db, take_version, &l, err);
    if (rc == ST_OK)
        rc = store_db_each_script(db, take_script, &l, err);
    out->nscript = ws->nscript;
    l.made = mem_calloc(out->nversion, sizeof *l.made, "the session", err);
    l.tried = mem_calloc(out->nversion, 2 * sizeof *l.tried, "the session", err);
    if (rc == ST_OK && (!l.made || !l.tried))
        rc = ST_NOMEM;
    if (rc == ST_OK && l.rc == ST_OK)
        rc = store_db_each_run(db, store_read_run, &l, err);
    if (rc == ST_OK && l.rc == ST_OK) {
        store_read_model_factors(&l);
        take_workspace(&l);
    }
    out->next_snapshot = store_db_last_snapshot(db) + 1;
    timeline_arrange(ws, SIZE_MAX);
    if (l.damaged_lines)
        store_load_damaged(&l, "%zu lines of the script are damaged", l.damaged_lines);
    find_last_fit(ws);
    if (rc == ST_OK)
        note_interrupted(&l);
    if (rc == ST_OK && l.rc != ST_OK) {
        rc = l.rc;
        if (err)
            *err = l.err;
    }
    /* What there was no memory for looks as if it were damaged, and would be written again without
     * the rest. */
    if (rc == ST_OK && err_refused() != refused)
        rc = err_nomem(err, 0, "the session");
    loader_free(&l);
    ws->serial++;
    return rc;
}

/* The marks of one run in an earlier state. */

static bool take_mark(void *ctx, const char *const text[4])
{
    struct snapshot *s = ctx;
    static const char *const words[] = { "plain", "star", "dropped", "both", NULL };
    const int is = store_read_field_word(words, text[1]);
    struct run_mark *grown = realloc(s->mark, (s->nmark + 1) * sizeof *grown);

    if (grown)
        s->mark = grown;
    if (!grown || is < 0 || !store_read_run_number(text[0]))
        return false;
    struct run_mark *m = &s->mark[s->nmark++];
    *m = (struct run_mark){ .star = is & 1, .dropped = is & 2 };
    snprintf(m->id, sizeof m->id, "%.15s", text[0]);
    m->note = strcmp(text[2], "note") ? NULL : mem_strdup(text[3], NULL);
    return true;
}

/* The options that were set then. The others are as the program began, and the present command line
 * takes precedence. */
static void read_options(struct loader *l, struct jdoc *j, struct snapshot *s)
{
    const struct options_origin *who;
    const struct option_row *o;

    s->opt = *timeline_options(l->ws, &who);
    s->who = who ? options_origin_copy(who, NULL) : NULL;
    for (size_t i = 0; s->who && (o = option_at(i)) != NULL; i++) {
        const bool has = store_doc_has(j, "$.options.\"%s\"", o->arg.name);
        char *value = has ? store_doc_str(j, "$.options.\"%s\"", o->arg.name) : NULL;
        if (value && option_set(&s->opt, s->who, o->arg.name, value, BY_SESSION, NULL) != ST_OK)
            store_doc_wrong(j, "option %s is not as it can be set", o->arg.name);
        free(value);
    }
    if (!s->who)
        s->opt = l->ws->opt;
}

static void read_datasets(struct loader *l, struct jdoc *j, struct snapshot *s)
{
    const size_t n = store_doc_len(j, STORE_MANY, "$.datasets");
    const int64_t current = store_doc_int(j, -1, STORE_MANY, "$.current");

    s->cur = SIZE_MAX;
    s->data = store_doc_ok(j) ? mem_calloc(n ? n : 1, sizeof *s->data, "the datasets", NULL) : NULL;
    for (size_t i = 0; s->data && i < n; i++) {
        bool changed;
        struct dataset *made =
            store_read_dataset(l, store_doc_int(j, 0, INT64_MAX, "$.datasets[%zu]", i), &changed);
        if (!made)
            continue; /* it has been reported */
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

    if (!store_read_field_current(j, &s->kernel, "$.kernel"))
        return;
    s->nhp = kernel_nhp(&s->kernel);
    s->hp = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->hp, "a state", NULL);
    s->bound = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->bound, "a state", NULL);
    if (!s->hp || !s->bound) {
        store_doc_nomem(j);
        return;
    }
    store_read_field_hp(j, s->hp, s->nhp, "$.hp");
    s->amplitude = store_read_field_positive(j, "$.amplitude", false);
    s->noise = store_read_field_positive(j, "$.noise", true);
    s->hp_tuned = store_doc_bool(j, "$.tuned");
    s->scale_tuned = store_doc_bool(j, "$.scale_tuned");
    s->chosen = was_chosen(j);
    store_read_field_bounds(j, "$", s->bound, s->nhp, &s->amp_bound, &s->noise_bound);
    read_options(l, j, s);
    store_doc_each(j, "$.marks", fields, take_mark, s);
    if (store_doc_ok(j))
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
    if (rc == ST_OK && store_doc_open(&j, db, body)) {
        read_snapshot(&l, &j, s);
        store_doc_close(&j);
    }
    if (rc == ST_OK && !store_doc_ok(&j))
        rc = err_named(err, ST_FORMAT, "session-damage", "the state of then is damaged (%.160s)",
                       j.bad);
    loader_free(&l);
    if (rc != ST_OK) {
        timeline_snapshot_unref(s);
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
