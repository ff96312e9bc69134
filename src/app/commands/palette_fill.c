/* app/commands/palette_fill.c -- see palette_fill.h. */
#include "app/commands/palette_fill.h"

#include "app/core/workspace.h"
#include "app/plots/plot_rows.h"
#include "app/shell/help.h"
#include "app/shell/options.h"
#include "app/teach/explain.h"
#include "app/teach/lesson.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 500 };   /* largest number of columns listed */

/* A command that needs no arguments runs at once; otherwise its name is put on the prompt. */
static enum status add_command(struct palette *p, const struct command *c, struct err *err)
{
    char line[80];
    bool asks = false;

    for (size_t i = 0; i < ARGS_MAX && c->args[i].name; i++)
        asks |= (c->args[i].flags & ARGF_REQUIRED) != 0;
    asks |= !strcmp(c->name, "quit") || c->flags & CMD_SETS;  /* let the user confirm */
    snprintf(line, sizeof line, "%s%s", c->name, asks ? " " : "");
    return palette_add(p, c->name, c->summary, line, NULL, 0, err);
}

static enum status fill_tables(struct palette *p, struct err *err)
{
    const struct command *c;
    char label[80], line[80];
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && (c = command_at(i)) != NULL; i++)
        rc = add_command(p, c, err);
    for (size_t i = 0; rc == ST_OK && plot_at(i); i++) {
        snprintf(label, sizeof label, "plot %s", plot_at(i)->name);
        rc = palette_add(p, label, plot_at(i)->title, label, NULL, 0, err);
    }
    for (size_t i = 0; rc == ST_OK && option_at(i); i++) {
        snprintf(label, sizeof label, "option %s", option_at(i)->arg.name);
        snprintf(line, sizeof line, "set %s=", option_at(i)->arg.name);
        rc = palette_add(p, label, option_at(i)->arg.help, line, NULL, 0, err);
    }
    for (size_t i = 0; rc == ST_OK && help_topic_at(i); i++) {
        snprintf(label, sizeof label, "help %s", help_topic_at(i));
        rc = palette_add(p, label, "a page of help", label, NULL, 0, err);
    }
    return rc;
}

static enum status fill_pages(struct palette *p, struct err *err)
{
    char label[80];
    struct lesson_list l = { 0 };
    enum status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && explain_at(i); i++) {
        snprintf(label, sizeof label, "explain %s", explain_at(i));
        rc = palette_add(p, label, "what it is, with the current numbers", label, NULL, 0, err);
    }
    if (rc == ST_OK && lesson_list(&l, NULL) == ST_OK)     /* without lessons, list the rest */
        for (size_t i = 0; rc == ST_OK && i < l.n; i++) {
            snprintf(label, sizeof label, "lesson %s", l.id[i]);
            rc = palette_add(p, label, l.title[i], label, NULL, 0, err);
        }
    lesson_list_free(&l);
    return rc;
}

static enum status add_run(struct palette *p, const struct run *r, struct err *err)
{
    char label[40], line[60];
    struct buf about = { 0 };

    snprintf(label, sizeof label, "run %s", r->id);
    snprintf(line, sizeof line, "show run:%s", r->id);
    buf_printf(&about, "%s, ", run_state_name(r->state));
    text_safe(&about, r->kernel_text ? r->kernel_text : "", 40);
    if (r->note && *r->note) {
        buf_puts(&about, ": ");
        text_safe(&about, r->note, 60);
    }
    const enum status rc = palette_add(p, label, buf_str(&about), line, NULL, 0, err);
    buf_free(&about);
    return rc;
}

static enum status add_column(struct palette *p, const struct dataset *d, size_t j, struct err *err)
{
    struct buf label = { 0 }, line = { 0 };

    buf_puts(&label, "column ");
    text_safe(&label, d->table->col[j].name, 40);
    buf_puts(&line, "cols ");
    command_quote(&line, d->table->col[j].name);
    buf_puts(&line, " role=");
    const enum status rc = palette_add(p, buf_str(&label), dataset_role_name(d->role[j]),
                                       buf_str(&line), NULL, 0, err);
    buf_free(&label);
    buf_free(&line);
    return rc;
}

enum status palette_fill(struct palette *p, const struct workspace *ws, struct err *err)
{
    enum status rc = fill_tables(p, err);

    for (size_t i = ws->nrun; rc == ST_OK && i-- > 0;)       /* newest first */
        rc = add_run(p, ws->run[i], err);
    if (ws->cur < ws->ndata) {
        const struct dataset *d = ws->data[ws->cur];
        for (size_t j = 0; rc == ST_OK && j < d->table->ncols && j < COLUMNS_MAX; j++)
            rc = add_column(p, d, j, err);
    }
    return rc == ST_OK ? fill_pages(p, err) : rc;
}
