/* app/teach/lesson.h -- lessons: text, command lines and questions in files that a lecturer can
 * edit.
 *
 * The format, which share/doc/lessons.md tells to lecturers, is read line by line; a line's first
 * sign says what it is:
 *
 *   # 3 Lengthscale and noise     number (or a name) and title, once, first
 *   summary TEXT   minutes N      before the first step
 *   == Read: the three numbers    a step begins
 *   > draw on=data l=0.3          a command, run in the step's order; {seed} is the student's
 *   : a = draw_nmll               keeps a value under a name, after the commands before it
 *   @ a < b                       what must come out; told when it does not
 *   ? Which ...                   a question; then its answers
 *   - wrong   + right             choices a, b, ...
 *   = draw_nmll +- 5%             or a number
 *   ! because                     said after the answer
 *   % remark                      for the lecturer
 *   anything else                 text; an empty line ends a paragraph; {rmse} is the current
 * number
 *
 * The step called Quiz is what `lesson N quiz` goes to. */
#ifndef GPDESK_LESSON_H
#define GPDESK_LESSON_H

#include "app/teach/placeholder.h"

enum lesson_kind { LESSON_TEXT, LESSON_COMMAND, LESSON_KEEP, LESSON_CLAIM, LESSON_QUESTION };
struct lesson_answer { char *text; bool right; };
/* A part of a step, in the file's order. */
struct lesson_part {
    enum lesson_kind kind;
    size_t line;                 /* of the file, from 1 */
    char *text;                  /* paragraph, command, expression, question */
    char name[24];               /* KEEP */
    struct lesson_answer *answer; size_t nanswer, cap; /* QUESTION: choices, or */
    char *number;                /* its expression, and */
    double within;               /* how near an answer must be, relative */
    char *because;               /* QUESTION; NULL */
};
struct lesson_step { char *title; size_t line; struct lesson_part *part; size_t n, cap; };
struct lesson {
    char *id, *title, *summary, *name; /* "3"; name: where it came from, for messages */
    double minutes;
    struct lesson_step *step; size_t n, cap;
};
/* FORMAT with the line for what is broken; commands and expressions are parsed here already. */
enum status lesson_parse(const char *text, const char *name, struct lesson *out, struct err *err);
void lesson_clear(struct lesson *);
/* Bundled ones and those of $XDG_DATA_HOME/gpdesk/lessons, which replace bundled ones of the same
 * number: their ids; NULL past the end.  *broken: why one of the user's was left out. */
struct lesson_list { char **id, **title, **summary, **path; double *minutes; size_t n;
                     struct buf broken; };
enum status lesson_list(struct lesson_list *, struct err *err);
void lesson_list_free(struct lesson_list *);
/* By number, by name, or by path (a word with a / or a dot). */
enum status lesson_open(const char *what, struct lesson *out, struct err *err);

/* The lesson in hand. */
enum { LESSON_QUESTIONS = 64 };
struct lesson_state {
    struct lesson l;
    uint64_t seed;
    size_t step;
    bool ran;                    /* the commands of this step have been run */
    bool running;                /* ... are in line */
    bool all;                    /* straight through: answers are told, claims are errors */
    size_t at;                   /* question of the step, counted from 0 */
    struct value_vars vars;
    size_t right, wrong, told;   /* answers so far */
    char reply[512];             /* what the last answer brought; "" */
    unsigned serial;             /* grows with every change */
};
extern const struct owner lesson_owner;
struct lesson_state *lesson_of(const struct workspace *); /* NULL: none */
/* The question that waits for an answer now; NULL: none. */
const struct lesson_part *lesson_question(const struct lesson_state *);
/* The current step as lines: "T text", "> command", "? question", "a answer", "! reply", "  hint";
 * the first letter says how to show it, the rest stands behind a blank. */
void lesson_page(struct workspace *, struct buf *out);

/* While a question waits, its letter (or a number) alone is a line: "b" becomes "answer b", nothing
 * becomes "lesson next".  false: the line is an ordinary one. */
bool lesson_shorthand(const struct workspace *, const char *line, char *out, size_t len);

/* Commands: rows in cmd_teach.c. */
enum status cmd_lesson(struct workspace *, const struct args *, struct err *);
enum status cmd_answer(struct workspace *, const struct args *, struct err *);
enum status cmd_tour(struct workspace *, const struct args *, struct err *);

#endif
