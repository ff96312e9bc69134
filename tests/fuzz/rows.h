/* tests/fuzz/rows.h -- a session as text, one row a line, which becomes a database with valid
 * checksums:
 *     state NAME JSON | dataset ID JSON | run ID NAME JSON | script ID LINE | snapshot ID JSON |
 *     past LINE KIND COUNT STATE MADE AT LAST | blob OWNER WHAT HEX */
#ifndef GPDESK_TESTS_FUZZ_ROWS_H
#define GPDESK_TESTS_FUZZ_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sdb;

/* Puts the rows of the text, which it cuts into words, into an open transaction. */
void rows_put(struct sdb *, char *text);
/* Changes a text of n bytes in room for cap, a few times and in the ways that a reader trips over:
 * bytes, spans, values of JSON. `draw` gives numbers below its argument.  Returns the length. */
size_t rows_mutate(uint8_t *b, size_t n, size_t cap, size_t (*draw)(size_t below));

#endif
