/* app/session/timeline.c -- captures and restores states of the workspace. See timeline.h.
 *
 * Commands need not say that they change something: after each of them the workspace is compared
 * with the newest state. So every command, also one yet to be written, can be undone. */
#include "app/session/timeline.h"

#include "app/core/workspace_exec.h"
#include "app/shell/options.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_MOST = 64 }; /* unfinished jobs */

struct timeline {
    struct step *step;
    size_t nstep, capstep, at; /* step[at] is the present; step[0] is the beginning */
    struct past *past; size_t npast, cappast;
    struct held { const struct args *a; size_t at; struct past past; } held[HELD_MOST];
    size_t nheld;
    struct options opt;
    struct options_origin *who;  /* as the program began; who NULL: not recorded yet */
    size_t pushed;               /* number of steps that the current command has made */
    enum past_kind moved; size_t count; /* what the command did, if it was no change of its own */
    size_t view;                 /* the line whose state is shown; SIZE_MAX: the present */
    const struct timeline_keeper *keeper; void *kept; /* the session; NULL if there is none */
    char last[16];               /* the last fit of the present, while an earlier state is shown */
    char seen[16];               /* the fit that the view has put in its place */
};

/* States. */

void timeline_snapshot_unref(struct snapshot *s)
{
    if (!s || --s->refs > 0)
        return;
    for (size_t i = 0; i < s->ndata; i++)
        dataset_unref(s->data[i]);
    for (size_t i = 0; i < s->nmark; i++)
        free(s->mark[i].note);
    free(s->data);
    free(s->hp);
    free(s->bound);
    free(s->mark);
    free(s->who);
    free(s);
}

static struct snapshot *snapshot_ref(struct snapshot *s)
{
    if (s)
        s->refs++;
    return s;
}

static bool bytes_same(const void *a, const void *b, size_t n)
{
    return a == b || (a && b && memcmp(a, b, n) == 0);
}

static bool words_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool dataset_same(const struct dataset *a, const struct dataset *b)
{
    const size_t n = a->table->n, cols = a->table->ncols;

    if (a->table != b->table || !words_same(a->name, b->name) ||
        !words_same(a->link, b->link) || !words_same(a->positive, b->positive) ||
        a->alpha != b->alpha || a->link_said != b->link_said ||
        a->balanced != b->balanced || !words_same(a->rule, b->rule) ||
        !words_same(a->coding, b->coding) || !words_same(a->steps, b->steps) ||
        a->missing != b->missing ||
        a->missing_flag != b->missing_flag || a->yscale != b->yscale || a->xscale != b->xscale ||
        memcmp(a->role, b->role, cols * sizeof *a->role) != 0 ||
        !words_same(a->split.how, b->split.how) || a->split.nfolds != b->split.nfolds ||
        !bytes_same(a->split.part, b->split.part, n) ||
        !bytes_same(a->split.fold, b->split.fold, n * sizeof *a->split.fold))
        return false;
    for (size_t j = 0; j < cols; j++)
        if (!words_same(a->group[j], b->group[j]))
            return false;
    return true;
}

static bool bound_same(const struct tune_bound *a, const struct tune_bound *b)
{
    return bytes_same(&a->lo, &b->lo, sizeof a->lo) && bytes_same(&a->hi, &b->hi, sizeof a->hi) &&
           a->fixed == b->fixed && bytes_same(&a->value, &b->value, sizeof a->value);
}

static bool kernel_same(const struct snapshot *s, const struct workspace *ws)
{
    struct buf a = { 0 }, b = { 0 };
    bool same = s->nhp == kernel_nhp(&ws->kernel);

    kernel_print(&s->kernel, &a);
    kernel_print(&ws->kernel, &b);
    same = same && strcmp(buf_str(&a), buf_str(&b)) == 0 &&
           memcmp(s->hp, ws->hp, s->nhp * sizeof *s->hp) == 0 &&
           memcmp(&s->amplitude, &ws->amplitude, sizeof s->amplitude) == 0 &&
           memcmp(&s->noise, &ws->noise, sizeof s->noise) == 0 && s->hp_tuned == ws->hp_tuned &&
           s->scale_tuned == ws->scale_tuned && s->chosen == ws->kernel_chosen &&
           bound_same(&s->amp_bound, &ws->amp_bound) &&
           bound_same(&s->noise_bound, &ws->noise_bound);
    for (size_t i = 0; same && i < s->nhp; i++)
        same = bound_same(&s->bound[i], &ws->hp_bound[i]);
    buf_free(&a);
    buf_free(&b);
    return same;
}

