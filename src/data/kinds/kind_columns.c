/* data/kinds/kind_columns.c -- numbers and categories, as files have them. */
#include "data/kinds/kind.h"

const struct row_kind kind_columns = { .name = "columns" };
