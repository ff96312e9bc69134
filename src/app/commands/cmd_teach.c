/* app/commands/cmd_teach.c -- functions to look at, explanations, lessons: the rows of the command
 * table. */
#include "app/commands/commands.h"
#include "app/plots/draws.h"
#include "app/teach/explain.h"
#include "app/teach/lesson.h"

const struct command cmd_teach_rows[] = {
    {"draw",
     "learn",
     "Draw functions: before any data, given data, or of a fit along an input",
     "draw kernel=rbf(l=0.3) n=5\ndraw prior kernel=matern(nu=1/2)\ndemo toy n=30; draw posterior "
     "n=4",
     {{"on", ARG_CHOICE, ARGF_POS, "auto", 0, 0, "auto|prior|data|posterior", NULL,
       "auto: given the data if they have one input and at most 1000 rows; posterior means data"},
      {"row", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "along=: a row that the functions go through, row:12 (default: typical values)"},
      {"along", ARG_COLUMN, 0, NULL, 0, 0, NULL, NULL,
       "an input: functions of the last fit, of any number of inputs, along this one"},
      {"kernel", ARG_KERNEL, 0, NULL, 0, 0, NULL, NULL, "kernel; it becomes the current one"},
      {"n", ARG_INT, 0, "3", 0, DRAWS_MOST, NULL, "functions", "number of functions"},
      {"points", ARG_INT, 0, "160", 2, DRAW_POINTS_MOST, NULL, "places",
       "number of places at which each is drawn"},
      {"x", ARG_BOUND, 0, NULL, 0, 0, NULL, NULL, "range of x: x=-3..3"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "seed of the draw (default: the option seed)"}},
     CMD_CHANGES | CMD_HP_KEYS,
     cmd_draw,
     "The functions are exact draws at the current hyperparameters, with the band that contains\n"
     "95 % of all functions. The picture (plot draws) follows changes: set l=0.3 bends the same\n"
     "functions. In its view, Left and Right choose a hyperparameter, Up and Down change it,\n"
     "and Enter adds a point. Given points, the NMLL is that of their scaled values.\n"
     "draw posterior along=x3 row:12 draws functions of the last fit, with its mean and bands:\n"
     "plot posterior x3 row:12 out=f.csv writes them."},
    {"point",
     "learn",
     "Add a point to the data drawn by hand",
     "point x=0.5 y=1.2\npoint",
     {{"x", ARG_REAL, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "place (default: where the function is most uncertain)"},
      {"y", ARG_REAL, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "measured value (default: drawn from the posterior)"}},
     CMD_CHANGES,
     cmd_point,
     "The points are a separate dataset called points. They are not scaled, so a new point does\n"
     "not move the others. demo points xy=-1:0.5,0:1.2 gives several at once."},
    {"explain",
     "learn",
     "Explain a message, number, view or option, with your numbers",
     "explain\nexplain coverage",
     {{"name", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "a name in brackets, a score, a view, an option; alone: what is on screen; all: every "
       "name"}},
     0,
     cmd_explain,
     NULL},
    {"lesson",
     "learn",
     "Take a lesson with real commands: read, predict, do, compare",
     "lesson\nlesson 1",
     {{"lesson", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "number or file of a lesson; next, back, quiz, end, show, list, check"},
      {"how", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL,
       "quiz: only the questions; all: straight through; check: a file to check"},
      {"step", ARG_INT, 0, "1", 1, 1000, NULL, NULL, "step to begin at"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL,
       "seed of the data: each student can have their own"}},
     0,
     cmd_lesson,
     "Enter on an empty line continues, answer b answers a question. Lessons are text files\n"
     "that you can edit: put yours into $XDG_DATA_HOME/gpdesk/lessons (share/doc/lessons.md has\n"
     "the format); lesson check FILE looks for mistakes. Without a terminal, lesson 3 all runs\n"
     "a lesson to its end."},
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
     "Take a five-minute tour on bundled data",
     "tour",
     {{"how", ARG_WORD, ARGF_POS, NULL, 0, 0, NULL, NULL, "all: straight through"},
      {"step", ARG_INT, 0, "1", 1, 1000, NULL, NULL, "step to begin at"},
      {"seed", ARG_INT, 0, NULL, 0, 0x1p53, NULL, NULL, "seed of the data"}},
     0,
     cmd_tour,
     "Enter on an empty line continues; lesson end leaves the tour."},
    {.name = NULL},
};
