/* compute/backend_load.c -- finding and opening the module of a backend (backend_load.h). */
#include "compute/backend_load.h"

#include "base/dirs.h"
#include "compute/linalg/blas.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char file_name[] = "libgpdesk-cuda.so";

/* Opening. */

/* The message of the loader, without the name of the file if it begins with that. */
static const char *loader_words(const char *path)
{
    const char *s = dlerror();
    const size_t n = strlen(path);

    if (!s)
        return "unknown";
    return strncmp(s, path, n) == 0 && s[n] == ':' ? s + n + 2 : s;
}

/* Opens a module.  BACKEND, with the reason, when the file cannot be opened, is not a backend, or
 * has another version. */
static enum status open_module(const char *path, const struct backend_ops **out, struct err *err)
{
    const struct backend_ops *(*entry)(void);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    *out = NULL;
    if (!module)
        return err_set(err, ST_BACKEND, "%.200s cannot be loaded: %.300s", path,
                       loader_words(path));
    void *at = dlsym(module, BACKEND_ENTRY);
    memcpy(&entry, &at, sizeof entry);
    const struct backend_ops *ops = entry ? entry() : NULL;
    if (!ops || ops->abi != BACKEND_ABI) {
        const unsigned abi = ops ? ops->abi : 0;
        dlclose(module);
        if (!entry)
            return err_set(err, ST_BACKEND, "%.200s is not a backend: it has no %s", path,
                           BACKEND_ENTRY);
        err_set(err, ST_BACKEND,
                "%.200s is for version %u of the program's interface, this program has "
                "%u",
                path, abi, (unsigned)BACKEND_ABI);
        err_hint(err, "make install   (builds both)");
        return ST_BACKEND;
    }
    *out = ops; /* stays open */
    return ST_OK;
}

/* True when there is a driver.  Without one the module is not opened, because its libraries are
 * large. */
static bool driver_here(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    return driver != NULL;
}

static const char *asked_for(const char *variable)
{
    const char *asked = getenv(variable);

    return asked && *asked ? asked : NULL;
}

bool backend_load_path(const char *variable, const char *file, struct buf *path)
{
    size_t n = 0;

    if (asked_for(variable)) {
        buf_clear(path);
        buf_puts(path, asked_for(variable));
        return !path->failed;
    }
    while (dirs_beside(n, file, "../lib/gpdesk", PKGLIBDIR, path))
        if (!path->failed && access(buf_str(path), R_OK) == 0)
            return true;
        else
            n++;
    return false;
}

static const struct backend_ops *look(char why[BACKEND_WHY])
{
    struct buf path = { 0 };
    const struct backend_ops *ops = NULL;
    struct err err = { 0 };

    if (!backend_load_path("GPDESK_CUDA_MODULE", file_name, &path))
        err_set(&err, ST_NOT_FOUND, "no module for CUDA (%s) is installed", file_name);
    else if (!asked_for("GPDESK_CUDA_MODULE") && !driver_here())
        err_set(&err, ST_NOT_FOUND, "no CUDA device: there is no driver (libcuda.so.1)");
    else
        open_module(buf_str(&path), &ops, &err);
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
    const char *file = getenv("GPDESK_CUDA_MODULE");

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
