/* app/core/ws_words.c -- see ws_words.h. */
#include "app/core/ws_words.h"

#include "app/core/workspace.h"
#include "data/expr.h"

static const char *dataset_at(struct workspace *ws, size_t i)
{
    return ws && i < ws->ndata ? ws->data[i]->name : NULL;
}

static const char *run_at(struct workspace *ws, size_t i)
{
    return ws && i < ws->nrun ? ws->run[i]->id : NULL;
}

/* A column of the current dataset. */
static const char *name_of_column(struct workspace *ws, size_t i)
{
    const struct dataset *d = ws && ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;

    return d && i < d->table->ncols ? d->table->col[i].name : NULL;
}

/* What an expression may name: columns of the current dataset, then functions. */
static const char *name_in_expression(struct workspace *ws, size_t i)
{
    const struct dataset *d = ws && ws->cur < ws->ndata ? ws->data[ws->cur] : NULL;
    const size_t columns = d ? d->table->ncols : 0;
    const char *name, *help;

    if (i < columns)
        return d->table->col[i].name;
    return expr_function_at(i - columns, &name, &help) ? name : NULL;
}

const struct words_row ws_words_expressions = { .type = ARG_EXPR, .at = name_in_expression,
                                                .behind = "(+-*/^<>=!,", .quoted = true };
const struct words_row ws_words_datasets = { .type = ARG_DATASET, .at = dataset_at,
                                             .quoted = true };
const struct words_row ws_words_runs = { .type = ARG_RUN, .at = run_at };
const struct words_row ws_words_jobs = { .type = ARG_JOB, .at = run_at };
const struct words_row ws_words_columns = { .type = ARG_COLUMN, .at = name_of_column, .behind = ",",
                                            .quoted = true };
