/* tests/campaign/cut.c -- power cuts: what a disk may hold if the power fails.
 *
 *   cut [--scene=S] [--states=N] [--seed=N] [--only=N] [--kept=DIR]
 *
 * The scene runs once under faults.c, which logs every change of a file.  A state is built from the
 * log up to a moment: what was synced is there; of the writes since, any subset is, some of them
 * torn at sectors of 512 bytes; of the names that were made, moved and removed since their
 * directory was synced, the first few are, as a journal of the file system keeps their order.  In
 * each state the session must open with all that stood on stdout at that moment: a batch prints a
 * result when it is on the disk.  Files whose result was printed are whole (those that gnuplot
 * writes are not in the log).  --only: that state alone.
 *
 * Threads make the order of changes differ a little from run to run, so that a state is repeated
 * exactly only from the same log: where something is found the directory stays, and --kept=DIR
 * takes the log and the files of before from it instead of running the scene. */
#include "judge.h"

#include "faults.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 400, NAMES = 400, PENDING = 20000, SECTOR = 512 };

struct change { const struct faults_record *r; const char *path, *other, *bytes; };
static struct change *change;
static size_t nchanges;

/* Bytes of a file, as they are on the disk, and what has been written since its last sync. */
struct file {
    char *bytes;
    size_t n, room;
    size_t pending[PENDING], npending;
};
struct name { char path[PATH]; int file; }; /* file -1: free */
static struct file *file;
static int nfiles;
static struct name seen[NAMES], kept[NAMES]; /* names as the program sees them, and on the disk */
static size_t waiting[PENDING], nwaiting;    /* changes of names that are not on the disk yet */
static uint64_t state;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int *find(struct name *names, const char *path, bool make)
{
    int *unused = NULL;

    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].file >= 0 && !strcmp(names[i].path, path))
            return &names[i].file;
        if (names[i].file < 0 && !unused) {
            unused = &names[i].file;
            if (make)
                join(names[i].path, path, "");
            else
                unused = NULL;
            if (make)
                break;
        }
    }
    return make ? unused : NULL;
}

/* A name may stand behind a free place: look at all before one is made. */
static int *lookup(struct name *names, const char *path, bool make)
{
    int *at = find(names, path, false);

    return at || !make ? at : find(names, path, true);
}

static void name_change(struct name *names, const struct change *c, int made)
{
    int *from = lookup(names, c->path, c->r->what == FAULTS_CREATE);

    if (c->r->what == FAULTS_CREATE && from)
        *from = made;
    if (c->r->what == FAULTS_UNLINK && from)
        *from = -1;
    if ((c->r->what == FAULTS_RENAME || c->r->what == FAULTS_LINK) && from) {
        const int moved = *from;
        if (c->r->what == FAULTS_RENAME)
            *from = -1;
        int *to = lookup(names, c->other, true);
        if (to)
            *to = moved;
    }
}

static void resize(struct file *f, size_t n)
{
    if (n > f->room) {
        f->bytes = realloc(f->bytes, 2 * n);
        if (!f->bytes)
            die("memory");
        f->room = 2 * n;
    }
    if (n > f->n)
        memset(f->bytes + f->n, 0, n - f->n);
    f->n = n;
}

/* Applies a write or a change of size; torn: each sector is there or not. */
static void apply(struct file *f, const struct change *c, bool torn)
{
    if (c->r->what == FAULTS_SIZE) {
        resize(f, (size_t)c->r->offset);
        return;
    }
    const size_t from = (size_t)c->r->offset, to = from + c->r->bytes;
    if (to > f->n)
        resize(f, to);
    for (size_t a = from; a < to;) {
        const size_t next = (a / SECTOR + 1) * SECTOR, b = next < to ? next : to;
        if (!torn || draw() % 2)
            memcpy(f->bytes + a, c->bytes + (a - from), b - a);
        a = b;
    }
}

static bool in_directory(const char *path, const char *dir)
{
    const size_t n = strlen(dir);

    return !strncmp(path, dir, n) && path[n] == '/' && !strchr(path + n + 1, '/');
}

/* made[k]: the file that change k has created. */
static int made[PENDING];

