/* base/log.h -- a diagnostic log for developers: a file named by GPDESK_LOG, else nothing.
 * Never stdout or stderr: those belong to results and messages.  Thread-safe. */
#ifndef GPDESK_LOG_H
#define GPDESK_LOG_H

void log_open(const char *path); /* NULL: none */
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
