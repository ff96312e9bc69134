/* app/shell/args.h -- what the parser shares with the splitter and with completion. Commands read
 * their arguments through command.h. */
#ifndef GPDESK_ARGS_H
#define GPDESK_ARGS_H

#include "app/shell/command.h"

/* A quote opens a quoted run only at the start of a word or behind = , ( : so that "don't" in a
 * note is not an open quote.  prev: the preceding byte, 0 at the start. */
bool args_quote_opens(char prev);
/* True for r7, t2, run:r7, ., -1, * and r*. */
bool args_looks_like_run(const char *s);
/* Canonical name of a hyperparameter key: "l" gives "lengthscale", "2.l.min" gives "2.lengthscale"
 * with *side -1. Returns false if there is no such key. */
bool args_hp_name(const char *key, char *out, size_t len, int *side);
/* The names of all hyperparameters of all kernels; NULL if i is past the end. */
const char *args_hp_known(size_t i);

#endif
