/* tests/screens/ptydrive.c -- gpdesk behind a pseudo-terminal: random keys for a crash or a stuck
 * screen, and what the screen costs, measured from outside.
 *
 *     ptydrive monkey SEED SECONDS GPDESK [ARGS]   random keys, resizes and pastes; ends with quit
 *     ptydrive picture GPDESK                      a terminal that shows pictures, one that does
 * not, one that is silent: plot to=picture ptydrive live GPDESK                         echo, bytes
 * and redraws a second around a job ptydrive open GPDESK SESSION                 a session of 200
 * runs: opening, scrolling ptydrive trace GPDESK SESSION                a run of 100,000 trace
 * points: the plot
 *
 *     ptydrive stalled GPDESK                      a terminal that takes no more bytes: TERM still
 * ends it
 *
 * monkey, picture and stalled print TAP; the others one line a figure.  Nothing here reads the
 * clock to decide a test but for "no answer within a minute", and that minute does not run while
 * the program waits for a core. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 40, COLS = 120, TAIL = 1 << 16 };
static int tty = -1;
static pid_t child;
static char tail[TAIL + 1];              /* the newest output, for what went wrong */
static size_t ntail;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep(const char *s, size_t n)
{
    if (n > TAIL) {
        s += n - TAIL;
        n = TAIL;
    }
    if (ntail + n > TAIL) {
        const size_t drop = ntail + n - TAIL;
        memmove(tail, tail + drop, ntail - drop);
        ntail -= drop;
    }
    memcpy(tail + ntail, s, n);
    ntail += n;
    tail[ntail] = '\0';
}

/* Reads what comes within `seconds`; returns bytes, -1 when the program has gone. */
static long take(double seconds, double *first, long *bursts)
{
    const double end = now() + seconds;
    double last = -1;
    long total = 0;
    for (;;) {
        char bytes[65536];
        struct pollfd p = { tty, POLLIN, 0 };
        const double left = end - now();
        if (left <= 0 && seconds > 0)
            return total;
        const int ready = poll(&p, 1, seconds > 0 ? (int)(left * 1000) + 1 : 0);
        if (ready == 0)
            return total;
        if (ready < 0 && errno == EINTR)
            continue;
        const ssize_t n = read(tty, bytes, sizeof bytes);
        if (n <= 0)
            return n < 0 && errno == EINTR ? 0 : -1;
        const double t = now();
        if (first && *first < 0)
            *first = t;
        if (bursts && t - last > 0.008)  /* one redraw comes in one write, or in a few at once */
            ++*bursts;
        last = t;
        total += n;
        keep(bytes, (size_t)n);
    }
}

static void put(const char *s, size_t n)
{
    double first = -1;
    while (n > 0) {
        struct pollfd p = { tty, POLLOUT | POLLIN, 0 };
        if (poll(&p, 1, 10000) <= 0)
            return;
        if (p.revents & POLLIN && take(0, &first, NULL) < 0)
            return;
        const ssize_t k = p.revents & POLLOUT ? write(tty, s, n) : 0;
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (k > 0) {
            s += k;
            n -= (size_t)k;
        }
    }
}

static void say(const char *s)
{
    put(s, strlen(s));
}

/* Until the text has come; false: not in time, or the program has gone. */
static bool await(const char *text, double limit)
{
    const double end = now() + limit;
    while (now() < end) {
        if (strstr(tail, text))
            return true;
        struct pollfd p = { tty, POLLIN, 0 };
        poll(&p, 1, 20);                 /* wakes with the bytes */
        if (take(0, NULL, NULL) < 0)
            return strstr(tail, text) != NULL;
    }
    return false;
}

static void forget(void)
{
    ntail = 0;
    tail[0] = '\0';
}

static bool start(char *const argv[], int rows, int cols)
{
    struct winsize w = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };
    forget();
    child = forkpty(&tty, NULL, NULL, &w);
    if (child < 0)
        return false;
    if (child == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LANG", "C.UTF-8", 1);
        unsetenv("LINES");
        unsetenv("COLUMNS");
        unsetenv("NO_COLOR");
        execvp(argv[0], argv);
        _exit(127);
    }
    fcntl(tty, F_SETFL, O_NONBLOCK);
    return true;
}

/* Patience. */

