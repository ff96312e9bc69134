/* app/plots/plot_job.h -- the job behind `plot` and `describe`: makes a figure that takes time, and
 * writes it to the file given by out=. */
#ifndef GPDESK_PLOT_JOB_H
#define GPDESK_PLOT_JOB_H

#include "app/plots/plots.h"
#include "base/buf.h"

struct plot_out {
    struct figure *fig;     /* NULL: work.make makes it, and it is kept */
    struct plot_work work;
    char *path;             /* from out=; NULL: none */
    char to;                /* 'w' window, 's' sixel; otherwise a file or the screen */
    struct buf sixel;       /* the image made by the worker */
    size_t w, h;
    bool dark, words;       /* words: for describe */
    const char *x, *y;      /* "log", "linear" or NULL: static strings, or strings of args */
    void (*axes)(struct figure *, const char *x, const char *y);
    /* Called on the main thread at the end. */
    void (*told)(struct workspace *, struct figure *, const struct args *, const char *out,
                 bool words);
    struct args *args;      /* the command line; a counted reference */
    struct buf note;
};
void plot_out_free(struct plot_out *);
/* Queues the job and takes ownership of the plot_out, on failure too. */
enum status plot_start(struct workspace *, struct plot_out *, const char *line, struct err *);

#endif
