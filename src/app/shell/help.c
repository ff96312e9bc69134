/* app/shell/help.c -- the overview of commands, pages that are not commands, and the search. */
#include "app/shell/help.h"

#include "app/shell/options.h"
#include "data/table.h"
#include "app/shell/words.h"
#include "base/text.h"
#include "compute/kernels/kernel.h"
#include "compute/preconds/precond.h"
#include "compute/solvers/solver.h"
#include "compute/tuners/tune.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char grammar_page[] =
    "A line has one or more commands, separated by ; -- the rest of a line after # is a comment,\n"
    "and a line that ends in \\ continues on the next one.\n"
    "  command   verb, then objects, key=value pairs and flags: score r7 on=test\n"
    "            --key=value and --key value mean key=value; verb ? shows the usage\n"
    "  words     unique beginnings of verbs and keys are enough; ambiguous ones are listed\n"
    "  quotes    'as it is' and \"with \\\" \\\\ \\n"
    " \\t \\x1b\"; names with blanks or signs need them\n"
    "  numbers   64k 1.5M (thousands, millions); 4GB (1024 x 1024 x 1024 bytes each); 30s 5m 2h; "
    "90%\n"
    "  ranges    a..b an interval; a..b/step; a..b*2 doubling; a,b,c a list\n"
    "  objects   a name, . (the current one), -1 (the previous one), r7 or run:r7, dataset:kin40k\n"
    "  kernels   rbf   matern(nu=3/2)   rbf(l=0.3)   (see help kernels)\n"
    "Keys of hyperparameters: l= (lengthscale=), amplitude=, noise=; l=0.1..10 sets bounds, and\n"
    "l.min= and l.max= set one of them. All are standard deviations in scaled units.\n";

static const char batch_page[] =
    "Without a terminal, gpdesk [options] [FILE ...] runs without questions: give -e LINE "
    "(repeatable),\n"
    "-f SCRIPT, a script as FILE, or lines on standard input. All lines are parsed before the "
    "first\n"
    "command runs, and every job runs to its end before the next line.\n"
    "  stdout    results; with --format json every record, one object on each line\n"
    "  stderr    notes, warnings, errors, progress\n"
    "  exit      0 all done; 1 a command failed; 2 usage, nothing was run; 3 a fit or tuning "
    "stopped\n"
    "            short of its tolerance (0 with --accept-unconverged); 4 an input file is missing "
    "or\n"
    "            malformed; 5 out of memory, disk or time; 128+n ended by signal n, the best "
    "iterate\n"
    "            is saved\n"
    "  -n        parses everything, looks for the files, predicts the memory, and runs nothing\n"
    "  -k        continues after a failure; --strict makes warnings failures\n";

static const char targets_page[] =
    "open FILE target=y1,y2, cols y1,y2 role=target, or an array of several columns give one model "
    "of\n"
    "all targets. They share the kernel and the ratio of noise to amplitude; each is standardised\n"
    "separately and has its own amplitude, and so its own noise. One pass over the data serves "
    "all.\n"
    "  tune      minimises the sum of their NMLL\n"
    "  score     has a row for each; in JSON, arrays in the order of \"targets\"\n"
    "  predict   writes mean_NAME, sd_latent_NAME, sd_NAME for each\n"
    "  one only  check, compare, plot parity, calibration, sd, sderror: target=NAME, else the "
    "first\n"
    "  rows      that lack one of the targets are dropped (missing drop), or are an error\n"
    "amplitude=1 noise=0.1 apply to each target in its scaled units. Where targets need different\n"
    "lengthscales or have very different shares of noise, fit them one at a time: cols y1 "
    "role=target.\n";

static void kernel_entry(struct buf *out, const struct kernel_ops *k)
{
    buf_printf(out, "%-10s %s: %s\n", k->name, k->title, k->formula);
    for (const struct kparam *p = k->params; p && p->name; p++)
        if (p->words || p->text) {
            buf_printf(out, "           %s=", p->name);
            kernel_print_param(p, p->init, out);
            buf_printf(out, "  %s\n", p->help);
        } else {
            buf_printf(out, "           %s=%g  %s\n", p->name, p->init, p->help);
        }
    for (const struct hparam *h = k->hparams; h && h->name; h++)
        buf_printf(out, "           %s  %s (starts at %g, %g to %g)\n", h->name, h->help, h->init,
                   h->lo, h->hi);
    if (k->built)
        buf_printf(out, "           this program: %s\n", k->built);
    buf_printf(out, "           %s\n", k->cite);
}

static void layer_entry(struct buf *out, const struct layer_ops *l)
{
    buf_printf(out, "%-10s %s: %s\n           %s\n", l->name, l->title, l->formula, l->cite);
}