static bool options_same(const struct snapshot *s, const struct workspace *ws)
{
    struct buf a = { 0 }, b = { 0 };

    options_text(&s->opt, s->who, &a);
    options_text(&ws->opt, ws->origin, &b);
    const bool same = strcmp(buf_str(&a), buf_str(&b)) == 0;
    buf_free(&a);
    buf_free(&b);
    return same;
}

static bool is_marked(const struct run *r)
{
    return r->star || r->dropped || r->note;
}

/* All runs, shown or not. */
static struct run *run_at(const struct workspace *ws, size_t i)
{
    return i < ws->nrun ? ws->run[i] : i - ws->nrun < ws->nbin ? ws->bin[i - ws->nrun] : NULL;
}

static const struct run_mark *mark_of(const struct snapshot *s, const char *id)
{
    for (size_t i = 0; i < s->nmark; i++)
        if (strcmp(s->mark[i].id, id) == 0)
            return &s->mark[i];
    return NULL;
}

static bool marks_same(const struct snapshot *s, const struct workspace *ws)
{
    const struct run *r;
    size_t n = 0;

    for (size_t i = 0; (r = run_at(ws, i)) != NULL; i++) {
        const struct run_mark *m = is_marked(r) ? mark_of(s, r->id) : NULL;
        if (!is_marked(r))
            continue;
        n++;
        if (!m || m->star != r->star || m->dropped != r->dropped || !words_same(m->note, r->note))
            return false;
    }
    /* Marks of runs that were purged do not count. */
    for (size_t k = 0; k < s->nmark; k++) {
        bool there = false;
        for (size_t i = 0; !there && (r = run_at(ws, i)) != NULL; i++)
            there = strcmp(r->id, s->mark[k].id) == 0;
        n += !there;
    }
    return n == s->nmark;
}

static bool snapshot_same(const struct snapshot *s, const struct workspace *ws)
{
    if (s->ndata != ws->ndata || (s->ndata && s->cur != ws->cur))
        return false;
    for (size_t i = 0; i < s->ndata; i++)
        if (!dataset_same(s->data[i], ws->data[i]))
            return false;
    return kernel_same(s, ws) && options_same(s, ws) && marks_same(s, ws);
}

static bool take_marks(struct snapshot *s, const struct workspace *ws, struct err *err)
{
    const struct run *r;
    size_t n = 0;

    for (size_t i = 0; (r = run_at(ws, i)) != NULL; i++)
        n += is_marked(r);
    s->mark = mem_calloc(n ? n : 1, sizeof *s->mark, "a state", err);
    for (size_t i = 0; s->mark && (r = run_at(ws, i)) != NULL; i++) {
        if (!is_marked(r))
            continue;
        struct run_mark *m = &s->mark[s->nmark++];
        snprintf(m->id, sizeof m->id, "%s", r->id);
        m->star = r->star;
        m->dropped = r->dropped;
        m->note = r->note ? mem_strdup(r->note, err) : NULL;
        if (r->note && !m->note)
            return false;
    }
    return s->mark != NULL;
}

/* Copies the datasets; those that `like` already has are shared with it. */
static bool take_data(struct snapshot *s, const struct workspace *ws, const struct snapshot *like,
                      struct err *err)
{
    s->data = mem_calloc(ws->ndata ? ws->ndata : 1, sizeof *s->data, "a state", err);
    for (size_t i = 0; s->data && i < ws->ndata; i++) {
        for (size_t k = 0; like && k < like->ndata && !s->data[i]; k++)
            if (dataset_same(like->data[k], ws->data[i]))
                s->data[i] = dataset_ref(like->data[k]);
        if (!s->data[i] && !(s->data[i] = dataset_snapshot(ws->data[i], err)))
            return false;
        s->ndata++;
    }
    s->cur = ws->cur;
    return s->data != NULL;
}

static struct snapshot *take(const struct workspace *ws, const struct snapshot *like,
                             struct err *err)
{
    struct snapshot *s = mem_calloc(1, sizeof *s, "a state", err);

    if (!s)
        return NULL;
    s->refs = 1;
    s->kernel = ws->kernel;
    s->nhp = kernel_nhp(&ws->kernel);
    s->hp = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->hp, "a state", err);
    s->bound = mem_calloc(s->nhp ? s->nhp : 1, sizeof *s->bound, "a state", err);
    s->opt = ws->opt;
    s->who = ws->origin ? options_origin_copy(ws->origin, err) : NULL;
    if (!s->hp || !s->bound || (ws->origin && !s->who) || !take_data(s, ws, like, err) ||
        !take_marks(s, ws, err)) {
        timeline_snapshot_unref(s);
        return NULL;
    }
    memcpy(s->hp, ws->hp, s->nhp * sizeof *s->hp);
    memcpy(s->bound, ws->hp_bound, s->nhp * sizeof *s->bound);
    s->amplitude = ws->amplitude;
    s->noise = ws->noise;
    s->hp_tuned = ws->hp_tuned;
    s->scale_tuned = ws->scale_tuned;
    s->chosen = ws->kernel_chosen;
    s->amp_bound = ws->amp_bound;
    s->noise_bound = ws->noise_bound;
    return s;
}

