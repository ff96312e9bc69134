/* app/core/ws_words.h -- names from the workspace, for completion in the shell. See
 * shell/words.h. */
#ifndef GPDESK_WS_WORDS_H
#define GPDESK_WS_WORDS_H

#include "app/shell/words.h"

extern const struct words_row ws_words_datasets, ws_words_runs, ws_words_jobs, ws_words_columns,
    ws_words_expressions;

#endif
