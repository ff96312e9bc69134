/* app/core/condition.c -- the condition number in words. See condition.h. */
#include "app/core/condition.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool condition_known(double value)
{
    return isfinite(value) && value >= 1.0;
}

static const char *const words[][2] = {
    [CONDITION_SEEN] = { "at least", "seen by the iteration" },
    [CONDITION_ESTIMATED] = { "about", "by the spectrum" },
    [CONDITION_BOUND] = { "at most", "largest eigenvalue over noise" },
};

void condition_short(char *out, size_t len, enum condition_kind kind, double value)
{
    char number[32];

    if (!condition_known(value)) {
        snprintf(out, len, "not known");
        return;
    }
    text_number(number, sizeof number, value);
    snprintf(out, len, "%s %s", words[kind][0], number);
}

void condition_words(char *out, size_t len, enum condition_kind kind, double value)
{
    condition_short(out, len, kind, value);
    if (condition_known(value))
        snprintf(out + strlen(out), len - strlen(out), " (%s)", words[kind][1]);
}
