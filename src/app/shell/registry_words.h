/* app/shell/registry_words.h -- what command lines can name of the registries of compute and data:
 * solvers, preconditioners, tuners, kinds of model, kernels, formats, bundled data.  Completion and
 * help read these rows, so that a new row of a registry appears in both by itself. */
#ifndef GPDESK_REGISTRY_WORDS_H
#define GPDESK_REGISTRY_WORDS_H

#include "app/shell/words.h"

#define REGISTRY_WORDS(row)                                                                  \
    row(registry_words_solvers) row(registry_words_selections) row(registry_words_preconds)  \
    row(registry_words_sketches)                                                             \
    row(registry_words_tuners) row(registry_words_kernels) row(registry_words_windows)       \
    row(registry_words_letters) row(registry_words_formats) row(registry_words_demos)        \
    row(registry_words_options) row(registry_words_settings) row(registry_words_themes)      \
    row(registry_words_commands)                                                             \
    row(registry_words_topics) row(registry_words_functions)

/* Stands for the choices "auto" and the names of the kinds of model, of an argument in a list of
 * commands; registry_words_expand replaces it, and has no effect when it is called again. */
#define REGISTRY_WORDS_MODELS "@models"
void registry_words_expand(struct command *rows);

#define WORDS_DECLARED(name) extern const struct words_row name;
REGISTRY_WORDS(WORDS_DECLARED)
#undef WORDS_DECLARED

#endif
