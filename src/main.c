/* main.c -- arguments and locale, then the workbench or a script. */
#include "config.h"

#include "app/commands/app.h"
#include "app/core/batch.h"
#include "app/core/ws_tell.h"
#include "app/shell/cli.h"
#include "app/shell/command.h"
#include "app/shell/manual.h"
#include "app/shell/options.h"
#include "app/shell/script.h"
#include "app/session/store.h"
#include "app/session/store_gate.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/backend.h"
#include "compute/linalg/blas.h"
#include "compute/ranks/rank.h"
#include "ui/lifecycle.h"
#include "ui/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A piece of what is to be run, in the order given. */
struct piece { enum { PIECE_LINE, PIECE_FILE, PIECE_SCRIPT } kind; const char *text; };
struct cli {
    struct options opt;
    struct options_origin *who;
    struct piece *piece; size_t n;
    const char *session;
    bool json, interactive, no_config, quiet;
};

/* What make and the completions of shells ask for; not for people. */
enum { OPT_DUMP = 1000, OPT_COMPLETE };
enum { OPTIONS_MOST = 64 };
enum { END_SECONDS = 2 }; /* for a job that is asked to stop, after the screen has waited for it */

static bool complain_json; /* --format json was read: messages are records on stdout, too */

/* A message before there is anything to send records to. */
static int complain(const struct err *err, int status)
{
    struct buf b = { 0 };
    const char *hint = *err->hint ? err->hint
                     : err->code == ST_NOMEM || err->code == ST_LIMIT
                         ? "free memory, or a smaller --mem= and --threads=" : "gpdesk --help";

    /* What memory was refused for is no mistake of the person who typed it. */
    status = err->machine && status == EXIT_USAGE_GP ? EXIT_RESOURCES : status;
    if (complain_json) {
        struct rec r;
        rec_init(&r, REC_ERROR, *err->name ? err->name : status_name(err->code));
        rec_text(&r, "%s", err->msg);
        snprintf(r.hint, sizeof r.hint, "%s", hint);
        rec_json_line(&r, &b);
        fputs(b.failed || r.text.failed ? rec_no_memory(true) : buf_str(&b), stdout);
        fflush(stdout);
        rec_free(&r);
        buf_free(&b);
        return status;
    }
    text_safe(&b, err->msg, 0);
    if (b.failed) {
        fputs(rec_no_memory(false), stderr);
        buf_free(&b);
        return status;
    }
    fprintf(stderr, "gpdesk: %s\n", buf_str(&b));
    buf_clear(&b);
    text_safe(&b, hint, 0);
    fprintf(stderr, "  try  %s\n", b.failed ? "free memory" : buf_str(&b));
    buf_free(&b);
    return status;
}

static bool add_piece(struct cli *c, int kind, const char *text, struct err *err)
{
    struct piece *grown = realloc(c->piece, (c->n + 1) * sizeof *grown);

    if (!grown) {
        err_nomem(err, (c->n + 1) * sizeof *grown, "arguments");
        return false;
    }
    c->piece = grown;
    c->piece[c->n].kind = kind;
    c->piece[c->n++].text = text;
    return true;
}

static enum status set(struct cli *c, const char *name, const char *value, struct err *err)
{
    enum status rc = option_set(&c->opt, c->who, name, value, BY_COMMAND_LINE, err);

    if (rc != ST_OK)
        err_prefix(err, "--");
    return rc;
}

