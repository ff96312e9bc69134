/* data/npy.c -- the stamp that shows whether a file has changed. */
#include "data/npy.h"

#include <sys/stat.h>

bool npy_stamp(const char *path, struct npy_stamp *out)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *out = (struct npy_stamp){ { (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                                 (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec } };
    return true;
}