struct snapshot *timeline_snapshot_take(const struct workspace *ws, struct err *err)
{
    return take(ws, NULL, err);
}

/* Restoring a state. */

/* Makes private copies, because the workspace changes its datasets in place. Unchanged ones
 * stay. */
static enum status put_data(struct workspace *ws, const struct snapshot *s, struct err *err)
{
    struct dataset **d = mem_calloc(s->ndata ? s->ndata : 1, sizeof *d, "the datasets", err);
    size_t n = 0;

    for (; d && n < s->ndata; n++) {
        for (size_t k = 0; k < ws->ndata && !d[n]; k++)
            if (dataset_same(ws->data[k], s->data[n]))
                d[n] = dataset_ref(ws->data[k]);
        if (!d[n] && !(d[n] = dataset_snapshot(s->data[n], err)))
            break;
    }
    if (!d || n < s->ndata) {
        for (size_t i = 0; d && i < n; i++)
            dataset_unref(d[i]);
        free(d);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < ws->ndata; i++)
        dataset_unref(ws->data[i]);
    free(ws->data);
    ws->data = d;
    ws->ndata = n;
    ws->cur = n ? s->cur : SIZE_MAX;
    return ST_OK;
}

static void put_marks(struct workspace *ws, const struct snapshot *s, bool keep)
{
    const struct timeline *t = timeline_of(ws);
    struct run *r;

    for (size_t i = 0; (r = run_at(ws, i)) != NULL; i++) {
        const struct run_mark *m = mark_of(s, r->id);
        const bool changed = m ? m->star != r->star || m->dropped != r->dropped ||
                                     !words_same(m->note, r->note)
                               : is_marked(r);
        if (!changed)
            continue;
        free(r->note);
        r->note = m && m->note ? mem_strdup(m->note, NULL) : NULL;
        r->star = m && m->star;
        r->dropped = m && m->dropped;
        if (keep && t->keeper && r->state != RUN_QUEUED)
            t->keeper->run(t->kept, r);
    }
}

static enum status put(struct workspace *ws, const struct snapshot *s, bool keep, struct err *err)
{
    const enum status rc = put_data(ws, s, err);

    if (rc != ST_OK)
        return rc;
    ws->kernel = s->kernel;
    memcpy(ws->hp, s->hp, s->nhp * sizeof *s->hp);
    memset(ws->hp_bound, 0, sizeof ws->hp_bound);
    memcpy(ws->hp_bound, s->bound, s->nhp * sizeof *s->bound);
    ws->amplitude = s->amplitude;
    ws->noise = s->noise;
    ws->hp_tuned = s->hp_tuned;
    ws->scale_tuned = s->scale_tuned;
    ws->kernel_chosen = s->chosen;
    ws->amp_bound = s->amp_bound;
    ws->noise_bound = s->noise_bound;
    options_restore(&ws->opt, ws->origin, &s->opt, s->who); /* undo does not rearrange the screen */
    put_marks(ws, s, keep);
    ws->serial++;
    return ST_OK;
}

/* Which runs are shown. */

static int by_serial(const void *a, const void *b)
{
    const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;

    return (x->serial > y->serial) - (x->serial < y->serial);
}