/* Processor seconds of all threads; *ready: one of them would run if it were let. */
static double used(pid_t pid, bool *ready)
{
    char path[64], text[1024];
    unsigned long user = 0, sys = 0, u, k;
    *ready = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[400];
        if (!isdigit((unsigned char)*e->d_name))
            continue;
        snprintf(name, sizeof name, "%s/%.20s/stat", path, e->d_name);
        FILE *f = fopen(name, "re");
        const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f)
            fclose(f);
        text[n] = '\0';
        const char *at =
            strrchr(text, ')'); /* behind it: state, ten fields, user and system time */
        char state;
        if (at && sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &state, &u,
                         &k) == 3) {
            user += u;
            sys += k;
            *ready |= state == 'R' || state == 'D';
        }
    }
    if (d)
        closedir(d);
    return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

/* How long it has been waited for: by the clock while the program sleeps, by its own processor time
 * while it works, so that a busy machine is not taken for a program that hangs. */
struct patience { double left, at, cpu; };

static struct patience patience(double seconds)
{
    bool ready;
    return (struct patience){ seconds, now(), used(child, &ready) };
}

static bool patient(struct patience *p)
{
    bool ready;
    const double t = now(), cpu = used(child, &ready);
    p->left -= ready ? cpu - p->cpu : t - p->at;
    p->at = t;
    p->cpu = cpu;
    return p->left > 0;
}

static void tell_lines(FILE *f)
{
    char text[400];
    while (f && fgets(text, sizeof text, f))
        printf("# %s", text);
}

/* Where it hangs: state and stack of every thread, and its children. */
static void tell_where(void)
{
    char line[600];
    fflush(stdout);
    snprintf(line, sizeof line,
             "for t in /proc/%d/task/*; do echo \"${t##*/} $(cat $t/comm) $(cat $t/wchan)\"; grep "
             "-E 'State|SigBlk|SigPnd' "
             "$t/status; cat $t/stack; done 2>/dev/null; ps -o pid,ppid,stat,comm --ppid %d "
             "2>/dev/null; "
             "gdb -p %d -batch -ex 'thread apply all bt 30' 2>/dev/null | grep -E '^(#|Thread)'",
             (int)child, (int)child, (int)child);
    FILE *f = popen(line, "r");
    tell_lines(f);
    if (f)
        pclose(f);
}

/* Waits for the end; -1: it had to be killed. */
static int ended(double limit)
{
    struct patience p = patience(limit);
    int status;
    while (patient(&p)) {
        take(0.05, NULL, NULL);
        if (waitpid(child, &status, WNOHANG) == child) {
            while (take(0.05, NULL, NULL) > 0)
                ;
            close(tty);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    forget();
    tell_where();
    kill(child, SIGABRT);                /* a sanitizer tells, too */
    take(5, NULL, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(tty);
    return -1;
}

static int leave(void)
{
    say("\033[201~");                    /* the end of a paste that was never ended */
    take(0.3, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        say("\033");
        take(0.15, NULL, NULL);
    }
    say(":");
    take(0.1, NULL, NULL);
    say("\025\003");
    take(0.1, NULL, NULL);
    say("\003");
    take(0.2, NULL, NULL);
    say("\025set plain=no\r");           /* wherever the keys have led to */
    take(0.3, NULL, NULL);
    say("\003");                         /* in vi mode an Esc would command the line editor */
    take(0.2, NULL, NULL);
    say(":\025quit\r");
    return ended(60);
}

/* Random keys. */

static uint64_t state;

static unsigned draw(unsigned n)         /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) % n);
}

