/* app/session/store_gate.h -- in a batch, a result is printed only once it is on disk.
 *
 * The lines of a batch wait in the writer (rec_writer_hold) until the session contains what they
 * say. The batch itself does not wait, so that one sync covers all statements that end meanwhile.
 * If the session cannot be written, that is reported first, and then the lines follow. */
#ifndef GPDESK_STORE_GATE_H
#define GPDESK_STORE_GATE_H

struct owner;
struct rec_writer;
struct workspace;
extern const struct owner store_gate_owner;
/* From now on the lines of this writer wait. The writer must outlive the workspace's batch. */
void store_gate_open(struct workspace *, struct rec_writer *);
/* Writes every waiting line. Call it when the session has been written completely. */
void store_gate_release(struct workspace *);
/* Writes every waiting line and lets later ones through. */
void store_gate_end(struct workspace *);

#endif
