/* tests/cuda/pair.h -- the same operator on the device and on the processor, for the tests of the
 * CUDA backend: tests/check_cuda_host.c, operators.c and solves.c. */
#ifndef GPDESK_TESTS_PAIR_H
#define GPDESK_TESTS_PAIR_H

#include "compute/backend.h"
#include "compute/features/fop.h"
#include "compute/kernels/kernel.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job {
    const char *kernel;
    size_t n, d, M;
    enum precision precision;
    bool store, half, weighted;
    size_t channels, flat; /* of sequences; numbers before one */
    bool two;              /* each kernel over windows reads a sequence of its own, of two */
};
struct pair {
    struct kernel k;
    struct featmap *fm;
    struct source_array *src;
    double *x, *factor, hp[KERNEL_MAX_HP];
    size_t n, M;
    struct fop *cpu, *dev;
    struct pool *pool;
};

const struct backend_ops *gpdesk_backend(void);

/* Number i of a stream of standard normals, and the first n, which the caller frees. */
double normal(uint64_t stream, size_t i);
double *normals(uint64_t stream, size_t n);
/* Rows x of normals, or of sequences where there are channels, with two operators over them.  Maps
 * that learn have random weights. */
struct pair pair_open(const struct job *);
void pair_close(struct pair *);
double norm(size_t n, const double *v);
/* |a - b| / |b| */
double apart(size_t n, const double *a, const double *b);

/* What the last call failed with. */
extern struct err fail;
#define ok(call) ck_assert_msg((call) == ST_OK, "%s: %s", #call, fail.msg)

/* operators.c: products, tiles and derivatives of both, and a device that fails.  solves.c: what
 * uses operators: conjugate gradients, exact kernels, likelihood, factorisations.  maps.c: maps
 * that learn. */
void operators_add(TCase *);
void solves_add(TCase *);
void maps_add(TCase *);

#endif
