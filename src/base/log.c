/* base/log.c -- time-stamped lines in a file, for developers. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

void log_open(const char *path)
{
    pthread_mutex_lock(&lock);
    if (file)
        fclose(file);
    file = path && *path ? fopen(path, "ae") : NULL;
    if (file)
        setvbuf(file, NULL, _IOLBF, 0); /* whole lines survive a crash */
    pthread_mutex_unlock(&lock);
}

void log_info(const char *fmt, ...)
{
    pthread_mutex_lock(&lock);
    if (file) {
        struct timespec now;
        struct tm tm;
        char stamp[32] = "";
        clock_gettime(CLOCK_REALTIME, &now);
        if (localtime_r(&now.tv_sec, &tm))
            strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &tm);
        fprintf(file, "%s.%03ld ", stamp, now.tv_nsec / 1000000);
        va_list ap;
        va_start(ap, fmt);
        vfprintf(file, fmt, ap);
        va_end(ap);
        fputc('\n', file);
    }
    pthread_mutex_unlock(&lock);
}
