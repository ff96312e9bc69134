/* tests/campaign/scenes.h -- what drive.c runs the program on, and which faults it meets. */
#ifndef GPDESK_TESTS_CAMPAIGN_SCENES_H
#define GPDESK_TESTS_CAMPAIGN_SCENES_H

#include <stdbool.h>
#include <stddef.h>

struct scene {
    const char *name;
    const char *classes;      /* of faults that it is for */
    const char *session, *lines;
    const char *before;       /* lines that make the session, without faults; NULL: there is none */
    const char *data;         /* the contents of cells.csv, or NULL */
    const char *again;        /* lines that show what must be found in the session afterwards */
    bool starts_with_r1, predicts;
    bool old;                 /* the session of `before` becomes one of schema 1 */
    bool typed;               /* on a screen; what is printed cannot be compared there */
};

#define SMALL "demo toy n=40; split test=25%; kernel rbf; "
#define ALL "alloc thread write sync rename open read map poll fork pipe size"
static const struct scene scenes[] = {
    { .name = "batch", .classes = ALL, .session = "x.gpd", .predicts = true,
      .lines = SMALL "tune features=32 evals=3; fit features=32 seed=5; score; check; "
               "plot parity out=p.svg; predict out=p.csv; save copy.gpd",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv" },
    { .name = "resume", .classes = ALL, .session = "x.gpd", .predicts = true,
      .before = SMALL "fit features=32 seed=5; score; fit features=16 solver=pcg; score",
      .lines = "runs; predict run=r1 out=p.csv; fit features=16 seed=2; score; note r1 kept; runs",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    { .name = "import", .classes = ALL, .session = "x.gpd", .predicts = true,
      .data = "a,b,kind,y\n1,2,red,3\n2,1,blue,3.5\n3,5,red,8\n4,1,green,5\n5,0,red,5.2\n6,2,blue,8"
              "\n7,3,red,10\n8,1,green,9\n9,4,blue,13\n10,2,red,12\n11,NA,red,14\n12,1,blue,13\n",
      .lines = "open cells.csv target=y; missing mean; summary; cols b role=skip; "
               "split test=25%; kernel rbf; fit solver=exact; score",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv" },
    { .name = "export", .classes = ALL, .session = "x.gpd", .predicts = true,
      .before = SMALL "fit features=32 seed=5; score",
      .lines = "export r1 out=r1.json; script out=s.gps; report out=r.html; "
               "predict run=r1 out=p.csv; plot parity out=p.png; save copy.gpd",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    /* Two processes share the rows; they meet the same faults. */
    { .name = "ranks", .classes = "alloc thread read map poll fork", .session = "x.gpd",
      .predicts = true,
      .lines = "set ranks=2; demo friedman1 n=6000 seed=1; split test=20%; kernel rbf; "
               "fit features=32 solver=pcg plan=regenerate seed=5; score; predict out=p.csv",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv" },
    { .name = "screen", .classes = "alloc thread write read map fork", .session = "x.gpd",
      .predicts = true, .typed = true,
      .before = SMALL "fit features=32 seed=5; score",
      .lines = "runs; tune features=32 evals=3; fit features=16 seed=2; score; view calib; "
               "plot parity; view data; help fit; undo; redo",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    /* Only where they are named: to be killed in (kills.sh). */
    { .name = "tune", .classes = "", .session = "x.gpd", .predicts = true,
      .before = SMALL "fit features=32 seed=5; score",
      .lines = "tune features=64 evals=6; fit features=64 seed=2; score; check",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    { .name = "fit", .classes = "", .session = "x.gpd", .predicts = true,
      .before = SMALL "fit features=32 seed=5; score",
      .lines = "fit features=64 seed=2 solver=pcg rank=8 maxit=100; score; fit solver=exact; "
               "score; fit solver=sparse inducing=8; score",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    { .name = "save", .classes = "", .session = "x.gpd", .predicts = true,
      .data = "a,b,y\n1,2,3\n2,1,3.5\n3,5,8\n4,1,5\n5,0,5.2\n6,2,8\n7,3,10\n8,1,9\n9,4,13\n",
      .before = "open cells.csv target=y; split test=25%; kernel rbf; fit solver=exact; score",
      .lines = "save data=yes; save copy.gpd; note r1 kept; save data=yes; save other.gpd",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
    { .name = "migrate", .classes = "", .session = "x.gpd", .predicts = true, .old = true,
      .before = SMALL "fit features=32 seed=5; score; fit features=16 solver=pcg; score",
      .lines = "runs; predict run=r1 out=p.csv; fit features=16 seed=2; score; note r1 kept",
      .again = "resume x.gpd; runs; predict run=r1 out=again.csv", .starts_with_r1 = true },
};

/* from: also with every later call failing. */
static const struct { const char *class, *error; bool from; } faults[] = {
    { "alloc", "ENOMEM", true },   { "thread", "EAGAIN", true },  { "write", "ENOSPC", true },
    { "write", "EIO", true },      { "write", "EINTR", false },   { "write", "short", false },
    { "write", "kill", false },    { "write", "half", false },    { "sync", "EIO", true },
    { "sync", "ENOSPC", true },    { "sync", "kill", false },     { "rename", "EIO", true },
    { "rename", "ENOSPC", true },  { "open", "EMFILE", true },    { "open", "EIO", true },
    { "open", "EINTR", false },    { "read", "EIO", true },       { "read", "EINTR", false },
    { "read", "short", false },    { "map", "ENOMEM", true },     { "poll", "EINTR", false },
    { "poll", "ENOMEM", false },   { "fork", "EAGAIN", true },    { "pipe", "EINTR", false },
    { "pipe", "EAGAIN", false },   { "pipe", "short", false },    { "size", "ENOSPC", true },
    { "size", "EIO", true },
    { "alloc", "kill", false }, /* a moment like any other; only where it is named */
};

#endif
