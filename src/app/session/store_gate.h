/* app/session/store_gate.h -- in a batch a result is printed once it is on disk.
 *
 * The lines of a batch wait in the writer (rec_writer_hold) until the session holds what they say;
 * the batch itself does not wait, so that one sync serves all statements that end meanwhile.  When
 * the session cannot be written, that is said first and the lines follow. */
#ifndef GPDESK_STORE_GATE_H
#define GPDESK_STORE_GATE_H

struct owner;
struct rec_writer;
struct workspace;
extern const struct owner store_gate_owner;
/* Lines of this writer wait from now on; the writer must outlive the workspace's batch. */
void store_gate_open(struct workspace *, struct rec_writer *);
/* Writes every line that waits: the session is written to its end. */
void store_gate_release(struct workspace *);
/* Writes every line that still waits, and lets later ones through. */
void store_gate_end(struct workspace *);

#endif
