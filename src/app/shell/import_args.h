/* app/shell/import_args.h -- how a file is to be read, from a command's arguments: `open`,
 * `predict` and the session, which reads a file again as it was read first. */
#ifndef GPDESK_IMPORT_ARGS_H
#define GPDESK_IMPORT_ARGS_H

#include "app/shell/command.h"
#include "data/table.h"

/* sep= header= missing= decimal= types= target= targets= inputs= .., as far as the command has
 * them.  The strings belong to the args.  USAGE when a separator or decimal mark is none. */
enum status import_args_options(const struct args *, size_t mem_limit, struct import_opts *out,
                            struct err *err);

#endif