void timeline_arrange(struct workspace *ws, size_t made)
{
    const size_t n = ws->nrun + ws->nbin;
    struct run **all = n ? mem_calloc(n, sizeof *all, "the runs", NULL) : NULL;
    struct run **shown = n ? mem_calloc(n, sizeof *shown, "the runs", NULL) : NULL;
    struct run **bin = n ? mem_calloc(n, sizeof *bin, "the runs", NULL) : NULL;

    if (!all || !shown || !bin) {
        free(all);
        free(shown);
        free(bin);
        return;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = run_at(ws, i);
    qsort(all, n, sizeof *all, by_serial);
    free(ws->run);
    free(ws->bin);
    ws->run = shown;
    ws->bin = bin;
    ws->nrun = ws->nbin = 0;
    for (size_t i = 0; i < n; i++) {
        const bool works = all[i]->state == RUN_QUEUED || all[i]->state == RUN_RUNNING;
        if (!all[i]->dropped && (all[i]->serial < made || works))
            ws->run[ws->nrun++] = all[i];
        else
            ws->bin[ws->nbin++] = all[i];
    }
    free(all);
    ws->serial++;
}

void timeline_last_fit(struct workspace *ws)
{
    if (*ws->last_fit && ws_run(ws, ws->last_fit, NULL))
        return;
    *ws->last_fit = '\0';
    for (size_t i = ws->nrun; i-- > 0 && !*ws->last_fit;)
        if (ws->run[i]->kind == RUN_FIT && ws->run[i]->model)
            snprintf(ws->last_fit, sizeof ws->last_fit, "%s", ws->run[i]->id);
}

/* keep: this state becomes the present, and the session is told. */
static enum status show_state(struct workspace *ws, const struct snapshot *s, size_t made,
                              bool keep, struct err *err)
{
    const enum status rc = s ? put(ws, s, keep, err) : err ? err->code : ST_STATE;

    if (rc == ST_OK) {
        timeline_arrange(ws, made);
        timeline_last_fit(ws);
    }
    return rc;
}

/* Creating and freeing. */

static void *timeline_new(struct err *err)
{
    struct timeline *t = mem_calloc(1, sizeof *t, "the history", err);

    if (t)
        t->view = SIZE_MAX;
    return t;
}

static void step_free(struct step *s)
{
    timeline_snapshot_unref(s->state);
    free(s->line);
}

void timeline_clear(struct timeline *t)
{
    for (size_t i = 0; i < t->nstep; i++)
        step_free(&t->step[i]);
    for (size_t i = 0; i < t->npast; i++)
        timeline_snapshot_unref(t->past[i].after);
    for (size_t i = 0; i < t->nheld; i++)
        timeline_snapshot_unref(t->held[i].past.after);
    free(t->step);
    free(t->past);
    *t = (struct timeline){ .view = SIZE_MAX, .opt = t->opt, .who = t->who,
                            .keeper = t->keeper, .kept = t->kept };
}

static void timeline_free(void *state)
{
    struct timeline *t = state;

    timeline_clear(t);
    free(t->who);
    free(t);
}

/* Adds a step after the present one. Steps that had been undone are dropped. */
static bool push(struct timeline *t, struct snapshot *s, const char *line, size_t script)
{
    while (t->nstep > t->at + 1)
        step_free(&t->step[--t->nstep]);
    if (mem_grow((void **)&t->step, &t->capstep, t->nstep + 1, sizeof *t->step, "the history",
                 NULL) != ST_OK)
        return false;
    t->step[t->nstep] = (struct step){ .state = s, .line = line ? mem_strdup(line, NULL) : NULL,
                                       .script = script };
    t->at = t->nstep++;
    return true;
}

static void drop_first(struct timeline *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        step_free(&t->step[i]);
    memmove(t->step, t->step + n, (t->nstep - n) * sizeof *t->step);
    t->nstep -= n;
    t->at -= n;
}

size_t timeline_forget(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);

    if (!t->nstep)
        return 0;
    const size_t gone = t->nstep - 1;
    while (t->nstep > t->at + 1)
        step_free(&t->step[--t->nstep]);
    drop_first(t, t->at);
    for (size_t i = 0; i < t->npast; i++)
        if (t->past[i].after != t->step[0].state) {
            timeline_snapshot_unref(t->past[i].after);
            t->past[i].after = NULL;
            t->past[i].id = 0;
        }
    return gone;
}

/* Tables that were counted by held(). */
struct holding { const struct table *seen[32]; size_t n, bytes; };

static void hold(const struct workspace *ws, const struct snapshot *s, struct holding *h)
{
    for (size_t k = 0; s && k < s->ndata; k++) {
        const struct table *table = s->data[k]->table;
        bool known = h->n == sizeof h->seen / sizeof *h->seen;
        for (size_t j = 0; j < ws->ndata && !known; j++)
            known = ws->data[j]->table == table;
        for (size_t j = 0; j < h->n && !known; j++)
            known = h->seen[j] == table;
        if (known)
            continue;
        h->seen[h->n++] = table;
        h->bytes += table_is_out(table) ? 0 : table_bytes(table);
    }
}

/* Bytes of tables that only earlier states use. */
static size_t held(const struct workspace *ws)
{
    const struct timeline *t = timeline_of(ws);
    struct holding h = { .n = 0 };

    for (size_t i = 0; i < t->nstep; i++)
        hold(ws, t->step[i].state, &h);
    for (size_t i = 0; i < t->npast; i++)
        if (i == 0 || t->past[i].after != t->past[i - 1].after)
            hold(ws, t->past[i].after, &h);
    return h.bytes;
}

/* Releases states of lines that are no longer steps (gone: this one; NULL: any). A session still
 * has them. */
