/* base/log.h -- a diagnostic log for developers, in the file named by GPDESK_LOG, if any.  It never
 * writes to stdout or stderr, which belong to results and messages.  Thread-safe. */
#ifndef GPDESK_LOG_H
#define GPDESK_LOG_H

void log_open(const char *path); /* NULL: no log */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
