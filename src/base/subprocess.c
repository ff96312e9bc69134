/* base/subprocess.c -- processes that the program starts (subprocess.h). */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int files_of(posix_spawn_file_actions_t *files, int end)
{
    int rc = posix_spawn_file_actions_adddup2(files, end, 0);

    rc = rc ? rc : posix_spawn_file_actions_adddup2(files, 0, 1);
    rc = rc ? rc : posix_spawn_file_actions_addopen(files, 2, "/dev/null", O_WRONLY, 0);
    return rc ? rc : posix_spawn_file_actions_addclosefrom_np(files, 3);
}

int subprocess_start(char *const argv[], int end, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;

    *pid = 0;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&how);
    if (rc == 0) {
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setpgroup(&how, 0);
        posix_spawnattr_setsigdefault(&how, &all);
        posix_spawnattr_setsigmask(&how, &none);
        rc = files_of(&files, end);
        rc = rc ? rc : posix_spawnp(pid, argv[0], &files, &how, argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    if (rc != 0)
        *pid = 0;
    return rc;
}

bool subprocess_collect(pid_t pid, int milliseconds, int *status)
{
    int own = -1;

    if (status)
        *status = -1;
    for (int i = 0;; i++) {
        const pid_t r = waitpid(pid, &own, WNOHANG);
        if (r == pid && status)
            *status = own;
        if (r == pid || (r < 0 && errno != EINTR))
            return true;
        if (i >= milliseconds)
            return false;
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
}

void subprocess_kill(pid_t pid)
{
    if (kill(-pid, SIGKILL) != 0)
        kill(pid, SIGKILL);
}
