/* tests/fuzz/fuzz_graph.c -- tables of nodes, of atoms, lists of labels and series under any bytes:
 * the readers end, refuse in words, and what they take for sets of nodes is all accounted for.  The
 * first byte says which. */
#include "fuzz.h"

#include "data/formats/import.h"
#include "data/kinds/nodes.h"
#include "data/kinds/kind.h"
#include "data/table.h"

#include <math.h>
#include <string.h>

static void check_refusal(const struct err *err, enum status rc)
{
    if (err->code != rc || err->msg[0] == '\0')
        fuzz_fail("refused without words");
}

/* Every node of every row has its numbers, finite ones, and a flag is 0 or 1. */
static void check_nodes(const struct table *t, const struct column *c)
{
    const struct nodes *o = c->held;
    size_t nodes = 0, empty = 0;

    for (size_t i = 0; i < t->n; i++) {
        const size_t m = nodes_count(o, i);
        const double *v = o->d ? nodes_at(o, i) : NULL;
        if (m > 0 && (m < o->shortest || m > o->longest))
            fuzz_fail("lengths do not agree");
        for (size_t k = 0; k < m * o->d; k++)
            if (!isfinite(v[k]) || (o->flag[k % o->d] && v[k] < 0.0))
                fuzz_fail("a node without its numbers");
        nodes += m;
        empty += m == 0;
    }
    if (nodes != o->n || empty != c->missing)
        fuzz_fail("nodes are not accounted for");
}

static void check_table(const struct table *t)
{
    for (size_t j = 0; j < t->ncols; j++) {
        const struct column *c = &t->col[j];
        if (c->type != COL_HELD)
            continue;
        if (c->cells == &nodes_cells)
            check_nodes(t, c);
        for (size_t i = 0; i < t->n; i++) {
            const char *w = column_word(c, i);
            if ((w != NULL ? strlen(w) : 0) != kind_of(c)->length(c, i))
                fuzz_fail("lengths do not agree");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const heads[] = {"id,x,z,kind,y\n", "id,element,x,y,z,energy\n",
                                        "id,node_labels,n_nodes,y\n", "t,x,y\n"};
    struct import_opts o = { .header = 1, .mem_limit = (size_t)64 << 20 };
    const size_t way = n > 0 ? data[0] % 4 : 0, head = strlen(heads[way]);
    struct table *t = NULL;
    struct err err = { 0 };
    uint8_t *file = malloc(head + n + 1);

    if (file == NULL)
        return 0;
    memcpy(file, heads[way], head);
    memcpy(file + head, data + (n > 0), n - (n > 0));
    o.graph = way < 2 ? "id" : NULL;
    o.describe = way == 1 ? "neighbours" : NULL;
    o.target = way == 0 ? "y" : way == 1 ? "energy" : NULL;
    o.window = way == 3 ? "x:3:2" : NULL;
    enum status rc = import_bytes_for_tests(file, head + n - (n > 0), &o, &t, &err);
    if (rc == ST_OK && o.graph)
        rc = nodes_gather(&t, &o, NULL, &err);
    if (rc == ST_OK && o.window)
        rc = nodes_window(t, &o, &err);
    if (rc == ST_OK)
        rc = kind_find_columns(t, way == 2 && n > 1 && data[1] % 2 ? "node_labels=sequence" : NULL,
                           &err);
    if (rc != ST_OK)
        check_refusal(&err, rc);
    else
        check_table(t);
    table_unref(t);
    free(file);
    return 0;
}
