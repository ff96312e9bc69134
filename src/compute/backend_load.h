/* compute/backend_load.h -- which device computes: this processor, or one of a backend in a module
 * that is opened when it is first asked for.
 *
 * The module is looked for beside the executable (a build tree), in ../lib/gpdesk of it, and where
 * it was to be installed; GPDESK_CUDA_MODULE names another.  Never in the current directory. */
#ifndef GPDESK_BACKEND_LOAD_H
#define GPDESK_BACKEND_LOAD_H

#include "compute/backend.h"

enum { BACKEND_WHY = 400 };

/* The module's backend with at least one device; NULL: none, and why in one line.  Asked once for
 * each name of a file: the answer stays.  Not from two threads at once. */
const struct backend_ops *backend_module(const char **why);
/* For "auto", "cpu", "cuda" (its first device) or "cuda:N".  USAGE: other words; BACKEND,
 * NOT_FOUND: no such device, why. */
enum status backend_choose(const char *device, const struct backend_ops **, struct err *);
/* Are these the words of a device? */
enum status backend_words(const char *device, struct err *);

#endif
