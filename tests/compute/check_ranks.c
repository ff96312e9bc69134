/* tests/compute/check_ranks.c -- the backend of several processes (compute/ranks): real processes,
 * this program again, give the bits of one process for every sum of an operator and for fits; a
 * rank that is killed or stopped, in the middle of work too, changes nothing but the time; none is
 * left behind. */
#include "base/clock.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/linalg/tall.h"
#include "compute/models/model.h"
#include "compute/ranks/hosts.h"
#include "compute/ranks/rank.h"
#include "compute/ranks/ranks.h"
#include "compute/ranks/ranks_impl.h"
#include "compute/ranks/wire.h"
#include "compute/rng.h"
#include "summed.h"
#include "support.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = SUMMED_N, D = SUMMED_D };

static const struct backend_ops *ranks_of(size_t count, size_t threads)
{
    const struct ranks_plan plan = { .count = count, .threads = threads };
    const struct backend_ops *be = ranks_use(&plan);
    struct err err = { 0 };

    ck_assert_msg(ranks_start_for_tests(NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(ranks_count(), count);
    return be;
}

static void nap(long milliseconds)
{
    nanosleep(&(struct timespec){ milliseconds / 1000, milliseconds % 1000 * 1000000 }, NULL);
}

enum { COUNTS = 5 };
static const size_t counts[COUNTS] = { 1, 2, 3, 4, 8 };

/* Every sum, by 1 to 8 processes of 1 to 3 threads: two numbers of them for each configuration, all
 * for the first. */
START_TEST(same_bits)
{
    const struct summed_task *t = summed_chosen(_i);
    struct summed one, many;
    struct summed_given g;

    if (t->level) /* each test runs in a process of its own */
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    summed_make(t, &g);
    summed_over(backend_cpu(), t, &g, &one);
    for (size_t i = 0; i < COUNTS; i++) {
        if (_i > 0 && i != (size_t)_i % COUNTS && i != (size_t)(_i + 3) % COUNTS)
            continue;
        summed_over(ranks_of(counts[i], 1 + i % 3), t, &g, &many);
        ck_assert_uint_eq(many.results, one.results);
        for (size_t r = 0; r < one.results; r++)
            ck_assert_msg(memcmp(many.out[r], one.out[r], one.len[r] * sizeof(double)) == 0,
                          "%s, M=%zu: result %zu of %zu processes has other bits", t->kernel, t->M,
                          r, counts[i]);
        summed_done(&many);
    }
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    summed_done(&one);
    summed_free(&g);
    ranks_end(false);
}
END_TEST

/* Passes of any map: what a kernel is travels as text. */
static void passes(const struct backend_ops *be, const struct featmap *fm, const double *hp,
                   double *W)
{
    const struct fop_opts o = { .precision = PREC_FLOAT };
    struct source_array src;
    struct summed_given g;
    struct err err = { 0 };
    double *P = calloc(fm->M, sizeof *P);

    summed_make(summed_task_at(0), &g);
    source_array_init(&src, g.X, N, D, D);
    for (size_t j = 0; j < fm->M; j++)
        P[j] = rng_normal(3, rng_stream(RNG_TEST, 9), j);
    struct fop *f = fop_new(be, fm, &src.base, &o, &err);
    ck_assert_msg(f != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(f, hp, &err), ST_OK);
    ck_assert_msg(fop_pass(f, 1, P, W, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(!fop_lost(f, &err), "%s", err.msg);
    fop_free(f);
    summed_free(&g);
    free(P);
}

static void kernel_travels(const char *text)
{
    enum { M = 128 };
    double one[M], many[M], hp[KERNEL_MAX_HP];
    size_t from[KERNEL_MAX_HP];
    struct kernel k;
    struct err err = { 0 };

    ck_assert_msg(kernel_parse(text, &k, hp, &err) == ST_OK, "%s: %s", text, err.msg);
    ck_assert_msg(kernel_bind(&k, D, from, &err) == ST_OK, "%s: %s", text, err.msg);
    for (size_t h = 0; h < kernel_nhp(&k); h++)
        hp[h] = 1.5 + 0.1 * (double)h;
    struct featmap *fm = featmap_new(&k, D, M, 5, &err);
    ck_assert_msg(fm != NULL, "%s: %s", text, err.msg);
    passes(backend_cpu(), fm, hp, one);
    passes(ranks_of(2, 1), fm, hp, many);
    ck_assert_msg(memcmp(one, many, sizeof one) == 0, "%s: other bits", text);
    featmap_free(fm);
}

/* Every kernel of the registry, and expressions that bind inputs. */
START_TEST(kernels_travel)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (kernel_at(i)->rows == 0 && !kernel_at(i)->learns)
            kernel_travels(kernel_at(i)->name);
    kernel_travels("rbf(ard) * periodic + linear(weight=0.5) + constant");
    kernel_travels("rbf(ard=1x4:2:1x7)");
    kernel_travels("matern(nu=3/2,ard) + rq(alpha=0.75)");
    ranks_end(false);
}
END_TEST

/* Crews. */

/* One rank of several processes, started by MPI or by what stands in for it; NULL: there is no
 * MPI, which tests/scripts/ranks/mpi.sh says. */
static const struct backend_ops *crew_of(enum support_crew by, const char *hosts)
{
    const struct ranks_plan plan = { .count = 1, .threads = 1, .hosts = hosts };
    struct err err = { 0 };

    if (!support_crew(by))
        return NULL;
    const struct backend_ops *be = ranks_use(&plan);
    ck_assert_msg(ranks_start_for_tests(NULL, &err) == ST_OK, "%s", err.msg);
    return be;
}

/* Every sum of a configuration: by one process and by a crew. */
static void crew_agrees(const struct summed_task *t, enum support_crew by, const char *hosts)
{
    struct summed one, many;
    struct summed_given g;
    const struct backend_ops *be = crew_of(by, hosts);

    if (!be)
        return;
    summed_make(t, &g);
    summed_over(backend_cpu(), t, &g, &one);
    summed_over(be, t, &g, &many);
    for (size_t r = 0; r < one.results; r++)
        ck_assert_msg(memcmp(many.out[r], one.out[r], one.len[r] * sizeof(double)) == 0,
                      "%s, M=%zu: result %zu of %s has other bits", t->kernel, t->M, r, hosts);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    summed_done(&many);
    summed_done(&one);
    summed_free(&g);
    ranks_end(false);
}

START_TEST(crew_same_bits)
{
    static const char *const hosts[] = { "mpi:2", "mpi:3", "mpi:4" };
    const struct summed_task *t = summed_chosen(_i);

    if (t->level)
        ck_assert_int_eq(cpu_force_level(t->level, NULL), ST_OK);
    for (int by = 0; by < SUPPORT_CREWS; by++)
        for (int h = 0; h < 3; h++)
            if (h == _i % 3 || (_i == 0 && by == SUPPORT_SOCKETS))
                crew_agrees(t, (enum support_crew)by, hosts[h]);
}
END_TEST

/* A preconditioner's rows that ranks have: products with the bits of one process, for one vector
 * and for several, after a rank is lost, too. */
enum { TALL_M = 2100, TALL_L = 37, TALL_K = 3 };
static void tall_by(const struct backend_ops *be, bool kill_one)
{
    const struct summed_task *t = summed_task_at(0);
    const struct fop_opts o = { .precision = PREC_FLOAT };
    double *U = calloc(TALL_M * TALL_L, sizeof *U), *given = calloc(2 * TALL_M * TALL_K, sizeof *U);
    double *one = calloc(2 * TALL_M * TALL_K, sizeof *U), *many = one + TALL_M * TALL_K;
    double c[TALL_L + TALL_K];
    const struct tall tall = { TALL_M, TALL_L, 0, TALL_M, U, TALL_M };
    double *work = calloc(tall_work(&tall, TALL_K), sizeof *work);
    struct source_array src;
    struct summed_given g;
    struct ranks_one rank;
    struct err err = { 0 };

    basis_ops_always_for_tests(true);
    summed_make(t, &g);
    source_array_init(&src, g.X, N, D, D);
    struct featmap *fm = featmap_new(&g.k, D, TALL_M, 5, &err);
    struct fop *f = fop_new(be, fm, &src.base, &o, &err);
    ck_assert_msg(f != NULL, "%s", err.msg);
    for (size_t i = 0; i < TALL_M * TALL_L; i++)
        U[i] = rng_normal(4, RNG_TEST, i) / 40.0;
    for (size_t i = 0; i < TALL_M * TALL_K; i++)
        given[i] = rng_normal(5, RNG_TEST, i);
    for (size_t i = 0; i < TALL_L; i++)
        c[i] = -0.9 + 0.02 * (double)i;
    ck_assert(fop_basis(f, TALL_L, U, 0.0));
    for (size_t k = 1; k <= TALL_K; k += 2) {
        memcpy(one, given, TALL_M * k * sizeof *one);
        memcpy(many, given, TALL_M * k * sizeof *one);
        tall_bounds(TALL_M, k, one, TALL_M, c + TALL_L);
        ck_assert_int_eq(tall_add(&tall, NULL, NULL, k, c, one, TALL_M, work, &err), ST_OK);
        if (kill_one && k > 1 && ranks_at(1, &rank))
            kill((pid_t)rank.pid, SIGKILL);
        ck_assert_msg(fop_basis_add(f, k, c, many, NULL, &err) == ST_OK, "%s", err.msg);
        ck_assert(memcmp(one, many, TALL_M * k * sizeof *one) == 0);
        for (size_t v = 0; v < k; v++) /* U'y by hand, of one entry */
            for (size_t j = 0; j < TALL_M; j += 999) {
                double sum = given[v * TALL_M + j];
                for (size_t l = 0; l < TALL_L; l++)
                    sum += U[l * TALL_M + j] * c[l] *
                           blas_ddot(TALL_M, U + l * TALL_M, given + v * TALL_M);
                ck_assert_double_eq_tol(one[v * TALL_M + j], sum, 1e-12);
            }
    }
    ck_assert(!fop_lost(f, NULL));
    fop_basis_drop(f);
    ck_assert_int_ne(fop_basis_add(f, 1, c, many, NULL, &err), ST_OK);
    fop_free(f);
    featmap_free(fm);
    summed_free(&g);
    free(U);
    free(given);
    free(one);
    free(work);
    basis_ops_always_for_tests(false);
}

static void tall_lost(void)
{
    tall_by(ranks_of(3, 1), true);
    ck_assert_uint_eq(ranks_lost(NULL), 1);
    ranks_end(false);
}

/* By hand.  MPI, 64 processes, M = 32,768, L = 1024: 3 meetings of 2 x 6 steps of 20 us and 16 M
 * bytes at 1.25 GB/s are 1.14 ms, 8 M L bytes 215 ms.  Of 5.4 ms 63/64 are saved: 4.18 ms in each
 * of 100 applications are 418 ms; of 2 ms 0.83 ms, 83 ms.  Through the front end, 4 processes, a
 * meeting of 8192 numbers in 1 ms, M = 8192, L = 256: two meetings take 2 ms, handing out 64 ms.
 * Of 4 ms three quarters less 2 ms are 1 ms, 100 ms in all; of 3 ms 0.25 ms, 25 ms. */
START_TEST(handing_out_pays)
{
    const struct ranks_meeting mpi = { .machines = 64, .count = 64 };
    const struct ranks_meeting star = { .machines = 4, .count = 4, .numbers = 8192,
                                        .seconds = 1e-3 };
    const struct ranks_meeting here = { .machines = 1, .count = 4, .numbers = 8192,
                                        .seconds = 1e-6 };

    ck_assert(basis_ops_pays_for_tests(&mpi, 32768, 1024, 5.4e-3));
    ck_assert(!basis_ops_pays_for_tests(&mpi, 32768, 1024, 2e-3));
    ck_assert(basis_ops_pays_for_tests(&star, 8192, 256, 4e-3));
    ck_assert(!basis_ops_pays_for_tests(&star, 8192, 256, 3e-3));
    ck_assert(!basis_ops_pays_for_tests(&here, 8192, 256, 1.0));
}
END_TEST

START_TEST(preconditioner_split)
{
    for (size_t i = 0; i < COUNTS; i++)
        tall_by(ranks_of(counts[i], 1 + i % 3), false);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    tall_lost();
    for (int by = 0; by < SUPPORT_CREWS; by++) {
        const struct backend_ops *be = crew_of((enum support_crew)by, "mpi:3");
        if (be)
            tall_by(be, false);
        ranks_end(false);
    }
}
END_TEST

/* Lost ranks. */

/* member: in place of the rank itself, another process of its crew. */
static struct { atomic_bool over; size_t rank; int signal; long after; bool member; } attack;

/* The last of the processes that the parent of one has started. */
static long last_of_crew(long first)
{
    char line[96];
    long pid = 0, last = 0;

    snprintf(line, sizeof line, "ps -o pid= --ppid $(ps -o ppid= -p %ld)", first);
    FILE *f = popen(line, "r");
    ck_assert_ptr_nonnull(f);
    while (fscanf(f, "%ld", &pid) == 1)
        last = pid;
    pclose(f);
    ck_assert(last > 0 && last != first);
    return last;
}

static void *attacker(void *ctx)
{
    struct ranks_one one;

    (void)ctx;
    nap(attack.after);
    ck_assert(ranks_at(attack.rank, &one));
    kill((pid_t)(attack.member ? last_of_crew(one.pid) : one.pid), attack.signal);
    attack.over = true;
    return NULL;
}

/* Passes until the attack is over and some more, all with the bits of one process. */
static void passes_under(const struct backend_ops *be, bool lost)
{
    const struct summed_task *t = summed_task_at(2);
    const struct fop_opts o = { .precision = t->precision };
    double *one = calloc(t->M, sizeof *one), *many = calloc(t->M, sizeof *many);
    struct source_array src;
    struct summed_given g;
    pthread_t thread;
    struct err err = { 0 };

    summed_make(t, &g);
    source_array_init(&src, g.X, N, D, D);
    struct fop *cpu = fop_new(backend_cpu(), g.fm, &src.base, &o, &err);
    struct fop *f = fop_new(be, g.fm, &src.base, &o, &err);
    ck_assert_msg(cpu && f, "%s", err.msg);
    ck_assert_int_eq(fop_set(cpu, g.hp, &err), ST_OK);
    ck_assert_int_eq(fop_set(f, g.hp, &err), ST_OK);
    ck_assert_int_eq(fop_pass(cpu, 1, g.P, one, NULL, &err), ST_OK);
    attack.over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, attacker, NULL), 0);
    for (int more = 2; more > 0; more -= attack.over) {
        memset(many, 0, t->M * sizeof *many);
        ck_assert_msg(fop_pass(f, 1, g.P, many, NULL, &err) == ST_OK, "%s", err.msg);
        ck_assert(memcmp(one, many, t->M * sizeof *one) == 0);
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(fop_lost(f, NULL), lost);
    fop_free(f);
    fop_free(cpu);
    summed_free(&g);
    free(one);
    free(many);
}

/* A rank that is killed, at different moments of the passes. */
START_TEST(killed)
{
    struct err why;

    for (size_t i = 0; i < 6; i++) {
        const struct backend_ops *be = ranks_of(3, 1); /* a team that was lost starts again */
        attack.rank = i % 3, attack.signal = SIGKILL, attack.after = (long)(1 + 3 * i);
        passes_under(be, false);
        ck_assert_uint_eq(ranks_lost(&why), i + 1);
        ck_assert_ptr_nonnull(strstr(why.msg, "has ended"));
    }
    ranks_end(false);
}
END_TEST

/* The only rank is killed: the operator goes on in this process. */
START_TEST(none_left)
{
    attack.rank = 0, attack.signal = SIGKILL, attack.after = 10;
    passes_under(ranks_of(1, 1), true);
    ranks_end(false);
}
END_TEST

/* One that neither ends nor answers. */
START_TEST(hung)
{
    struct err why;

    ranks_program_for_tests(NULL, 1.5);
    const struct backend_ops *be = ranks_of(2, 1);
    attack.rank = 1, attack.signal = SIGSTOP, attack.after = 10;
    passes_under(be, false);
    ck_assert_uint_eq(ranks_lost(&why), 1);
    ck_assert_ptr_nonnull(strstr(why.msg, "did not answer"));
    ranks_end(false);
}
END_TEST

/* A process ends; a minute is for a machine that is busy. */
static void ends(long pid)
{
    bool gone = false;

    for (int tries = 0; !gone && tries < 6000; tries++) {
        char name[64], state = 'Z'; /* not yet collected by whoever inherits it */
        snprintf(name, sizeof name, "/proc/%ld/stat", pid);
        FILE *f = fopen(name, "r");
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        if (f)
            fclose(f);
        gone = state == 'Z' || state == 'X';
        nap(gone ? 0 : 10);
    }
    ck_assert_msg(gone, "process %ld lives on", pid);
}

/* A process of a crew that is killed or hangs, and the first of them: the rank is lost, all of its
 * processes end, and the work goes on here. */
static void crew_attacked(enum support_crew by, bool member, int signal)
{
    struct ranks_one one;
    struct err why;

    /* The end of a process is told, however long the others take; a silence is waited for. */
    ranks_program_for_tests(NULL, signal == SIGSTOP ? 1.5 : 20.0);
    attack.rank = 0, attack.signal = signal, attack.after = 100, attack.member = member;
    const struct backend_ops *be = crew_of(by, "mpi:3");
    if (!be)
        return;
    ck_assert(ranks_at(0, &one));
    const long other = last_of_crew(one.pid);
    passes_under(be, true);
    ck_assert_uint_eq(ranks_lost(&why), 1);
    ck_assert_msg(strstr(why.msg, signal == SIGSTOP ? "did not answer" : "has ended") != NULL,
                  "%s", why.msg);
    ranks_end(false);
    ends(one.pid);
    ends(other);
}

START_TEST(crew_killed)
{
    crew_attacked((enum support_crew)_i, false, SIGKILL);
}
END_TEST

START_TEST(crew_member_killed)
{
    crew_attacked((enum support_crew)_i, true, SIGKILL);
}
END_TEST

START_TEST(crew_hung)
{
    crew_attacked((enum support_crew)_i, false, SIGSTOP);
}
END_TEST

START_TEST(crew_member_hung)
{
    crew_attacked((enum support_crew)_i, true, SIGSTOP);
}
END_TEST

/* A rank that rests most of the time. */
static atomic_bool rested;
static void *slower(void *ctx)
{
    struct ranks_one one;

    (void)ctx;
    ck_assert(ranks_at(0, &one));
    while (!rested) {
        kill((pid_t)one.pid, SIGSTOP);
        nap(24);
        kill((pid_t)one.pid, SIGCONT);
        nap(6);
    }
    return NULL;
}

/* It gives rows away, and the bits stay. */
START_TEST(slow_rank)
{
    const struct summed_task *t = summed_task_at(2);
    const struct fop_opts o = { .precision = t->precision };
    const struct backend_ops *be = ranks_of(2, 1);
    double *one = calloc(t->M, sizeof *one), *many = calloc(t->M, sizeof *many);
    struct source_array src;
    struct summed_given g;
    struct ranks_one slow = { .rows = N }, other;
    struct err err = { 0 };
    pthread_t thread;

    ranks_balance_for_tests(0.3);
    summed_make(t, &g);
    source_array_init(&src, g.X, N, D, D);
    struct fop *cpu = fop_new(backend_cpu(), g.fm, &src.base, &o, &err);
    struct fop *f = fop_new(be, g.fm, &src.base, &o, &err);
    ck_assert_msg(cpu && f, "%s", err.msg);
    ck_assert(fop_set(cpu, g.hp, &err) == ST_OK && fop_set(f, g.hp, &err) == ST_OK);
    ck_assert_int_eq(fop_pass(cpu, 1, g.P, one, NULL, &err), ST_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, slower, NULL), 0);
    for (int i = 0; i < 5000 && slow.rows > N / 3; i++) {
        ck_assert_msg(fop_pass(f, 1, g.P, many, NULL, &err) == ST_OK, "%s", err.msg);
        ck_assert(memcmp(one, many, t->M * sizeof *one) == 0);
        ck_assert(ranks_at(0, &slow) && ranks_at(1, &other));
    }
    rested = true;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_le(slow.rows, N / 3);
    ck_assert_uint_eq(slow.rows + other.rows, N);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    fop_free(f);
    fop_free(cpu);
    summed_free(&g);
    free(one);
    free(many);
    ranks_end(false);
}
END_TEST

static void *stopper(void *ctx)
{
    struct cancel *c = ctx;

    nap(30);
    c->stop = true;
    return NULL;
}

/* What is stopped ends, and the ranks then do what is asked next. */
static void stopped_by(const struct backend_ops *be)
{
    enum { M = 3072 };
    const struct fop_opts o = { .precision = PREC_FLOAT };
    struct cancel cancel = { false };
    const struct ctl ctl = { .cancel = &cancel };
    double *G = calloc(M * M, sizeof *G), hp[KERNEL_MAX_HP] = { 1.0 };
    struct source_array src;
    struct summed_given g;
    struct err err = { 0 };
    pthread_t thread;

    summed_make(summed_task_at(0), &g);
    source_array_init(&src, g.X, N, D, D);
    struct featmap *fm = featmap_new(&g.k, D, M, 5, &err);
    struct fop *f = fop_new(be, fm, &src.base, &o, &err);
    ck_assert_msg(f != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(f, hp, &err), ST_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, stopper, &cancel), 0);
    enum status rc = ST_OK;
    while (rc == ST_OK) /* the stop comes in one of them */
        rc = fop_gram(f, NULL, G, NULL, NULL, &ctl, &err);
    ck_assert_int_eq(rc, ST_CANCELLED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(fop_diagonal(f, G, NULL, &err), ST_OK);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    ck_assert(!fop_lost(f, NULL));
    fop_free(f);
    featmap_free(fm);
    summed_free(&g);
    free(G);
    ranks_end(false);
}

START_TEST(stopped)
{
    stopped_by(ranks_of(2, 1));
}
END_TEST

START_TEST(crew_stopped)
{
    const struct backend_ops *be = crew_of((enum support_crew)_i, "mpi:3");

    if (be)
        stopped_by(be);
}
END_TEST

/* An operator of the first task over ranks that `stop` stops, and a large matrix to ask for. */
struct halted {
    struct summed_given g;
    struct source_array src;
    struct cancel cancel;
    struct ctl ctl;
    struct featmap *fm;
    struct fop *f;
    double *G;
};
enum { HALTED_M = 3072 };
static void halted_open(struct halted *h, const struct backend_ops *be)
{
    double hp[KERNEL_MAX_HP] = {1.0};
    struct err err = {0};

    *h = (struct halted){.ctl = {.cancel = &h->cancel}};
    const struct fop_opts o = {.precision = PREC_FLOAT, .ctl = &h->ctl};
    summed_make(summed_task_at(0), &h->g);
    source_array_init(&h->src, h->g.X, N, D, D);
    h->G = calloc((size_t)HALTED_M * HALTED_M, sizeof *h->G);
    h->fm = featmap_new(&h->g.k, D, HALTED_M, 5, &err);
    h->f = fop_new(be, h->fm, &h->src.base, &o, &err);
    ck_assert_msg(h->f != NULL, "%s", err.msg);
    ck_assert_int_eq(fop_set(h->f, hp, &err), ST_OK);
}

static void halted_close(struct halted *h)
{
    fop_free(h->f);
    featmap_free(h->fm);
    summed_free(&h->g);
    free(h->G);
}

/* A stop is answered long before a rank that hangs counts as lost, again and again; where the rank
 * goes on, nothing was lost. */
START_TEST(stopped_while_hung)
{
    struct halted h;
    struct ranks_one one;
    struct err err = {0};

    ranks_program_for_tests(NULL, 60.0);
    halted_open(&h, ranks_of(2, 1));
    ck_assert(ranks_at(1, &one));
    for (int again = 0; again < 3; again++) {
        ck_assert_int_eq(fop_diagonal(h.f, h.G, NULL, &err), ST_OK);
        kill((pid_t)one.pid, SIGSTOP);
        const double begun = clock_now();
        for (int twice = 0; twice < 2; twice++) { /* the second waits for the first */
            pthread_t thread;
            h.cancel.stop = false;
            ck_assert_int_eq(pthread_create(&thread, NULL, stopper, &h.cancel), 0);
            ck_assert_int_eq(twice ? fop_diagonal(h.f, h.G, &h.ctl, &err)
                                   : fop_gram(h.f, NULL, h.G, NULL, NULL, &h.ctl, &err),
                             ST_CANCELLED);
            ck_assert_int_eq(pthread_join(thread, NULL), 0);
        }
        ck_assert_int_ne(fop_set(h.f, (double[]){1.0}, &err), ST_OK); /* stopped, too */
        ck_assert_msg(clock_now() - begun < 30.0, "%g s", clock_now() - begun);
        h.cancel.stop = false;
        kill((pid_t)one.pid, SIGCONT);
    }
    ck_assert_int_eq(fop_set(h.f, (double[]){1.0}, &err), ST_OK);
    ck_assert_int_eq(fop_diagonal(h.f, h.G, &h.ctl, &err), ST_OK);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    ck_assert(!fop_lost(h.f, NULL));
    /* An operator that is closed meanwhile is closed there before the next request. */
    kill((pid_t)one.pid, SIGSTOP);
    h.cancel.stop = true;
    ck_assert_int_eq(fop_gram(h.f, NULL, h.G, NULL, NULL, &h.ctl, &err), ST_CANCELLED);
    halted_close(&h);
    kill((pid_t)one.pid, SIGCONT);
    halted_open(&h, ranks_of(2, 1));
    ck_assert_int_eq(fop_diagonal(h.f, h.G, NULL, &err), ST_OK);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    halted_close(&h);
    ranks_end(false);
}
END_TEST

/* One that hangs for good is lost by what is asked next, and the others do that. */
START_TEST(hung_after_stop)
{
    struct halted h;
    struct ranks_one one;
    struct err err = {0};

    ranks_program_for_tests(NULL, 1.5);
    halted_open(&h, ranks_of(2, 1));
    ck_assert(ranks_at(1, &one));
    kill((pid_t)one.pid, SIGSTOP);
    h.cancel.stop = true;
    ck_assert_int_eq(fop_gram(h.f, NULL, h.G, NULL, NULL, &h.ctl, &err), ST_CANCELLED);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    h.cancel.stop = false;
    ck_assert_int_eq(fop_diagonal(h.f, h.G, &h.ctl, &err), ST_OK);
    ck_assert_uint_eq(ranks_lost(&err), 1);
    ck_assert_msg(strstr(err.msg, "did not answer for 1.5 s") != NULL, "%s", err.msg);
    ck_assert(!fop_lost(h.f, NULL));
    halted_close(&h);
    ranks_end(false);
}
END_TEST

/* What a stopped fit still has to know, with which it keeps its iterate, comes from this process,
 * whether ranks answer or hang: the bits of one process, and no rank counts as lost. */
START_TEST(wanted_after_stop)
{
    struct halted h, one;
    struct ranks_one second;
    struct err err = {0};
    double *w = calloc(HALTED_M, sizeof *w), *T = calloc(N, sizeof *T), *T1 = calloc(N, sizeof *T1);

    for (size_t i = 0; i < HALTED_M; i++)
        w[i] = rng_normal(1, rng_stream(RNG_TEST, 2), i);
    halted_open(&one, backend_cpu());
    ck_assert_int_eq(fop_zp(one.f, 1, w, T1, NULL, &err), ST_OK);
    halted_close(&one);
    for (int silent = 0; silent < 2; silent++) {
        ranks_program_for_tests(NULL, 60.0);
        halted_open(&h, ranks_of(2, 1));
        ck_assert(ranks_at(1, &second));
        if (silent)
            kill((pid_t)second.pid, SIGSTOP);
        h.cancel.stop = true;
        memset(T, 0, N * sizeof *T);
        ck_assert_int_eq(fop_zp(h.f, 1, w, T, &h.ctl, &err), ST_CANCELLED);
        ck_assert_int_eq(fop_zp(h.f, 1, w, T, NULL, &err), ST_OK);
        ck_assert_mem_eq(T, T1, N * sizeof *T);
        ck_assert_uint_eq(ranks_lost(NULL), 0);
        kill((pid_t)second.pid, SIGCONT);
        halted_close(&h);
        ranks_end(false);
    }
    free(w);
    free(T);
    free(T1);
}
END_TEST

/* Nobody is left when the front end is killed. */
START_TEST(front_end_killed)
{
    int out[2];
    long pid[2] = { 0, 0 };

    ck_assert_int_eq(pipe(out), 0);
    const pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < 2; i++) {
            struct ranks_one one;
            ranks_of(2, 1);
            ranks_at(i, &one);
            pid[i] = one.pid;
        }
        if (write(out[1], pid, sizeof pid) == sizeof pid)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(out[0], pid, sizeof pid), sizeof pid);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ends(pid[0]);
    ends(pid[1]);
    close(out[0]);
    close(out[1]);
}
END_TEST