static void release_past(struct timeline *t, const struct snapshot *gone)
{
    for (size_t i = 0; i < t->npast; i++) {
        struct snapshot *s = t->past[i].after;
        bool step = false;
        for (size_t k = 0; s && !gone && k < t->nstep && !step; k++)
            step = t->step[k].state == s;
        if (!s || step || (gone && s != gone))
            continue;
        t->past[i].id = s->id;
        t->past[i].after = NULL;
        timeline_snapshot_unref(s);
    }
}

/* Drops old states if there are too many, or if they keep data that nobody else uses. */
static void trim(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);
    const size_t most = ws->opt.mem ? ws->opt.mem / 8 : (size_t)1 << 30;

    if (t->nstep > STEPS_MOST)
        drop_first(t, t->nstep - STEPS_MOST);
    if (held(ws) > most)
        release_past(t, NULL);
    while (t->at > 0 && held(ws) > most) {
        release_past(t, t->step[0].state);
        drop_first(t, 1);
    }
}

void timeline_base(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);

    if (t->who || !ws->origin)
        return;
    t->opt = ws->opt;
    t->who = options_origin_copy(ws->origin, NULL);
}

const struct options *timeline_options(const struct workspace *ws,
                                       const struct options_origin **who)
{
    *who = timeline_of(ws)->who;
    return &timeline_of(ws)->opt;
}

/* Before a command: if nothing has been recorded yet, this state is the beginning. */
static void begin(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);

    timeline_base(ws);
    t->pushed = 0;
    t->moved = PAST_STEPS;
    if (t->nstep)
        return;
    struct snapshot *s = timeline_snapshot_take(ws, NULL);
    if (s && !push(t, s, NULL, ws->nscript))
        timeline_snapshot_unref(s);
}

/* Reads the state stored under id in the session; NULL with the reason. */
static struct snapshot *recall(const struct workspace *ws, int64_t id, struct err *err)
{
    const struct timeline *t = timeline_of(ws);
    struct snapshot *s = NULL;

    if (!t->keeper || id <= 0) {
        err_named(err, ST_STATE, "forgotten", "the state at that command was not kept");
        err_hint(err, "history");
        return NULL;
    }
    return t->keeper->recall(t->kept, id, &s, err) == ST_OK ? s : NULL;
}

static struct snapshot *state_of(const struct workspace *ws, size_t i, struct err *err)
{
    struct step *s = &timeline_of(ws)->step[i];

    if (!s->state)
        s->state = recall(ws, s->id, err);
    return s->state;
}

/* After a command or its job: adds a step if the state has changed. */
static bool take_step(struct workspace *ws, const char *line)
{
    struct timeline *t = timeline_of(ws);

    if (!t->nstep || t->view != SIZE_MAX)
        return false;
    struct snapshot *now = state_of(ws, t->at, NULL);
    if (now && snapshot_same(now, ws))
        return false;
    struct snapshot *s = take(ws, now, NULL);
    if (!s)
        return false;
    if (!push(t, s, line, ws->nscript)) {
        timeline_snapshot_unref(s);
        return false;
    }
    t->pushed++;
    trim(ws);
    return true;
}

/* Also true if the current command was undo, redo or branch. */
static bool changed(struct workspace *ws, const char *line)
{
    return take_step(ws, line) || timeline_of(ws)->moved != PAST_STEPS;
}

void timeline_revert(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);

    if (!t->nstep || t->view != SIZE_MAX)
        return;
    t->pushed = 0;
    t->moved = PAST_STEPS;
    struct snapshot *now = state_of(ws, t->at, NULL);
    if (now && !snapshot_same(now, ws))
        (void)show_state(ws, now, SIZE_MAX, true, NULL);
}

/* What is known of the current command. */
static struct past past_now(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);
    struct past p = { .kind = t->moved, .count = t->moved ? t->count : t->pushed,
                      .made = ws->runs_made };

    if (t->nstep) {
        p.after = snapshot_ref(t->step[t->at].state);
        p.id = t->step[t->at].id;
    }
    t->pushed = 0;
    t->moved = PAST_STEPS;
    return p;
}

static struct held *held_of(const struct timeline *t, const struct args *a)
{
    for (size_t i = 0; i < t->nheld; i++)
        if (t->held[i].a == a)
            return (struct held *)&t->held[i];
    return NULL;
}

/* The current command has queued a job: its line belongs here, whatever ends earlier. */
static void queued(struct workspace *ws, const struct args *a)
{
    struct timeline *t = timeline_of(ws);

    if (t->nheld < HELD_MOST && !held_of(t, a))
        t->held[t->nheld++] = (struct held){ a, ws->nscript, past_now(ws) };
}

