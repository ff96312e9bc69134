/* cuda/program.h -- a feature map as tables on a device: steps with the values of their
 * hyperparameters, signs, scales, permutations; and, if the map is one plain chain, the tables of
 * its fused loop. */
#ifndef GPDESK_CUDA_PROGRAM_H
#define GPDESK_CUDA_PROGRAM_H

#include "compute/features/featmap.h"
#include "cuda/device.h"

struct program {
    struct device *dev;
    const struct featmap *fm;
    size_t nhp, nterms, D;          /* D: the widest term */
    struct dev_term term[KERNEL_MAX_TERMS];
    bool wide[KERNEL_MAX_TERMS];    /* phases are computed in double, whatever the precision */
    bool x64;                       /* inputs must stay double */
    bool windows;
    bool bounded;                   /* all features are sines and cosines */
    double out[KERNEL_MAX_TERMS];   /* the factor of the columns of each term */
    double *column;                 /* M numbers, one for each column; on the host */
    struct dev_step *steps;         /* those of all terms, on the host */
    double *inv;                    /* rows of 1/l of all terms, on the host */
    size_t nsteps, ninv, inv_at[KERNEL_MAX_TERMS];
    /* For plain terms with few inputs: W and everything but the rows; ks 0: none. */
    struct project_args dense[KERNEL_MAX_TERMS];
    size_t cols;                    /* the columns that terms fill */
    bool chain;                     /* it is plain, and its tables are in */
    struct sweep_chain fused;       /* without x, which pad provides */
    struct pad_args pad;            /* without x, ldx, rows and to */
    struct sweep_shape shape;       /* for sweeps over all columns */
    void *held[4 + 7 * KERNEL_MAX_TERMS]; size_t nheld; /* allocations on the device */
    void *d_steps, *d_inv, *d_column, *d_inv32;
};

enum status program_new(struct program *, struct device *, const struct featmap *, bool wide,
                        struct err *);
void program_free(struct program *);
/* Sets the hyperparameters, in natural scale. */
enum status program_set(struct program *, const double *hp, struct err *);
/* Finds the links of term i and sets a->link, links and inner. UNSUPPORTED: there are too many. */
enum status program_links(const struct program *, size_t i, struct back_args *a, struct err *);
/* Adds the sums in the slots of term i (back_args) to the hyperparameters that they belong to. */
void program_collect(const struct program *, size_t i, const struct back_args *a, const double *sum,
                     double *grad);

#endif