/* A rank that is sent rubbish ends; it neither crashes nor waits. */
START_TEST(rubbish)
{
    for (unsigned i = 0; i < 40; i++) {
        int in[2], status = 0;
        char junk[256];
        ck_assert_int_eq(pipe(in), 0);
        const pid_t child = fork();
        if (child == 0) {
            dup2(in[0], STDIN_FILENO);
            close(in[0]);
            close(in[1]);
            if (!freopen("/dev/null", "w", stdout))
                _exit(2);
            execl("/proc/self/exe", "check_ranks", RANK_ARGUMENT, (char *)NULL);
            _exit(2);
        }
        close(in[0]);
        for (size_t b = 0; b < sizeof junk; b++)
            junk[b] = (char)rng_below(7, RNG_TEST, 256 * i + b, 256);
        const uint32_t head[4] = { 0x4b525047u, i % 11, i % 2 ? 200 : 4000000000u, i % 3 };
        memcpy(junk, head, i % 4 ? sizeof head : 0);
        ck_assert_int_gt(write(in[1], junk, sizeof junk), 0);
        close(in[1]);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) != 2, "status %d", status);
    }
}
END_TEST

static void refused(const struct ranks_plan *plan, enum status code, const char *word)
{
    struct err err = { 0 };

    ranks_use(plan);
    for (int twice = 0; twice < 2; twice++) { /* what failed is not tried again */
        ck_assert_int_eq(ranks_start_for_tests(NULL, &err), code);
        ck_assert_int_eq(err.code, code);
        ck_assert_msg(strstr(err.msg, word), "%s", err.msg);
    }
    ck_assert_uint_eq(ranks_count(), 0);
}

