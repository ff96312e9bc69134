/* ui/picture.h -- a picture of sixel graphics over the whole screen, until a key.
 *
 * Nothing here waits: the terminal is asked whether it shows such pictures and its answer comes
 * among the keys, the bytes go out as it takes them, and below the picture the job line goes on. */
#ifndef GPDESK_PICTURE_H
#define GPDESK_PICTURE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct desk;

/* Takes a copy of a picture to show.  false: the terminal is known not to show any, or no memory is
 * left. Where it turns out so later, that is told as an error. */
bool picture_take(struct desk *, const char *sixel, size_t n);
/* What the terminal says it is (CSI ? ... c). */
void picture_reply(struct desk *, const char *bytes, size_t n);
bool picture_up(const struct desk *); /* it has the screen: nothing else draws, any key ends it */
void picture_draw(struct desk *);            /* the line below it */
void picture_end(struct desk *); /* gives the screen back; no harm where there is none */
/* In the loop: at most one descriptor to wait for, sooner than *seconds when it must; then its
 * turn. */
size_t picture_poll(const struct desk *, struct pollfd *, double *seconds);
void picture_service(struct desk *);

#endif
