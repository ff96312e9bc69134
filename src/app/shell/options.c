/* app/shell/options.c -- the table of settings and where their values come from: see options.h. */
#include "app/shell/options.h"

#include "app/shell/bindings.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/backend_load.h"
#include "compute/ranks/ranks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTIONS_MAX = 32, CONFIG_MAX = 1 << 20 };

struct options_origin { enum origin by[OPTIONS_MAX]; };

static size_t cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

#define BOOL_OPTION(id, field)                                                                  \
    static enum status apply_##id(struct options *o, const char *text, double x, struct err *e) \
    {                                                                                           \
        (void)x, (void)e;                                                                       \
        o->field = strchr("yot1", *text) && strcmp(text, "off");                                \
        return ST_OK;                                                                           \
    }                                                                                           \
    static void show_##id(const struct options *o, struct buf *b)                               \
    {                                                                                           \
        buf_puts(b, o->field ? "yes" : "no");                                                   \
    }
BOOL_OPTION(plain, plain)
BOOL_OPTION(strict, strict)
BOOL_OPTION(keep_going, keep_going)
BOOL_OPTION(accept, accept_unconverged)

#define NUMBER_OPTION(id, field, cast)                                                          \
    static enum status apply_##id(struct options *o, const char *text, double x, struct err *e) \
    {                                                                                           \
        (void)text, (void)e;                                                                    \
        o->field = (cast)x;                                                                     \
        return ST_OK;                                                                           \
    }
NUMBER_OPTION(threads, threads, size_t)
NUMBER_OPTION(mem, mem, size_t)
NUMBER_OPTION(seed, seed, uint64_t)
NUMBER_OPTION(verbosity, verbosity, int)

static void show_threads(const struct options *o, struct buf *b)
{
    buf_printf(b, "%zu", o->threads);
}

static void show_bytes(double bytes, struct buf *b)
{
    char text[32];

    mem_format(text, sizeof text, bytes);
    for (char *p = text; *p; p++)
        if (*p != ' ')
            buf_putc(b, *p);
}

static void show_mem(const struct options *o, struct buf *b)
{
    show_bytes((double)o->mem, b);
}

static enum status apply_cache(struct options *o, const char *text, double x, struct err *e)
{
    (void)text, (void)e;
    o->cache = (size_t)x;
    return ST_OK;
}

static void show_cache(const struct options *o, struct buf *b)
{
    show_bytes((double)o->cache, b);
}

static enum status apply_molecule(struct options *o, const char *text, double x, struct err *e)
{
    (void)text, (void)e;
    o->molecule_seconds = x;
    return ST_OK;
}

static void show_molecule(const struct options *o, struct buf *b)
{
    buf_printf(b, "%g", o->molecule_seconds);
}

static void show_seed(const struct options *o, struct buf *b)
{
    buf_printf(b, "%" PRIu64, o->seed);
}

static void show_verbosity(const struct options *o, struct buf *b)
{
    buf_printf(b, "%d", o->verbosity);
}

static enum status apply_precision(struct options *o, const char *text, double x, struct err *e)
{
    (void)x, (void)e;
    o->precision = strcmp(text, "double") ? PREC_FLOAT : PREC_DOUBLE;
    return ST_OK;
}

static void show_precision(const struct options *o, struct buf *b)
{
    buf_puts(b, o->precision == PREC_DOUBLE ? "double" : "float");
}

static const char *const color_words[] = { "auto", "always", "never" };

static enum status apply_color(struct options *o, const char *text, double x, struct err *e)
{
    (void)x, (void)e;
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, color_words[i]))
            o->color = i;
    return ST_OK;
}

static void show_color(const struct options *o, struct buf *b)
{
    buf_puts(b, color_words[o->color]);
}

BOOL_OPTION(bell, bell)
BOOL_OPTION(mouse, mouse)
NUMBER_OPTION(fps, fps, int)

static void show_fps(const struct options *o, struct buf *b)
{
    buf_printf(b, "%d", o->fps);
}

#define WORD_OPTION(id)                                                                         \
    static enum status apply_##id(struct options *o, const char *text, double x, struct err *e) \
    {                                                                                           \
        (void)x, (void)e;                                                                       \
        snprintf(o->id, sizeof o->id, "%s", text);                                              \
        return ST_OK;                                                                           \
    }                                                                                           \
    static void show_##id(const struct options *o, struct buf *b)                               \
    {                                                                                           \
        buf_puts(b, o->id);                                                                     \
    }