/* A host whose program says these first words, and then nothing. */
static void host_saying(const struct wire_hello *hello, const char *word)
{
    const struct wire_head head = {WIRE_MAGIC, WIRE_HELLO, sizeof *hello};
    const struct ranks_plan plan = { .count = 1, .threads = 1, .hosts = "elsewhere" };
    char *dir = support_tmpdir(), script[600], said[sizeof head + sizeof *hello];

    memcpy(said, &head, sizeof head);
    memcpy(said + sizeof head, hello, sizeof *hello);
    support_write(support_path(dir, "said"), said, sizeof said);
    snprintf(script, sizeof script, "#!/bin/sh\ncat %s\nexec sleep 100\n",
             support_path(dir, "said"));
    support_write(support_path(dir, "ssh"), script, strlen(script));
    ck_assert_int_eq(chmod(support_path(dir, "ssh"), 0755), 0);
    setenv("GPDESK_SSH", support_path(dir, "ssh"), 1);
    refused(&plan, ST_BACKEND, word);
    unsetenv("GPDESK_SSH");
    support_rmdir(dir);
}

/* Refused: another build, another version, another level of vector code, another protocol. */
START_TEST(others)
{
    struct wire_hello here, there;
    struct err err = {0};

    wire_hello_of(&here, 1);
    ck_assert_int_ne(here.build[0], '\0');
    there = here;
    snprintf(there.host, sizeof there.host, "elsewhere");
    ck_assert(wire_hello_alike(&here, &there, &err));
    snprintf(there.build, sizeof there.build, "0123456789abcdef");
    ck_assert(!wire_hello_alike(&here, &there, &err));
    ck_assert_int_eq(err.code, ST_BACKEND);
    ck_assert_msg(strstr(err.hint, "the same build") != NULL, "%s", err.hint);
    host_saying(&there, "elsewhere has another gpdesk");
    there = here;
    snprintf(there.program, sizeof there.program, "0.0.1");
    host_saying(&there, "version 0.0.1, build");
    there = here;
    snprintf(there.host, sizeof there.host, "elsewhere");
    snprintf(there.level, sizeof there.level, "another");
    ck_assert(!wire_hello_alike(&here, &there, &err));
    ck_assert_msg(strstr(err.hint, "--cpu=") != NULL, "%s", err.hint);
    host_saying(&there, "elsewhere computes with another, this machine with");
    there = here;
    there.version++;
    host_saying(&there, "no gpdesk of this version");
}
END_TEST