static void kernels_page(struct buf *out)
{
    const struct kernel_ops *k;

    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        kernel_entry(out, k);
    for (size_t i = 0; layer_at(i); i++)
        layer_entry(out, layer_at(i));
    buf_puts(
        out,
        "A + B * C  sums and products of kernels; * binds more tightly. Hyperparameters are "
        "numbered by\n"
        "           kernel: 2.lengthscale. Each summand after the first has a weight, 2.weight: "
        "its\n"
        "           standard deviation over that of the first; amplitude scales all of them\n"
        "rbf(ard)   a lengthscale for each input, for every kernel that has one; rbf(ard=group): "
        "for\n"
        "           each group of inputs (cols x1,x2 group=NAME); the levels of a category are one "
        "group\n");
    for (size_t i = 0; layer_at(i); i++)
        buf_puts(out, layer_at(i)->help);
    buf_puts(
        out,
        "rbf on temp,ph   reads only these inputs, as in conv(rbf) + rbf on temp,ph or conv(rbf) "
        "*\n"
        "           rbf on temp; names can have * or be in \"quotes\". Without on, a kernel reads "
        "all\n"
        "           inputs, sequences by position; conv and graph read the sequence\n"
        "rbf, linear ... on sequences have one input for each letter at each position that "
        "varies\n");
}

static void solver_entry(struct buf *out, const struct solver_ops *s)
{
    buf_printf(out, "  %-10s %s: %s\n", s->name, s->title, s->help);
    for (const struct solver_param *p = s->params; p && p->name; p++) {
        char value[24], range[64];
        solver_param_value(p, p->init, value, sizeof value);
        solver_param_range(p, range, sizeof range);
        buf_printf(out, "             %s(%s=%s)  %s, %s\n", s->name, p->name, value, p->help,
                   range);
    }
}

static void solvers_page(struct buf *out)
{
    const struct solver_ops *s;
    const struct precond_ops *p;
    const struct tuner_ops *t;

    buf_puts(out, "fit solver=\n");
    for (size_t i = 0; (s = solver_at(i)) != NULL; i++)
        solver_entry(out, s);
    buf_puts(out, "fit precond=\n");
    for (size_t i = 0; (p = precond_at(i)) != NULL; i++)
        buf_printf(out, "  %-10s %s: %s\n", p->name, p->title, p->help);
    buf_puts(out, "tune method=\n");
    for (size_t i = 0; (t = tuner_at(i)) != NULL; i++)
        buf_printf(out, "  %-10s %s: %s\n", t->name, t->title, t->help);
}

static void plots_page(struct buf *out)
{
    const struct words_row *w = words_of(ARG_PLOT);
    const char *name;

    for (size_t i = 0; w && (name = w->at(NULL, i)) != NULL; i++)
        buf_printf(out, "  %-12s %s\n", name, w->about(name));
    buf_puts(
        out,
        "help NAME says how to read a plot. plot NAME out=FILE.svg|png|pdf|txt|csv writes a file;\n"
        "describe NAME describes it in words.\n");
}

bool help_plot(const char *name, struct buf *out)
{
    const struct words_row *w = words_of(ARG_PLOT);

    return w && w->page(name, out);
}

static void options_page(struct buf *out)
{
    const struct option_row *o;

    for (size_t i = 0; (o = option_at(i)) != NULL; i++)
        buf_printf(out, "%-20s %s%s%s\n", o->arg.name, o->arg.help, o->arg.choices ? ": " : "",
                   o->arg.choices ? o->arg.choices : "");
    buf_puts(out,
             "set NAME=VALUE applies to this session. --NAME on the command line, GPDESK_NAME in "
             "the\n"
             "environment, and `set` lines in the file gpdesk/config of your configuration "
             "directory\n"
             "apply to all sessions. `get NAME` says which of them is in effect.\n");
}

static void demos_page(struct buf *out)
{
    const struct demo *d;

    for (size_t i = 0; (d = demo_at(i)) != NULL; i++)
        buf_printf(out, "demo %-10s %s\n", d->name, d->summary);
}

static void grammar_write(struct buf *out)
{
    buf_puts(out, grammar_page);
}

static void batch_write(struct buf *out)
{
    buf_puts(out, batch_page);
}

static const char screen_page[] =
    "The focus is shown at the top right: [prompt] takes what you type, [view] takes single keys. "
    "Esc\n"
    "goes to the view and keeps the half-typed line, i returns; function and Alt keys work in "
    "both.\n"
    "  ?         in a view, lists its keys and searches them; F1 shows the same as a page\n"
    "  F2        palette: finds commands, views, plots, options, pages, runs, columns by a few "
    "letters\n"
    "  F3        explains what is shown    F4 mouse    F5 line mode and back    F6, Tab panes\n"
    "  layout    main, two, three, slide, auto; z zooms a pane, P the plot, < > change widths; "
    "kept\n"
    "  runs      arrows choose run and column; s sorts, f filters, - hides, Space marks, = "
    "compares\n"
    "  plots     x y axes, + _ 0 zoom, , . pan, { } iterations of a run, d describes, o exports\n"
    "  time      u U undo and redo, [ ] one command earlier and later\n"
    "  copy      c a cell, C the view as CSV: to a file, and to the terminal (OSC 52)\n"
    "  bind      your own keys: bind view K \"compare .\"; also in the config file\n"
    "  set       learn= (keys show their line first), editing=vi, theme=, glyphs=ascii, bell=, "
    "fps=, mouse=\n"
    "Pasted lines wait in an editable block for Enter. Ctrl-C clears the line, then asks the "
    "running\n"
    "job to stop (with restarts=, all searches of the tuning); it never quits. Ctrl-R searches the "
    "lines\n"
    "of all sessions. ~/.inputrc applies ($if gpdesk).\n";

