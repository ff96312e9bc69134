/* app/shell/registry_words.c -- see registry_words.h.  Each row goes over one registry; some names
 * stand for a choice among others ("auto") or come from a second one (kinds of model). */
#include "app/shell/registry_words.h"

#include "app/shell/help.h"
#include "app/shell/options.h"
#include "base/buf.h"
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

/* "name=value", or "name=" where the default depends on the data. */
static const char *with_value(const char *name, double value)
{
    static char text[80];

    if (value != 0)
        snprintf(text, sizeof text, "%s=%g", name, value);
    else
        snprintf(text, sizeof text, "%s=", name);
    return text;
}

static const char *with_word(const struct kparam *p)
{
    static char text[80];
    struct buf value = { 0 };

    kernel_print_param(p, p->init, &value);
    snprintf(text, sizeof text, "%s=%s", p->name, buf_str(&value));
    buf_free(&value);
    return text;
}

static const char *solver_inside(const char *word, size_t i)
{
    const struct model_ops *kind = model_kind_own(word);
    const struct solver_ops *s = kind ? NULL : solver_find(word, NULL);
    const struct solver_param *params = kind ? kind->params : s ? s->params : NULL;
    static char text[80];
    char value[24];

    if (!params || !params[i].name)
        return NULL;
    solver_param_value(&params[i], params[i].init, value, sizeof value);
    snprintf(text, sizeof text, "%s=%s", params[i].name, value);
    return text;
}

const struct words_row registry_words_solvers = { .type = ARG_SOLVER, .name = "solvers",
                                                  .at = solver_word, .inside = solver_inside };

static const char *select_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return select_at(i) ? select_at(i)->name : NULL;
}

static const char *select_inside(const char *word, size_t i)
{
    struct select_opts o;
    static char text[80];
    char value[24];

    if (select_parse(word, &o, NULL) != ST_OK || !o.ops->params || !o.ops->params[i].name)
        return NULL;
    solver_param_value(&o.ops->params[i], o.ops->params[i].init, value, sizeof value);
    snprintf(text, sizeof text, "%s=%s", o.ops->params[i].name,
             o.ops->params[i].init != 0.0 ? value : "");
    return text;
}

const struct words_row registry_words_selections = { .type = ARG_SELECT, .name = "selections",
                                                     .at = select_word, .inside = select_inside };

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

/* True for a layer that can have this kernel inside. */
static bool fits_inside(const char *outer, const char *name)
{
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    char text[160];

    if (!layer_find(outer))
        return false;
    snprintf(text, sizeof text, "%.60s(%.80s)", outer, name);
    return kernel_parse(text, &k, hp, NULL) == ST_OK;
}

/* True if the layer of the example takes this setting, too. */
static bool takes(const struct layer_ops *l, const char *setting)
{
    struct kernel k;
    double hp[KERNEL_MAX_HP];
    char text[200];

    const size_t n = strlen(l->example);
    if (l->example[n - 1] == ')')
        snprintf(text, sizeof text, "%.*s,%s)", (int)n - 1, l->example, setting);
    else
        snprintf(text, sizeof text, "%s(%s)", l->example, setting);
    return kernel_parse(text, &k, hp, NULL) == ST_OK;
}

/* The settings of a layer; the words of each, or its number at the start. */
static const char *layer_inside(const struct layer_ops *l, size_t i)
{
    static char text[80];

    for (const struct layer_setting *s = l->settings; s && s->name; s++) {
        if (!s->words) {
            const char *field = (const char *)&l->start + s->offset;
            double number;
            size_t start;
            if (s->lo < s->hi)
                memcpy(&number, field, sizeof number);
            else
                number = (double)*(const size_t *)memcpy(&start, field, sizeof start);
            if (i-- == 0)
                return with_value(s->name, number);
            continue;
        }
        for (size_t k = 0; s->words[k]; k++) {
            snprintf(text, sizeof text, "%s=%s", s->name, s->words[k]);
            if (takes(l, text) && i-- == 0)
                return text;
        }
    }
    for (const struct kparam *p = l->inside ? l->inside->params : NULL; p && p->name; p++)
        if (i-- == 0)
            return with_value(p->name, p->init);
    return NULL;
}

/* The values of a parameter that the examples of the kernel have, as "nu=5/2"; NULL past the
 * last. */
static const char *example_value(const struct kernel_ops *k, const char *param, size_t i)
{
    static char text[80];
    const size_t n = strlen(param);

    for (const char *const *e = k->examples; e && *e; e++) {
        const char *at = strchr(*e, '(');
        if (!at || strncmp(at + 1, param, n) != 0 || at[1 + n] != '=' || i-- > 0)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at + 1, ",)"), at + 1);
        return text;
    }
    return NULL;
}

/* The parameters of a kernel with the usual values, its hyperparameters with those that they start
 * at, and ard. */
static const char *kernel_inside(const char *name, size_t i)
{
    const struct layer_ops *l = layer_find(name);
    const struct kernel_ops *k = l ? NULL : kernel_find(name, NULL);

    if (l)
        return layer_inside(l, i);
    for (const struct kparam *p = k ? k->params : NULL; p && p->name; p++) {
        size_t n = 0;
        while (example_value(k, p->name, n))
            n++;
        if (i < n)
            return example_value(k, p->name, i);
        i -= n;
        if (n == 0 && i-- == 0)
            return p->words || p->text ? with_word(p) : with_value(p->name, p->init);
    }
    for (const struct hparam *h = k ? k->hparams : NULL; h && h->name; h++) {
        const bool length = !strcmp(h->name, "lengthscale");
        if (i-- == 0)
            return with_value(length ? "l" : h->name, h->init);
        if (length && i-- == 0)
            return "ard";
        if (length && i-- == 0)
            return "ard=group";
    }
    return NULL;
}

const struct words_row registry_words_kernels = { .type = ARG_KERNEL, .name = "kernels",
                                                  .at = kernel_word, .behind = "+*(",
                                                  .inside = kernel_inside, .fits = fits_inside };

/* Layer i of those whose width has that name. */
static const char *layer_with(const char *name, size_t i)
{
    for (size_t k = 0; layer_at(k); k++) {
        const char *own = layer_width_name(layer_at(k));
        if (own && !strcmp(own, name) && i-- == 0)
            return layer_at(k)->name;
    }
    return NULL;
}

static const char *window_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return layer_with("width", i);
}

const struct words_row registry_words_windows = { .type = ARG_LISTED, .name = "windows",
                                                  .at = window_word };

static const char *letters_word(struct workspace *ws, size_t i)
{
    (void)ws;
    return layer_with("n", i);
}

const struct words_row registry_words_letters = { .type = ARG_LISTED, .name = "words",
                                                  .at = letters_word };

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