/* Lines that fill the views, so that keys meet something; all quick. */
static const char *const lines[] = {
    "demo toy",
    "demo co2",
    "demo friedman1 n=200 seed=3",
    "split test=20% seed=1",
    "tune features=64 evals=4",
    "fit",
    "fit solver=pcg features=256 rank=16 noise=0.01",
    "score",
    "check",
    "advise features=128 rank=8,16",
    "spectrum",
    "pca",
    "cluster k=3",
    "runs",
    "compare",
    "why",
    "help",
    "help fit",
    "summary",
    "jobs",
    "layout two",
    "layout three",
    "layout main",
    "layout auto",
    "layout slide",
    "theme dark",
    "theme light",
    "theme high",
    "theme mono",
    "theme auto",
    "set glyphs=ascii",
    "set glyphs=auto",
    "set mouse=yes",
    "set mouse=no",
    "set learn=on",
    "set learn=off",
    "set editing=vi",
    "set editing=emacs",
    "palette fit",
    "copy view",
    "copy cell",
    "bind view F9 \"compare {marks}\"",
    "bind conflict",
    "note r1 hello",
    "undo",
    "redo",
    "kernel rbf",
    "kernel rbf(ard) + linear",
    "drop r1",
    "plot residual",
    "plot columns",
    "view log",
    "fit solver=cg features=512 noise=0.0001 rtol=1e-12 maxit=20000",
    "stop *",
    "history",
    "star r1",
    "# \"ends with\\",
};
static const char *const specials[] = {
    "\033[A",
    "\033[B",
    "\033[C",
    "\033[D",
    "\033[5~",
    "\033[6~",
    "\033[H",
    "\033[F",
    "\033[Z",
    "\t",
    "\r",
    "\033",
    "\033OP",
    "\033OQ",
    "\033OR",
    "\033OS",
    "\033[17~",
    "\033[1;2A",
    "\033[1;2C",
    "\0331",
    "\0332",
    "\0333",
    "\0334",
    "\0335",
    "\0336",
    "\0337",
    "\0338",
    "\0339",
    "\033x",
    "\033.",
    "\033_",
    "\033h",
    "\033e",
    "\022",
    "\025",
    "\027",
    "\003",
    "\014",
    "\177",
    "\033[<0;20;10M",
    "\033[<0;20;10m",
    "\033[<64;60;20M",
    "\033[<65;60;20M",
    "\033[<32;44;12M",
    "\033[<0;40;8M",
    "\033[999;999R",
    "\033[<",
    "\033]52;c;\007",
    "\303\251",
    "\360\237\230\200",
    "\377\376",
    "\033[200~pasted\nlines\033[201~",
    "\033[200~",
    "\033[201~",
    "\033[15~",
};
#define COUNT(a) (unsigned)(sizeof (a) / sizeof *(a))

static void one_key(char *last, size_t len)
{
    const unsigned kind = draw(100);
    if (kind < 6) {
        snprintf(last, len, "line %s", lines[draw(COUNT(lines))]);
        say("\033");
        take(0.08, NULL, NULL);
        say(":\025");
        say(last + 5);
        say("\r");
    } else if (kind < 40) {
        const char *s = specials[draw(COUNT(specials))];
        snprintf(last, len, "special %u", (unsigned char)s[strlen(s) - 1]);
        say(s);
    } else if (kind < 42) {
        struct winsize w = {.ws_row = (unsigned short)(1 + draw(70)),
                            .ws_col = (unsigned short)(1 + draw(220))};
        snprintf(last, len, "size %ux%u", w.ws_col, w.ws_row);
        ioctl(tty, TIOCSWINSZ, &w);
    } else {
        const char c = (char)(0x20 + draw(0x5f));
        snprintf(last, len, "key %c", c);
        put(&c, 1);
    }
}

/* The screen answers when a redraw that is asked for comes. */
static bool answers(void)
{
    const struct winsize w = { .ws_row = ROWS, .ws_col = COLS };
    struct patience p = patience(60);
    ioctl(tty, TIOCSWINSZ, &w);
    say("\033[201~");
    while (patient(&p)) {
        double first = -1;
        say("\014");
        for (int i = 0; i < 50 && first < 0; i++)
            if (take(0.02, &first, NULL) < 0)
                return false;
        if (first >= 0)
            return true;
    }
    return false;
}

/* What it said last, perhaps a sanitizer. */
static void tell_sanitizer(void)
{
    for (char *s = strstr(tail, "ERROR: "), *stop = s ? s + 3500 : s; s && *s && s < stop; s++)
        putchar(*s == '\n' ? (fputs("\n# ", stdout), ' ') : *s);
    putchar('\n');
}

static void tell_tail(void)
{
    fputs("# ", stdout);
    for (const char *s = ntail > 3000 ? tail + ntail - 3000 : tail; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            printf("^%c", *s ^ 0x40);
        else
            putchar(*s);
    putchar('\n');
}

/* Memory, descriptors and threads of the program, in a line each minute of a long run: they may
 * rise with what is loaded, and have to be level in the end.  False: more than any use explains. */
static bool levels(double seconds, long keys, long starts)
{
    static double told;
    enum { MOST_OPEN = 200, MOST_THREADS = 64 };
    char path[64], line[256];
    long memory = 0, threads = 0, open = 0;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "VmRSS: %ld", &memory);
        sscanf(line, "Threads: %ld", &threads);
    }
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)child);
    DIR *d = opendir(path);
    while (d && readdir(d))
        open++;
    if (d)
        closedir(d);
    if (seconds >= told + 60 || open > MOST_OPEN || threads > MOST_THREADS) {
        told = seconds;
        printf("# %.0f s, %ld keys, %ld starts: %ld kB, %ld descriptors, %ld threads\n", seconds,
               keys, starts, memory, open > 2 ? open - 2 : 0, threads);
        fflush(stdout);
    }
    return open <= MOST_OPEN && threads <= MOST_THREADS;
}

