/* hdf5/module.c -- the HDF5 library as the reader of HDF5 files sees it
 * (data/formats/hdf5_calls.h), a module that is opened for the first such file. */
#include "data/formats/hdf5_calls.h"

#include <hdf5.h>
#include <string.h>

__attribute__((visibility("default"))) const struct hdf5_calls *gpdesk_hdf5(void);

static int64_t open_file(const char *path)
{
    /* After a damaged file its exit handler would print errors; nothing is left open. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* otherwise it prints errors on the screen */
    H5PLset_loading_state(0);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        H5Eclear2(H5E_DEFAULT);
    return file;
}

static void close_file(int64_t file)
{
    H5Fclose(file);
    H5Eclear2(H5E_DEFAULT); /* clears the error stack of this thread before it ends */
}

/* Finding datasets in the file. */

/* Accepts numbers of one or two dimensions that are stored in this very file. */
static bool describe(hid_t id, struct hdf5_set *s)
{
    const hid_t type = H5Dget_type(id), space = H5Dget_space(id), made = H5Dget_create_plist(id);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    hsize_t dim[2] = {0, 1};
    bool good = (class == H5T_INTEGER || class == H5T_FLOAT) && made >= 0 &&
                H5Pget_external_count(made) == 0 && H5Pget_layout(made) != H5D_VIRTUAL;

    s->rank = good && space >= 0 ? H5Sget_simple_extent_ndims(space) : 0;
    good = good && (s->rank == 1 || s->rank == 2) &&
           H5Sget_simple_extent_dims(space, dim, NULL) == s->rank;
    s->dim[0] = dim[0];
    s->dim[1] = s->rank == 2 ? dim[1] : 1;
    s->whole = class == H5T_INTEGER && H5Tget_size(type) > 6;
    if (made >= 0)
        H5Pclose(made);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return good;
}

struct listing {
    void (*take)(void *ctx, const struct hdf5_set *);
    void *ctx;
};

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    const struct listing *l = ctx;
    struct hdf5_set s = {.rank = 0};

    if (info->type != H5L_TYPE_HARD || strlen(name) >= HDF5_NAME)
        return 0;
    const hid_t id = H5Dopen2(group, name, H5P_DEFAULT); /* fails for anything but a dataset */
    if (id < 0)
        return 0;
    if (describe(id, &s)) {
        strcpy(s.name, name);
        l->take(l->ctx, &s);
    }
    H5Dclose(id);
    return 0;
}

static bool list(int64_t file, void (*take)(void *ctx, const struct hdf5_set *), void *ctx)
{
    struct listing l = {take, ctx};

    return H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &l) >= 0;
}

/* Reading. */

static int64_t set_open(int64_t file, const struct hdf5_set *s)
{
    return H5Dopen2(file, s->name, H5P_DEFAULT);
}

static void set_close(int64_t set)
{
    H5Dclose(set);
}

static bool rows(int64_t set, const struct hdf5_set *s, uint64_t row, uint64_t n, double *out)
{
    const hsize_t start[2] = {row, 0}, count[2] = {n, s->dim[1]};
    const hid_t file = H5Dget_space(set), mem = H5Screate_simple(s->rank, count, NULL);
    const bool good = file >= 0 && mem >= 0 &&
                      H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                      H5Dread(set, H5T_NATIVE_DOUBLE, mem, file, H5P_DEFAULT, out) >= 0;

    if (mem >= 0)
        H5Sclose(mem);
    if (file >= 0)
        H5Sclose(file);
    return good;
}

const struct hdf5_calls *gpdesk_hdf5(void)
{
    static const struct hdf5_calls calls = {.abi = HDF5_CALLS_ABI,
                                            .open = open_file,
                                            .close = close_file,
                                            .list = list,
                                            .set_open = set_open,
                                            .set_close = set_close,
                                            .rows = rows};

    return &calls;
}