/* The command failed, so its line will not be in the script. */
static void unhold(struct workspace *ws, const struct args *a)
{
    struct timeline *t = timeline_of(ws);
    struct held *h = held_of(t, a);

    if (!h)
        return;
    const struct past p = h->past;
    const char *line;
    *h = t->held[--t->nheld];
    /* What it had changed before its job failed (as with fit kernel=...) is undone as well. */
    if (p.count && t->at >= p.count && t->step[t->at].state == p.after &&
        timeline_move(ws, -(long)p.count, &line, NULL) == ST_OK) {
        while (t->nstep > t->at + 1)
            step_free(&t->step[--t->nstep]);
        t->moved = PAST_STEPS;
    }
    timeline_snapshot_unref(p.after);
}

/* The position in the script of the line of a command that has ended: at the end, or where it is
 * held. */
static size_t place_of(const struct workspace *ws, const struct args *a)
{
    const struct held *h = held_of(timeline_of(ws), a);

    return h ? h->at : ws->nscript;
}

/* Renumbers everything that refers to lines after one was inserted at `at` (from 0). */
static void renumber(struct timeline *t, size_t at)
{
    for (size_t i = 0; i < t->npast; i++)
        t->past[i].count += t->past[i].kind == PAST_BRANCH && t->past[i].count > at;
    for (size_t i = 0; i < t->nstep; i++)
        t->step[i].script += t->step[i].script > at;
    for (size_t i = 0; i < t->nheld; i++)
        t->held[i].at += t->held[i].at > at;
    t->view += t->view != SIZE_MAX && t->view > at;
}

/* The line has been inserted into the script at that position. */
static void add_line(struct workspace *ws, const struct args *a, size_t at, double seconds)
{
    struct timeline *t = timeline_of(ws);
    struct held *h = held_of(t, a);
    struct past p = h ? h->past : past_now(ws);

    if (h) {
        *h = t->held[--t->nheld];
        if (t->pushed) { /* a job may also change the state at its end: a tuning */
            timeline_snapshot_unref(p.after);
            const size_t before = p.count;
            p = past_now(ws);
            p.count += before;
        }
    }
    snprintf(p.last, sizeof p.last, "%s", ws->last_fit);
    p.at = (int64_t)time(NULL);
    p.seconds = seconds;
    if (mem_grow((void **)&t->past, &t->cappast, ws->nscript, sizeof *t->past, "the history",
                 NULL) != ST_OK) {
        timeline_snapshot_unref(p.after);
        return;
    }
    while (t->npast + 1 < ws->nscript) /* only if memory was short before */
        t->past[t->npast++] = (struct past){ .made = ws->runs_made };
    if (at + 1 < ws->nscript)
        renumber(t, at);
    memmove(&t->past[at + 1], &t->past[at], (t->npast - at) * sizeof *t->past);
    t->past[at] = p;
    t->npast++;
}

/* Moving. */

size_t timeline_steps(const struct workspace *ws, size_t *undone)
{
    const struct timeline *t = timeline_of(ws);

    if (undone)
        *undone = t->nstep ? t->nstep - 1 - t->at : 0;
    return t->at;
}

const struct step *timeline_step(const struct workspace *ws, size_t i, bool *done)
{
    const struct timeline *t = timeline_of(ws);

    if (i + 1 >= t->nstep)
        return NULL;
    *done = i + 1 <= t->at;
    return &t->step[i + 1];
}

enum status timeline_move(struct workspace *ws, long n, const char **line, struct err *err)
{
    struct timeline *t = timeline_of(ws);
    size_t undone;
    const size_t done = timeline_steps(ws, &undone);

    if (t->view != SIZE_MAX) {
        err_named(err, ST_STATE, "read-only", "an earlier state is shown, which cannot be changed");
        err_hint(err, "at now");
        return ST_STATE;
    }
    if (n < 0 ? (size_t)-n > done : (size_t)n > undone) {
        const size_t have = n < 0 ? done : undone;
        if (!have)
            err_named(err, ST_STATE, "no-step", n < 0 ? "there is nothing to undo"
                                                      : "there is nothing to do again");
        else
            err_named(err, ST_RANGE, "no-step", "only %zu step%s can be %s", have,
                      have == 1 ? "" : "s", n < 0 ? "undone" : "done again");
        err_hint(err, "history");
        return err ? err->code : ST_STATE;
    }
    const size_t to = n < 0 ? t->at - (size_t)-n : t->at + (size_t)n;
    struct snapshot *s = state_of(ws, to, err);
    const enum status rc = show_state(ws, s, SIZE_MAX, true, err);
    if (rc != ST_OK)
        return rc;
    *line = t->step[n < 0 ? to + 1 : to].line;
    t->at = to;
    t->moved = n < 0 ? PAST_UNDO : PAST_REDO;
    t->count = (size_t)(n < 0 ? -n : n);
    return ST_OK;
}