static int monkey(uint64_t seed, double seconds, char *const argv[])
{
    char last[200] = "";
    const double end = now() + seconds;
    long keys = 0, starts = 1;
    bool alive = true;
    int status;
    state = seed;
    if (!start(argv, ROWS, COLS))
        return 77;
    alive = await("gpdesk>", 60);
    while (alive && now() < end) {
        for (int i = 0; i < 50 && alive && now() < end; i++, keys++) {
            one_key(last, sizeof last);
            alive = take(0.001 * draw(15), NULL, NULL) >= 0;
        }
        if (alive && !levels(now() - end + seconds, keys, starts)) {
            printf("not ok 1 - after %ld random keys more is open than anything needs\n", keys);
            (void)leave();
            return 1;
        }
        if (alive && !answers()) {
            take(0.5, NULL, NULL);
            alive = waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                    take(0, NULL, NULL) >= 0;
            if (alive) {
                printf("# no answer after key %ld of seed %lu: %s\n", keys, (unsigned long)seed,
                       last);
                tell_where();
                break;
            }
        }
        if (!alive) {                    /* a key has ended it, as keys may: q, Enter */
            status = ended(120);
            if (status != 0) {
                printf("# ended by itself with status %d after key %ld of seed %lu: %s\n", status,
                       keys, (unsigned long)seed, last);
                tell_sanitizer();
                tell_tail();
                break;
            }
            alive = start(argv, ROWS, COLS) && await("gpdesk>", 60);
            starts++;
        }
    }
    if (!alive) {
        printf("not ok 1 - %ld random keys (last %s)\n", keys, last);
        return 1;
    }
    char *before = strdup(ntail > 3000 ? tail + ntail - 3000 : tail);
    status = leave();
    printf("# seed %lu, %ld keys, %ld starts\n", (unsigned long)seed, keys, starts);
    if (status < 0 && before) {          /* it had to be killed: what stood there */
        fputs("# ", stdout);
        for (const char *s = before; *s; s++)
            if ((unsigned char)*s < 0x20 || *s == 0x7f)
                printf("^%c", *s ^ 0x40);
            else
                putchar(*s);
        putchar('\n');
    }
    free(before);
    if (status != 0)
        tell_sanitizer();
    printf("\n%s 1 - %ld random keys leave a program that quits (status %d, last %s)\n",
           status == 0 ? "ok" : "not ok", keys, status, last);
    return status == 0 ? 0 : 1;
}

/* A terminal that shows pictures. */

static int tests, failures;

static void check(bool ok, const char *name)
{
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, name);
    failures += !ok;
    if (!ok) {
        fputs("# ", stdout);
        for (const char *s = ntail > 2000 ? tail + ntail - 2000 : tail; *s; s++)
            if ((unsigned char)*s < 0x20 || *s == 0x7f)
                printf("^%c", *s ^ 0x40);
            else
                putchar(*s);
        putchar('\n');
    }
}

static void line(const char *s)
{
    forget();
    say(s);
    say("\r");
}

/* Until the terminal is asked what it is; then `reply`. */
static bool asked(const char *reply)
{
    const bool ok = await("\033[c", 60);
    forget();
    say(reply);
    return ok;
}

static bool begin_picture(char *gpdesk)
{
    char *argv[] = { gpdesk, "--no-config", "--threads", "1", NULL };
    if (!start(argv, 24, 80) || !await("ready", 60))
        return false;
    line("demo friedman1 n=400 seed=3; split test=20% seed=1; fit solver=pcg features=128 rank=8");
    return await("3 Resid]", 60) && await("stopped: reached rtol", 60);
}