static void sync_names(const char *dir)
{
    size_t left = 0;

    for (size_t i = 0; i < nwaiting; i++)
        if (in_directory(change[waiting[i]].path, dir))
            name_change(kept, &change[waiting[i]], made[waiting[i]]);
        else
            waiting[left++] = waiting[i];
    nwaiting = left;
}

static void replay(size_t k)
{
    const struct change *c = &change[k];
    int *at = lookup(seen, c->path, false);

    switch (c->r->what) {
    case FAULTS_CREATE:
        if (nfiles == FILES)
            die("too many files");
        made[k] = nfiles++;
        /* fall through */
    case FAULTS_UNLINK:
    case FAULTS_LINK:
    case FAULTS_RENAME:
        name_change(seen, c, made[k]);
        waiting[nwaiting++] = k;
        break;
    case FAULTS_SYNC:
        if (!at) {
            sync_names(c->path);
            break;
        }
        for (size_t i = 0; i < file[*at].npending; i++)
            apply(&file[*at], &change[file[*at].pending[i]], false);
        file[*at].npending = 0;
        break;
    default:
        if (at && file[*at].npending < PENDING)
            file[*at].pending[file[*at].npending++] = k;
    }
}

/* The files that the disk holds after a cut; of what is not synced, keep % stays. */
static void put_state(const char *from, const char *dir, unsigned keep)
{
    const size_t names = nwaiting ? draw() % (nwaiting + 1) : 0;

    for (size_t i = 0; i < names; i++)
        name_change(kept, &change[waiting[i]], made[waiting[i]]);
    for (size_t i = 0; i < NAMES; i++) {
        char path[PATH];
        if (kept[i].file < 0 || !in_directory(kept[i].path, from))
            continue;
        struct file *f = &file[kept[i].file];
        for (size_t k = 0; k < f->npending; k++)
            if (draw() % 100 < keep)
                apply(f, &change[f->pending[k]], draw() % 4 == 0);
        f->npending = 0;
        join(path, dir, kept[i].path + strlen(from) + 1);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || (f->n && write(fd, f->bytes, f->n) != (ssize_t)f->n))
            die(path);
        close(fd);
    }
}

static void forget(void)
{
    for (int i = 0; i < nfiles; i++)
        file[i].n = file[i].npending = 0;
    for (size_t i = 0; i < NAMES; i++)
        seen[i].file = kept[i].file = -1;
    nfiles = 0;
    nwaiting = 0;
}

/* What is there before the scene begins is on the disk. */
static void put_before(const char *ready, const char *logged)
{
    static const char *const names[] = { "x.gpd", "cells.csv" };

    for (size_t i = 0; i < 2; i++) {
        char path[PATH];
        struct stat st;
        join(path, ready, names[i]);
        const int fd = open(path, O_RDONLY);
        if (fd < 0 || fstat(fd, &st) != 0)
            continue;
        struct file *f = &file[nfiles];
        resize(f, (size_t)st.st_size);
        if (read(fd, f->bytes, f->n) != (ssize_t)f->n)
            die(path);
        close(fd);
        join(path, logged, names[i]);
        *lookup(seen, path, true) = *lookup(kept, path, true) = nfiles++;
    }
}

static void read_log(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;

    if (!f || stat(path, &st) != 0)
        die(path);
    char *all = calloc(1, (size_t)st.st_size * 2 + 1), *p = all; /* paths get an end */
    change = calloc(PENDING, sizeof *change);
    file = calloc(FILES, sizeof *file);
    if (!all || !change || !file)
        die("memory");
    struct faults_record r;
    while (nchanges < PENDING && fread(&r, sizeof r, 1, f) == 1) {
        struct faults_record *copy = malloc(sizeof r);
        if (!copy)
            die("memory");
        *copy = r;
        struct change *c = &change[nchanges++];
        c->r = copy;
        c->path = p;
        size_t n = fread(p, 1, r.path, f);
        p += r.path + 1;
        c->other = p;
        n += fread(p, 1, r.other, f);
        p += r.other + 1;
        c->bytes = p;
        n += fread(p, 1, r.bytes, f);
        p += r.bytes;
        if (n != r.path + r.other + r.bytes)
            die(path);
    }
    fclose(f);
}