WORD_OPTION(layout)
WORD_OPTION(learn)
WORD_OPTION(editing)
WORD_OPTION(glyphs)

static const char *const theme_words[] = { "auto", "dark", "light", "high", "mono", NULL };

bool options_theme_path(const char *name, struct buf *out)
{
    if (!*name || strchr(name, '/') || *name == '.' || !dirs_path(DIRS_CONFIG, "themes", out))
        return false;
    buf_printf(out, "/%s", name);
    return !out->failed && access(out->s, R_OK) == 0;
}

void options_themes(struct buf *out)
{
    struct buf dir = { 0 };
    struct dirent *e;

    for (size_t i = 0; theme_words[i]; i++)
        buf_printf(out, "%s%s", i ? ", " : "", theme_words[i]);
    DIR *d = dirs_path(DIRS_CONFIG, "themes", &dir) ? opendir(dir.s) : NULL;
    for (size_t n = 0; d && n < 100 && (e = readdir(d)) != NULL;)
        if (*e->d_name != '.') {
            buf_puts(out, ", ");
            text_safe(out, e->d_name, 15);
            n++;
        }
    if (d)
        closedir(d);
    buf_free(&dir);
}

static enum status apply_theme(struct options *o, const char *text, double x, struct err *e)
{
    struct buf path = { 0 }, names = { 0 };
    bool known = false;

    (void)x;
    for (size_t i = 0; theme_words[i]; i++)
        known |= !strcmp(theme_words[i], text);
    known = strlen(text) < sizeof o->theme && (known || options_theme_path(text, &path));
    if (known) {
        snprintf(o->theme, sizeof o->theme, "%s", text);
    } else {
        options_themes(&names);
        err_set(e, ST_USAGE, "theme=%.40s: there is no such theme; choose one of "
                             "%s", text, buf_str(&names));
    }
    buf_free(&path);
    buf_free(&names);
    return known ? ST_OK : ST_USAGE;
}

static void show_theme(const struct options *o, struct buf *b)
{
    buf_puts(b, o->theme);
}

static enum status apply_device(struct options *o, const char *text, double x, struct err *e)
{
    const enum status rc = backend_words(text, e);

    (void)x;
    if (rc == ST_OK)
        snprintf(o->device, sizeof o->device, "%s", text);
    return rc;
}

static void show_device(const struct options *o, struct buf *b)
{
    buf_puts(b, o->device);
}

static enum status apply_ranks(struct options *o, const char *text, double x, struct err *e)
{
    (void)text;
    (void)e;
    o->ranks = (size_t)x;
    return ST_OK;
}

static void show_ranks(const struct options *o, struct buf *b)
{
    buf_printf(b, "%zu", o->ranks);
}

/* A value with a slash is a file of hosts. */
static enum status apply_hosts(struct options *o, const char *text, double x, struct err *e)
{
    char hosts[HOSTS_LETTERS] = "";
    const bool none = strcmp(text, "none") == 0;
    enum status rc = ST_OK;

    (void)x;
    if (strchr(text, '/'))
        rc = hosts_read(text, hosts, e);
    else if (!none && strlen(text) >= sizeof hosts)
        rc = err_set(e, ST_USAGE, "hosts: at most %zu letters", sizeof hosts - 1);
    else if (!none)
        snprintf(hosts, sizeof hosts, "%s", text);
    if (rc == ST_OK && !none && hosts_count(hosts, e) == 0)
        rc = ST_USAGE;
    if (rc == ST_OK)
        snprintf(o->hosts, sizeof o->hosts, "%s", hosts);
    return rc;
}

static void show_hosts(const struct options *o, struct buf *b)
{
    buf_puts(b, *o->hosts ? o->hosts : "none");
}

