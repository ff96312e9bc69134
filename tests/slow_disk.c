/* tests/slow_disk.c -- preloaded into the program: as long as the file that GPDESK_SLOW_DISK names
 * exists, fsync and fdatasync do not return (tests/screens/unsaved.sh). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for_disk(void)
{
    const char *file = getenv("GPDESK_SLOW_DISK");

    while (file && access(file, F_OK) == 0)
        usleep(10000);
}

int fsync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}
