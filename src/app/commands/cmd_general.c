/* app/commands/cmd_general.c -- help, about, source, quit. */
#include "config.h"

#include "data/cache.h"
#include "data/formats/import.h"
#include "data/molecules/molecules.h"
#include "app/commands/commands.h"
#include "app/shell/script.h"
#include "app/session/store.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "base/dirs.h"
#include "base/mem.h"
#include "compute/backend_load.h"
#include "compute/models/classes/csvc.h"
#include "compute/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Help, about. */

/* Joins the lines of a paragraph, which a pane wraps at its own width: wrapped twice, every second
 * line would be short. A line that begins with a small letter continues one that is nearly full. */
static void join_lines(char *page)
{
    enum { FULL = 60 };
    static const char *const heads[] = { "usage", "example", "arguments", "axes", "see", "try" };
    size_t from = 0;

    for (size_t i = 0; page[i]; i++) {
        if (page[i] != '\n')
            continue;
        bool joins = i >= from + FULL && page[from] != ' ' && page[i + 1] >= 'a' &&
                     page[i + 1] <= 'z';
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
            joins = joins && strncmp(page + from, heads[k], strlen(heads[k])) != 0 &&
                    strncmp(page + i + 1, heads[k], strlen(heads[k])) != 0;
        if (joins)
            page[i] = ' ';
        else
            from = i + 1;
    }
}

static enum status cmd_help(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *topic = args_text(a, "topic");
    struct buf page = { 0 };
    struct rec r;

    if (!topic) {
        help_overview(&page);
    } else if (*topic == '/' && topic[1]) {
        if (!help_search(topic + 1, &page)) {
            err_set(err, ST_NOT_FOUND, "no page contains '%.60s'", topic + 1);
            err_hint(err, "help");
        }
    } else if (!help_topic(topic, &page)) {
        struct buf plot = { 0 };
        const bool drawn = help_plot(topic, &plot);
        const struct command *c = command_find(topic, err);
        if (c && (!drawn || !strcmp(c->name, topic))) {
            command_help(c, &page);
            if (ws->screen && page.s) /* other pages have tables */
                join_lines(page.s);
        }
        if (drawn)
            buf_printf(&page, "%s%s", page.len ? "\n" : "", buf_str(&plot));
        buf_free(&plot);
        const struct layer_ops *l = layer_find(topic);
        if (page.len && l)
            buf_printf(&page, "%-10s is a kernel, too, as in kernel %s: help kernels\n", topic,
                       l->example);
        if (!page.len)
            err_hint(err, "help /%.60s   (searches all pages)", topic);
    }
    if (!page.len) {
        buf_free(&page);
        return err->code;
    }
    rec_init(&r, REC_RESULT, "help");
    rec_str(&r, "topic", topic);
    rec_str(&r, "text", buf_str(&page));
    rec_text(&r, "%s", buf_str(&page));
    buf_free(&page);
    ws_emit(ws, &r);
    return ST_OK;
}

static void about_path(struct rec *r, const char *key, enum dirs which)
{
    struct buf path = { 0 };

    (void)dirs_path(which, NULL, &path); /* path stays "" when there is none */
    rec_str(r, key, buf_str(&path));
    rec_text(r, "\n  %-9s ", key);
    rec_safe(r, buf_str(&path));
    buf_free(&path);
}

static void about_cache(const struct workspace *ws, struct rec *r)
{
    char used[32], most[32];
    uint64_t bytes;
    size_t n;

    cache_size(&n, &bytes);
    mem_format(used, sizeof used, (double)bytes);
    mem_format(most, sizeof most, (double)ws->opt.cache);
    rec_str(r, "cache", cache_dir());
    rec_int(r, "cache_tables", (int64_t)n);
    rec_int(r, "cache_bytes", (int64_t)bytes);
    rec_int(r, "cache_limit", (int64_t)ws->opt.cache);
    rec_text(r, "\n  cache     ");
    rec_safe(r, *cache_dir() ? cache_dir() : "none: no directory can be made");
    rec_text(r, "   %zu table%s, %s of %s   (set cache=SIZE)", n, n == 1 ? "" : "s", used, most);
}

static void about_formats(struct rec *r)
{
    const char *hdf5 = import_hdf5_version();
    struct buf names = { 0 };

    words_expand("{formats}", &names);
    rec_str(r, "hdf5", hdf5);
    rec_text(r, "\n  reads     %s, text and NPY also as .gz and .zst; HDF5 %s", buf_str(&names),
             hdf5 ? hdf5 : "not built in (libhdf5-dev)");
    rec_bool(r, "libsvm", csvc_here());
    rec_text(r, "\n  machines  fit solver=svm: %s",
             csvc_here() ? "by LIBSVM" : "not built in (libsvm-dev)");
    buf_free(&names);
}

