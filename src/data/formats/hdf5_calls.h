/* data/formats/hdf5_calls.h -- what the reader of HDF5 files asks of the HDF5 library.  Debian's is
 * linked with some thirty others, those of the network among them, so it is opened for the first
 * such file: a module (base/module.h) made of src/hdf5/module.c. */
#ifndef GPDESK_HDF5_CALLS_H
#define GPDESK_HDF5_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HDF5_CALLS_ABI   1
#define HDF5_CALLS_ENTRY "gpdesk_hdf5"

enum { HDF5_NAME = 200 };

struct hdf5_set {         /* a dataset of numbers, of one or two dimensions */
    char name[HDF5_NAME]; /* its path inside the file */
    uint64_t dim[2];      /* rows, columns (1 of one dimension) */
    int rank;
    bool whole; /* 8-byte integers: beyond 2^53 they are rounded */
};

/* A handle below 0 stands for a file or dataset that cannot be opened.  Nothing is printed, no
 * filter is loaded from outside, and datasets that a file stores in another one, or names longer
 * than HDF5_NAME - 1 bytes, are left out. */
struct hdf5_calls {
    unsigned abi; /* HDF5_CALLS_ABI at build time */
    int64_t (*open)(const char *path);
    void (*close)(int64_t file);
    /* Hands over each dataset of numbers, in the order of names; false: the list is damaged. */
    bool (*list)(int64_t file, void (*take)(void *ctx, const struct hdf5_set *), void *ctx);
    int64_t (*set_open)(int64_t file, const struct hdf5_set *);
    void (*set_close)(int64_t set);
    /* Reads n rows from `row` on as numbers, row by row; false: they cannot be read. */
    bool (*rows)(int64_t set, const struct hdf5_set *, uint64_t row, uint64_t n, double *out);
};

#endif
