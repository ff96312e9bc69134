/* app/session/store_queue.h -- the queue between the main thread and the thread that writes.
 *
 * The main thread hands over records in groups, one group for each statement (hold, release). The
 * writing thread takes all waiting records, writes them in one transaction and syncs it. Every
 * group has a ticket, an increasing number. A ticket is durable when its group and all earlier ones
 * are on disk. Variance factors are large: they are written after the rows, in parts, and a row
 * that arrives meanwhile goes first. What cannot be written (disk full) is kept and tried again. */
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
/* Reads the database on the writing thread while the main thread waits. */
typedef enum status store_visit_fn(struct sdb *, void *ctx, struct err *err);
struct waiter;
/* A record. Which members are used depends on the kind: see store_write.c. */
struct op {
    enum op_kind kind;
    double due;         /* monotonic seconds: it may wait for others until then; 0: write at once */
    uint64_t ticket;
    int64_t id;
    double seconds;
    char *text[4];
    void *data;
    size_t n;
    struct model *model;
    struct { size_t column, row; int64_t part; } at; /* for FACTOR: the position of the next part */
    struct { unsigned parts; bool single; } weigh; /* for FACTOR: its precision, part by part */
    struct waiter *waiter; /* for FLUSH, COPY and VISIT: on the caller's stack */
    store_visit_fn *visit;
    void *ctx;
    struct op *next;
};

/* Starts the thread. db is borrowed; from now on only the thread may use it. wake: an eventfd; a
 * duplicate of it is written to when tickets have become durable. */
struct store_queue *store_queue_new(struct sdb *db, int wake, struct err *err);
/* Writes what can be written, then ends the thread. */
void store_queue_end(struct store_queue *);
void store_queue_free(struct store_queue *); /* call store_queue_end first */

void store_queue_hold(struct store_queue *);
void store_queue_release(struct store_queue *);
/* For the main thread. A record that cannot be allocated is missed: until store_queue_mended is
 * called, flushing fails, and store_queue_trouble says why. */
struct op *store_queue_op(struct store_queue *, enum op_kind);
char *store_queue_copy(struct store_queue *, const char *s); /* a copy of "" if s is NULL */
/* Takes the record. If one of its texts could not be copied, it is dropped. */
void store_queue_push(struct store_queue *, struct op *, size_t texts);
void store_queue_text(struct store_queue *, enum op_kind, int64_t id, const char *a, const char *b);
/* Takes ownership of data. wait: how many seconds it may wait for others. */
void store_queue_blob(struct store_queue *, enum op_kind, const char *owner, const char *what,
                      int64_t part, void *data, size_t n, double wait);
void store_queue_missed(struct store_queue *); /* a record could not be made: out of memory */
size_t store_queue_misses(const struct store_queue *); /* how many, from the beginning */
bool store_queue_missing(const struct store_queue *);  /* some have not been made again */
void store_queue_mended(struct store_queue *);         /* all of them have been made again */
/* Writes a piece of metadata to disk, ahead of what is held, and waits for it. */
void store_queue_sync_meta(struct store_queue *, const char *key, const char *value);
/* Hands over everything and waits until it is written (FLUSH), copied (COPY) or visited (VISIT). */
enum status store_queue_ask(struct store_queue *, enum op_kind, const char *path,
                            store_visit_fn *, void *ctx, struct err *);

/* The ticket of what is reported now, and the newest that is durable. */
uint64_t store_queue_ticket(const struct store_queue *);
uint64_t store_queue_durable(struct store_queue *);
/* for how many seconds the oldest record has waited; 0: none waits */
double store_queue_unsaved(struct store_queue *);
int64_t store_queue_saved_at(const struct store_queue *); /* Unix time; 0: nothing has been saved */
/* "" if there is no problem */
void store_queue_trouble(struct store_queue *, char *out, size_t len);
double store_queue_now(void); /* monotonic seconds */

#endif