/* A file of hosts: what it says, or what is wrong with it. */
static void hosts_of(const char *text, const char *hosts, const char *wrong)
{
    char *dir = support_tmpdir(), out[HOSTS_LETTERS];
    const char *path = support_path(dir, "hosts");
    struct err err = { 0 };

    if (text)
        support_write(path, text, strlen(text));
    const enum status rc = hosts_read(path, out, &err);
    ck_assert_int_eq(rc == ST_OK, wrong == NULL);
    if (hosts)
        ck_assert_str_eq(out, hosts);
    else
        ck_assert_msg(strstr(err.msg, wrong) != NULL, "%s", err.msg);
    support_rmdir(dir);
}

START_TEST(words)
{
    static const char *const wrong[] = { "", ",", "a:", "a:0", "a:65", "-oProxyCommand=x", "a,,b",
                                         "a b", "a;b", "$(a)", "a:2,", "a:40,b:40", "a:1x" };
    const struct ranks_plan none = { .threads = 1 },
                            many = { .count = RANKS_MOST + 1, .threads = 1 };
    const struct ranks_plan missing = { .threads = 1, .hosts = "localhost,nowhere.invalid" };
    struct err err;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err_clear(&err);
        ck_assert_msg(hosts_count(wrong[i], &err) == 0, "%s", wrong[i]);
        ck_assert_int_eq(err.code, ST_USAGE);
        ck_assert_int_ne(err.hint[0], '\0');
    }
    ck_assert_uint_eq(hosts_count("a:2,b:2", &err), 4);
    ck_assert_uint_eq(hosts_count("me@node-1.cluster", &err), 1);
    hosts_of("# two machines\na:2\n\n  b slots=3 # large\nc\n", "a:2,b:3,c:1", NULL);
    hosts_of("a:2\n-oProxyCommand=x\n", NULL, "line 2");
    hosts_of("a b\n", NULL, "line 1");
    hosts_of("a slots=0\n", NULL, "line 1");
    hosts_of("a slots=2 max_slots=4\n", NULL, "line 1");
    hosts_of(NULL, NULL, "No such file");
    refused(&none, ST_USAGE, "not 0");
    refused(&many, ST_USAGE, "not 65");
    /* A host that does not answer; the others are waited for beside it. */
    char *dir = support_tmpdir(), ssh[512];
    static const char sleeps[] = "#!/bin/sh\nexec sleep 100\n";
    const struct ranks_plan silent = { .count = 8, .threads = 1, .hosts = "a:6,b:2" };
    struct cancel cancel = {false};
    const struct ctl ctl = {.cancel = &cancel};
    pthread_t thread;
    snprintf(ssh, sizeof ssh, "%s", support_path(dir, "ssh"));
    support_write(ssh, sleeps, sizeof sleeps - 1);
    ck_assert_int_eq(chmod(ssh, 0755), 0);
    setenv("GPDESK_SSH", ssh, 1);
    ranks_start_within_for_tests(6.0);
    double begun = clock_now();
    refused(&silent, ST_BACKEND, "rank 1 of 8 on a: it did not answer for 6 s");
    ck_assert_msg(clock_now() - begun < 30.0, "%g s", clock_now() - begun);
    ranks_start_within_for_tests(600.0);
    begun = clock_now();
    ranks_use(&silent);
    ck_assert_int_eq(pthread_create(&thread, NULL, stopper, &cancel), 0);
    ck_assert_int_eq(ranks_start_for_tests(&ctl, &err), ST_CANCELLED);
    ck_assert_msg(clock_now() - begun < 60.0, "%g s", clock_now() - begun);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(ranks_lost(NULL), 3); /* the refused ones, and no more */
    support_rmdir(dir);
    /* A host that there is not, and one that speaks another language. */
    setenv("GPDESK_SSH", "/bin/false", 1);
    refused(&missing, ST_BACKEND, "nowhere.invalid");
    setenv("GPDESK_SSH", "/bin/echo", 1);
    refused(&missing, ST_BACKEND, "nowhere.invalid");
    setenv("GPDESK_SSH", "/no/such/program", 1);
    refused(&missing, ST_BACKEND, "ssh cannot be started");
    unsetenv("GPDESK_SSH");
    ck_assert_uint_eq(ranks_count(), 0);
}
END_TEST

