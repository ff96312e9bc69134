/* ui/views/words.h -- what several views say about runs. */
#ifndef GPDESK_VIEWS_WORDS_H
#define GPDESK_VIEWS_WORDS_H

#include "ui/desk.h"

char words_glyph(const struct run *);                    /* '>' running, '!' not converged, ... */
void words_details(const struct run *, struct buf *);    /* "key<TAB>value" lines */
void words_line(const struct run *, struct buf *);
void words_kernel(const struct run *, char *out, size_t len); /* "matern 5/2" */
void words_next(const struct workspace *, struct buf *); /* next steps: "command<TAB>why" lines */

#endif
