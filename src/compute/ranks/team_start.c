/* compute/ranks/team_start.c -- starting and ending the processes of ranks (team.h): this program
 * again on this machine, by ssh on others. */
#include "compute/ranks/team.h"

#include "base/clock.h"
#include "base/subprocess.h"
#include "compute/ranks/hosts.h"
#include "compute/ranks/rank.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program = "/proc/self/exe";
static double patience = 20.0;
static double start_seconds = 30.0;
enum { END_MS = 2000, HURRIED_MS = 50 };

void team_program(const char *path, double seconds)
{
    program = path ? path : program;
    patience = seconds;
}

void team_start_within(double seconds)
{
    start_seconds = seconds;
}

/* MPI starts these processes, which then are one rank (crew.h). */
static bool is_mpi(const char *place)
{
    return strcmp(place, "mpi") == 0;
}

static bool is_here(const char *place)
{
    return *place == '\0' || strcmp(place, "localhost") == 0;
}

/* Processes. */

/* This program, by ssh or mpirun where the place says so. */
static int spawn(struct team_rank *r, int end)
{
    const char *ssh = getenv("GPDESK_SSH"), *there = getenv("GPDESK_THERE");
    char *const here[] = { (char *)program, (char *)RANK_ARGUMENT, NULL };
    char *const far[] = { (char *)(ssh && *ssh ? ssh : "ssh"), (char *)"-oBatchMode=yes",
                          (char *)"-oConnectTimeout=20", (char *)"--", r->place,
                          (char *)(there && *there ? there : "gpdesk"), (char *)RANK_ARGUMENT,
                          NULL };
    char count[24], self[1024];
    const ssize_t len = readlink(program, self, sizeof self - 1);
    char *const mpi[] = { (char *)program, (char *)RANK_ARGUMENT, (char *)RANK_MPIRUN,
                          (char *)"--bind-to", (char *)"none", (char *)"-np", count,
                          len > 0 ? self : (char *)program, (char *)RANK_ARGUMENT, NULL };
    char *const *argv = is_here(r->place) ? here : r->crew ? mpi : far;

    self[len > 0 ? len : 0] = '\0';
    snprintf(count, sizeof count, "%zu", r->crew);
    return subprocess_start(argv, end, &r->pid);
}

/* Ends a process, within about three times so many milliseconds.  mpirun ends its processes itself
 * when the first of them has ended or the connection has, and is given the time. */
static void rank_end(struct team_rank *r, int milliseconds)
{
    const bool ended = r->pid > 0 && r->crew && r->doing == TEAM_IDLE &&
                       subprocess_collect(r->pid, milliseconds, NULL);

    if (r->wire.in >= 0)
        close(r->wire.in);
    r->wire.in = r->wire.out = -1;
    if (r->pid > 0 && !ended && !(r->crew && subprocess_collect(r->pid, milliseconds, NULL))) {
        subprocess_kill(r->pid);
        subprocess_collect(r->pid, milliseconds, NULL);
    }
    r->pid = 0;
    r->alive = false;
    r->doing = TEAM_IDLE;
    free(r->x);
    r->x = NULL;
    r->cap = 0;
}

void team_lose(struct team *t, size_t rank, const struct err *why)
{
    struct team_rank *r = &t->rank[rank];

    if (!r->alive)
        return;
    t->why = *why;
    err_prefix(&t->why, "rank %zu of %zu%s%s: ", rank + 1, t->count, *r->place ? " on " : "",
               r->place);
    rank_end(r, ctl_stopped(r->wire.ctl) ? HURRIED_MS : END_MS);
    t->alive--;
    t->lost++;
    t->generation++;
}

static enum status rank_start(struct team *t, size_t i, const struct wire_hello *here,
                              const struct ctl *ctl, struct err *err)
{
    struct team_rank *r = &t->rank[i];
    struct wire_hello own = *here;
    int end[2] = { -1, -1 };

    for (size_t j = 0; own.device && j < i; j++) /* each of a place takes the next device */
        own.device += strcmp(t->rank[j].place, r->place) == 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return err_system(err, errno, NULL, "a rank cannot be started: %s", strerror(errno));
    fcntl(end[0], F_SETFL, O_NONBLOCK);
    r->wire = (struct wire){end[0], end[0], start_seconds, ctl};
    const int why = spawn(r, end[1]);
    close(end[1]);
    if (why != 0) {
        close(end[0]);
        r->wire.in = r->wire.out = -1;
        return err_system(err, why, NULL, "%s cannot be started: %s",
                          r->crew ? "mpirun" : is_here(r->place) ? "a rank" : "ssh",
                          strerror(why));
    }
    r->alive = true;
    const enum status rc = wire_begin(&r->wire, WIRE_HELLO, sizeof own, err);
    return rc == ST_OK ? wire_put(&r->wire, &own, sizeof own, err) : rc;
}