/* Fits. */

struct figures { double mean[N], var[N]; struct fit_info info; };

static void fit_over(const struct backend_ops *be, const char *solver, struct pool *pool,
                     struct figures *out)
{
    struct fit_opts o = { .solver = solver, .features = 256, .rtol = 1e-5, .maxit = 30, .seed = 3,
                          .amplitude = 1.0, .noise = 0.3, .plan = PLAN_REGENERATE };
    struct tools on = { be, pool, NULL };
    struct source_array src;
    struct summed_given g;
    struct model *m = NULL;
    struct err err = { 0 };

    summed_make(summed_task_at(0), &g);
    source_array_init(&src, g.X, N, D, D);
    o.kernel = g.k;
    o.hp[0] = 3.0;
    if (strcmp(solver, "direct") == 0)
        o.plan = PLAN_DIRECT;
    for (size_t i = 0; i < N; i++)
        g.y[i] = sin(g.X[i * D]) + 0.5 * g.X[i * D + 1] + 0.1 * g.y[i];
    ck_assert_msg(model_fit(&src.base, g.y, &o, &on, &m, &out->info, NULL, &err) == ST_OK,
                  "%s: %s", solver, err.msg);
    ck_assert_msg(model_predict(m, &src.base, out->mean, out->var, &on, &err) == ST_OK, "%s: %s",
                  solver, err.msg);
    model_unref(m);
    summed_free(&g);
}

