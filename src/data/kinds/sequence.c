/* data/kinds/sequence.c -- see sequence.h. */
#include "data/kinds/sequence.h"

#include "data/formats/import.h"
#include "data/kinds/kind.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char protein[] = "ACDEFGHIKLMNPQRSTVWY";
static const char protein_codes[] = "BJOUXZ-*."; /* ambiguous, rare, gap, stop */
static const char dna[] = "ACGT", rna[] = "ACGU";
static const char base_codes[] = "NRYSWKMBDHVX-."; /* IUPAC */

enum {
    GUESS_LENGTH = 20, /* mean length: shorter words may be names or codes */
    MARKED = 95,    /* percentage of letters that belong to an alphabet, including ambiguous ones */
    PLAIN = 80,        /* and without these */
};

const char *sequence_alphabet_name(enum alphabet a)
{
    static const char *const name[] = { "protein", "DNA", "RNA", "letters" };
    return name[a];
}

/* Of bytes that are no printable letters only their number. */
static void print_letters(const char *order, struct buf *out)
{
    size_t others = 0;

    for (const char *c = order; *c; c++)
        if (*c >= ' ' && *c < 0x7f)
            buf_putc(out, *c);
        else
            others++;
    if (others > 0)
        buf_printf(out, " and %zu other byte%s", others, others == 1 ? "" : "s");
}

size_t sequence_alphabet_channels(enum alphabet a, const char *order)
{
    return strlen(order) + (a == ALPHABET_PROTEIN);
}

void sequence_alphabet_codes(const char *order, size_t channels, uint8_t code[256])
{
    const size_t n = strlen(order);

    memset(code, (int)(channels > n ? n : channels), 256);
    for (size_t i = 0; i < n; i++) {
        code[(unsigned char)order[i]] = (uint8_t)i;
        code[tolower((unsigned char)order[i])] = (uint8_t)i;
    }
    for (size_t i = 0; i < n; i++) /* an alphabet with upper and lower case distinguishes them */
        code[(unsigned char)order[i]] = (uint8_t)i;
}

void sequences_free(struct sequences *s)
{
    if (!s)
        return;
    spill_free(s->letters);
    spill_free(s->at);
    spill_free(s->line);
    free(s);
}

static void free_cells(struct column *c)
{
    sequences_free(c->held);
}

static const char *cell_word(const struct column *c, size_t row)
{
    size_t len;
    const char *s = sequence_at(c->held, row, &len);

    return len > 0 ? s : NULL;
}

static enum status copy_cells(const struct column *c, size_t n, struct column *to, struct err *err)
{
    const struct sequences *from = c->held;
    struct sequences *s = to->held = mem_calloc(1, sizeof *s, "sequences", err);

    to->type = COL_HELD;
    to->cells = c->cells;
    to->missing = c->missing;
    if (s == NULL)
        return ST_NOMEM;
    *s = *from;
    s->letters = NULL;
    s->line = NULL;
    s->at = spill_array(n + 1, sizeof *s->at, "sequences", err);
    if (s->at != NULL)
        s->letters = spill_array(from->at[n] + 1, 1, "sequences", err);
    if (s->letters != NULL && from->line != NULL)
        s->line = spill_array(n + 1, sizeof *s->line, "sequences", err);
    if (s->letters == NULL || (from->line != NULL && s->line == NULL))
        return ST_NOMEM;
    memcpy(s->at, from->at, (n + 1) * sizeof *s->at);
    memcpy(s->letters, from->letters, from->at[n]);
    if (s->line != NULL)
        memcpy(s->line, from->line, n * sizeof *s->line);
    return ST_OK;
}

static size_t cells_bytes(const struct column *c, size_t n)
{
    return sequence_of(c)->at[n];
}

static size_t row_bytes(const struct column *c)
{
    return sequence_of(c)->longest / 2 + sizeof *sequence_of(c)->at;
}

static bool cells_out(const struct column *c)
{
    return spill_is_out(sequence_of(c)->letters);
}

static size_t letters_alike(const struct column *c)
{
    return sequence_of(c)->common;
}

static size_t line_of(const struct column *c, size_t row)
{
    return sequence_of(c)->line != NULL ? sequence_of(c)->line[row] : 0;
}

