/* tests/campaign/judge.h -- what the parts of the campaign share: they run the program in a
 * directory of their own and compare with a run that nothing disturbed. */
#ifndef GPDESK_TESTS_CAMPAIGN_JUDGE_H
#define GPDESK_TESTS_CAMPAIGN_JUDGE_H

#include "scenes.h"

#include <stdbool.h>
#include <stddef.h>

enum { PATH = 5000, LIMIT_MS = 60000, OPENS_MS = 1000, TEXT = 1 << 20, FINDS_SHOWN = 12 };

/* What all processes of a row have counted; shared memory. */
struct sum {
    size_t runs, whole, warned, told, killed, found;
    size_t opens_ms; /* the most of the processor that opening a session took */
};
extern struct sum *sum;
extern char program[PATH], shim[PATH], top[PATH], self_path[PATH];
extern bool verbose;
extern size_t run_ms; /* of the processor, that the last run() took with its children */

/* One run that is judged.  whole: the directory of the run without faults. */
struct job {
    const struct scene *scene;
    const char *dir, *whole;
    char repeat[2 * PATH + 400]; /* the command that repeats it */
    char trace[PATH];            /* the file of FAULT_TRACE, or empty */
    bool bad;
};

void join(char out[PATH], const char *dir, const char *name);
void die(const char *what) __attribute__((noreturn));
char *slurp(const char *path); /* the caller frees; empty if there is no such file */
void empty(const char *dir);
void copy_files(const char *from, const char *to);
/* Runs lines (in a session, or without) in dir, output to `out` and out.err; fault: further
 * environment.  Returns the wait status, or -1 when it had to be killed. */
int run(const char *dir, const char *session, const char *lines, const char *out,
        char *const fault[]);
/* The same with each line typed on the screen; output as the terminal got it. */
int run_typed(const char *dir, const char *session, const char *lines, const char *out,
              char *const fault[]);
void place(const char *dir);
const char *member(const char *line, const char *key, char *value, size_t len);
bool next_line(const char **at, char *line, size_t len);
bool same_file(const char *dir, const char *other, const char *name);
void found(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_left(struct job *j, bool killed);
void check_session(struct job *j, const char *said, bool all);
void check_lines(struct job *j, const char *said, const char *whole, bool *error, bool *warning);
size_t results(const char *text);
bool acknowledged(char *said);
void prepare(const struct scene *scene, const char *base);
char *begin(void);
void end(const char *dir);
const char *option(const char *arg, const char *name);

#endif