static int picture(char *gpdesk)
{
    check(begin_picture(gpdesk), "a fit on a terminal with sixel graphics");
    line("plot residual to=picture; fit solver=pcg features=256 rank=16; score");
    check(asked("\033[?62;4;6c"), "the terminal is asked what it is");
    check(await("\033P", 60) && await("\033\\", 60), "it shows pictures: one comes, whole");
    check(await("press any key to continue", 60), "with a line below it");
    check(await("ready   press any key to continue", 60),
          "that follows the job begun after it, to its end");
    take(0.5, NULL, NULL);
    check(!strstr(tail, " Calib"), "and nothing else is drawn meanwhile");
    forget();
    say("x");
    check(await("6 Calib]", 20), "a key brings the screen back, with what has come since");
    check(await("gpdesk>", 20) && !strstr(tail, "gpdesk> x"), "and is not typed");
    line("plot residual to=picture");
    check(await("\033P", 60) && !strstr(tail, "\033[c"), "the second time it is not asked again");
    forget();
    const struct winsize wider = { .ws_row = 24, .ws_col = 90 };
    ioctl(tty, TIOCSWINSZ, &wider);
    check(await("6 Calib]", 20), "another size ends a picture");
    line("quit");
    check(ended(60) == 0, "quit");

    check(begin_picture(gpdesk), "a terminal without");
    line("plot residual to=picture");
    check(asked("\033[?62;6c"), "is asked, too");
    check(await("has not said that it shows pictures", 20), "and the answer is told");
    line("plot residual to=picture");
    check(await("has not said that it shows pictures", 20) && !strstr(tail, "\033[c"),
          "again without asking");
    line("quit");
    check(ended(60) == 0, "quit");

    check(begin_picture(gpdesk), "a terminal that is silent");
    line("plot residual to=picture");
    check(asked(""), "is asked");
    say("abc");
    check(await("abc", 1.9), "typing goes on meanwhile");
    check(await("has not said that it shows pictures", 20), "silence is told after a while");
    say("\025quit\r");
    check(ended(60) == 0, "quit");
    printf("1..%d\n", tests);
    return failures ? 1 : 0;
}

/* A terminal that takes no more bytes. */

static bool blocked(double limit)
{
    struct patience p = patience(limit);
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/%d/wchan", (int)child);
    while (patient(&p)) {                /* the main thread waits inside a write to it */
        FILE *f = fopen(path, "re");
        const bool in_write = f && fgets(name, sizeof name, f) && strstr(name, "wait_woken");
        if (f)
            fclose(f);
        if (in_write)
            return true;
        poll(NULL, 0, 100);
    }
    return false;
}

static int stalled(char *gpdesk)
{
    char *argv[] = { gpdesk, "--no-config", "--threads", "1", "-s", "stalled.gpd", NULL };
    char *again[] = { gpdesk, "--no-config", "--threads", "1", "-s", "stalled.gpd", NULL };
    int status = 0;
    setenv("GPDESK_END_WITHIN", "2", 1);
    check(start(argv, 24, 80) && await("ready", 60), "a session at a terminal");
    line("demo robot n=20000 seed=2; fit features=64; note r1 kept");
    check(await("noted at r1", 60), "a fit and a note");
    line("fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 "
         "plan=regenerate");
    check(await("recursive", 60), "a job runs");
    const int flags = fcntl(tty, F_GETFL);
    for (int i = 0; i < 300 && !blocked(0.2); i++)
        if (write(tty, "\014", 1) < 0)   /* redraws, which nobody reads */
            poll(NULL, 0, 50);
    check(blocked(1), "the terminal takes no more: it waits inside a write");
    fcntl(tty, F_SETFL, flags);
    kill(child, SIGTERM);
    struct patience p = patience(60);
    while (patient(&p) && waitpid(child, &status, WNOHANG) != child)
        poll(NULL, 0, 50);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM,
          "TERM ends it all the same, with status 143");
    if (!WIFEXITED(status))
        kill(child, SIGKILL);
    close(tty);
    check(start(again, 24, 80) && await("ready", 60), "the session opens again");
    line("runs");
    check(await("kept", 60), "and has what was done before");
    line("quit");
    check(ended(60) == 0, "quit");
    printf("1..%d\n", tests);
    return failures ? 1 : 0;
}

/* Figures. */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Characters that appear nowhere else, one after the other while a fit keeps all cores busy. */
static void measure_echo(void)
{
    double ms[120];
    size_t n = 0;
    for (unsigned i = 0; i < 120; i++) {
        char c[3] = { (char)0xc4, (char)(0x80 + i % 60), 0 };
        if (i % 20 == 0) {
            say("\025");
            take(0.2, NULL, NULL);
        }
        take(0.06 + 0.001 * draw(120), NULL, NULL);
        forget();
        const double t = now();
        put(c, 2);
        if (await(c, 5))
            ms[n++] = 1000 * (now() - t);
    }
    say("\025");
    qsort(ms, n, sizeof *ms, by_value);
    if (n)
        printf(
            "echo_ms median %.1f  95%% %.1f  worst %.1f  (%zu of 120 keys, a job on all cores)\n",
            ms[n / 2], ms[n * 95 / 100], ms[n - 1], n);
}