const struct cell_ops sequence_cells = {
    .word = cell_word,
    .copy = copy_cells,
    .free = free_cells,
    .bytes = cells_bytes,
    .row_bytes = row_bytes,
    .is_out = cells_out,
    .alike = letters_alike,
    .line = line_of,
};

/* Recognising the letters. */

struct tally { size_t rows, letters, count[256]; bool blanks; size_t blank_row; };

static void take_tally(const struct column *c, size_t n, struct tally *t)
{
    *t = (struct tally){ 0 };
    for (size_t i = 0; i < n; i++) {
        const char *s = column_word(c, i);
        if (!s || !*s)
            continue;
        t->rows++;
        for (; *s; s++) {
            t->count[(unsigned char)*s]++;
            t->letters++;
            if (isspace((unsigned char)*s) && !t->blanks) {
                t->blanks = true;
                t->blank_row = i;
            }
        }
    }
}

static size_t counted(const struct tally *t, const char *letters)
{
    size_t n = 0;

    for (const char *s = letters; *s; s++) {
        n += t->count[(unsigned char)*s];
        if (islower(tolower((unsigned char)*s)))
            n += t->count[tolower((unsigned char)*s)];
    }
    return n;
}

/* True if the count is at least this percentage of all letters. */
static bool share(const struct tally *t, size_t n, size_t percent)
{
    return n * 100 >= t->letters * percent && t->letters > 0;
}

static enum alphabet alphabet_of(const struct tally *t)
{
    const size_t bases = counted(t, base_codes);

    if (share(t, counted(t, dna), 90) && share(t, counted(t, dna) + bases, 100))
        return ALPHABET_DNA;
    if (share(t, counted(t, rna), 90) && share(t, counted(t, rna) + bases, 100))
        return ALPHABET_RNA;
    if (share(t, counted(t, protein), PLAIN) &&
        share(t, counted(t, protein) + counted(t, protein_codes), MARKED))
        return ALPHABET_PROTEIN;
    return ALPHABET_OTHER;
}

