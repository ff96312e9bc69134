/* app/session/store_queue.h -- the queue between the main thread and the thread that writes.
 *
 * The main thread hands over records in groups, one group for each statement (hold, release); the
 * writing thread takes all that wait, writes them in one transaction and syncs it.  Every group has
 * a ticket, a number that grows; a ticket is durable when the group and all before it are on disk.
 * Variance factors are bulky: they are written behind the rows, in pieces, and a row that arrives
 * meanwhile goes first.  What cannot be written (disk full) stays and is tried again. */
#ifndef GPDESK_STORE_QUEUE_H
#define GPDESK_STORE_QUEUE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct past;
struct sdb;
struct store_queue;

enum op_kind { OP_COMMAND, OP_SCRIPT, OP_STATE, OP_DATASET, OP_RUN, OP_BLOB, OP_PART, OP_DROP,
               OP_MODEL, OP_FACTOR, OP_MESSAGE, OP_META, OP_SNAPSHOT, OP_PAST, OP_FORGET, OP_FLUSH,
               OP_COPY, OP_VISIT };
/* Reads in the writing thread while the main thread waits. */
typedef enum status store_visit_fn(struct sdb *, void *ctx, struct err *err);
struct waiter;
/* A record.  Which members count depends on the kind: store_write.c. */
struct op {
    enum op_kind kind;
    double due;            /* seconds, monotonic: may wait for others until then; 0: at once */
    uint64_t ticket;
    int64_t id;
    double seconds;
    char *text[4];
    void *data;
    size_t n;
    struct model *model;
    struct { size_t column, row; int64_t part; } at; /* FACTOR: what comes next */
    struct waiter *waiter; /* FLUSH, COPY, VISIT: on the caller's stack */
    store_visit_fn *visit;
    void *ctx;
    struct op *next;
};

/* Starts the thread.  db is lent and the thread's alone from now on.  wake: an eventfd that is
 * written to (a duplicate of it) when tickets have become durable. */
struct store_queue *store_queue_new(struct sdb *db, int wake, struct err *err);
/* Writes what there is, as far as it can be written, and ends the thread. */
void store_queue_end(struct store_queue *);
void store_queue_free(struct store_queue *); /* after store_queue_end */

void store_queue_hold(struct store_queue *);
void store_queue_release(struct store_queue *);
/* The main thread's side.  A record that cannot be made for want of memory is lost: from then on
 * store_queue_flush fails. */
struct op *store_queue_op(struct store_queue *, enum op_kind);
char *store_queue_copy(struct store_queue *, const char *s); /* of "" when s is NULL */
/* Takes the record; a text that could not be copied makes it void. */
void store_queue_push(struct store_queue *, struct op *, size_t texts);
void store_queue_text(struct store_queue *, enum op_kind, int64_t id, const char *a, const char *b);
/* Takes data.  wait: how many seconds it may wait for others. */
void store_queue_blob(struct store_queue *, enum op_kind, const char *owner, const char *what,
                      int64_t part, void *data, size_t n, double wait);
void store_queue_lost(struct store_queue *, const char *why);
/* Puts a piece of meta data on disk, ahead of what is held, and waits for that. */
void store_queue_sync_meta(struct store_queue *, const char *key, const char *value);
/* Hands over everything and waits until it is written (FLUSH), copied (COPY), seen (VISIT). */
enum status store_queue_ask(struct store_queue *, enum op_kind, const char *path,
                            store_visit_fn *, void *ctx, struct err *);

/* The ticket of what is told now, and the newest that is durable. */
uint64_t store_queue_ticket(const struct store_queue *);
uint64_t store_queue_durable(struct store_queue *);
double store_queue_unsaved(struct store_queue *); /* seconds that the oldest row has waited; 0 */
int64_t store_queue_saved_at(const struct store_queue *); /* unix time; 0: nothing yet */
void store_queue_trouble(struct store_queue *, char *out, size_t len); /* "": none */
double store_queue_now(void); /* seconds, monotonic */

#endif
