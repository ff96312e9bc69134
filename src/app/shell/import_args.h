/* app/shell/import_args.h -- options of reading a file, from a command's arguments: for `open`,
 * `predict` and the session, which reads a file again with the same options. */
#ifndef GPDESK_IMPORT_ARGS_H
#define GPDESK_IMPORT_ARGS_H

#include "app/shell/command.h"
#include "data/table.h"

/* Placeholders in the row of a command for the options of reading: those about the kind of rows and
 * those about cells. new_data: only the options for data that a fitted model reads. */
#define IMPORT_ARGS_ROWS(new_data) { .name = "@rows", .hi = (new_data) }
#define IMPORT_ARGS_CELLS(new_data) { .name = "@cells", .hi = (new_data) }
/* Stands for the choices of an argument that names a type of columns (data/kinds/kind.h). */
#define IMPORT_ARGS_TYPES "@types"

/* True if skip= is a number: of lines (skiplines=), where otherwise it names columns. */
bool import_args_skips_lines(const struct args *);
/* Replaces the placeholders by the options (data/import_option.h) in a list of commands that ends
 * with an entry whose name is NULL. Calling it again has no effect. */
void import_args_expand(struct command *rows);
/* sep= header= missing= decimal= types= target= targets= inputs= .., as far as the command has
 * them.  The strings belong to the args.  USAGE if a separator or decimal mark is invalid. */
enum status import_args_options(const struct args *, size_t mem_limit, struct import_opts *out,
                                struct err *err);

#endif
