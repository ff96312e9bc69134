/* ui/picture.h -- a sixel image over the whole screen, until a key is pressed.
 *
 * Nothing here blocks: the terminal is asked whether it supports sixel graphics, and its answer
 * arrives among the keys; the bytes are written as it accepts them; and the job line is still
 * updated below the image. */
#ifndef GPDESK_PICTURE_H
#define GPDESK_PICTURE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct desk;

/* Copies an image to show. Returns false if the terminal is known not to support sixel graphics, or
 * if memory is exhausted. If the terminal answers later that it does not, an error is reported. */
bool picture_take(struct desk *, const char *sixel, size_t n);
/* Handles the terminal's answer (CSI ? ... c). */
void picture_reply(struct desk *, const char *bytes, size_t n);
/* true while it has the screen: nothing else draws, and any key ends it */
bool picture_up(const struct desk *);
void picture_draw(struct desk *);            /* the line below it */
void picture_end(struct desk *); /* gives the screen back; does nothing if there is no image */
/* For the poll loop: returns at most one descriptor and lowers *seconds if needed; then does its
 * work. */
size_t picture_poll(const struct desk *, struct pollfd *, double *seconds);
void picture_service(struct desk *);

#endif