static void screen_write(struct buf *out)
{
    buf_puts(out, screen_page);
}

static void targets_write(struct buf *out)
{
    buf_puts(out, targets_page);
}

static const struct topic { const char *name, *summary; void (*write)(struct buf *); } topics[] = {
    { "grammar", "how a line is written", grammar_write },
    { "kernels", "covariance functions", kernels_page },
    { "solvers", "solvers, preconditioners and tuners", solvers_page },
    { "plots", "what can be plotted", plots_page },
    { "options", "settings and how to set them", options_page },
    { "targets", "several targets in one model", targets_write },
    { "demos", "bundled data", demos_page },
    { "screen", "views, keys, panes, copying", screen_write },
    { "batch", "scripts, exit status, JSON", batch_write },
};

const char *help_topic_at(size_t i)
{
    return i < sizeof topics / sizeof *topics ? topics[i].name : NULL;
}

/* True if a command has this name, whose page comes before that of a kernel. */
static bool is_command(const char *name)
{
    const struct command *c;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        if (!strcmp(c->name, name))
            return true;
    return false;
}

bool help_topic(const char *name, struct buf *out)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (!strcmp(topics[i].name, name)) {
            buf_printf(out, "%s: %s\n", topics[i].name, topics[i].summary);
            topics[i].write(out);
            return true;
        }
    if (is_command(name))
        return false;
    const struct layer_ops *l;
    for (size_t i = 0; (l = layer_at(i)) != NULL; i++)
        if (!strcmp(l->name, name)) {
            layer_entry(out, l);
            buf_printf(out, "example    kernel %s; tune; see also: help kernels\n", l->example);
            return true;
        }
    const struct kernel_ops *k = kernel_find(name, NULL);
    if (k) {
        kernel_entry(out, k);
        buf_printf(out, "example    kernel %s; tune; see also: help kernels\n", k->name);
    }
    return k != NULL;
}

void help_overview(struct buf *out)
{
    const struct command *c, *d;

    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(command_at(k)->group, c->group) != 0;
        if (!first)
            continue;
        buf_printf(out, "%s\n", c->group);
        for (size_t k = i; (d = command_at(k)) != NULL; k++)
            if (!strcmp(d->group, c->group))
                buf_printf(out, "  %-10s %s\n", d->name, d->summary);
    }
    buf_puts(out, "pages");
    for (size_t i = 0; help_topic_at(i); i++)
        buf_printf(out, "%s %s", i ? "," : "", help_topic_at(i));
    buf_puts(
        out,
        "\n"
        "help COMMAND explains a command; help /WORD searches. First: demo co2; tune; fit; "
        "score\n");
}

static bool contains(const char *line, size_t n, const char *word)
{
    const size_t m = strlen(word);

    for (size_t i = 0; i + m <= n; i++)
        if (!strncasecmp(line + i, word, m))
            return true;
    return false;
}

/* Lists the lines of a page that contain the word, each after the page's name. */
static size_t grep_page(const char *page, const char *name, const char *word, struct buf *out)
{
    size_t hits = 0;

    while (*page) {
        const size_t n = strcspn(page, "\n");
        if (contains(page, n, word)) {
            while (*page == ' ')
                page++;
            const size_t m = strcspn(page, "\n");
            buf_printf(out, "%-10s %.*s\n", name, (int)m, page);
            hits++;
        }
        page += strcspn(page, "\n");
        page += *page != '\0';
    }
    return hits;
}

size_t help_search(const char *word, struct buf *out)
{
    size_t hits = 0;
    const struct command *c;
    struct buf page = { 0 };

    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        buf_clear(&page);
        command_help(c, &page);
        hits += grep_page(buf_str(&page), c->name, word, out);
    }
    const struct words_row *plots = words_of(ARG_PLOT);
    const char *name;
    for (size_t i = 0; plots && (name = plots->at(NULL, i)) != NULL; i++) {
        buf_clear(&page);
        plots->page(name, &page);
        hits += grep_page(buf_str(&page), name, word, out);
    }
    for (size_t i = 0; help_topic_at(i); i++) {
        buf_clear(&page);
        help_topic(help_topic_at(i), &page);
        hits += grep_page(buf_str(&page), help_topic_at(i), word, out);
    }
    buf_free(&page);
    return hits;
}
