/* app/commands/cmd_teach.c -- functions to look at, explanations, lessons: the rows of the command
 * table. */
#include "app/commands/commands.h"
#include "app/plots/draws.h"
#include "app/teach/explain.h"
#include "app/teach/lesson.h"

const struct command cmd_teach_rows[] = {
    {"draw",
     "learn",
     "Functions of one input: before any data, or given the current points",
     "draw kernel=rbf(l=0.3) n=5\ndraw prior kernel=matern(nu=1/2)\ndemo toy n=30; draw posterior "
     "n=4",
     {{"on", ARG_CHOICE, ARGF_POS, "auto", 0, 0, "auto|prior|data|posterior", NULL,
       "auto: given the data where they have one input and at most 1000 rows; posterior is data"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "kernel, which becomes the current one"},
      {"n", ARG_INT, 0, "3", 0, DRAWS_MOST, NULL, "functions", "how many"},
      {"points", ARG_INT, 0, "160", 2, DRAW_POINTS_MOST, NULL, "places", "at which each is drawn"},
      {"x", ARG_BOUND, 0, NULL, 0, 0, NULL, NULL, "from where to where: x=-3..3"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL, "of the draw (default: the option seed)"}},
     CMD_CHANGES | CMD_HP_KEYS,
     cmd_draw,
     "Exact, at the current hyperparameters, with the band in which 95 % of the functions lie. The "
     "picture\n"
     "(plot draws) follows: set l=0.3 bends the same functions. In its view Left and Right choose "
     "a\n"
     "hyperparameter, Up and Down move it, Enter adds a point. Given points, NMLL is that of their "
     "values\n"
     "as scaled."},
    {"point",
     "learn",
     "Add a point to the data drawn by hand",
     "point x=0.5 y=1.2\npoint",
     {{"x", ARG_REAL, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "where (default: where the function is known least)"},
      {"y", ARG_REAL, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "what was measured (default: drawn from what is known so far)"}},
     CMD_CHANGES,
     cmd_point,
     "The points are a dataset of their own, called points, taken as they are: one more moves none "
     "of the\n"
     "others. demo points xy=-1:0.5,0:1.2 gives many at once."},
    {"explain",
     "learn",
     "What a message, number, view or option means, with the current numbers",
     "explain\nexplain coverage",
     {{"name", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a name in brackets, a score, a view, an option; alone: what is on screen; all: every "
       "name"}},
     0,
     cmd_explain,
     NULL},
    {"lesson",
     "learn",
     "Lessons on real commands: read, predict, do, compare",
     "lesson\nlesson 1",
     {{"lesson", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "its number or file; next, back, quiz, end, show, list, check"},
      {"how", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "quiz: only the questions; all: straight through; check: the file"},
      {"step", ARG_INT, 0, "1", 1, 1000, NULL, NULL, "where to begin"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "of the data: each student their own, with the same answers"}},
     0,
     cmd_lesson,
     "Enter on an empty line goes on. answer b answers. Lessons are text files that you can edit: "
     "put yours\n"
     "into $XDG_DATA_HOME/gpdesk/lessons (share/doc/lessons.md has the format); lesson check FILE "
     "looks for\n"
     "mistakes. Without a terminal, lesson 3 all runs it through."},
    {"answer",
     "learn",
     "Answer the question of a lesson",
     "lesson 1 step=4; answer b",
     {{"answer", ARG_WORD, ARGF_POS | ARGF_REQUIRED, NULL, 0, 0, NULL, NULL,
       "a, b, ... or a number"}},
     0,
     cmd_answer,
     NULL},
    {"tour",
     "learn",
     "Five minutes through the program on bundled data",
     "tour",
     {{"how", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL, "all: straight through"},
      {"step", ARG_INT, 0, "1", 1, 1000, NULL, NULL, "where to begin"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL, "of the data"}},
     0,
     cmd_tour,
     "Enter on an empty line goes on; lesson end leaves it."},
    {.name = NULL},
};