static const struct option_row rows[] = {
    {{"threads", ARG_INT, 0, NULL, 1, 256, NULL, NULL,
      "number of threads; results do not depend on it"},
     apply_threads,
     show_threads},
    {{"mem", ARG_BYTES, 0, NULL, 0x1p26, 0x1p50, NULL, NULL,
      "memory that data and fits may use together"},
     apply_mem,
     show_mem},
    {{"cache", ARG_BYTES, 0, "10GB", 0, 0x1p50, NULL, NULL,
      "disk space for parsed tables in the cache directory; 0: no cache"},
     apply_cache,
     show_cache},
    {{"molecule-seconds", ARG_REAL, 0, "2", 0.01, 1e6, "seconds", NULL,
      "processor time for reading one molecule; one that takes longer is a missing cell"},
     apply_molecule,
     show_molecule},
    {{"seed", ARG_INT, 0, "1", 0, 0x1p53, NULL, NULL,
      "seed of all random numbers; the same seed gives the same figures"},
     apply_seed,
     show_seed},
    {{"precision", ARG_CHOICE, 0, "float", 0, 0, "float|double", NULL,
      "precision of features; sums are always double"},
     apply_precision,
     show_precision},
    {{"device", ARG_WORD, 0, "auto", 0, 0, NULL, NULL,
      "what computes: cpu, cuda:N, or auto: a CUDA device where there is one (about)"},
     apply_device,
     show_device},
    {{"ranks", ARG_INT, 0, "1", 1, RANKS_MOST, NULL, NULL,
      "processes that share the rows, with a part of the threads and a device each"},
     apply_ranks,
     show_ranks},
    {{"hosts", ARG_WORD, 0, "none", 0, 0, NULL, NULL,
      "machines of these processes, reached by ssh, a:2,b:2; a file ./hosts; or mpi:4"},
     apply_hosts,
     show_hosts},
    {{"color", ARG_CHOICE, 0, "auto", 0, 0, "auto|always|never", NULL,
      "use of colour on the screen"},
     apply_color,
     show_color},
    {{"theme", ARG_WORD, 0, "auto", 0, 0, "auto|dark|light|high|mono", NULL,
      "colours of the screen; also a file in the themes directory"},
     apply_theme,
     show_theme},
    {{"layout", ARG_CHOICE, OPTION_KEYBOARD, "auto", 0, 0, "auto|main|two|three|slide", NULL,
      "panes of the screen; auto: depends on its size"},
     apply_layout,
     show_layout},
    {{"glyphs", ARG_CHOICE, 0, "auto", 0, 0, "auto|ascii|utf8", NULL,
      "characters of the screen; auto: depends on the locale"},
     apply_glyphs,
     show_glyphs},
    {{"editing", ARG_CHOICE, 0, "auto", 0, 0, "auto|emacs|vi", NULL,
      "keys of the line editor; auto: as ~/.inputrc says"},
     apply_editing,
     show_editing},
    {{"learn", ARG_CHOICE, 0, "auto", 0, 0, "auto|on|off", NULL,
      "keys show their line before they run it; auto: in the first session"},
     apply_learn,
     show_learn},
    {{"mouse", ARG_BOOL, OPTION_KEYBOARD, "no", 0, 0, NULL, NULL,
      "wheel, click and drag; no: the terminal's own selection works"},
     apply_mouse,
     show_mouse},
    {{"bell", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "ring when a job of more than 30 s has ended"},
     apply_bell,
     show_bell},
    {{"fps", ARG_INT, 0, "4", 1, 20, NULL, NULL, "redraws per second while only progress changes"},
     apply_fps,
     show_fps},
    {{"plain", ARG_BOOL, OPTION_KEYBOARD, "no", 0, 0, NULL, NULL,
      "one event on each line, no full screen"},
     apply_plain,
     show_plain},
    {{"verbosity", ARG_INT, 0, "1", 0, 2, NULL, NULL,
      "0: results, warnings and errors; 1: notes and progress too; 2: also each command"},
     apply_verbosity,
     show_verbosity},
    {{"strict", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "a warning counts as an error"},
     apply_strict,
     show_strict},
    {{"keep-going", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "continue after a command that failed"},
     apply_keep_going,
     show_keep_going},
    {{"accept-unconverged", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
      "exit with 0 although a fit stopped short of its tolerance"},
     apply_accept,
     show_accept},
};
_Static_assert(sizeof rows / sizeof *rows <= OPTIONS_MAX, "origins need a slot for each option");

const struct option_row *option_at(size_t i)
{
    return i < sizeof rows / sizeof *rows ? &rows[i] : NULL;
}

const struct option_row *option_find(const char *name, struct err *err)
{
    const char *names[OPTIONS_MAX];
    const struct option_row *hit = NULL;
    size_t n = 0, hits = 0;
    char near[160];

    for (; option_at(n); n++) {
        names[n] = rows[n].arg.name;
        if (!strcmp(names[n], name))
            return &rows[n];
        if (*name && !strncmp(names[n], name, strlen(name))) {
            hit = &rows[n];
            hits++;
        }
    }
    if (hits == 1)
        return hit;
    err_set(err, hits ? ST_AMBIGUOUS : ST_NOT_FOUND,
            hits ? "several options begin with '%.40s'" : "there is no option '%.40s'", name);
    if (!hits && command_nearest(name, names, n, near, sizeof near))
        err_hint(err, "%s   (all: set)", near);
    else
        err_hint(err, "set");
    return NULL;
}

