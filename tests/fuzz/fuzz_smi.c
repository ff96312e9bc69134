/* tests/fuzz/fuzz_smi.c -- lists of SMILES under any bytes: they are read, or refused in words; of
 * what is read there is a row for each line, the text of a molecule is the first word of its line,
 * and those that are no SMILES by the grammar are the missing ones. */
#include "fuzz.h"

#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "data/molecules/smiles_column.h"
#include "data/molecules/smiles_syntax.h"

#include <string.h>
#include <strings.h>

/* The next line that is a row, without the blanks at its end; false: there is none. */
static bool next(const char **at, const char *end, const char **line, size_t *n)
{
    while (*at < end) {
        const char *nl = memchr(*at, '\n', (size_t)(end - *at));
        *line = *at;
        *n = (size_t)((nl != NULL ? nl : end) - *at);
        *at = nl != NULL ? nl + 1 : end;
        while (*n > 0 && strchr("\r \t", (*line)[*n - 1]) != NULL)
            --*n;
        if (*n > 0 && **line != '#')
            return true;
    }
    return false;
}

/* Columns of molecules are recognised by their cells; any other is made into one here. */
static void check(struct table *t, const char *text, size_t n)
{
    const size_t j = t->ncols - 1;
    struct column own = { 0 }, *c = &t->col[j];
    struct err err = { 0 };
    const char *at = text, *line;
    size_t length, rows = 0, missing = 0, where;

    if (!smiles_column_is(c)) {
        if (kind_make(t, j, "smiles", &own, &err) != ST_OK)
            fuzz_fail(err.msg);
        c = &own;
    }
    const struct smiles_column *s = smiles_column_of(c);
    for (; next(&at, text + n, &line, &length); rows++) {
        size_t word = 0;
        while (word < length && line[word] != ' ' && line[word] != '\t')
            word++;
        if (rows >= t->n)
            fuzz_fail("rows are lost");
        const bool none = s->counts.missing[rows],
                   wrong = word == 0 || smiles_syntax_wrong(line, word, &where) != NULL;
        /* marks of missing cells, such as ?, are no text */
        if (s->text[rows] == NULL ? !wrong : strlen(s->text[rows]) != word ||
                                                 memcmp(s->text[rows], line, word) != 0)
            fuzz_fail("another molecule");
        if (none != wrong)
            fuzz_fail("what is no SMILES is not what is missing");
        missing += none;
    }
    if (rows != t->n || missing != c->missing || t->ncols > 2)
        fuzz_fail("rows are not accounted for");
    if (c == &own)
        table_column_clear(&own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct import_opts o = { .header = -1, .mem_limit = (size_t)64 << 20 };
    const char *text = (const char *)data;
    struct table *t;
    struct err err = { 0 };
    size_t where = 0;

    if (smiles_syntax_wrong(text, n, &where) != NULL && where > n)
        fuzz_fail("a place beyond the end");
    const enum status rc = import_named_for_tests("memory.smi", data, n, &o, &t, &err);
    if (rc != ST_OK) {
        if (t != NULL || err.code != rc || err.msg[0] == '\0')
            fuzz_fail("refused without words");
        return 0;
    }
    /* what begins like another format is read as that */
    const bool header = n > 6 && strncasecmp(text, "smiles", 6) == 0,
               other = strncmp(t->decisions, "SMILES", 6) != 0;
    if (!header && !other)
        check(t, text, n);
    table_unref(t);
    return 0;
}
