/* tests/crew/mpirun.c -- stands in for mpirun where there is no MPI: starts as many processes of
 * one machine, each joined to each other by a pair of sockets (tests/crew/sockets.c), and ends all
 * of them when one has failed, when the first has ended, or on SIGTERM.
 *
 * mpirun --bind-to none -np COUNT PROGRAM ARGUMENT...
 *
 * The first process has this one's input and output, all others none. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, LAST_MS = 2000, LOOK_MS = 2 };
/* Descriptors of process i: to each other one, and for signs of life between it and the first. */
static int meets[MOST][MOST], lives[MOST][MOST];
static pid_t pids[MOST];
static volatile sig_atomic_t told;

static void tell(int signal)
{
    (void)signal;
    told = 1;
}

static int join(int fd[MOST][MOST], size_t i, size_t j)
{
    int end[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return -1;
    fd[i][j] = end[0];
    fd[j][i] = end[1];
    return 0;
}

/* The descriptors of a process as text, and open for the program that it is to run. */
static void hand_on(const int fd[MOST], size_t size, char *text, size_t room)
{
    size_t at = strlen(text);

    for (size_t j = 0; j < size; j++) {
        if (fd[j] > 0)
            fcntl(fd[j], F_SETFD, 0);
        at += (size_t)snprintf(text + at, room - at, "%d,", fd[j]);
    }
}

static void be(size_t i, size_t size, char **argv)
{
    char text[MOST * 32] = "", number[24];

    hand_on(meets[i], size, text, sizeof text);
    hand_on(lives[i], size, text, sizeof text);
    setenv("GPDESK_CREW_SOCKETS", text, 1);
    snprintf(number, sizeof number, "%zu", size);
    setenv("OMPI_COMM_WORLD_SIZE", number, 1);
    snprintf(number, sizeof number, "%zu", i);
    setenv("OMPI_COMM_WORLD_RANK", number, 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", number, 1);
    if (i > 0) {
        const int none = open("/dev/null", O_RDWR);
        dup2(none, STDIN_FILENO);
        dup2(none, STDOUT_FILENO);
    }
    signal(SIGTERM, SIG_DFL);
    execv(argv[0], argv);
    _exit(127);
}

/* Waits for all; what is left is killed when it is time.  Returns whether one has failed. */
static int wait_for(size_t size)
{
    int failed = 0;
    long left = LAST_MS;

    for (size_t here = size; here > 0;) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno != EINTR)
            break;
        for (size_t i = 0; pid > 0 && i < size; i++)
            if (pids[i] == pid) {
                pids[i] = 0;
                here--;
                failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
            }
        left -= pids[0] == 0 ? LOOK_MS : 0;
        for (size_t i = 0; (failed || told || left <= 0) && i < size; i++)
            if (pids[i] > 0)
                kill(pids[i], SIGKILL);
        if (pid <= 0)
            nanosleep(&(struct timespec){0, LOOK_MS * 1000000L}, NULL);
    }
    return failed;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    int at = 1;

    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        if (strcmp(argv[at], "-np") == 0)
            size = strtoul(argv[at + 1], NULL, 10);
    if (size < 1 || size > MOST || at >= argc) {
        fprintf(stderr, "1 to %d processes\n", MOST);
        return 2;
    }
    for (size_t i = 0; i < size; i++)
        for (size_t j = i + 1; j < size; j++)
            if (join(meets, i, j) != 0 || (i == 0 && join(lives, i, j) != 0))
                return 1;
    signal(SIGTERM, tell);
    for (size_t i = 0; i < size; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be(i, size, argv + at);
        if (pids[i] < 0)
            return 1;
    }
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            if (meets[i][j] > 0)
                close(meets[i][j]);
            if (lives[i][j] > 0)
                close(lives[i][j]);
        }
    /* The connection is the first one's alone, so that its end is seen when that has ended. */
    const int none = open("/dev/null", O_RDWR);
    dup2(none, STDIN_FILENO);
    dup2(none, STDOUT_FILENO);
    return wait_for(size);
}