void options_default(struct options *o)
{
    memset(o, 0, sizeof *o);
    o->threads = cores();
    o->mem = mem_physical() / 4 * 3;
    o->cache = (size_t)10 << 30;
    o->molecule_seconds = 2.0;
    o->seed = 1;
    o->verbosity = 1;
    o->precision = PREC_FLOAT;
    strcpy(o->theme, "auto");
    strcpy(o->layout, "auto");
    strcpy(o->glyphs, "auto");
    strcpy(o->editing, "auto");
    strcpy(o->learn, "auto");
    o->fps = 4;
    strcpy(o->device, "auto");
    o->ranks = 1;
}

struct options_origin *options_origin_new(struct err *err)
{
    return mem_calloc(1, sizeof(struct options_origin), "options", err);
}

struct options_origin *options_origin_copy(const struct options_origin *from, struct err *err)
{
    struct options_origin *to = options_origin_new(err);

    if (to)
        *to = *from;
    return to;
}

void option_value(const struct options *o, const struct option_row *row, struct buf *out)
{
    if (row->show == show_mem)
        buf_printf(out, "%zu", o->mem);
    else if (row->show == show_cache)
        buf_printf(out, "%zu", o->cache);
    else
        row->show(o, out);
}

void options_text(const struct options *o, const struct options_origin *who, struct buf *out)
{
    for (size_t i = 0; option_at(i); i++) {
        if (rows[i].arg.flags & OPTION_KEYBOARD)
            continue;
        buf_printf(out, "%s=", rows[i].arg.name);
        option_value(o, &rows[i], out);
        buf_printf(out, " %d\n", who ? (int)who->by[i] : 0);
    }
}

/* Checks a text as a value; *x gets a number. */
static enum status check_value(const struct option_row *row, const char *value, double *x,
                               struct err *err)
{
    char word[48], list[200] = "";

    switch (row->arg.type) {
    case ARG_INT: case ARG_REAL: case ARG_BYTES:
        return command_number(&row->arg, value, x, err);
    case ARG_CHOICE:
        for (size_t i = 0; command_choice(row->arg.choices, i, word, sizeof word); i++) {
            if (!strcmp(word, value))
                return ST_OK;
            strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
            strncat(list, word, sizeof list - strlen(list) - 1);
        }
        return err_set(err, ST_USAGE, "%s=%.40s: there is no such choice; choose one of "
                                      "%s", row->arg.name,
                       value, list);
    case ARG_WORD: /* the option's apply function checks it */
        return ST_OK;
    default:
        for (const char *const *w = (const char *const[]){ "yes", "no", "on", "off", "true",
                                                           "false", "1", "0", NULL }; *w; w++)
            if (!strcmp(*w, value))
                return ST_OK;
        return err_set(err, ST_USAGE, "%s=%.40s: answer yes or no", row->arg.name, value);
    }
}

void options_restore(struct options *to, struct options_origin *who, const struct options *from,
                     const struct options_origin *from_who)
{
    const struct options mine = *to;
    const struct options_origin mine_who = *who;

    *to = *from;
    if (from_who)
        *who = *from_who;
    for (size_t i = 0; option_at(i); i++) {
        struct buf value = { 0 };
        double x = NAN;
        if (!(rows[i].arg.flags & OPTION_KEYBOARD))
            continue;
        who->by[i] = mine_who.by[i];
        option_value(&mine, &rows[i], &value);
        if (check_value(&rows[i], buf_str(&value), &x, NULL) == ST_OK)
            (void)rows[i].apply(to, buf_str(&value), x, NULL);
        buf_free(&value);
    }
}

bool option_is_set(const struct options_origin *who, const char *name)
{
    for (size_t i = 0; option_at(i); i++)
        if (!strcmp(rows[i].arg.name, name))
            return who->by[i] == BY_SET || who->by[i] == BY_SESSION;
    return false;
}

/* What a session does not bring back.  A slide is for one talk: it has no tabs and no log, and the
 * next start would look broken.  Processes and machines belong to where the program runs: a
 * session, which may be a stranger's, must not send rows to a machine that it names. */