static bool set_in(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

/* True: the process became no mpirun, because there is none (rank.h).  One that has ended is
 * collected. */
static bool lacks_mpirun(struct team_rank *r)
{
    int status = -1;

    if (r->pid > 0 && subprocess_collect(r->pid, HURRIED_MS, &status))
        r->pid = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == RANK_NO_PROGRAM;
}

/* What mpirun, whose words nobody sees, may have ended for.  It counts the cores of this machine as
 * slots, unless it was told of others. */
static void mpi_failed(size_t processes, struct err *err)
{
    const char *tasks = getenv("SLURM_NTASKS");
    const long cores = sysconf(_SC_NPROCESSORS_ONLN),
               slots = tasks ? strtol(tasks, NULL, 10) : cores;
    const bool told =
        !tasks && (set_in("PBS_NODEFILE") || set_in("OMPI_MCA_orte_default_hostfile") ||
                   set_in("PRTE_MCA_prte_default_hostfile"));

    if (geteuid() == 0 &&
        !(set_in("OMPI_ALLOW_RUN_AS_ROOT") && set_in("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"))) {
        err_set(err, ST_BACKEND,
                "Open MPI refuses to run as root, and gpdesk does not override it: "
                "be another user, or have processes without MPI");
        err_hint(err, "set hosts=localhost:%zu", processes);
    } else if (slots > 0 && (size_t)slots < processes && !told &&
               !set_in("OMPI_MCA_rmaps_base_oversubscribe") &&
               !set_in("PRTE_MCA_rmaps_default_mapping_policy")) {
        err_set(err, ST_BACKEND,
                "mpirun did not start %zu processes: %s %ld slot%s.  More machines: a hostfile "
                "(OMPI_MCA_orte_default_hostfile); more processes than cores, as mpirun "
                "--oversubscribe: OMPI_MCA_rmaps_base_oversubscribe=1",
                processes,
                tasks ? "the allocation of Slurm has" : "this machine has as many cores as", slots,
                slots == 1 ? "" : "s");
        err_hint(err, "set hosts=mpi:%ld", slots);
    } else {
        err_hint(err, "mpirun -np %zu gpdesk --version   (has to work)", processes);
    }
}

/* What a rank tells first; *greeted stays false where it only gives a sign of life. */
static enum status rank_greets(struct team_rank *r, const struct wire_hello *here, bool *greeted,
                               struct err *err)
{
    struct wire_head head = { 0 };
    enum status rc = wire_next(&r->wire, &head, err);

    if (rc == ST_OK && head.kind == WIRE_BEAT && head.bytes == 0)
        return ST_OK;
    *greeted = true;
    if (rc == ST_OK && (head.kind != WIRE_HELLO || head.bytes != sizeof r->hello))
        rc = err_set(err, ST_FORMAT, "it is no gpdesk of this version");
    if (rc == ST_OK)
        rc = wire_get(&r->wire, &r->hello, sizeof r->hello, err);
    if (rc == ST_OK && !wire_hello_sound(&r->hello))
        rc = err_set(err, ST_FORMAT, "it is no gpdesk of this version");
    if (rc == ST_OK && !wire_hello_alike(here, &r->hello, err))
        return ST_BACKEND;
    r->wire.patience = patience;
    return rc;
}

/* Waits for the first words of all, side by side.  On failure *i is the rank that fails. */
static enum status all_greet(struct team *t, const struct wire_hello *here, const struct ctl *ctl,
                             size_t *i, struct err *err)
{
    const double until = clock_now() + start_seconds;
    struct pollfd p[TEAM_MOST];
    size_t left = t->count;

    for (size_t r = 0; r < t->count; r++)
        p[r] = (struct pollfd){.fd = t->rank[r].wire.in, .events = POLLIN};
    while (left > 0) {
        if (ctl_stopped(ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        poll(p, t->count, WIRE_LOOK_MS);
        const bool over = clock_now() > until;
        for (*i = 0; *i < t->count; ++*i) {
            bool greeted = false;
            if (p[*i].fd < 0 || (!p[*i].revents && !over))
                continue;
            const enum status rc =
                p[*i].revents ? rank_greets(&t->rank[*i], here, &greeted, err)
                              : err_set(err, ST_IO, "it did not answer for %.3g s", start_seconds);
            if (rc != ST_OK)
                return rc;
            if (greeted) {
                p[*i].fd = -1;
                left--;
            }
        }
    }
    return ST_OK;
}

/* Puts the names of the hosts of the plan at its ranks. */
static enum status places(struct team *t, const struct ranks_plan *plan, struct err *err)
{
    char name[WIRE_WORDS];
    size_t n;

    t->count = plan->count;
    if (plan->hosts && *plan->hosts) {
        t->count = hosts_count(plan->hosts, err);
        if (t->count == 0)
            return ST_USAGE;
        size_t at = 0;
        for (const char *s = plan->hosts; *s && hosts_next(&s, name, &n);)
            for (size_t i = 0; i < (is_mpi(name) ? 1 : n) && at < TEAM_MOST; i++) {
                t->rank[at].crew = is_mpi(name) ? n : 0;
                snprintf(t->rank[at++].place, WIRE_WORDS, "%s", name);
            }
        t->count = at;
    }
    if (t->count == 0 || t->count > TEAM_MOST)
        return err_set(err, ST_USAGE, "1 to %d ranks are possible, not %zu", TEAM_MOST, t->count);
    return ST_OK;
}

/* Which ranks have devices, and which lack one: without any, `auto` lacks nothing. */
static void find_devices(struct team *t, const struct ranks_plan *plan)
{
    for (size_t i = 0; i < t->count; i++)
        t->devices += t->rank[i].hello.device > 0;
    for (size_t i = 0; i < t->count; i++) {
        struct team_rank *r = &t->rank[i];
        r->lacks = r->hello.device == 0 && plan->device &&
                   (t->devices > 0 || plan->device_asked);
        snprintf(r->lack, sizeof r->lack, "%s", r->lacks ? r->hello.card : "");
    }
}

enum status team_start(struct team *t, const struct ranks_plan *plan, const struct ctl *ctl,
                       struct err *err)
{
    struct wire_hello here;
    size_t i = 0;

    *t = (struct team){ .generation = t->generation + 1, .names = t->names };
    for (size_t r = 0; r < TEAM_MOST; r++)
        t->rank[r].wire = (struct wire){-1, -1, 0.0, NULL};
    enum status rc = places(t, plan, err);
    if (rc != ST_OK)
        return rc;
    wire_hello_of(&here, plan->threads);
    here.device = plan->device;
    for (; rc == ST_OK && i < t->count; i++)
        rc = rank_start(t, i, &here, ctl, err);
    if (rc == ST_OK) {
        rc = all_greet(t, &here, ctl, &i, err);
        i++;
    }
    if (rc == ST_OK) {
        t->alive = t->count;
        find_devices(t, plan);
        return ST_OK;
    }
    if (ctl_stopped(ctl)) {
        team_end(t, true);
        return err_set(err, ST_CANCELLED, "stopped");
    }
    if (rc != ST_BACKEND) {
        const char *place = i > 0 ? t->rank[i - 1].place : "";
        const bool lacks = is_mpi(place) && lacks_mpirun(&t->rank[i - 1]);
        if (lacks)
            err_set(err, ST_NOT_FOUND, "mpirun cannot be started: PATH has none that can be run");
        err_prefix(err, "rank %zu of %zu%s%s: ", i, t->count, *place ? " on " : "", place);
        if (is_mpi(place) && !*err->hint && !lacks)
            mpi_failed(t->rank[i - 1].crew, err);
        else if (is_mpi(place) && !*err->hint)
            err_hint(err, "mpirun --version   (has to work)");
        else if (!is_here(place) && !*err->hint)
            err_hint(err, "ssh %.80s gpdesk --version   (has to work without a password)", place);
        err->code = ST_BACKEND;
        snprintf(err->name, sizeof err->name, "%s", status_name(ST_BACKEND));
    }
    team_end(t, false);
    return ST_BACKEND;
}

/* Processes of MPI end in an orderly way, which mpirun wants. */
static void rank_say_end(const struct team_rank *r)
{
    const struct ask_head head = { .op = ASK_END };

    if (r->alive && r->crew && wire_begin(&r->wire, WIRE_ASK, sizeof head, NULL) == ST_OK)
        wire_put(&r->wire, &head, sizeof head, NULL);
}

void team_end(struct team *t, bool hurried)
{
    for (size_t i = 0; i < t->count; i++)
        rank_say_end(&t->rank[i]);
    for (size_t i = 0; i < t->count; i++)
        rank_end(&t->rank[i], hurried ? HURRIED_MS : END_MS);
    t->count = t->alive = 0;
    t->generation++;
}
