/* base/module.h -- parts of the program that are files of their own, because the libraries they
 * need are large or seldom there.  A module is opened when it is first needed and stays open.
 *
 * It is looked for beside the executable (a build tree), in ../lib/gpdesk relative to it, and where
 * it was to be installed, never in the current directory.  A variable of the environment, one for
 * each module, names another file. */
#ifndef GPDESK_MODULE_H
#define GPDESK_MODULE_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>

struct module {
    const char *file, *variable; /* "libgpdesk-mpi.so", "GPDESK_MPI_MODULE" */
    const char *entry;           /* its function (void) that returns a table of calls */
    unsigned abi;                /* the table begins with this number, as unsigned */
};

/* The file that the variable names; NULL: none. */
const char *module_asked(const struct module *);
/* Writes the path of the module's file; false: it is nowhere, or memory is short. */
bool module_path(const struct module *, struct buf *path);
/* Opens the file and returns its table.  NULL, with BACKEND and the reason: the file cannot be
 * opened, is no such module, or is one for another version of the program. */
const void *module_open(const struct module *, const char *path, struct err *err);

#endif
