/* app/commands/cmd_session.c -- commands about sessions: save, sessions, resume, script. */
#include "app/commands/commands.h"
#include "app/core/job.h"
#include "app/session/store.h"
#include "app/session/transcript.h"
#include "app/core/workspace.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/outfile.h"

#include <stdlib.h>
#include <string.h>

/* Save. */

static enum status cmd_save(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *file = args_text(a, "file");
    const bool had = store_of(ws) != NULL;
    enum status rc = ST_OK;
    uint64_t bytes = 0;
    size_t files = 0;
    char size[32];
    struct rec r;

    if (!had)
        rc = file ? store_save_as(ws, file, err) : store_begin(ws, err);
    if (rc == ST_OK && args_bool(a, "data"))
        rc = store_pack(ws, &files, &bytes, err);
    if (rc == ST_OK && file && had)
        rc = store_save_as(ws, file, err);
    const bool copy = file && had;
    if (rc == ST_OK && !copy) /* a copy has everything, even if the session's file is gone */
        rc = store_flush(store_of(ws), err);
    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "save");
    rec_str(&r, "session", copy ? file : store_path(store_of(ws)));
    rec_bool(&r, "copy", copy);
    rec_int(&r, "runs", (int64_t)ws->nrun);
    rec_int(&r, "files", (int64_t)files);
    rec_text(&r, copy ? "a copy of the session is in " : "saved in ");
    rec_safe(&r, copy ? file : store_path(store_of(ws)));
    if (args_bool(a, "data")) {
        mem_format(size, sizeof size, (double)bytes);
        rec_text(&r, ", with its data (%zu file%s more, %s)", files, files == 1 ? "" : "s", size);
    }
    ws_emit(ws, &r);
    return ST_OK;
}

/* Sessions, resume. */

static enum status cmd_sessions(struct workspace *ws, const struct args *a, struct err *err)
{
    (void)a;
    return store_list(ws, err);
}

static void tell_resumed(struct workspace *ws)
{
    struct rec r;

    rec_init(&r, REC_RESULT, "resume");
    rec_str(&r, "session", store_path(store_of(ws)));
    rec_int(&r, "datasets", (int64_t)ws->ndata);
    rec_int(&r, "runs", (int64_t)ws->nrun);
    rec_str(&r, "run", *ws->last_fit ? ws->last_fit : NULL);
    rec_text(&r, "resumed ");
    rec_safe(&r, store_path(store_of(ws)));
    ws_emit(ws, &r);
}

/* Users also type resume to continue a stopped run. */
static void hint_run(struct workspace *ws, const char *name, struct err *err)
{
    struct err none = { 0 };
    const struct run *r = ws_run(ws, name, &none);

    if (r && r->kind == RUN_FIT)
        err_hint(err, "fit continue=%s continues a fit; resume is for sessions", name);
    else if (r)
        err_hint(err, "tune starts from the result of %s; resume is for sessions", name);
    err_clear(&none);
}

static enum status cmd_resume(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *name = args_text(a, "session");
    char *path = name ? store_find(name, err) : store_newest(store_of(ws), err);
    enum status rc = path ? ST_OK : err->code;

    if (rc == ST_NOT_FOUND && name)
        hint_run(ws, name, err);
    if (rc == ST_OK && jobs_count(ws->jobs) > 0) {
        rc = err_set(err, ST_STATE, "a job is running, so the workspace cannot be replaced");
        err_hint(err, "wait, or stop");
    }
    /* Check the file first, so that a bad one changes nothing. */
    if (rc == ST_OK)
        rc = store_probe(path, err);
    if (rc == ST_OK) {
        workspace_clear(ws);
        rc = store_open(ws, path, err);
    }
    if (rc == ST_OK)
        tell_resumed(ws);
    free(path);
    return rc;
}

/* Salvage. */

