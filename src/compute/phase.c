/* compute/phase.c -- the table of phases (phase.h). */
#include "compute/phase.h"

static const struct { const char *word; enum phase_kind kind; const char *value; } table[] = {
#define PHASE_ROW(id, word, kind, value) [PHASE_##id] = { word, kind, value },
    PHASE_LIST(PHASE_ROW)
#undef PHASE_ROW
};

const char *phase_word(enum phase p)
{
    return table[p].word;
}

enum phase_kind phase_kind(enum phase p)
{
    return table[p].kind;
}

const char *phase_value(enum phase p)
{
    return table[p].value;
}