static bool named(const char *name)
{
    static const char *const names[] = { "sequence", "seq", "protein", "protein_sequence", "aa_seq",
                                         "aa_sequence", "aaseq", "peptide", "dna", "rna",
                                         "dna_sequence", "rna_sequence", "primary",
                                         "mutated_sequence", "reverse_complement" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* True for lists of words separated by single blanks. */
static bool is_list(const struct column *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *w = column_word(c, i);
        for (size_t k = 0; w && w[k]; k++)
            if (isspace((unsigned char)w[k]) &&
                (w[k] != ' ' || k == 0 || !w[k + 1] || w[k + 1] == ' '))
                return false;
    }
    return true;
}

/* Recognises a column of labels of nodes: by its name, by every cell, and by the column that counts
 * them, if there is one. */
static bool labels_guess(const struct table *t, size_t j)
{
    static const char *const names[] = {"node_labels", "node_label", "node_types", "atom_labels",
                                        "atom_types"};
    static const char *const counts[] = { "n_nodes", "num_nodes", "nodes", "n_atoms" };
    const struct column *c = &t->col[j], *count = NULL;
    bool ours = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ours |= strcasecmp(c->name, names[i]) == 0;
    if (!ours || !is_list(c, t->n))
        return false;
    for (size_t k = 0; k < t->ncols; k++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (t->col[k].type == COL_REAL && strcasecmp(t->col[k].name, counts[i]) == 0)
                count = &t->col[k];
    for (size_t i = 0; count && i < t->n; i++) {
        const char *w = column_word(c, i);
        double nodes = w && *w ? 1.0 : 0.0;
        for (; w && *w; w++)
            nodes += *w == ' ';
        if (column_at(count, i) != nodes)
            return false;
    }
    return true;
}

bool sequence_guess(const struct table *t, size_t j)
{
    const struct column *c = &t->col[j];
    struct tally y;

    if ((c->type != COL_TEXT && c->type != COL_CATEGORY) || c->missing == t->n)
        return false;
    if (labels_guess(t, j))
        return true;
    const bool by_name = named(c->name);
    if (!by_name && c->type == COL_CATEGORY && c->nlevels <= t->n / 2)
        return false;
    for (size_t i = 0; !by_name && i < t->n && i < 100;
         i++) /* a small part of most texts is enough to decide */
        if (column_word(c, i) && strchr(column_word(c, i), ' '))
            return false;
    take_tally(c, t->n, &y);
    if (y.blanks || y.rows == 0)
        return false;
    const enum alphabet a = alphabet_of(&y);
    if (by_name || a == ALPHABET_OTHER)
        return a != ALPHABET_OTHER;
    size_t capitals =
        0; /* words of a language have lower-case letters, and others than those of proteins */
    for (size_t k = 'A'; k <= 'Z'; k++)
        capitals += y.count[k];
    return share(&y, capitals, MARKED) && share(&y, counted(&y, protein), MARKED) &&
           y.letters >= GUESS_LENGTH * y.rows;
}

/* Making a column. */

static void other_letters(const struct tally *y, struct sequences *s)
{
    size_t n = 0;

    for (size_t c = 1; c < 256; c++)
        if (y->count[c] > 0)
            s->order[n++] = (char)c;
    s->order[n] = '\0';
}

static void note_unknown(struct sequences *s, size_t row, unsigned char letter, bool *in_row)
{
    const size_t n = strlen(s->unknown);

    if (!*in_row && s->unknown_rows++ == 0)
        s->unknown_first = row;
    *in_row = true;
    if (n + 1 < sizeof s->unknown && isprint(letter) && !strchr(s->unknown, letter))
        s->unknown[n] = (char)letter;
}

/* Computes lengths, the common beginning of rows, and letters outside the alphabet. */
static void measure_rows(struct sequences *s, size_t n)
{
    const size_t letters = strlen(s->order);
    const char *first = NULL;
    uint8_t code[256];

    sequence_alphabet_codes(s->order, letters, code);
    s->shortest = SIZE_MAX;
    s->longest = s->common = s->unknown_rows = s->unknown_first = 0;
    memset(s->unknown, 0, sizeof s->unknown);
    for (size_t i = 0; i < n; i++) {
        size_t len;
        char *w = s->letters + s->at[i];
        bool unknown = false;
        sequence_at(s, i, &len);
        for (size_t k = 0; k < len; k++) {
            if (s->kind != ALPHABET_OTHER)
                w[k] = (char)toupper((unsigned char)w[k]);
            if (code[(unsigned char)w[k]] >= letters)
                note_unknown(s, i, (unsigned char)w[k], &unknown);
        }
        if (len == 0)
            continue;
        s->shortest = len < s->shortest ? len : s->shortest;
        s->longest = len > s->longest ? len : s->longest;
        if (first == NULL) {
            first = w;
            s->common = len - 1;
        }
        size_t same = 0; /* the NUL after a row ends it */
        while (same < s->common && w[same] == first[same])
            same++;
        s->common = same;
    }
    if (s->longest == 0)
        s->shortest = 0;
    spill_used(s->at[n] + n * sizeof *s->at);
}

void sequences_judge(struct sequences *s, size_t n)
{
    struct tally y = { 0 };
    size_t blanks = 0;

    for (size_t i = 0; i < s->at[n]; i++)
        y.count[(unsigned char)s->letters[i]]++;
    y.letters = s->at[n] - n;
    y.count[0] = 0;
    for (size_t c = 1; c < 256; c++)
        blanks += isspace((int)c) ? y.count[c] : 0;
    s->kind = blanks > 0 ? ALPHABET_OTHER : alphabet_of(&y);
    if (s->kind == ALPHABET_OTHER)
        other_letters(&y, s);
    else
        strcpy(s->order, s->kind == ALPHABET_PROTEIN ? protein
                         : s->kind == ALPHABET_DNA   ? dna
                                                     : rna);
    measure_rows(s, n);
}

/* True for "0 0 1 2": labels of nodes with one letter each. */
static bool single_letters(const struct column *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *w = column_word(c, i);
        for (size_t k = 0; w && w[k]; k++)
            if ((k % 2 == 1) != (w[k] == ' ') || (k % 2 == 0 && isspace((unsigned char)w[k])) ||
                (k % 2 == 1 && !w[k + 1]))
                return false;
    }
    return true;
}

/* True for words of DNA, RNA or proteins with few blanks, which are mistakes. */
static bool few_blanks(const struct tally *y)
{
    struct tally own = *y;
    size_t blanks = 0;

    for (size_t c = 1; c < 256; c++)
        if (isspace((int)c)) {
            blanks += own.count[c];
            own.count[c] = 0;
        }
    own.letters -= blanks;
    return alphabet_of(&own) != ALPHABET_OTHER && blanks * 20 <= own.letters;
}

enum status sequence_words(const struct table *t, size_t j, struct column *to, struct err *err)
{
    const struct column *c = &t->col[j];
    struct tally y;

    take_tally(c, t->n, &y);
    const bool list = y.blanks && single_letters(c, t->n);
    if (y.blanks && !list && few_blanks(&y)) {
        err_named(err, ST_FORMAT, "sequence", "row %zu: '%.40s' has a blank inside, and no list of "
                  "single letters: no sequence", y.blank_row + 1, c->name);
        err_hint(err, "types=%.40s=text", c->name);
        return ST_FORMAT;
    }
    struct sequences *s = mem_calloc(1, sizeof *s, "sequences", err);
    if (!s)
        return ST_NOMEM;
    s->kind = ALPHABET_OTHER;
    s->at = spill_array(t->n + 1, sizeof *s->at, "sequences", err);
    s->letters = s->at ? spill_array(y.letters + t->n, 1, "sequences", err) : NULL;
    if (!s->letters) {
        sequences_free(s);
        return ST_NOMEM;
    }
    for (size_t i = 0, at = 0; i < t->n; i++) {
        const char *w = column_word(c, i);
        for (; w && *w; w++)
            if (!list || *w != ' ')
                s->letters[at++] = *w;
        s->letters[at++] = '\0';
        s->at[i + 1] = at;
    }
    *to = (struct column){
        .type = COL_HELD, .held = s, .cells = &sequence_cells, .missing = t->n - y.rows };
    return ST_OK;
}

bool sequence_is_labels(const struct table *t, size_t j)
{
    struct tally y;

    take_tally(&t->col[j], t->n, &y);
    return y.blanks && !single_letters(&t->col[j], t->n) && labels_guess(t, j);
}

enum status sequence_make(const struct table *t, size_t j, struct column *to, struct err *err)
{
    struct column c = { 0 };
    const enum status rc = sequence_words(t, j, &c, err);

    if (rc != ST_OK)
        return rc;
    sequences_judge(c.held, t->n);
    *to = c;
    return ST_OK;
}

void sequence_note(const struct table *t, const struct column *c, struct buf *notes)
{
    const struct sequences *s = c->held;

    buf_puts(notes, "note[sequence]: column '");
    text_safe(notes, c->name, 40);
    buf_printf(notes, "' holds sequences: %s, %zu letters (", sequence_alphabet_name(s->kind),
               strlen(s->order));
    print_letters(s->order, notes);
    buf_puts(notes, "), length ");
    if (s->shortest == s->longest)
        buf_printf(notes, "%zu\n", s->longest);
    else
        buf_printf(notes, "%zu to %zu\n", s->shortest, s->longest);
    kind_note_empty(t, c, "sequence", "letter", notes);
}

/* Letters outside the alphabet. */

/* The first place of row i with a letter that is not in the alphabet; SIZE_MAX: none. */
static size_t unknown_at(const struct sequences *s, size_t row, const uint8_t code[256])
{
    const size_t letters = strlen(s->order);
    size_t len;
    const char *w = sequence_at(s, row, &len);

    for (size_t k = 0; k < len; k++)
        if (code[(unsigned char)w[k]] >= letters)
            return k;
    return SIZE_MAX;
}

static enum status stop_at_unknown(const struct table *t, const struct column *c,
                                   const uint8_t code[256], struct err *err)
{
    const struct sequences *s = c->held;
    const size_t row = s->unknown_first, k = unknown_at(s, row, code);
    struct buf where = { 0 }, letter = { 0 };
    size_t len;

    table_where(t, c, row, &where);
    text_safe(&letter, (char[]){ sequence_at(s, row, &len)[k], '\0' }, 8);
    err_named(err, ST_FORMAT, "letters",
              "%s: letter %zu of column '%.40s', '%s', is not one of %s (%s); %zu row%s "
              "such letters",
              buf_str(&where), k + 1, c->name, buf_str(&letter), sequence_alphabet_name(s->kind),
              s->order, s->unknown_rows, s->unknown_rows == 1 ? " has" : "s have");
    err_hint(err, "unknown=keep  |  unknown=missing, then missing drop");
    buf_free(&where);
    buf_free(&letter);
    return ST_FORMAT;
}

/* Empties rows with such letters; the others move up. */
static size_t empty_unknown(struct sequences *s, size_t n, const uint8_t code[256])
{
    size_t to = 0, gone = 0;

    for (size_t i = 0; i < n; i++) {
        const bool out = unknown_at(s, i, code) != SIZE_MAX;
        const size_t from = s->at[i], len = out ? 0 : s->at[i + 1] - from - 1;
        gone += out;
        memmove(s->letters + to, s->letters + from, len);
        s->at[i] = to;
        s->letters[to + len] = '\0';
        to += len + 1;
    }
    s->at[n] = to;
    return gone;
}

/* Notes what such letters count as. */
static void note_kept(const struct table *t, const struct column *c, struct buf *notes)
{
    const struct sequences *s = c->held;

    buf_printf(notes, "note[letters]: %zu sequence%s hold%s letters outside the alphabet (",
               s->unknown_rows, s->unknown_rows == 1 ? "" : "s", s->unknown_rows == 1 ? "s" : "");
    text_safe(notes, s->unknown, sizeof s->unknown);
    buf_puts(notes, "), first ");
    table_where(t, c, s->unknown_first, notes);
    buf_printf(notes, ": they count as %s (open FILE unknown=missing, or stop)\n",
               s->kind == ALPHABET_PROTEIN ? "one letter more, of no word" : "no letter at all");
}

static void take_missing(struct table *t, struct column *c, const uint8_t code[256],
                         struct buf *notes)
{
    const size_t first = sequence_of(c)->unknown_first,
                 gone = empty_unknown(c->held, t->n, code);

    measure_rows(c->held, t->n);
    c->missing += gone;
    t->missing += gone;
    buf_printf(notes,
               "warning[letters]: %zu sequence%s with letters outside the alphabet count%s as "
               "missing, first ",
               gone, gone == 1 ? "" : "s", gone == 1 ? "s" : "");
    table_where(t, c, first, notes);
    buf_puts(notes, ": missing drop leaves such rows out\n");
}

enum status sequence_unknown(struct table *t, const char *policy, struct err *err)
{
    const bool stop = policy && strcmp(policy, "stop") == 0,
               gone = policy && strcmp(policy, "missing") == 0;
    struct buf notes = { 0 };
    uint8_t code[256];
    enum status rc = ST_OK;

    for (size_t j = 0; rc == ST_OK && j < t->ncols; j++) {
        struct column *c = &t->col[j];
        if (c->cells != &sequence_cells || sequence_of(c)->unknown_rows == 0)
            continue;
        const char *order = sequence_of(c)->order;
        sequence_alphabet_codes(order, strlen(order), code);
        if (stop)
            rc = stop_at_unknown(t, c, code, err);
        else if (gone)
            take_missing(t, c, code, &notes);
        else
            note_kept(t, c, &notes);
    }
    if (rc == ST_OK && buf_str(&notes)[0])
        rc = table_add_notes(t, &notes, err);
    buf_free(&notes);
    return rc;
}

void sequence_note_blank(const struct table *t, size_t j, struct buf *notes)
{
    const struct column *c = &t->col[j];
    struct tally y;

    if ((c->type != COL_TEXT && c->type != COL_CATEGORY) || !named(c->name) || c->missing == t->n)
        return;
    take_tally(c, t->n, &y);
    const size_t blanks = y.count[' '] + y.count['\t'];
    y.letters -= blanks;
    if (!y.blanks || alphabet_of(&y) == ALPHABET_OTHER || blanks * 20 > y.letters)
        return;
    buf_puts(notes, "warning[sequence]: column '");
    text_safe(notes, c->name, 40);
    buf_printf(notes, "' is not read as sequences: row %zu has a blank inside a word\n",
               y.blank_row + 1);
}