static enum status take_option(struct cli *c, int o, struct err *err)
{
    switch (o) {
    case 'e': return add_piece(c, PIECE_LINE, optarg, err) ? ST_OK : ST_NOMEM;
    case 'f': return add_piece(c, PIECE_SCRIPT, optarg, err) ? ST_OK : ST_NOMEM;
    case 's': c->session = optarg; return ST_OK;
    case 'i': c->interactive = true; return ST_OK;
    case 'n': c->opt.dry = true; return ST_OK;
    case 'k': return set(c, "keep-going", "yes", err);
    case 'q': return set(c, "verbosity", "0", err);
    case 'v': return set(c, "verbosity", "2", err);
    case CLI_SEED: return set(c, "seed", optarg, err);
    case CLI_THREADS: return set(c, "threads", optarg, err);
    case CLI_MEM: return set(c, "mem", optarg, err);
    case CLI_PRECISION: return set(c, "precision", optarg, err);
    case CLI_DEVICE: return set(c, "device", optarg, err);
    case CLI_RANKS: return set(c, "ranks", optarg, err);
    case CLI_HOSTS: return set(c, "hosts", optarg, err);
    case CLI_CPU: return cpu_force_level(optarg, err);
    case CLI_STRICT: return set(c, "strict", "yes", err);
    case CLI_ACCEPT: return set(c, "accept-unconverged", "yes", err);
    case CLI_PLAIN: return set(c, "plain", "yes", err);
    case CLI_COLOR: return set(c, "color", optarg, err);
    case CLI_NO_CONFIG: c->no_config = true; return ST_OK;
    case CLI_FORMAT:
        c->opt.json = complain_json = !strcmp(optarg, "json");
        if (c->opt.json || !strcmp(optarg, "text"))
            return ST_OK;
        return err_set(err, ST_USAGE, "--format=%.40s: say text or json", optarg);
    default:
        return err_set(err, ST_USAGE, "see gpdesk --help");
    }
}

static int print_text(struct buf *text)
{
    fputs(buf_str(text), stdout);
    /* A write that failed earlier leaves nothing for fflush to fail on. */
    const bool written = fflush(stdout) == 0 && !ferror(stdout), whole = !text->failed;

    buf_free(text);
    if (!written)
        fprintf(stderr, "gpdesk: cannot write to standard output\n");
    return written && whole ? 0 : EXIT_RESOURCES;
}

static int dump(const char *what)
{
    struct buf text = { 0 };
    struct err err = { 0 };

    if (manual_write(what, &text))
        return print_text(&text);
    err_set(&err, ST_USAGE, "--dump=%.40s: man, bash, zsh, fish or html", what);
    return complain(&err, EXIT_USAGE_GP);
}

/* One completion a line of the word that ends a command line. */
static int complete(const char *line)
{
    size_t start;
    char **word = command_complete(NULL, line, strlen(line), &start);
    struct buf text = { 0 };

    for (size_t i = 0; word && word[i]; i++) {
        buf_printf(&text, "%s\n", word[i]);
        free(word[i]);
    }
    free(word);
    return print_text(&text);
}

/* The table of options as getopt takes it. */
static void getopt_tables(struct option *out, char *letters)
{
    const struct cli_option *o;
    size_t n = 0;

    *letters++ = '+';
    *letters++ = ':';
    for (size_t i = 0; (o = cli_at(i)) != NULL && n < OPTIONS_MOST - 3; i++) {
        if (cli_letter(o))
            *letters++ = cli_letter(o);
        if (cli_letter(o) && o->arg)
            *letters++ = ':';
        if (o->name)
            out[n++] =
                (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->code};
    }
    *letters++ = 'h';
    *letters = '\0';
    out[n++] = (struct option){ "dump", required_argument, NULL, OPT_DUMP };
    out[n++] = (struct option){ "complete", required_argument, NULL, OPT_COMPLETE };
    out[n] = (struct option){ NULL, 0, NULL, 0 };
}