static enum status cmd_salvage(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *file = args_text(a, "file"), *to = args_text(a, "new");
    struct store_salvaged got = { .rows = 0 };
    struct rec r;

    const enum status rc = store_salvage(store_of(ws), file, to, &got, err);
    if (rc != ST_OK) {
        store_salvaged_free(&got);
        return rc;
    }
    rec_init(&r, REC_RESULT, "salvage");
    rec_str(&r, "session", to);
    rec_bool(&r, "whole", got.nlost == 0);
    rec_int(&r, "runs", (int64_t)got.runs);
    rec_int(&r, "datasets", (int64_t)got.datasets);
    rec_int(&r, "lines", (int64_t)got.lines);
    rec_int(&r, "losses", (int64_t)got.nlost);
    rec_str(&r, "lost", buf_str(&got.lost));
    rec_text(&r, "%zu run%s, %zu version%s of datasets and %zu line%s of the script are in ",
             got.runs, got.runs == 1 ? "" : "s", got.datasets, got.datasets == 1 ? "" : "s",
             got.lines, got.lines == 1 ? "" : "s");
    rec_safe(&r, to);
    rec_text(&r, got.nlost ? "\n  lost:" : "; nothing is lost");
    size_t named = 0;
    for (const char *p = buf_str(&got.lost); *p; named++) {
        const size_t n = strcspn(p, "\n");
        rec_text(&r, "\n    %.*s", (int)n, p);
        p += n + (p[n] != '\0');
    }
    if (got.nlost > named)
        rec_text(&r, "\n    and %zu more", got.nlost - named);
    ws_emit(ws, &r);
    store_salvaged_free(&got);
    return ST_OK;
}

/* Script. */

static enum status cmd_script(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *out = args_text(a, "out");
    struct buf text = { 0 };
    struct rec r;
    size_t lines = 0;
    enum status rc = transcript(ws, args_bool(a, "all"), &text, err);

    if (rc == ST_OK && out)
        rc = outfile_put(out, 0777, text.s, text.len, err);
    if (rc != ST_OK) {
        buf_free(&text);
        return rc;
    }
    for (size_t i = 0; i < text.len; i++)
        lines += text.s[i] == '\n';
    rec_init(&r, REC_RESULT, "script");
    rec_str(&r, "out", out);
    rec_int(&r, "lines", (int64_t)lines);
    rec_str(&r, "script", out ? NULL : buf_str(&text));
    if (out) {
        rec_text(&r, "%zu lines in ", lines);
        rec_safe(&r, out);
    } else if (text.len) {
        buf_putn(&r.text, text.s, text.len - 1); /* the record adds the last line end */
    }
    ws_emit(ws, &r);
    buf_free(&text);
    return ST_OK;
}

/* The rows. */

const struct command cmd_session_rows[] = {
    {"save",
     "session",
     "Save now; with a file: save a copy, or continue in that file",
     "save work.gpd",
     {{"file", ARG_OUT, ARGF_POS, NULL, 0, 0, NULL, NULL, "a session file that does not exist yet"},
      {"data", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "store the data files in it, too"}},
     0,
     cmd_save,
     "A session is saved automatically after every command, and every few seconds while a job\n"
     "runs. `save` waits until all of it is on disk. With data=yes the session contains its\n"
     "data files and can be taken to another machine; a data file that is still there unchanged\n"
     "is read instead of its copy."},
    {"sessions",
     "session",
     "List the sessions in the state directory",
     "sessions",
     {{.name = NULL}},
     0,
     cmd_sessions,
     NULL},
    {"resume",
     "session",
     "Continue a session: data, kernel, fits, everything",
     "resume",
     {{"session", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a name that `sessions` lists, or a file; default: the newest"}},
     0,
     cmd_resume,
     "The current session stays on disk: resume returns to it, undo does not. On the same\n"
     "machine a resumed fit gives the earlier predictions bit for bit. Data is read again from\n"
     "its file and compared; anything that has changed or is damaged is reported and left out."},
    {"salvage",
     "session",
     "Copy what is whole in a damaged session into a new one, and name what is lost",
     "salvage broken.gpd new.gpd",
     {{"file", ARG_FILE, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "the damaged session; it is only read"},
      {"new", ARG_OUT, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "a session file that does not exist yet"}},
     0,
     cmd_salvage,
     "A damaged page of the file costs what is on that page: the rest is copied, row by row, with\n"
     "its checksums. Nothing in the file is executed. Then: resume new.gpd. A run whose weights\n"
     "are lost has to be fitted again; a variance factor is computed again from the data."},
    {"script",
     "session",
     "Write the commands that lead here, with seeds and figures",
     "script all=yes",
     {{"out", ARG_OUT, 0, NULL, 0, 0, NULL, NULL, "file to write; default: the screen"},
      {"all", ARG_BOOL, 0, "no", 0, 0, NULL, NULL,
       "write the whole history, not only the lines that are needed"}},
     0,
     cmd_script,
     "Run it again with gpdesk -f FILE: the same seed gives the same figures."},
    {.name = NULL},
};
