/* app/teach/lesson_text.h -- files of share/, compiled in by embed_text.awk so that they are there
 * without an installation; each array ends at .name == NULL. */
#ifndef GPDESK_LESSON_TEXT_H
#define GPDESK_LESSON_TEXT_H

struct embedded { const char *name, *text; };
extern const struct embedded lesson_text[], help_text[];

#endif
