/* app/plots/plot_job.h -- the job behind `plot` and `describe`: makes a figure where that takes
 * time, writes it where out= says so. */
#ifndef GPDESK_PLOT_JOB_H
#define GPDESK_PLOT_JOB_H

#include "app/plots/plots.h"
#include "base/buf.h"

struct plot_out {
    struct figure *fig;     /* NULL: work.make makes it, and it is kept */
    struct plot_work work;
    char *path;             /* of out=; NULL: none */
    char to;                /* 'w' window, 's' sixel, else a file or the screen */
    struct buf sixel;       /* the picture as made by the worker */
    size_t w, h;
    bool dark, words;       /* words: for describe */
    const char *x, *y;      /* "log", "linear" or NULL: static or of args that outlive the job */
    void (*axes)(struct figure *, const char *x, const char *y);
    /* On the main thread, at the end. */
    void (*told)(struct workspace *, struct figure *, const struct args *, const char *out,
                 bool words);
    struct args *args;      /* the line: a reference */
    struct buf note;
};
void plot_out_free(struct plot_out *);
/* Takes it, also on failure. */
enum status plot_start(struct workspace *, struct plot_out *, const char *line, struct err *);

#endif
