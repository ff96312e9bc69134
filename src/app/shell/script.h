/* app/shell/script.h -- reads scripts, and distinguishes kinds of files by their content. */
#ifndef GPDESK_SCRIPT_H
#define GPDESK_SCRIPT_H

#include "base/status.h"

#include <stddef.h>

/* The whole text of a script ("-": stdin), NUL-terminated; caller frees. IO when it cannot be
 * read, FORMAT if it is not text. */
enum status script_read(const char *path, char **text, struct err *err);

enum file_kind { FILE_DATA, FILE_SESSION, FILE_SCRIPT };
/* Determines the kind by content: a session begins with SQLite's header, and a script is a text
 * that parses. */
enum status script_sniff(const char *path, enum file_kind *kind, struct err *err);

#endif