/* Returns -1 to go on, else an exit status. */
static int take_arguments(struct cli *c, int argc, char **argv)
{
    struct option names[OPTIONS_MOST];
    char letters[2 * OPTIONS_MOST];
    struct err err = { 0 };
    struct buf text = { 0 };
    int o;

    getopt_tables(names, letters);
    opterr = 0;
    while ((o = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        if (o == CLI_HELP || o == 'h') {
            cli_usage(&text);
            return print_text(&text);
        }
        if (o == OPT_DUMP)
            return dump(optarg);
        if (o == OPT_COMPLETE)
            return complete(optarg);
        if (o == CLI_VERSION) {
            printf("gpdesk %s\n", PACKAGE_VERSION);
            return fflush(stdout) != 0 || ferror(stdout) ? EXIT_RESOURCES : 0;
        }
        if (o == ':')
            err_set(&err, ST_USAGE, "%s needs a value", argv[optind - 1]);
        else if (o == '?')
            err_set(&err, ST_USAGE, "unknown option %s", argv[optind - 1]);
        else if (take_option(c, o, &err) == ST_OK)
            continue;
        if (!*err.hint)
            err_hint(&err, "gpdesk --help");
        return complain(&err, EXIT_USAGE_GP);
    }
    /* Options may also stand behind a FILE: gpdesk data.csv -e fit. */
    while (optind < argc) {
        const bool options = optind > 1 && !strcmp(argv[optind - 1], "--");
        if (!options && argv[optind][0] == '-' && argv[optind][1])
            return take_arguments(c, argc, argv);
        if (!add_piece(c, PIECE_FILE, argv[optind++], &err))
            return complain(&err, EXIT_RESOURCES);
        if (!options && optind < argc && argv[optind][0] == '-' && argv[optind][1])
            return take_arguments(c, argc, argv);
    }
    return -1;
}

/* FILE arguments become lines, scripts or the session. */
static int sort_files(struct cli *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct err err = { 0 };
        enum file_kind kind;
        if (c->piece[i].kind != PIECE_FILE)
            continue;
        if (script_sniff(c->piece[i].text, &kind, &err) != ST_OK)
            return complain(&err, err.machine ? EXIT_RESOURCES : EXIT_INPUT);
        if (kind == FILE_SCRIPT) {
            c->piece[i].kind = PIECE_SCRIPT;
        } else if (kind == FILE_SESSION) {
            if (c->session && strcmp(c->session, c->piece[i].text)) {
                err_set(&err, ST_USAGE, "two sessions: %s and %s", c->session, c->piece[i].text);
                return complain(&err, EXIT_USAGE_GP);
            }
            c->session = c->piece[i].text;
            memmove(&c->piece[i], &c->piece[i + 1], (c->n - i - 1) * sizeof *c->piece);
            c->n--;
            i--;
        }
    }
    return -1;
}

/* The command line that stands for a piece; caller frees. */
static char *piece_line(const struct piece *p, struct err *err)
{
    struct buf b = { 0 };

    if (p->kind == PIECE_LINE)
        return mem_strdup(p->text, err);
    buf_puts(&b, p->kind == PIECE_FILE ? "open " : "source ");
    command_quote(&b, p->text);
    char *line = buf_take(&b);
    if (!line)
        err_nomem(err, 0, "a line");
    buf_free(&b);
    return line;
}

static enum status open_session(struct workspace *ws, const char *path, struct err *err)
{
    return store_open(ws, path, err);
}

/* At the keyboard. */

static void start_session(struct workspace *ws, void *ctx)
{
    const struct cli *c = ctx;
    struct err err = { 0 };

    if (c->session && open_session(ws, c->session, &err) != ST_OK)
        ws_error(ws, &err, c->session);
}

static int run_interactive(struct cli *c, struct workspace *ws, bool terminal)
{
    char **line = calloc(c->n + 1, sizeof *line);
    struct err err = { 0 };
    size_t n = 0;
    int status = EXIT_RESOURCES;

    while (line && n < c->n && (line[n] = piece_line(&c->piece[n], &err)) != NULL)
        n++;
    if (!line || n < c->n) {
        complain(&err, status);
    } else {
        const struct ui_opts opts = {
            .plain = c->opt.plain, .color = (enum ui_color)c->opt.color,
            .theme = strcmp(c->opt.theme, "auto") ? c->opt.theme : NULL,
            .start = start_session, .ctx = c,
            .line = (const char *const *)line, .nlines = n,
        };
        ws->interactive = true;
        status = terminal && !c->opt.plain ? ui_run(ws, &opts) : plain_run(ws, &opts, NULL);
    }
    for (size_t i = 0; line && i < n; i++)
        free(line[i]);
    free(line);
    return status;
}

