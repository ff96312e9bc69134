/* tests/store_victim.c -- works in a session until it is killed: check_store kills it.
 *   store_victim SESSION
 * After each fit that is on disk it writes the number of fits to stdout. */
#include "store_support.h"

#include "app/session/store.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct desk d;
    struct err err = { 0 };

    if (argc != 2)
        return 2;
    if (desk_open(&d, argv[1], &err) != ST_OK) {
        fprintf(stderr, "store_victim: %s\n", err.msg);
        return 1;
    }
    if (d.ws->ndata == 0 && !desk_run(&d, "demo toy n=60; kernel rbf"))
        return 1;
    for (int i = 0; i < 1000; i++) {
        char line[80];
        snprintf(line, sizeof line, "fit features=%d seed=%d", 32 + 2 * (i % 20), i);
        if (!desk_run(&d, line) || store_flush(store_of(d.ws), &err) != ST_OK)
            return 1;
        printf("%zu\n", d.ws->nfit);
        fflush(stdout);
    }
    desk_close(&d);
    return 0;
}
