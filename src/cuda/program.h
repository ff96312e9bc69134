/* cuda/program.h -- a feature map as tables on a device: steps with their hyperparameters put in,
 * signs, scales, permutations; and, where the map is one plain chain, those of its fused loop. */
#ifndef GPDESK_CUDA_PROGRAM_H
#define GPDESK_CUDA_PROGRAM_H

#include "compute/features/featmap.h"
#include "cuda/device.h"

struct program {
    struct device *dev;
    const struct featmap *fm;
    size_t nhp, nterms, D;          /* D: the widest */
    struct dev_term term[KERNEL_MAX_TERMS];
    bool wide[KERNEL_MAX_TERMS];    /* phases in double, whatever the precision */
    bool x64;                       /* inputs have to stay double */
    bool windows;
    bool bounded;                   /* features are sines and cosines, nothing else */
    double out[KERNEL_MAX_TERMS];   /* the factor of each term's columns */
    double *column;                 /* M: of each column; on the host */
    struct dev_step *steps;         /* of all terms, on the host */
    double *inv;                    /* rows of 1/l of all terms, on the host */
    size_t nsteps, ninv, inv_at[KERNEL_MAX_TERMS];
    struct project_args
        dense[KERNEL_MAX_TERMS]; /* of plain terms of few inputs: W and all but rows; ks 0: none */
    size_t cols;                    /* that terms fill */
    bool chain;                     /* plain: its tables are */
    struct sweep_chain fused;       /* but for x, which pad makes */
    struct pad_args pad;            /* but for x, ldx, rows, to */
    struct sweep_shape shape;       /* of sweeps over all columns */
    void *held[4 + 7 * KERNEL_MAX_TERMS]; size_t nheld; /* on the device */
    void *d_steps, *d_inv, *d_column, *d_inv32;
};

enum status program_new(struct program *, struct device *, const struct featmap *, bool wide,
                        struct err *);
void program_free(struct program *);
/* Puts hyperparameters (natural scale) in. */
enum status program_set(struct program *, const double *hp, struct err *);
/* The links of term i: a->link, links, inner.  UNSUPPORTED: more of them than there is room for. */
enum status program_links(const struct program *, size_t i, struct back_args *a, struct err *);
/* Adds what the slots of term i have added up to (back_args) to the hyperparameters that they are
 * of. */
void program_collect(const struct program *, size_t i, const struct back_args *a, const double *sum,
                     double *grad);

#endif