/* Without anybody at it. */

static int read_items(const struct cli *c, struct batch_item *item, size_t *n)
{
    struct err err = { 0 };
    bool input = false;

    for (*n = 0; *n < c->n; ++*n) {
        const struct piece *p = &c->piece[*n];
        struct batch_item *it = &item[*n];
        const bool from_stdin = p->kind == PIECE_SCRIPT && !strcmp(p->text, "-");
        if (from_stdin && input) {
            err_set(&err, ST_USAGE, "standard input can be read once");
            return complain(&err, EXIT_USAGE_GP);
        }
        input |= from_stdin;
        it->name = p->kind == PIECE_SCRIPT ? (from_stdin ? "stdin" : p->text) : NULL;
        if (p->kind != PIECE_SCRIPT) {
            it->text = piece_line(p, &err);
            if (!it->text)
                return complain(&err, EXIT_RESOURCES);
        } else if (script_read(p->text, &it->text, &err) != ST_OK) {
            return complain(&err, err.machine ? EXIT_RESOURCES : EXIT_INPUT);
        }
    }
    return -1;
}

static int run_batch(struct cli *c, struct workspace *ws, struct rec_writer *w)
{
    struct batch_item *item = calloc(c->n + 1, sizeof *item);
    struct err err = { 0 };
    size_t n = 0;
    int status;

    if (!item)
        err_nomem(&err, (c->n + 1) * sizeof *item, "the lines to run");
    status = item ? read_items(c, item, &n) : complain(&err, EXIT_RESOURCES);
    if (status < 0 && c->opt.dry)
        status = batch_dry(ws, item, n);
    /* A script that does not parse leaves no session behind. */
    if (status < 0 && c->session && !batch_check(ws, item, n))
        status = batch_status(ws) == EXIT_RESOURCES ? EXIT_RESOURCES : EXIT_USAGE_GP;
    if (status < 0 && c->session && open_session(ws, c->session, &err) != ST_OK) {
        ws_error(ws, &err, c->session);
        status = batch_status(ws);
    }
    store_gate_open(ws, w);
    if (status < 0)
        status = batch_run(ws, w, item, n);
    /* What was asked to be kept and could not be is a failure of the program. */
    if (store_of(ws) && store_flush(store_of(ws), &err) != ST_OK) {
        snprintf(err.name, sizeof err.name, "%s", err.code == ST_LIMIT ? "disk" : "write");
        rec_writer_hold(w, NULL, NULL); /* before the lines that are not on disk */
        ws_error(ws, &err, c->session);
        status = status == EXIT_DONE || status == EXIT_UNCONVERGED ? batch_status(ws) : status;
    }
    store_gate_end(ws);
    if (w->broken && status == EXIT_DONE)
        status = w->broken_errno == EPIPE ? 128 + SIGPIPE : EXIT_RESOURCES;
    for (size_t i = 0; item && i < c->n; i++)
        free(item[i].text);
    free(item);
    return status;
}

/* Putting it together. */

