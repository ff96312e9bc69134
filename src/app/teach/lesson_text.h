/* app/teach/lesson_text.h -- the text files of share/, compiled in by embed_text.awk so that the
 * program also runs without being installed. Each array ends with an entry whose name is NULL. */
#ifndef GPDESK_LESSON_TEXT_H
#define GPDESK_LESSON_TEXT_H

#include "base/embedded.h"

extern const struct embedded lesson_text[], help_text[];

#endif
