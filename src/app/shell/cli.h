/* app/shell/cli.h -- the options of the command line: one table for main, --help, the manual page
 * and the completions of shells. */
#ifndef GPDESK_CLI_H
#define GPDESK_CLI_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Codes of the options without a letter; the code of the others is their letter. */
enum {
    CLI_FORMAT = 256,
    CLI_SEED,
    CLI_THREADS,
    CLI_MEM,
    CLI_PRECISION,
    CLI_DEVICE,
    CLI_RANKS,
    CLI_HOSTS,
    CLI_CPU,
    CLI_STRICT,
    CLI_ACCEPT,
    CLI_PLAIN,
    CLI_COLOR,
    CLI_NO_CONFIG,
    CLI_HELP,
    CLI_VERSION
};
struct cli_option {
    int code;
    const char *name;      /* --name; NULL: only a letter */
    const char *arg;       /* its argument: "LINE", "FILE"; NULL: none */
    const char *choices;   /* its possible values, separated by |; NULL: any */
    const char *help;
};
const struct cli_option *cli_at(size_t i);      /* NULL if i is past the end */
char cli_letter(const struct cli_option *);     /* 0 if it has no letter */
void cli_usage(struct buf *out);                /* the text of --help */

#endif
