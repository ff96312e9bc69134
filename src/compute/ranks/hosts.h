/* compute/ranks/hosts.h -- the machines of ranks, as the user names them: "a:2,b" are two ranks on
 * a and one on b. */
#ifndef GPDESK_HOSTS_H
#define GPDESK_HOSTS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { HOSTS_NAME = 96, HOSTS_MOST = 64, HOSTS_LETTERS = 2048 };

/* Reads the next name and its number of ranks and moves *at behind them; false where there is none.
 * Names have only letters that no program takes for an option or a command. */
bool hosts_next(const char **at, char name[HOSTS_NAME], size_t *count);
/* The number of ranks in all; 0 and USAGE: the words name none, or too many. */
size_t hosts_count(const char *hosts, struct err *err);
/* Reads a file of hosts, a line for each: "a:2" or "a slots=2", and # begins a comment; out is the
 * same in one line.  IO, FORMAT with file and line. */
enum status hosts_read(const char *path, char out[HOSTS_LETTERS], struct err *err);

#endif
