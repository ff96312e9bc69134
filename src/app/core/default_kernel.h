/* app/core/default_kernel.h -- the kernel that holds until somebody chooses one: `tanimoto` where
 * the inputs are one column of counts or molecules and nothing else, otherwise Matern 5/2. */
#ifndef GPDESK_DEFAULT_KERNEL_H
#define GPDESK_DEFAULT_KERNEL_H

#include "app/core/workspace.h"

/* Makes the default for no data the current kernel. */
enum status default_kernel_take(struct workspace *, struct err *);
/* After data or the roles of columns have changed: unless the user chose a kernel, makes the one
 * for the current dataset current, and says so where it is not the usual one. */
void default_kernel_follow(struct workspace *);

#endif
