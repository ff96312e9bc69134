/* tests/fuzz/fuzz_counts.c -- cells of counts under any bytes, a cell on each line: they are read,
 * or refused in words; what is read has ascending places and values above 0, and the printed cells
 * read back to the same bytes. */
#include "fuzz.h"

#include "data/formats/import.h"
#include "data/kinds/counts.h"
#include "data/kinds/kind.h"

#include <math.h>
#include <string.h>

enum { CELLS = 64 };

/* A table of one column of text from the lines of a text, which is cut. */
static struct table *table_of(char *text)
{
    struct err err = { 0 };
    struct table *t = table_new("fuzz", 1, &err);

    if (t == NULL)
        fuzz_fail(err.msg);
    t->ncols = 1;
    t->col[0].type = COL_TEXT;
    t->col[0].name = strdup("c");
    t->col[0].text = calloc(CELLS, sizeof *t->col[0].text);
    t->col[0].arena = text;
    for (char *s = text; s != NULL && t->n < CELLS;) {
        char *end = strchr(s, '\n');
        if (end != NULL)
            *end = '\0';
        t->col[0].missing += *s == '\0';
        t->col[0].text[t->n++] = *s != '\0' ? s : NULL;
        s = end != NULL ? end + 1 : NULL;
    }
    return t;
}

static void check_column(const struct column *c, size_t n)
{
    const struct counts *s = c->held;
    size_t missing = 0;

    for (size_t i = 0; i < n; i++) {
        missing += s->missing[i];
        if (s->at[i + 1] < s->at[i] || (s->missing[i] && counts_places(s, i) > 0))
            fuzz_fail("offsets are wrong");
        for (size_t k = s->at[i]; k < s->at[i + 1]; k++)
            if (!(s->count[k].value > 0.0) || !isfinite(s->count[k].value) ||
                (k > s->at[i] && s->count[k].place <= s->count[k - 1].place))
                fuzz_fail("a place or a value is wrong");
    }
    if (missing != c->missing)
        fuzz_fail("missing cells are not counted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = n <= 65536 ? malloc(n + 1) : NULL;
    struct column c = { 0 }, again = { 0 };
    struct err err = { 0 };

    if (text == NULL)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    struct table *t = table_of(text);
    const bool guessed = counts_guess(t, 0);
    const enum status rc = counts_make(t, 0, &c, &err);
    if (rc != ST_OK) {
        if (err.code != rc || err.msg[0] == '\0' || guessed)
            fuzz_fail("refused without words, or although it was recognised");
        table_unref(t);
        return 0;
    }
    check_column(&c, t->n);
    struct buf printed = { 0 };
    for (size_t i = 0; i < t->n; i++) {
        buf_puts(&printed, i > 0 ? "\n" : "");
        c.cells->print(&c, i, &printed);
    }
    struct table *u = table_of(strdup(buf_str(&printed)));
    if (u->n != t->n || counts_make(u, 0, &again, &err) != ST_OK)
        fuzz_fail("printed cells cannot be read");
    const struct counts *a = c.held, *b = again.held;
    if (memcmp(a->at, b->at, (t->n + 1) * sizeof *a->at) != 0 ||
        memcmp(a->count, b->count, a->at[t->n] * sizeof *a->count) != 0 ||
        memcmp(a->missing, b->missing, t->n * sizeof *a->missing) != 0)
        fuzz_fail("printed cells are others");
    buf_free(&printed);
    table_column_clear(&again);
    table_column_clear(&c);
    table_unref(u);
    table_unref(t);
    return 0;
}