/* UTF-8 where there is any, the C locale's numbers always. */
static void set_locale(void)
{
    setlocale(LC_ALL, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8"))
        setlocale(LC_CTYPE, "C.UTF-8");
    setlocale(LC_NUMERIC, "C");
}

static int settings(struct cli *c, int argc, char **argv, struct buf *complaints)
{
    struct err err = { 0 };

    options_default(&c->opt);
    c->who = options_origin_new(&err);
    if (!c->who)
        return complain(&err, EXIT_RESOURCES);
    const int status = take_arguments(c, argc, argv);
    if (status >= 0)
        return status;
    if (options_from_env(&c->opt, c->who, &err) != ST_OK)
        return complain(&err, EXIT_USAGE_GP);
    if (!c->no_config)
        options_from_config(&c->opt, c->who, complaints);
    return -1;
}

/* Nobody waits for a long step of a library: what is kept is in the session, the rest ends with the
 * process, without being freed, for the job still uses it. */
static void __attribute__((noreturn)) end_without_job(struct workspace *ws, int status)
{
    store_close(store_of(ws));
    fputs("gpdesk: a job was in a step that cannot be interrupted; the program ended without it\n",
          stderr);
    fflush(NULL);
    _exit(status);
}

static int run(struct cli *c, bool batch, bool terminal, const char *complaints)
{
    struct rec_writer w;
    struct err err = { 0 };
    struct workspace *ws = app_workspace(&c->opt, &err);
    int status;

    if (!ws)
        return complain(&err, EXIT_RESOURCES);
    free(ws->origin);
    ws->origin = c->who;
    c->who = NULL;
    rec_writer_init(&w, stdout, stderr, c->opt.json, c->opt.verbosity == 0);
    ws->sinks = &w.sink;
    for (const char *p = complaints; *p;) {
        const size_t len = strcspn(p, "\n");
        ws_warn(ws, "config", "%.*s", (int)len, p);
        p += len + (p[len] != '\0');
    }
    if (batch) {
        status = run_batch(c, ws, &w);
    } else {
        ws->sinks = NULL;
        status = run_interactive(c, ws, terminal);
    }
    if (!workspace_end(ws, END_SECONDS))
        end_without_job(ws, status);
    if (!store_close(store_of(ws)) && status == EXIT_DONE)
        status = EXIT_RESOURCES;
    workspace_free(ws);
    if (err_unreported() > 0 && (status == EXIT_DONE || status == EXIT_UNCONVERGED)) {
        err_set(&err, ST_NOMEM, "memory ran out on the way: what was shown or written may be "
                "incomplete");
        status = complain(&err, EXIT_RESOURCES);
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0)
        status = errno == EPIPE ? 128 + 13 : EXIT_RESOURCES;
    rec_writer_free(&w);
    return status;
}

/* A file opened later must not become stdout because that was closed. */
static void fill_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
    struct cli c = { 0 };
    struct buf complaints = { 0 };
    struct err err = { 0 };

    app_begin();
    fill_descriptors();
    int status = rank_called(argc, argv);
    if (status >= 0)
        return status;
    log_open(getenv("GPDESK_LOG"));
    set_locale();
    status = settings(&c, argc, argv, &complaints);
    if (status < 0)
        status = sort_files(&c);
    if (status < 0) {
        const bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        bool scripted = c.opt.dry || c.opt.json;
        for (size_t i = 0; i < c.n; i++)
            scripted |= c.piece[i].kind != PIECE_FILE;
        const bool batch = !c.interactive && (scripted || !terminal);
        if (batch && !c.opt.dry && !isatty(STDIN_FILENO)) {
            bool lines = false; /* neither -e nor -f: the script comes from standard input */
            size_t dash = c.n;  /* which then cannot be data, too */
            for (size_t i = 0; i < c.n; i++) {
                lines |= c.piece[i].kind != PIECE_FILE;
                dash = strcmp(c.piece[i].text, "-") == 0 ? i : dash;
            }
            if (!lines && dash < c.n)
                c.piece[dash].kind = PIECE_SCRIPT;
            else if (!lines && !add_piece(&c, PIECE_SCRIPT, "-", &err))
                status = complain(&err, EXIT_RESOURCES);
        }
        if (batch)
            batch_prepare();
        else
            lifecycle_prepare();
        if (status < 0 && blas_room(c.opt.threads, &err) != ST_OK)
            status = complain(&err, EXIT_RESOURCES);
        if (status < 0)
            blas_init();
        if (status < 0)
            status = run(&c, batch, terminal, buf_str(&complaints));
    }
    buf_free(&complaints);
    free(c.piece);
    free(c.who);
    return status;
}
