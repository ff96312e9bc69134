/* compute/backend_load.h -- the choice of a device: the CPU, or a device of the backend in a module
 * (base/module.h) that is opened when it is first needed.  GPDESK_CUDA_MODULE names its file. */
#ifndef GPDESK_BACKEND_LOAD_H
#define GPDESK_BACKEND_LOAD_H

#include "compute/backend.h"

enum { BACKEND_WHY = 400 };

/* The module's backend if it has at least one device; else NULL, and *why in one line.  The answer
 * is kept for each file name.  Not thread-safe. */
const struct backend_ops *backend_module(const char **why);
/* The backend for "auto", "cpu", "cuda" (its first device) or "cuda:N".  USAGE for other words;
 * BACKEND or NOT_FOUND, with the reason, when there is no such device. */
enum status backend_choose(const char *device, const struct backend_ops **, struct err *);
/* USAGE unless the words name a device. */
enum status backend_words(const char *device, struct err *);

#endif
