/* tests/fuzz/fuzz_fasta.c -- the FASTA reader under any bytes: it ends, and what it takes for
 * records has a name column and sequences of letters that are all accounted for. */
#include "fuzz.h"

#include "data/formats/import.h"
#include "data/kinds/sequence.h"

#include <ctype.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct import_opts o = { .header = -1, .mem_limit = (size_t)64 << 20 };
    struct table *t;
    struct err err = { 0 };
    uint8_t *file = malloc(n + 1);
    size_t letters = 0, empty = 0;

    if (file == NULL)
        return 0;
    file[0] = '>'; /* always records */
    memcpy(file + 1, data, n);
    const enum status rc = import_bytes_for_tests(file, n + 1, &o, &t, &err);
    if (rc != ST_OK) {
        if (t != NULL || err.code != rc || err.msg[0] == '\0')
            fuzz_fail("refused without words");
        free(file);
        return 0;
    }
    const struct column *c = &t->col[t->ncols - 1];
    if (t->n == 0 || t->ncols < 2 || c->cells != &sequence_cells || t->col[0].type != COL_TEXT)
        fuzz_fail("no records");
    const struct sequences *q = c->held;
    for (size_t i = 0; i < t->n; i++) {
        size_t len;
        const char *s = sequence_at(q, i, &len);
        if (strlen(s) != len || (len > 0 && (len < q->shortest || len > q->longest)))
            fuzz_fail("lengths do not agree");
        for (size_t k = 0; k < len; k++)
            if (!isalpha((unsigned char)s[k]) && !strchr("*-.?", s[k]))
                fuzz_fail("no letter");
        letters += len;
        empty += len == 0;
    }
    if (letters > n || empty != c->missing || q->at[t->n] != letters + t->n)
        fuzz_fail("letters are not accounted for");
    table_unref(t);
    free(file);
    return 0;
}
