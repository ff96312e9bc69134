/* data/import_file.c -- reads a table from a file: the format reads it, the kinds of rows make
 * their own columns from it, and another table may be joined to its rows. */
#include "data/beside.h"
#include "data/join.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles.h"
#include "data/formats/import.h"

#include <stdlib.h>

/* Reads the table of targets= with only the options for text. */
static enum status join_targets(struct table *t, const struct import_opts *opts,
                                const struct ctl *ctl, struct err *err)
{
    const struct import_opts o = import_option_text(opts);
    struct table *of = NULL;
    enum status rc = join_suits(t, opts, err);

    if (rc == ST_OK)
        rc = import_file(opts->targets, &o, ctl, &of, err);
    if (rc == ST_OK)
        rc = join_table(t, of, opts, err);
    table_unref(of);
    return rc;
}

/* Reads the table of beside= with the options for text; types= names columns of the first. */
static enum status append_beside(struct table *t, const struct import_opts *opts,
                                 const struct ctl *ctl, struct err *err)
{
    struct import_opts o = import_option_text(opts);
    struct table *of = NULL;

    o.types = NULL;
    enum status rc = import_file(opts->beside, &o, ctl, &of, err);

    if (rc == ST_OK)
        rc = beside_append(t, of, opts, ctl, err);
    table_unref(of);
    return rc;
}

enum status import_file(const char *path, const struct import_opts *opts, const struct ctl *ctl,
                        struct table **out, struct err *err)
{
    static const struct import_opts guess = { .header = -1 };
    struct err local; /* the error code is needed even if the caller passes NULL */
    char *types = NULL;

    *out = NULL;
    err = err != NULL ? err : &local;
    opts = opts != NULL ? opts : &guess;
    if (opts->targets == NULL && (opts->twice != NULL || opts->unmatched != NULL)) {
        err_set(err, ST_USAGE,
                "twice= and unmatched= say how a table of targets= is joined: there is none");
        return ST_USAGE;
    }
    enum status rc = import_table(path, opts, ctl, out, err);
    if (rc == ST_OK)
        rc = kind_gather(out, opts, ctl, err);
    if (rc == ST_OK && smiles_asked(opts))
        rc = smiles_types(*out, opts, &types, err);
    if (rc == ST_OK)
        rc = kind_find_columns(*out, types != NULL ? types : opts->types, err);
    free(types);
    if (rc == ST_OK && smiles_asked(opts))
        rc = smiles_append(*out, opts, ctl, err);
    if (rc == ST_OK)
        rc = kind_finish(*out, opts, err);
    if (rc == ST_OK && opts->targets != NULL)
        rc = join_targets(*out, opts, ctl, err);
    if (rc == ST_OK && opts->beside != NULL)
        rc = append_beside(*out, opts, ctl, err);
    if (rc != ST_OK) {
        table_unref(*out);
        *out = NULL;
    }
    return rc;
}
