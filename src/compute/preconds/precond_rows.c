/* compute/preconds/precond_rows.c -- the registry: which preconditioners there are. */
#include "compute/preconds/precond_impl.h"

#include <string.h>

#define PRECOND_ADDRESS(name) &name,
static const struct precond_ops *const preconds[] = { PRECOND_ROWS(PRECOND_ADDRESS) };
#undef PRECOND_ADDRESS
enum { NPRECONDS = sizeof preconds / sizeof *preconds };

const struct precond_ops *precond_at(size_t i)
{
    return i < NPRECONDS ? preconds[i] : NULL;
}

const struct precond_ops *precond_find(const char *name, struct err *err)
{
    if (name == NULL)
        return precond_usual();
    for (size_t i = 0; i < NPRECONDS; i++)
        if (strcmp(name, preconds[i]->name) == 0)
            return preconds[i];
    err_set(err, ST_NOT_FOUND, "no preconditioner is called \"%.60s\"", name);
    struct buf names = { 0 };
    for (size_t i = 0; i < NPRECONDS; i++)
        buf_printf(&names, "%s%s",
                   i == 0              ? ""
                   : i + 1 < NPRECONDS ? ", "
                                       : " or ",
                   preconds[i]->name);
    err_hint(err, "precond=%s", buf_str(&names));
    buf_free(&names);
    return NULL;
}

const struct precond_ops *precond_usual(void)
{
    return &precond_srht2;
}
