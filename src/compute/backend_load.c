/* compute/backend_load.c -- finding and opening the module of a backend (backend_load.h). */
#include "compute/backend_load.h"

#include "base/module.h"
#include "compute/linalg/blas.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct module cuda = { .file = "libgpdesk-cuda.so",
                                    .variable = "GPDESK_CUDA_MODULE",
                                    .entry = BACKEND_ENTRY,
                                    .abi = BACKEND_ABI };

/* Opening. */

/* True when there is a driver.  Without one the module is not opened, because its libraries are
 * large. */
static bool driver_here(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    return driver != NULL;
}

static const struct backend_ops *look(char why[BACKEND_WHY])
{
    struct buf path = { 0 };
    const struct backend_ops *ops = NULL;
    struct err err = { 0 };

    if (!module_path(&cuda, &path))
        err_set(&err, ST_NOT_FOUND, "no module for CUDA (%s) is installed", cuda.file);
    else if (!module_asked(&cuda) && !driver_here())
        err_set(&err, ST_NOT_FOUND, "no CUDA device: there is no driver (libcuda.so.1)");
    else
        ops = module_open(&cuda, buf_str(&path), &err);
    buf_free(&path);
    if (err.code != ST_OK)
        snprintf(why, BACKEND_WHY, "%.*s", BACKEND_WHY - 1, err.msg);
    return err.code == ST_OK && ops->probe(why, BACKEND_WHY) > 0 ? ops : NULL;
}

const struct backend_ops *backend_module(const char **why)
{
    static bool asked;
    static const struct backend_ops *found;
    static char words[BACKEND_WHY], name[512];
    const char *file = module_asked(&cuda);

    file = file ? file : "";
    if (!asked || strncmp(file, name, sizeof name - 1) != 0) {
        asked = true;
        words[0] = '\0';
        snprintf(name, sizeof name, "%s", file);
        found = look(words);
    }
    if (why)
        *why = words;
    return found;
}

/* Choosing. */

enum status backend_words(const char *device, struct err *err)
{
    const char *n = strncmp(device, "cuda:", 5) == 0 ? device + 5 : NULL;
    bool number = n && *n && strlen(n) < 4;

    for (; number && *n; n++)
        number = isdigit((unsigned char)*n);
    if (number || strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0 ||
        strcmp(device, "cuda") == 0)
        return ST_OK;
    err_set(err, ST_USAGE, "device=%.40s: expected auto, cpu, cuda or cuda:N", device);
    err_hint(err, "about   (lists the devices)");
    return ST_USAGE;
}

enum status backend_choose(const char *device, const struct backend_ops **out, struct err *err)
{
    const char *why = "";
    enum status rc = backend_words(device, err);

    *out = backend_cpu();
    blas_on(NULL);
    if (rc != ST_OK || strcmp(device, "cpu") == 0)
        return rc;
    const bool any = strcmp(device, "auto") == 0;
    const struct backend_ops *ops = backend_module(&why);
    if (!ops)
        return any ? ST_OK : err_set(err, ST_BACKEND, "%s", why);
    const size_t n = device[0] == 'c' && device[4] == ':' ? strtoul(device + 5, NULL, 10) : 0;
    rc = ops->use ? ops->use(n, err) : ST_OK;
    if (rc == ST_OK) {
        *out = ops;
        blas_on(ops->dense);
    }
    return any ? ST_OK : rc;
}