START_TEST(fits)
{
    static const char *const solvers[] = { "pcg", "direct", "svrg" };
    static struct figures one, many;
    struct pool *pool = pool_new(2, NULL);

    for (size_t i = 0; i < 3; i++) {
        fit_over(backend_cpu(), solvers[i], pool, &one);
        for (size_t c = 0; c < 3; c++) {
            basis_ops_always_for_tests(c != 1);
            fit_over(ranks_of(1 + c + c / 2, 1 + c), solvers[i], pool, &many);
            basis_ops_always_for_tests(false);
            ck_assert_msg(memcmp(one.mean, many.mean, sizeof one.mean) == 0 &&
                              memcmp(one.var, many.var, sizeof one.var) == 0,
                          "%s: other bits by %zu ranks", solvers[i], ranks_count());
        }
    }
    pool_free(pool);
    ranks_end(false);
}
END_TEST

int main(int argc, char **argv)
{
    const int status = rank_called(argc, argv);

    if (status >= 0)
        return status;
    Suite *s = suite_create("ranks");
    TCase *t = tcase_create("ranks");
    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, same_bits, 0, summed_count());
    tcase_add_loop_test(t, crew_same_bits, 0, summed_count());
    tcase_add_test(t, kernels_travel);
    tcase_add_test(t, handing_out_pays);
    tcase_add_test(t, preconditioner_split);
    tcase_add_test(t, killed);
    tcase_add_test(t, none_left);
    tcase_add_loop_test(t, crew_killed, 0, SUPPORT_CREWS);
    tcase_add_loop_test(t, crew_member_killed, 0, SUPPORT_CREWS);
    tcase_add_loop_test(t, crew_hung, 0, SUPPORT_CREWS);
    tcase_add_loop_test(t, crew_member_hung, 0, SUPPORT_CREWS);
    tcase_add_loop_test(t, crew_stopped, 0, SUPPORT_CREWS);
    tcase_add_test(t, hung);
    tcase_add_test(t, slow_rank);
    tcase_add_test(t, stopped);
    tcase_add_test(t, stopped_while_hung);
    tcase_add_test(t, hung_after_stop);
    tcase_add_test(t, wanted_after_stop);
    tcase_add_test(t, front_end_killed);
    tcase_add_test(t, rubbish);
    tcase_add_test(t, words);
    tcase_add_test(t, others);
    tcase_add_test(t, fits);
    suite_add_tcase(s, t);
    return support_run(s);
}
