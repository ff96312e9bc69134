/* compute/tuners/tuner.c -- the registry of tuners: what `tune method=` offers. */
#include "compute/tuners/tune_impl.h"

#include "base/buf.h"

#include <string.h>

#define TUNER_ADDRESS(name) &name,
static const struct tuner_ops *const tuners[] = { TUNER_ROWS(TUNER_ADDRESS) };
#undef TUNER_ADDRESS
enum { NTUNERS = sizeof tuners / sizeof *tuners };

const struct tuner_ops *tuner_at(size_t i)
{
    return i < NTUNERS ? tuners[i] : NULL;
}

const struct tuner_ops *tuner_find(const char *name, struct err *err)
{
    struct buf names = { 0 };

    if (name == NULL)
        return tuners[0];
    for (size_t i = 0; i < NTUNERS; i++)
        if (strcmp(tuners[i]->name, name) == 0)
            return tuners[i];
    err_set(err, ST_NOT_FOUND, "no tuner is called \"%.40s\"", name);
    for (size_t i = 0; i < NTUNERS; i++)
        buf_printf(&names, "%s%s", i == 0 ? "" : i + 1 < NTUNERS ? ", " : " or ", tuners[i]->name);
    err_hint(err, "tune method=%s", buf_str(&names));
    buf_free(&names);
    return NULL;
}