static bool is_passing(const struct option_row *row, const char *value)
{
    return (row->apply == apply_layout && !strcmp(value, "slide")) ||
           row->apply == apply_ranks || row->apply == apply_hosts;
}

enum status option_set(struct options *o, struct options_origin *who, const char *name,
                       const char *value, enum origin by, struct err *err)
{
    const struct option_row *row = option_find(name, err);
    double x = NAN;

    if (!row)
        return err && err->code ? err->code : ST_NOT_FOUND;
    const size_t i = (size_t)(row - rows);
    if (who && who->by[i] > by)
        return ST_OK;
    if (by == BY_SESSION && is_passing(row, value))
        return ST_OK;
    enum status rc = check_value(row, value, &x, err);
    if (rc == ST_OK)
        rc = row->apply(o, value, x, err);
    if (rc == ST_OK && who)
        who->by[i] = by;
    return rc;
}

void option_mark(struct options_origin *who, const char *name, enum origin by)
{
    for (size_t i = 0; option_at(i); i++)
        if (!strcmp(rows[i].arg.name, name))
            who->by[i] = by;
}

const char *option_origin(const struct options_origin *who, const char *name)
{
    static const char *const words[] = { "default", "config file", "environment", "session",
                                         "command line", "set" };
    for (size_t i = 0; option_at(i); i++)
        if (!strcmp(rows[i].arg.name, name))
            return words[who->by[i]];
    return "";
}

enum status options_from_env(struct options *o, struct options_origin *who, struct err *err)
{
    for (size_t i = 0; option_at(i); i++) {
        char name[64] = "GPDESK_";
        size_t n = strlen(name);
        for (const char *p = rows[i].arg.name; *p; p++)
            name[n++] = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
        name[n] = '\0';
        const char *value = getenv(name);
        if (!value || !*value)
            continue;
        enum status rc = option_set(o, who, rows[i].arg.name, value, BY_ENV, err);
        if (rc != ST_OK) {
            err_prefix(err, "%s: ", name);
            return rc;
        }
    }
    return ST_OK;
}

static void config_line(struct options *o, struct options_origin *who, const char *text,
                        struct err *err)
{
    const struct command *cmd;
    struct args *a = NULL;
    const char *value;

    if (command_parse(text, &cmd, &a, err) != ST_OK)
        return;
    const char *focus = strcmp(cmd->name, "bind") ? NULL : args_text(a, "focus");
    if (focus && args_text(a, "line"))
        binding_set(!strcmp(focus, "prompt") ? BIND_PROMPT : !strcmp(focus, "view") ? BIND_VIEW
                    : BIND_BOTH, args_text(a, "key"), args_text(a, "line"), err);
    else if (strcmp(cmd->name, "set") || args_hp(a) || args_given(a, "name"))
        err_set(err, ST_USAGE,
                "only lines like `set threads=2` and `bind view K \"compare .\"` are allowed here");
    for (size_t i = 0; err->code == ST_OK && i < args_opts(a); i++) {
        const char *name = args_opt_at(a, i, &value);
        option_set(o, who, name, value, BY_CONFIG, err);
    }
    args_free(a);
}

void options_from_config(struct options *o, struct options_origin *who, struct buf *complaints)
{
    struct buf path = { 0 };
    struct statement *st = NULL;
    size_t n = 0, got = 0;
    struct err err = { 0 };
    char *text = NULL;
    FILE *f = dirs_path(DIRS_CONFIG, "config", &path) ? fopen(path.s, "re") : NULL;

    if (!f) {
        if (path.len && errno != ENOENT && errno != ENOTDIR)
            buf_printf(complaints, "%s: %s\n", path.s, strerror(errno));
    } else if ((text = malloc(CONFIG_MAX)) != NULL) {
        got = fread(text, 1, CONFIG_MAX - 1, f);
        text[got] = '\0';
        if (strlen(text) != got || got == CONFIG_MAX - 1)
            buf_printf(complaints, "%s is not a text file of settings; it is ignored\n", path.s);
        else if (command_split(text, &st, &n, &err) != ST_OK)
            buf_printf(complaints, "%s: %s\n", path.s, err.msg);
    }
    for (size_t i = 0; i < n; i++) {
        err_clear(&err);
        config_line(o, who, st[i].text, &err);
        if (err.code != ST_OK)
            buf_printf(complaints, "%s line %zu: %s\n", path.s, st[i].line, err.msg);
    }
    if (f)
        fclose(f);
    command_statements_free(st, n);
    free(text);
    buf_free(&path);
}
