/* app/shell/registry_words.c -- see registry_words.h.  Each row goes over one registry; some names
 * stand for a choice among others ("auto") or come from a second one (kinds of model). */
#include "app/shell/registry_words.h"

#include "app/shell/help.h"
#include "app/shell/options.h"
#include "compute/kernels/kernel.h"
#include "compute/models/model.h"
#include "compute/preconds/precond.h"
#include "compute/solvers/solver.h"
#include "compute/tuners/tune.h"
#include "data/expr.h"
#include "data/formats/format.h"
#include "data/table.h"

#include <stdio.h>
#include <string.h>

void registry_words_expand(struct command *rows)
{
    static char models[256];

    snprintf(models, sizeof models, "auto");
    for (size_t k = 0; model_kind_at(k); k++) {
        const size_t used = strlen(models);
        snprintf(models + used, sizeof models - used, "|%s", model_kind_at(k)->name);
    }
    for (struct command *c = rows; c->name; c++)
        for (struct arg *a = c->args; a < c->args + ARGS_MAX && a->name; a++)
            if (a->choices && !strcmp(a->choices, REGISTRY_WORDS_MODELS))
                a->choices = models;
}

/* fit solver=: "auto", the words of kinds of model that have one, then the solvers. */
static const char *solver_word(struct workspace *ws, size_t i)
{
    (void)ws;
    if (i-- == 0)
        return "auto";
    for (size_t k = 0; model_kind_at(k); k++)
        if (model_kind_at(k)->solver && i-- == 0)
            return model_kind_at(k)->solver;
    return solver_at(i) ? solver_at(i)->name : NULL;
}

static const char *solver_inside(const char *word, size_t i)
{
    const struct solver_ops *s = solver_find(word, NULL);

    return s && s->params ? s->params[i].name : NULL;
}

const struct words_row registry_words_solvers = { .type = ARG_SOLVER, .name = "solvers",
                                                  .at = solver_word, .inside = solver_inside };

static const char *precond_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return precond_at(i) ? precond_at(i)->name : NULL;
}

const struct words_row registry_words_preconds = { .type = ARG_PRECOND, .name = "preconditioners",
                                                   .at = precond_word };

/* The preconditioners that advise can plan for: those made of random sketches. */
static const char *sketch_word(struct workspace *ws, size_t i)
{
    (void)ws;
    for (size_t k = 0; precond_at(k); k++)
        if (precond_at(k)->sketches && i-- == 0)
            return precond_at(k)->name;
    return NULL;
}

const struct words_row registry_words_sketches = { .type = ARG_SKETCH, .name = "sketches",
                                                   .at = sketch_word };

static const char *tuner_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return tuner_at(i) ? tuner_at(i)->name : NULL;
}

const struct words_row registry_words_tuners = { .type = ARG_TUNER, .name = "tuners",
                                                 .at = tuner_word };

/* Kernels, the settings of kernels that are asked for most, and layers with a kernel inside. */
static const char *kernel_word(struct workspace *ws, size_t i)
{
    (void)ws;
    for (size_t k = 0; kernel_at(k); k++) {
        if (i-- == 0)
            return kernel_at(k)->name;
        for (const char *const *e = kernel_at(k)->examples; e && *e; e++)
            if (i-- == 0)
                return *e;
    }
    return layer_at(i) ? layer_at(i)->example : NULL;
}

const struct words_row registry_words_kernels = { .type = ARG_KERNEL, .name = "kernels",
                                                  .at = kernel_word, .behind = "+*(" };

/* Layers whose windows have a width. */
static const char *window_word(struct workspace *ws, size_t i)
{
    (void)ws;
    for (size_t k = 0; layer_at(k); k++)
        if (!layer_at(k)->one_position && i-- == 0)
            return layer_at(k)->name;
    return NULL;
}

const struct words_row registry_words_windows = { .type = ARG_LISTED, .name = "windows",
                                                  .at = window_word };

static const char *format_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return format_at(i) ? format_at(i)->name : NULL;
}

const struct words_row registry_words_formats = { .type = ARG_LISTED, .name = "formats",
                                                  .at = format_word };

static const char *function_word(struct workspace *ws, size_t i)
{
    const char *name, *help;

    (void)ws;
    return expr_function_at(i, &name, &help) ? name : NULL;
}

const struct words_row registry_words_functions = { .type = ARG_LISTED, .name = "functions",
                                                    .at = function_word };

static const char *demo_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return demo_at(i) ? demo_at(i)->name : NULL;
}

const struct words_row registry_words_demos = { .type = ARG_DEMO, .name = "demos",
                                                .at = demo_word };

static const char *option_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return option_at(i) ? option_at(i)->arg.name : NULL;
}

const struct words_row registry_words_options = { .type = ARG_OPTION, .name = "options",
                                                  .at = option_word };
/* An option, or a hyperparameter of the current kernel. */
const struct words_row registry_words_settings = { .type = ARG_SETTING, .name = "settings",
                                                   .at = option_word };

static const char *theme_word(struct workspace *ws, size_t i)
{
    static char word[64];

    (void)ws;
    return command_choice(option_find("theme", NULL)->arg.choices, i, word, sizeof word) ? word
                                                                                         : NULL;
}

const struct words_row registry_words_themes = { .type = ARG_THEME, .name = "themes",
                                                 .at = theme_word };

static const char *command_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return command_at(i) ? command_at(i)->name : NULL;
}

const struct words_row registry_words_commands = { .type = ARG_COMMAND, .name = "commands",
                                                   .at = command_word };

/* What help takes: a command or a page. */
static const char *topic_word(struct workspace *ws, size_t i)
{
    size_t n = 0;

    (void)ws;
    while (command_at(n))
        n++;
    return i < n ? command_at(i)->name : help_topic_at(i - n);
}

const struct words_row registry_words_topics = { .type = ARG_TOPIC, .name = "topics",
                                                 .at = topic_word };
