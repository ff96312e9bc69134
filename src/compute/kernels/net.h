/* compute/kernels/net.h -- the parameters of a learned feature map, and the map itself
 * (share/doc/methods.md 23).
 *
 * A net is an immutable block: its shape, its weights in single precision and their checksum, which
 * is its name in kernel expressions: mlp(..,weights=0123456789abcdef).  Blocks are kept in one
 * table until the program ends: kernels are copied by assignment, and what hands a kernel on
 * (models, runs, sessions, undo) hands the block on with it. */
#ifndef GPDESK_NET_H
#define GPDESK_NET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NET_DEPTH_MOST = 8, NET_WIDTH_MOST = 4096, NET_OUT_MOST = 1024, NET_GROUP = 1024,
       NET_BLOCKS_MOST = 4, NET_CHANNELS_MOST = 512, NET_SIDE_MOST = 4095 };

/* The image that the inputs are: row by row, the numbers of a pixel beside each other (inputs =
 * rows x cols x planes; rows 0: they are none), and the channels of each hidden layer. */
struct net_image { size_t rows, cols, planes, channel[NET_BLOCKS_MOST]; };
/* `depth` hidden layers of `width` numbers (linear, norm, ReLU), then a linear one of `out`; with
 * unit_rows each row of features is divided by its length (a row of zeros stays zero).  Of images
 * the hidden layers are convolutions (23.13): 3 x 3 with zeros around the image, norm, ReLU, then
 * the largest of each 2 x 2 pixels, a last odd row or column left out; width is 0. */
enum net_norm { NET_NONE, NET_LAYER, NET_BATCH };
struct net_shape {
    size_t inputs, width, depth, out;
    enum net_norm norm;
    bool unit_rows;
    struct net_image image;
};
/* Where the parameters of a layer are: weights in x out by columns, shifts, and the gain and shift
 * of its norm (SIZE_MAX: it has none).  A batch norm has two numbers more for each of the layer's:
 * the mean, and one over the standard deviation, of the rows of its training (SIZE_MAX: none).
 * A convolution has these weights at each of its places, the rows x cols pixels of its image (rows
 * 0: an affine layer, of one place), of whose 3 x 3 pixels it reads `in` numbers.  Of a row it
 * reads `reads` numbers in all, makes `makes` of them, out for each place, and gives `gives` on;
 * those made by the layers before are `before`. */
struct net_layer {
    size_t in, out, w, b, gain, shift, mean, rstd;
    size_t rows, cols, places, reads, makes, gives, before;
};
struct net { struct net_shape shape; size_t count; uint64_t sum; const float *w; };

/* The layers of a shape (depth + 1 of them); returns the number of parameters. */
size_t net_layers(const struct net_shape *, struct net_layer layer[NET_DEPTH_MOST + 1]);
bool net_same_shape(const struct net_shape *, const struct net_shape *);
/* The rows that go through a net at once, at most NET_GROUP: fewer of images, which make many
 * numbers each. */
size_t net_group(const struct net_shape *);
/* The block with these weights, copied into the table unless it is there.  NULL: no memory. */
const struct net *net_keep(const struct net_shape *, const float *w, struct err *err);
const struct net *net_find(uint64_t sum); /* NULL: there is none of that checksum */
/* A block as bytes, the same on every machine; and the block of such bytes.  FORMAT where they are
 * damaged: their checksum is not `sum`. */
size_t net_bytes(const struct net *);
void net_write(const struct net *, unsigned char *out);
size_t net_length(const unsigned char *, size_t n); /* of the block that begins there, at most n */
const struct net *net_read(const unsigned char *bytes, size_t n, uint64_t sum, struct err *err);

/* n rows on their way: inputs x (n rows of inputs) and features f (n rows of out), each row
 * contiguous; what the way back needs, of net_hat_size and net_rstd_size numbers (NULL: it is not
 * kept); net_work_size numbers of workspace. */
struct net_pass { const float *x; float *f, *hat, *rstd, *work; };
struct net_pass64 { const double *x; double *f, *hat, *rstd, *work; };
size_t net_hat_size(const struct net_shape *, size_t n);
size_t net_rstd_size(const struct net_shape *, size_t n);
size_t net_work_size(const struct net_shape *, size_t n);
/* Fills f.  Single-threaded; in single precision and in double. */
void net_forward(const struct net_shape *, const float *w, size_t n, const struct net_pass *);
void net_forward64_for_tests(const struct net_shape *, const double *w, size_t n,
                             const struct net_pass64 *);
/* grad <- the gradient in all parameters of a function of these features whose derivatives are df
 * (n rows of out, overwritten), from what the forward pass kept. */
void net_back(const struct net_shape *, const float *w, size_t n, const struct net_pass *,
              float *df, float *grad);
void net_back64_for_tests(const struct net_shape *, const double *w, size_t n,
                          const struct net_pass64 *, double *df, double *grad);
/* Training with batch norms: what their means and deviations are follows from all rows of a step,
 * group by group and layer by layer.
 * net_batch_sums: sums (twice the layer's out) <- those of layer i's numbers, and of their squares,
 * over the places of n rows, whose numbers are kept in p->hat; the layers before have their means
 * and deviations.
 * net_batch_set: puts those of layer i of n rows in all into the weights.
 * net_batch_unit: df becomes the derivatives before rows=unit.
 * net_batch_back: grad <- those of layer i's weights and shifts from dz, the derivatives in what
 * the layer makes (n rows), and those of the gains and shifts of the norm before it; e (n rows of
 * what the layer before makes) <- the derivatives in its normalised numbers (not for i = 0).
 * net_batch_centre: e becomes the derivatives in the numbers before that norm, where the
 * derivatives in its gains and shifts, over all rows, are those of grad a row. */
void net_batch_sums(const struct net_shape *, const float *w, size_t i, size_t n,
                    const struct net_pass *, double *sums);
void net_batch_set(const struct net_shape *, size_t i, size_t n, const double *sums, float *w);
void net_batch_unit(const struct net_shape *, size_t n, const struct net_pass *, float *df);
struct net_step { size_t i, n; const struct net_pass *p; const float *dz; float *e; };
void net_batch_back(const struct net_shape *, const float *w, const struct net_step *,
                    float *grad);
void net_batch_centre(const struct net_shape *, const float *w, const struct net_step *,
                      const double *grad);
/* The features of n rows, at most NET_GROUP, of double inputs `stride` apart, in double beside each
 * other `ld` apart.  NOMEM. */
enum status net_rows(const struct net *, size_t n, const double *x, size_t stride, double *f,
                     size_t ld, struct err *err);
/* phi(x).phi(y); NaN where there is no memory. */
double net_value(const struct net *, const double *x, const double *y);

#endif
