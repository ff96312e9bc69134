/* base/module.c -- finding and opening modules (module.h). */
#include "base/module.h"

#include "base/dirs.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *module_asked(const struct module *m)
{
    const char *asked = getenv(m->variable);

    return asked && *asked ? asked : NULL;
}

bool module_path(const struct module *m, struct buf *path)
{
    if (module_asked(m)) {
        buf_clear(path);
        buf_puts(path, module_asked(m));
        return !path->failed;
    }
    for (size_t n = 0; dirs_beside(n, m->file, "../lib/gpdesk", PKGLIBDIR, path); n++)
        if (!path->failed && access(buf_str(path), R_OK) == 0)
            return true;
    return false;
}

/* The message of the loader, without the name of the file if it begins with that. */
static const char *loader_words(const char *path)
{
    const char *s = dlerror();
    const size_t n = strlen(path);

    if (!s)
        return "unknown";
    return strncmp(s, path, n) == 0 && s[n] == ':' ? s + n + 2 : s;
}

const void *module_open(const struct module *m, const char *path, struct err *err)
{
    const void *(*entry)(void);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unsigned abi = 0;

    if (!module) {
        err_set(err, ST_BACKEND, "%.200s cannot be loaded: %.300s", path, loader_words(path));
        return NULL;
    }
    void *at = dlsym(module, m->entry);
    memcpy(&entry, &at, sizeof entry);
    const void *calls = at ? entry() : NULL;
    if (calls)
        memcpy(&abi, calls, sizeof abi);
    if (calls && abi == m->abi)
        return calls;
    dlclose(module);
    if (!at) {
        err_set(err, ST_BACKEND, "%.200s is not a module of this kind: it has no %s", path,
                m->entry);
        return NULL;
    }
    err_set(err, ST_BACKEND,
            "%.200s is for version %u of the program's interface, this program has %u", path, abi,
            m->abi);
    err_hint(err, "make install   (builds both)");
    return NULL;
}
