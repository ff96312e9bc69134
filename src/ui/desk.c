/* ui/desk.c -- see desk.h. */
#include "ui/desk.h"

#include "app/core/job.h"
#include "app/core/workspace_exec.h"
#include "ui/prompt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double desk_now(void)
{
    return job_now();
}

struct view *desk_view(struct desk *d)
{
    switch (d->active) {
    case PANE_LIST: return &d->list;
    case PANE_LOG: return &d->view[VIEW_LOG];
    case PANE_SECOND: return &d->second[d->view[d->main].ops->beside];
    default: return &d->view[d->main];
    }
}

struct run *desk_find(const struct desk *d, const char *id)
{
    for (size_t i = 0; i < d->ws->nrun; i++)
        if (strcmp(d->ws->run[i]->id, id) == 0)
            return d->ws->run[i];
    return NULL;
}

struct run *desk_selected(const struct desk *d)
{
    struct run *r = desk_find(d, d->sel);
    return r ? r : d->ws->nrun ? d->ws->run[d->ws->nrun - 1] : NULL;
}

struct run *desk_selected_of(const struct desk *d, enum run_kind kind)
{
    struct run *best = NULL, *r = desk_selected(d);
    if (r && r->kind == kind)
        return r;
    for (size_t i = d->ws->nrun; i-- > 0;) {
        r = d->ws->run[i];
        if (r->kind == kind && r->state == RUN_RUNNING)
            return r;
        if (r->kind == kind && (!best || (best->state == RUN_QUEUED && r->state != RUN_QUEUED)))
            best = r;
    }
    return best;
}

bool desk_marked(const struct desk *d, const struct run *r)
{
    for (size_t i = 0; i < d->nmarks; i++)
        if (strcmp(d->mark[i], r->id) == 0)
            return true;
    return false;
}

struct run *desk_over(const struct desk *d, size_t i)
{
    const struct run *selected = desk_selected(d);
    for (size_t k = 0; k < d->nmarks + d->nover; k++) {
        struct run *r = desk_find(d, k < d->nmarks ? d->mark[k] : d->over[k - d->nmarks]);
        if (r && r != selected && !(k >= d->nmarks && desk_marked(d, r)) && i-- == 0)
            return r;
    }
    return NULL;
}

void desk_mark(struct desk *d, const struct run *r)
{
    for (size_t i = 0; i < d->nmarks; i++)
        if (strcmp(d->mark[i], r->id) == 0) {
            memmove(&d->mark[i], &d->mark[i + 1], (--d->nmarks - i) * sizeof *d->mark);
            return;
        }
    if (d->nmarks == MARKS_MAX) {
        logbook_add(&d->log, LOG_NOTE, "six runs are marked already: Space on one unmarks it");
        return;
    }
    snprintf(d->mark[d->nmarks++], sizeof *d->mark, "%s", r->id);
}

void desk_page(struct desk *d, const char *title, const char *text)
{
    desk_page_close(d);
    d->pager.title = strdup(title);
    d->pager.text = strdup(text);
    d->pager.open = d->pager.title && d->pager.text;
    d->pager.top = 0;
    d->pager.jobs = jobs_submitted(d->ws->jobs);
    d->pager.ndata = d->ws->ndata;
    d->pager.cur = d->ws->cur;
    d->pager.beside = d->shown_now;
}

void desk_page_close(struct desk *d)
{
    free(d->pager.title);
    free(d->pager.text);
    d->pager = (struct pager){ 0 };
}

void desk_show(struct desk *d, size_t view)
{
    desk_page_close(d);
    d->main = view;
    d->quiet = true;
    d->active = PANE_MAIN;
    d->welcome = false;
    d->urgent = true;
}

void desk_prompt(struct desk *d, const char *text)
{
    prompt_set(text);
    d->focus = FOCUS_PROMPT;
}

void desk_exec(struct desk *d, const char *line)
{
    struct buf echo = { 0 };
    buf_puts(&echo, PROMPT_TEXT);
    for (const char *p = line; *p; p++) {
        buf_putc(&echo, *p);
        if (*p == '\n')
            buf_puts(&echo, "      > ");
    }
    logbook_add(&d->log, LOG_COMMAND, buf_str(&echo));
    d->quiet = false;
    buf_free(&echo);
    d->log_scroll = 0;
    /* it may be the text of a page or of a binding that the line replaces */
    char *copy = strdup(line);
    char *page = d->pager.open ? d->pager.text : NULL;
    d->copy_page = page ? strdup(page) : NULL;
    desk_page_close(d);
    free(d->line);
    d->line = copy;
    d->shown_now = false;
    if (copy)
        workspace_exec(d->ws, copy);
    d->shown_now = false;
    free(d->copy_page);
    d->copy_page = NULL;
    d->dirty = true;
}

void desk_execf(struct desk *d, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    desk_exec(d, line);
}