size_t timeline_view(const struct workspace *ws)
{
    return timeline_of(ws)->view;
}

const struct past *timeline_past(const struct workspace *ws, size_t i)
{
    return i < timeline_of(ws)->npast ? &timeline_of(ws)->past[i] : NULL;
}

const struct snapshot *timeline_after(const struct workspace *ws, size_t n, struct err *err)
{
    struct timeline *t = timeline_of(ws);

    if (n > ws->nscript) {
        err_named(err, ST_RANGE, "no-command", "there are %zu commands; there is no command %zu",
                  ws->nscript, n);
        err_hint(err, "history");
        return NULL;
    }
    if (n == 0) {
        if (t->nstep && t->step[0].script == 0)
            return state_of(ws, 0, err);
        err_named(err, ST_STATE, "forgotten", "the state before the first command was not kept");
        err_hint(err, "history");
        return NULL;
    }
    if (n > t->npast)
        return recall(ws, 0, err);
    struct past *p = &t->past[n - 1];
    if (!p->after)
        p->after = recall(ws, p->id, err);
    return p->after;
}

/* Returns to the present and restores what the view had changed. */
static enum status leave(struct workspace *ws, struct err *err)
{
    struct timeline *t = timeline_of(ws);

    if (t->view == SIZE_MAX)
        return ST_OK;
    /* A fit that ended meanwhile becomes the last one. */
    if (strcmp(ws->last_fit, t->seen) == 0)
        snprintf(ws->last_fit, sizeof ws->last_fit, "%s", t->last);
    t->view = SIZE_MAX;
    return show_state(ws, state_of(ws, t->at, err), SIZE_MAX, false, err);
}

enum status timeline_look(struct workspace *ws, size_t n, struct err *err)
{
    struct timeline *t = timeline_of(ws);

    if (n == SIZE_MAX)
        return leave(ws, err);
    const struct snapshot *s = timeline_after(ws, n, err);
    if (!s)
        return err ? err->code : ST_STATE;
    if (t->view == SIZE_MAX)
        snprintf(t->last, sizeof t->last, "%s", ws->last_fit);
    snprintf(ws->last_fit, sizeof ws->last_fit, "%s", n ? t->past[n - 1].last : "");
    t->view = n;
    const enum status rc = show_state(ws, s, n ? t->past[n - 1].made : 0, false, err);
    snprintf(t->seen, sizeof t->seen, "%s", ws->last_fit);
    return rc;
}

static bool strayed(struct workspace *ws)
{
    struct timeline *t = timeline_of(ws);
    const struct snapshot *s = t->view == SIZE_MAX ? NULL : timeline_after(ws, t->view, NULL);

    if (!s || snapshot_same(s, ws))
        return false;
    (void)show_state(ws, s, t->view ? t->past[t->view - 1].made : 0, false, NULL);
    return true;
}

enum status timeline_branch(struct workspace *ws, size_t n, struct err *err)
{
    struct timeline *t = timeline_of(ws);
    const struct snapshot *s = timeline_after(ws, n, err);
    enum status rc = s ? leave(ws, err) : err ? err->code : ST_STATE;

    if (rc == ST_OK && snapshot_same(s, ws)) {
        rc = err_named(err, ST_STATE, "no-branch",
                       "the present state is the same as after command %zu", n);
        err_hint(err, "history");
    }
    if (rc == ST_OK)
        rc = show_state(ws, s, SIZE_MAX, true, err);
    if (rc == ST_OK) {
        t->moved = PAST_BRANCH;
        t->count = n;
    }
    return rc;
}

enum status timeline_undone(const struct workspace *ws, bool *out, struct err *err)
{
    const struct timeline *t = timeline_of(ws);
    size_t *stack = mem_calloc(ws->nscript + STEPS_MOST, sizeof *stack, "the history", err);
    size_t n = 0, at = 0, cap = ws->nscript + STEPS_MOST;

    if (!stack)
        return ST_NOMEM;
    for (size_t i = 0; i < ws->nscript; i++) {
        const struct past *p = i < t->npast ? &t->past[i] : NULL;
        out[i] = false;
        if (!p)
            continue;
        for (size_t k = 0; p->kind == PAST_UNDO && k < p->count && at > 0; k++)
            out[stack[--at]] = true;
        for (size_t k = 0; p->kind == PAST_REDO && k < p->count && at < n; k++)
            out[stack[at++]] = false;
        for (size_t k = 0; (p->kind == PAST_STEPS ? k < p->count : p->kind == PAST_BRANCH && !k);
             k++) {
            if (at == cap) /* a line can stand for several steps, and repeat them */
                break;
            stack[at++] = i;
            n = at;
        }
    }
    free(stack);
    return ST_OK;
}