/* The program that reads molecules, and the version of RDKit in it, or what to do. */
static void about_molecules(struct rec *r)
{
    char version[MOLECULES_REASON_MOST + 1];
    struct err why = { 0 };
    const bool here = molecules_version(version, sizeof version, &why) == ST_OK;

    rec_str(r, "rdkit", here ? version : NULL);
    rec_text(r, "\n  molecules ");
    if (here) {
        rec_text(r, "gpdesk-molecules with RDKit ");
        rec_safe(r, version);
        return;
    }
    rec_str(r, "rdkit_why", why.msg);
    rec_text(r, "pieces of the text alone: ");
    rec_safe(r, why.msg);
}

/* Lists "cpu (..)" and the CUDA devices, or the reason why there are none. */
static void about_devices(const struct workspace *ws, struct rec *r)
{
    const struct backend_ops *module;
    const char *why = "";

    rec_text(r, "\n  devices   cpu: %s", backend_cpu()->summary);
    rec_str(r, "device", ws->opt.device);
    module = backend_module(&why);
    rec_array(r, "cuda");
    for (size_t i = 0, n = module && module->devices ? module->devices(NULL, 0) : 0; i < n; i++) {
        struct backend_device d = { 0 };
        struct err err = { 0 };
        char all[24], left[24];
        if (module->describe(i, &d, &err) != ST_OK) {
            rec_text(r, "\n            cuda:%zu: %s", i, err.msg);
            continue;
        }
        mem_format(all, sizeof all, (double)d.memory);
        mem_format(left, sizeof left, (double)d.free);
        rec_item(r);
        rec_str(r, "name", d.name);
        rec_int(r, "memory", (int64_t)d.memory);
        rec_int(r, "free", (int64_t)d.free);
        rec_close(r);
        rec_text(r, "\n            cuda:%zu: %s, %s of %s free", i, d.name, left, all);
    }
    rec_array_close(r);
    if (!module) {
        rec_str(r, "cuda_why", why);
        rec_text(r, "\n            ");
        rec_safe(r, why);
    }
    rec_text(r, "\n            device=%s   (set device=auto, cpu or cuda:N)", ws->opt.device);
}

/* The processes that share the rows, and the machines that they are on. */
static void about_ranks(const struct workspace *ws, struct rec *r)
{
    struct ranks_one one;

    rec_int(r, "ranks", (int64_t)ws->opt.ranks);
    rec_str(r, "hosts", *ws->opt.hosts ? ws->opt.hosts : NULL);
    rec_array(r, "processes");
    rec_text(r, "\n  ranks     ");
    for (size_t i = 0; ranks_at(i, &one); i++) {
        rec_item(r);
        rec_str(r, "host", one.host);
        rec_int(r, "processes", (int64_t)one.processes);
        rec_int(r, "threads", (int64_t)one.threads);
        rec_bool(r, "alive", one.alive);
        rec_str(r, "device", *one.device ? one.device : NULL);
        rec_str(r, "device_why", one.lacks ? one.lack : NULL);
        rec_close(r);
        rec_text(r, "%s%zu: ", i ? "\n            " : "", i + 1);
        rec_safe(r, one.host);
        if (one.processes > 1)
            rec_text(r, " and others by MPI, %zu processes", one.processes);
        rec_text(r, ", %zu thread%s%s", one.threads, one.threads == 1 ? "" : "s",
                 one.alive ? "" : ", lost");
        if (*one.device) {
            rec_text(r, ", cuda:%u: ", one.number);
            rec_safe(r, one.device);
        }
        if (one.lacks) {
            rec_text(r, ", processor: ");
            rec_safe(r, one.lack);
        }
    }
    rec_array_close(r);
    if (ranks_count() == 0 && (ws->opt.ranks > 1 || *ws->opt.hosts))
        rec_text(r, "start with the next job");
    else if (ranks_count() == 0)
        rec_text(r, "one process   (set ranks=4, or hosts=a:2,b:2)");
}

static enum status cmd_about(struct workspace *ws, const struct args *a, struct err *err)
{
    char ram[32], limit[32], rss[32];
    const struct kernel_ops *k;
    struct rec r;