static void measure_flow(const char *what, double seconds)
{
    long bursts = 0;
    const long bytes = take(seconds, NULL, &bursts);
    printf("%s bytes/s %.0f  redraws/s %.1f\n", what, (double)bytes / seconds,
           (double)bursts / seconds);
}

static void run_line(const char *s)
{
    forget();
    say(s);
    say("\r");
}

static int measure_live(char *gpdesk)
{
    char *argv[] = { gpdesk, "--no-config", NULL };
    if (!start(argv, ROWS, COLS) || !await("ready", 60))
        return 1;
    run_line("demo robot n=20000 seed=2");
    await("robot", 60);
    take(1, NULL, NULL);
    measure_flow("idle", 4);
    run_line("fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 "
             "plan=regenerate");
    await("recursive", 60);
    take(3, NULL, NULL);
    measure_flow("job", 12);
    measure_echo();
    say("\003");
    await("ready", 60);
    take(2, NULL, NULL);
    measure_flow("idle after", 4);
    say("quit\r");
    return ended(30) == 0 ? 0 : 1;
}

static int measure_open(char *gpdesk, char *session)
{
    char *argv[] = { gpdesk, "--no-config", "-s", session, NULL };
    const double t = now();
    if (!start(argv, ROWS, COLS) || !await("r200", 60))
        return 1;
    const double shown = now();
    if (!await("ready", 60))
        return 1;
    printf("open_seconds 200 runs %.3f\n", shown - t);
    say("\033");
    take(0.3, NULL, NULL);
    say("2");
    take(0.5, NULL, NULL);
    double worst = 0, sum = 0;
    for (int i = 0; i < 100; i++) {      /* 50 keys up and 50 down, with a page at every tenth */
        double first = -1;
        const double k = now();
        say(i < 50 ? i % 10 == 9 ? "\033[5~" : "k" : i % 10 == 9 ? "\033[6~" : "j");
        while (first < 0 && now() < k + 1) {
            struct pollfd p = { tty, POLLIN, 0 };
            poll(&p, 1, 20);
            take(0, &first, NULL);
        }
        const double d = (first > 0 ? first : now()) - k;
        take(0.07, NULL, NULL);          /* keys of a person, not of a flood */
        worst = d > worst ? d : worst;
        sum += d;
    }
    printf("scroll_ms 200 runs mean %.1f worst %.1f\n", 1000 * sum / 100, 1000 * worst);
    say(":");
    take(0.1, NULL, NULL);
    say("quit\r");
    return ended(30) == 0 ? 0 : 1;
}

/* From the key to the finished picture, and again with other axes. */
static int measure_trace(char *gpdesk, char *session)
{
    char *argv[] = { gpdesk, "--no-config", "-s", session, NULL };
    if (!start(argv, ROWS, COLS) || !await("ready", 60))
        return 1;
    say("\0333");
    if (!await("relative residual", 20))
        return 1;
    say("\033");
    take(1, NULL, NULL);
    for (int i = 0; i < 6; i++) {        /* other axes: a new figure, a new picture by gnuplot */
        forget();
        const double t = now();
        say(i % 2 ? "X" : "x");
        if (!await("relative residual", 20))
            return 1;
        printf("plot_seconds 100,000 points %.3f\n", now() - t);
        take(0.5, NULL, NULL);
    }
    say(":\025quit\r");
    return ended(30) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    state = 7;
    if (argc >= 5 && strcmp(argv[1], "monkey") == 0) {
        puts("1..1");
        return monkey(strtoull(argv[2], NULL, 10), atof(argv[3]), argv + 4);
    }
    if (argc == 3 && strcmp(argv[1], "picture") == 0)
        return picture(argv[2]);
    if (argc == 3 && strcmp(argv[1], "stalled") == 0)
        return stalled(argv[2]);
    if (argc == 3 && strcmp(argv[1], "live") == 0)
        return measure_live(argv[2]);
    if (argc == 4 && strcmp(argv[1], "open") == 0)
        return measure_open(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "trace") == 0)
        return measure_trace(argv[2], argv[3]);
    fputs("usage: ptydrive monkey SEED SECONDS GPDESK [ARGS] | picture GPDESK | stalled GPDESK | "
          "live GPDESK | open GPDESK SESSION | trace "
          "GPDESK SESSION\n",
          stderr);
    return 2;
}
