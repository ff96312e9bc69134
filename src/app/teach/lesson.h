/* app/teach/lesson.h -- lessons: text, command lines and questions in files that a lecturer can
 * edit.
 *
 * The format (described for lecturers in share/doc/lessons.md) is read line by line. The first
 * character of a line says what it is:
 *   # 3 Lengthscale and noise     number (or a name) and title, once, at the beginning
 *   summary TEXT   minutes N      before the first step
 *   == Read: the three numbers    begins a step
 *   > draw on=data l=0.3          a command; {seed} is the student's seed
 *   : a = draw_nmll               stores a value under a name, after the commands before it
 *   @ a < b                       a claim; it is reported if it does not hold
 *   ? Which ...                   a question, followed by its answers
 *   - wrong   + right             choices a, b, ...
 *   = draw_nmll +- 5%             or a number
 *   ! because                     shown after the answer
 *   % remark                      for the lecturer
 *   anything else                 text; an empty line ends a paragraph; {rmse} is the current value
 * `lesson N quiz` goes to the step that is called Quiz. */
#ifndef GPDESK_LESSON_H
#define GPDESK_LESSON_H

#include "app/teach/placeholder.h"

enum lesson_kind { LESSON_TEXT, LESSON_COMMAND, LESSON_KEEP, LESSON_CLAIM, LESSON_QUESTION };
struct lesson_answer { char *text; bool right; };
/* A part of a step, in the order of the file. */
struct lesson_part {
    enum lesson_kind kind;
    size_t line;                 /* line of the file, from 1 */
    char *text;                  /* paragraph, command, expression or question */
    char name[24];               /* for LESSON_KEEP */
    struct lesson_answer *answer; size_t nanswer, cap; /* for LESSON_QUESTION: choices, or */
    char *number;                /* the expression of a number, and */
    double within;               /* the relative tolerance of an answer */
    char *because;               /* for LESSON_QUESTION; NULL: none */
};
struct lesson_step { char *title; size_t line; struct lesson_part *part; size_t n, cap; };
struct lesson {
    char *id, *title, *summary, *name; /* id: "3"; name: the source, for messages */
    double minutes;
    struct lesson_step *step; size_t n, cap;
};
/* Parses a lesson, including its commands and expressions. FORMAT names the line of an error. Free
 * the result with lesson_clear. */
enum status lesson_parse(const char *text, const char *name, struct lesson *out, struct err *err);
void lesson_clear(struct lesson *);
/* The bundled lessons and those in $XDG_DATA_HOME/gpdesk/lessons, which replace bundled ones with
 * the same number. `broken` says why one of the user's lessons was left out. */
struct lesson_list { char **id, **title, **summary, **path; double *minutes; size_t n;
                     struct buf broken; };
enum status lesson_list(struct lesson_list *, struct err *err);
void lesson_list_free(struct lesson_list *);
/* Opens a lesson by number, by name, or by path (a word that contains a slash or a dot). */
enum status lesson_open(const char *what, struct lesson *out, struct err *err);

/* The lesson that is open. */
enum { LESSON_QUESTIONS = 64 };
struct lesson_state {
    struct lesson l;
    uint64_t seed;
    size_t step;
    bool ran;                    /* the commands of this step have been run */
    bool running;                /* ... are queued */
    /* run straight through: answers are given automatically, and a claim that fails is an error */
    bool all;
    size_t at;                   /* the question of the step, counted from 0 */
    struct value_vars vars;
    size_t right, wrong, told;   /* answers so far; `told` were given by the program */
    char reply[512];             /* the reply to the last answer; "" if none */
    unsigned serial;             /* grows with every change */
};
extern const struct owner lesson_owner;
struct lesson_state *lesson_of(const struct workspace *); /* NULL if no lesson is open */
/* The question that is waiting for an answer; NULL if there is none. */
const struct lesson_part *lesson_question(const struct lesson_state *);
/* The current step as lines "T text", "> command", "? question", "a answer", "! reply", "  hint":
 * the first character says how to show the line, and the rest follows after a blank. */
void lesson_page(struct workspace *, struct buf *out);

/* While a question waits, its letter (or a number) alone is a valid line: "b" becomes "answer b",
 * and an empty line becomes "lesson next". Returns false for any other line. */
bool lesson_shorthand(const struct workspace *, const char *line, char *out, size_t len);

/* Commands whose rows are in cmd_teach.c. */
enum status cmd_lesson(struct workspace *, const struct args *, struct err *);
enum status cmd_answer(struct workspace *, const struct args *, struct err *);
enum status cmd_tour(struct workspace *, const struct args *, struct err *);

#endif