    (void)a, (void)err;
    mem_format(ram, sizeof ram, (double)mem_physical());
    mem_format(limit, sizeof limit, (double)ws->opt.mem);
    mem_format(rss, sizeof rss, (double)mem_peak_rss());
    rec_init(&r, REC_RESULT, "about");
    rec_str(&r, "version", PACKAGE_VERSION);
    rec_str(&r, "cpu", cpu_level());
    rec_str(&r, "blas", cpu_blas());
    rec_int(&r, "threads", (int64_t)ws->opt.threads);
    rec_int(&r, "cores", (int64_t)sysconf(_SC_NPROCESSORS_ONLN));
    rec_int(&r, "memory", (int64_t)mem_physical());
    rec_int(&r, "memory_limit", (int64_t)ws->opt.mem);
    rec_int(&r, "memory_peak", (int64_t)mem_peak_rss());
    rec_str(&r, "backend", ws->backend->name);
    rec_str(&r, "session", store_of(ws) ? store_path(store_of(ws)) : NULL);
    rec_text(&r, "gpdesk %s: scalable Gaussian processes in the terminal; GPL-3.0-or-later\n"
             "  cpu       %s kernels, %zu of %ld threads\n  blas      %s\n"
             "  memory    %s used at most so far; limit %s of %s",
             PACKAGE_VERSION, cpu_level(), ws->opt.threads, sysconf(_SC_NPROCESSORS_ONLN),
             cpu_blas(), rss, limit, ram);
    about_devices(ws, &r);
    about_ranks(ws, &r);
    rec_text(&r, "\n  kernels  ");
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        rec_text(&r, " %s", k->name);
    for (size_t i = 0; layer_at(i); i++)
        rec_text(&r, " %s", layer_at(i)->name);
    rec_open(&r, "built");
    for (size_t i = 0; (k = kernel_at(i)) != NULL; i++)
        if (k->built) {
            rec_str(&r, k->name, k->built);
            rec_text(&r, "\n  %-10s%s", k->name, k->built);
        }
    rec_close(&r);
    about_formats(&r);
    about_molecules(&r);
    if (store_of(ws)) {
        rec_text(&r, "\n  session   ");
        rec_safe(&r, store_path(store_of(ws)));
    }
    about_path(&r, "config", DIRS_CONFIG);
    about_path(&r, "state", DIRS_STATE);
    about_cache(ws, &r);
    ws_emit(ws, &r);
    return ST_OK;
}

/* Source, quit. */

/* At the keyboard only regular files are read: waiting for a pipe would freeze the screen. */
static enum status comes_at_once(const struct workspace *ws, const char *path, struct err *err)
{
    struct stat st;

    if (!ws->interactive)
        return ST_OK;
    if (ws_no_keyboard(ws, path, err) != ST_OK)
        return ST_USAGE;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return ST_OK;
    err_set(err, ST_UNSUPPORTED,
            "%.300s is not a regular file; reading it at the keyboard could wait forever", path);
    err_hint(err, "gpdesk -f %.80s, or a copy in a file", path);
    return ST_UNSUPPORTED;
}

static enum status cmd_source(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *path = args_text(a, "file");
    char *text = NULL;
    enum status rc = comes_at_once(ws, path, err);

    if (rc == ST_OK)
        rc = script_read(path, &text, err);

    if (rc != ST_OK)
        return rc;
    rc = workspace_exec_from(ws, text, path, 1);
    free(text);
    if (rc != ST_OK)
        err_set(err, rc, "%.300s cannot be parsed; none of it was run", path);
    return rc;
}

static enum status cmd_quit(struct workspace *ws, const struct args *a, struct err *err)
{
    (void)a, (void)err;
    ws->quit = true;
    return ST_OK;
}

const struct command cmd_general_rows[] = {
    {"source",
     "session",
     "Run a script",
     "source share/examples/demo.gps",
     {{"file", ARG_FILE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL, "the script"}},
     0,
     cmd_source,
     "The whole script is parsed before its first line runs."},
    {"help",
     "general",
     "Show this overview, a command, a page, or a search",
     "help fit",
     {{"topic", ARG_TOPIC, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "command, plot or page; /word searches all pages"}},
     0,
     cmd_help,
     NULL},
    {"about",
     "general",
     "Show version, processor, libraries, memory, paths",
     "about",
     {{.name = NULL}},
     0,
     cmd_about,
     NULL},
    {"quit", "general", "End the program", "quit", {{.name = NULL}}, 0, cmd_quit, NULL},
    {.name = NULL},
};
