/* base/embedded.h -- text files that src/app/embed_text.awk compiles in, so that the program also
 * runs without being installed. */
#ifndef GPDESK_EMBEDDED_H
#define GPDESK_EMBEDDED_H

struct embedded { const char *name, *text; }; /* lists of them end with a name that is NULL */

#endif