/* What stood on stdout after the first k changes. */
static void said_until(size_t k, char *said)
{
    *said = '\0';
    for (size_t i = 0; i < k; i++) {
        const size_t n = strlen(change[i].path);
        if (change[i].r->what == FAULTS_WRITE && n > 5 && !strcmp(change[i].path + n - 5, "/said"))
            strncat(said, change[i].bytes, change[i].r->bytes);
    }
}

static void check_files(struct job *j, const char *said)
{
    char line[1 << 16], name[200], path[PATH];

    for (const char *p = said; next_line(&p, line, sizeof line);) {
        if (!strstr(line, "\"type\":\"result\""))
            continue;
        if (*member(line, "out", name, sizeof name) && !strstr(line, "\"plot\"") &&
            !strstr(line, "\"report\"") && strcmp(name, "null") != 0 &&
            !same_file(j->dir, j->whole, name))
            found(j, "%s was printed and is not whole", name);
        if (strstr(line, "\"command\":\"save\"") && strstr(line, "copy.gpd")) {
            join(path, j->dir, "copy.gpd");
            const int status = access(path, F_OK) != 0 ? -1
                : run(j->dir, NULL, "resume copy.gpd; runs", "again", NULL);
            if (status != 0)
                found(j, "copy.gpd was saved and does not open");
        }
    }
}

static void one(const struct scene *scene, const char *base, size_t k, uint64_t seed)
{
    static const unsigned keep[] = { 0, 10, 50, 90, 100 };
    static char said[TEXT];
    char ready[PATH], logged[PATH], dir[PATH], whole[PATH];
    struct job j = { .scene = scene, .dir = dir, .whole = whole };

    join(ready, base, "ready");
    join(logged, base, "logged");
    join(dir, base, "state");
    join(whole, base, "whole");
    state = seed * 1000003 + k;
    const size_t until = 1 + draw() % nchanges;
    snprintf(j.repeat, sizeof j.repeat, "top_builddir=%s %s --scene=%s --seed=%zu --only=%zu "
             "--kept=%s", top, self_path, scene->name, (size_t)seed, k, base);
    forget();
    put_before(ready, logged);
    for (size_t i = 0; i < until; i++)
        replay(i);
    empty(dir);
    put_state(logged, dir, keep[draw() % 5]);
    said_until(until, said);
    check_session(&j, said, true);
    check_files(&j, said);
    sum->runs++;
}

/* Runs the scene once under faults.c, with its log. */
static void log_scene(const struct scene *scene, const char *base)
{
    char ready[PATH], logged[PATH], log[PATH], preload[PATH + 20], log_is[PATH + 20];

    join(ready, base, "ready"), join(logged, base, "logged"), join(log, base, "log");
    prepare(scene, base);
    empty(logged);
    copy_files(ready, logged);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", shim);
    snprintf(log_is, sizeof log_is, "FAULT_LOG=%s", log);
    char *fault[] = { preload, log_is, NULL };
    if (run(logged, scene->session, scene->lines, "said", fault) != 0)
        die("the run that is logged");
}

int main(int argc, char **argv)
{
    size_t states = 100, only = 0, seed = 1;
    const char *want = "batch", *kept_dir = NULL, *v;
    char log[PATH];

    for (int i = 1; i < argc; i++) {
        if ((v = option(argv[i], "scene")) != NULL) want = v;
        else if ((v = option(argv[i], "states")) != NULL) states = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "seed")) != NULL) seed = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "only")) != NULL) only = strtoul(v, NULL, 10);
        else if ((v = option(argv[i], "kept")) != NULL) kept_dir = v;
        else return 2;
    }
    const char *base = begin();
    if (kept_dir) {
        end(base);
        base = kept_dir;
    }
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(scenes[i].name, want) != 0)
            continue;
        join(log, base, "log");
        if (!kept_dir)
            log_scene(&scenes[i], base);
        read_log(log);
        for (size_t k = only ? only : 1; k <= (only ? only : states); k++)
            one(&scenes[i], base, k, seed);
        printf("%-8s power cut at %zu changes, seed %zu: %zu states, %zu found\n", want, nchanges,
               seed, sum->runs, sum->found);
    }
    if (!kept_dir && sum->found == 0)
        end(base);
    return sum->found > 0;
}