/* For the session. */

enum status timeline_restore_past(struct workspace *ws, const struct past *p, size_t n,
                                  struct err *err)
{
    struct timeline *t = timeline_of(ws);
    const enum status rc = mem_grow((void **)&t->past, &t->cappast, n, sizeof *t->past,
                                    "the history", err);

    if (rc == ST_OK && n) {
        memcpy(t->past, p, n * sizeof *p);
        t->npast = n;
    }
    return rc;
}

enum status timeline_restore_step(struct workspace *ws, int64_t id, const char *line, size_t script,
                                  struct err *err)
{
    struct timeline *t = timeline_of(ws);

    if (t->nstep)
        t->at = t->nstep - 1;
    if (!push(t, NULL, line, script))
        return err_nomem(err, sizeof(struct step), "the history");
    t->step[t->at].id = id;
    return ST_OK;
}

void timeline_restore_end(struct workspace *ws, size_t at)
{
    struct timeline *t = timeline_of(ws);
    struct snapshot *s = timeline_snapshot_take(ws, NULL);

    t->at = at < t->nstep ? at : t->nstep ? t->nstep - 1 : 0;
    if (!t->nstep) {
        if (s && !push(t, s, NULL, ws->nscript))
            timeline_snapshot_unref(s);
        return;
    }
    if (s)
        s->id = t->step[t->at].id;
    t->step[t->at].state = s; /* as far as it could be loaded: data may have changed or gone */
}

static void number_one(struct snapshot *s, int64_t *id,
                       int64_t (*number)(void *ctx, const struct snapshot *), void *ctx)
{
    if (!s)
        return;
    if (!s->id)
        s->id = number(ctx, s);
    *id = s->id;
}

void timeline_each_new(struct workspace *ws, int64_t (*number)(void *ctx, const struct snapshot *),
                       void *ctx)
{
    struct timeline *t = timeline_of(ws);

    for (size_t i = 0; i < t->npast; i++)
        number_one(t->past[i].after, &t->past[i].id, number, ctx);
    for (size_t i = 0; i < t->nstep; i++)
        number_one(t->step[i].state, &t->step[i].id, number, ctx);
}

void timeline_keep(struct workspace *ws, const struct timeline_keeper *keeper, void *kept)
{
    struct timeline *t = timeline_of(ws);

    if (!t)
        return;
    t->keeper = keeper;
    t->kept = kept;
}

/* Its part at the end of every statement. */

/* A command that was cancelled leaves a comment at its place and the state as it was before. */
static void add_interrupted(struct workspace *ws, const struct owner_step *step)
{
    struct timeline *t = timeline_of(ws);

    unhold(ws, step->args);
    t->pushed = 0;
    t->moved = PAST_STEPS;
    add_line(ws, step->args, step->at, step->seconds);
    struct past *p = step->at < t->npast ? &t->past[step->at] : NULL;
    if (!p || step->at + 1 >= t->npast)
        return; /* the present state is the one after it */
    timeline_snapshot_unref(p->after);
    const struct past *before = step->at ? &t->past[step->at - 1] : NULL;
    p->after = snapshot_ref(before ? before->after : NULL);
    p->id = before ? before->id : 0;
}

static void ended(struct workspace *ws, const struct owner_step *step)
{
    if (step->kept && step->rc == ST_CANCELLED)
        add_interrupted(ws, step);
    else if (step->kept)
        add_line(ws, step->args, step->at, step->seconds);
    else
        unhold(ws, step->args);
}

void timeline_note_interrupted(struct workspace *ws, const char *command)
{
    if (workspace_remember(ws, WORKSPACE_INTERRUPTED, command, ws->nscript))
        add_line(ws, NULL, ws->nscript - 1, 0.0);
}

const char *timeline_command(const char *line, bool *interrupted)
{
    const size_t n = strlen(WORKSPACE_INTERRUPTED);

    *interrupted = strncmp(line, WORKSPACE_INTERRUPTED, n) == 0;
    return *interrupted ? line + n : line;
}

static void forget(void *state)
{
    timeline_clear(state);
}

const struct owner timeline_owner = {
    .name = "history", .make = timeline_new, .free = timeline_free, .clear = forget,
    .begin = begin, .changed = changed, .revert = timeline_revert, .queued = queued,
    .place = place_of, .ended = ended, .shown = timeline_view, .strayed = strayed,
};

struct timeline *timeline_of(const struct workspace *ws)
{
    return owner_state(ws, &timeline_owner);
}
