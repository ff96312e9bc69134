/* data/kinds/kind_letters.c -- sequences of letters: proteins, DNA, RNA, words.
 *
 * Kernels of columns read the letters by position, one-hot or as numbers; kernels over windows read
 * a symbol or a vector for each position. */
#include "data/kinds/kind.h"

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/json.h"
#include "data/kinds/letters.h"
#include "data/kinds/positions.h"
#include "data/kinds/sequence.h"
#include "data/page_use.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status finish(struct table *t, const struct import_opts *opts, struct err *err)
{
    return sequence_unknown(t, opts->unknown, err);
}

/* Which numbers letters have: of words of k letters, of a table, or one-hot. */
static enum status fit_positions(struct encoding_fitting *f, const struct column *c)
{
    struct enc_sequence *s = &f->e->seq;
    struct letters l = { 0 };

    s->kmer = letters_kmer(f->d->coding);
    s->layer.symbols = f->d->coding == NULL || s->kmer > 0;
    s->layer.channels = sequence_alphabet_channels(c->seq->kind, c->seq->order);
    if (s->kmer > 0) {
        const size_t letters = strlen(s->order);
        s->layer.channels = 1;
        for (size_t i = 0; i < s->kmer; i++)
            s->layer.channels *= letters;
        buf_printf(f->notes,
                   "note[encoding]: a position is one of %zu words of %zu letters; words with "
                   "other letters "
                   "count as none\n",
                   s->layer.channels, s->kmer);
    } else if (f->d->coding != NULL) {
        const enum status rc = letters_find(f->d->coding, &l, f->err);
        if (rc != ST_OK)
            return rc;
        memcpy(s->order, l.order, sizeof l.order);
        s->layer.channels = l.channels;
        s->value = l.value;
        buf_printf(f->notes,
                   "note[encoding]: %zu numbers for a letter (%s%s%s); letters other than %s have "
                   "zeros\n",
                   l.channels, f->d->coding, *l.source ? ", " : "", l.source, s->order);
    }
    return ST_OK;
}

/* Each word of a row as a symbol: its letters are the digits of a number. */
static void words_of(const struct enc_sequence *e, const uint8_t code[256], const char *s,
                     size_t len, double *x)
{
    const size_t letters = strlen(e->order), n = len >= e->kmer ? len - e->kmer + 1 : 0;

    x[0] = (double)n;
    for (size_t p = 0; p < n; p++) {
        size_t word = 0;
        bool none = false;
        for (size_t i = 0; i < e->kmer; i++) {
            const size_t k = code[(unsigned char)s[p + i]];
            none |= k >= letters;
            word = word * letters + k;
        }
        x[1 + p] = (double)(none ? e->layer.channels : word);
    }
}

/* The letters of a row as symbols or vectors: source.h. */
static void symbols_of(const struct enc_sequence *e, const uint8_t code[256], const char *s,
                       size_t len, size_t room, double *x)
{
    const size_t per = positions_numbers(e), letters = strlen(e->order);

    if (len > room)
        len = room;
    if (e->kmer > 0) {
        words_of(e, code, s, len, x);
        return;
    }
    x[0] = (double)len;
    for (size_t p = 0; p < len; p++) {
        const size_t k = code[(unsigned char)s[p]];
        if (e->value == NULL)
            x[1 + p] = (double)k;
        else if (k < letters)
            memcpy(x + 1 + p * per, e->value + k * per, per * sizeof *x);
        else
            memset(x + 1 + p * per, 0, per * sizeof *x);
    }
}

static void positions(const struct enc_sequence *e, const struct column *c,
                      const uint8_t code[256], const size_t *from, size_t row, size_t room,
                      double *x)
{
    size_t len;
    const char *s = sequence_at(c->seq, row, &len);

    (void)from;
    symbols_of(e, code, s, len, room, x);
}

/* Which letters the training rows have at each position; how many rows are shorter than the
 * longest. */
static size_t count_letters(const struct encoding_fitting *f, const struct column *c,
                            size_t (*count)[256])
{
    size_t short_rows = 0;

    for (size_t i = 0; i < f->n; i++) {
        size_t len;
        const char *s = sequence_at(c->seq, f->rows[i], &len);
        for (size_t p = 0; p < len; p++)
            count[p][(unsigned char)s[p]]++;
        short_rows += len < c->seq->longest;
        page_use_step(f->rows, i, page_use_row_bytes(c));
    }
    return short_rows;
}

/* The inputs of one position: a number of each channel, or one for each letter that occurs there.
 */
static enum status position_columns(struct encoding_fitting *f, const struct column *c, size_t p,
                                    const size_t count[256], size_t channels)
{
    for (size_t k = 1; k < (channels ? channels + 1 : 256); k++) {
        char word[48];
        if (!channels && count[k] == 0)
            continue;
        if (channels)
            snprintf(word, sizeof word, "%zu#%zu", p + 1, k);
        else
            snprintf(word, sizeof word, "%zu%c", p + 1, (char)k);
        struct enc_col *e = encoding_column_add(f, c->name, ENC_LETTER);
        if (e == NULL || (e->level = mem_strdup(word, f->err)) == NULL)
            return ST_NOMEM;
    }
    return ST_OK;
}

/* One letter only, in all rows: the position says nothing. */
static bool is_constant(const size_t count[256], size_t n)
{
    size_t seen = 0, first = 0;

    for (size_t k = 1; k < 256; k++)
        if (count[k] > 0 && seen++ == 0)
            first = k;
    return seen == 0 || (seen == 1 && count[first] == n);
}

/* One-hot of the letters that occur at each position; positions that do not vary tell nothing and
 * are left out.  Beyond the end of a sequence there is no letter. */
static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    const size_t longest = c->seq->longest;
    if (letters_kmer(f->d->coding) > 0) {
        err_named(f->err, ST_UNSUPPORTED, "encoding",
                  "encoding=%s is read by kernels over windows, not by position", f->d->coding);
        err_hint(f->err, "kernel conv(rbf,width=1)  |  cols %.40s encoding=onehot", c->name);
        return ST_UNSUPPORTED;
    }
    size_t (*count)[256] = mem_calloc(longest, sizeof *count, "letters by position", f->err);
    size_t varying = 0, was = f->e->ncol;

    if (count == NULL)
        return ST_NOMEM;
    enum status rc = ST_OK;
    if (f->d->coding != NULL && f->e->seq.column == NULL)
        rc = positions_fit(f, &kind_letters, c);
    const size_t channels = f->e->seq.value != NULL ? f->e->seq.layer.channels : 0;
    const size_t short_rows = count_letters(f, c, count);
    for (size_t p = 0; p < longest && rc == ST_OK; p++)
        if (!is_constant(count[p], f->n)) {
            varying++;
            rc = position_columns(f, c, p, count[p], channels);
        }
    free(count);
    if (rc != ST_OK)
        return rc;
    char name[64];
    text_quoted(c->name, name, sizeof name);
    if (f->e->ncol == was)
        return err_named(f->err, ST_STATE, "inputs", "all training rows have the same sequence %s",
                         name);
    buf_printf(f->notes, "note[letters]: %zu of %zu positions of %s vary: %zu inputs, %s\n",
               varying, longest, name, f->e->ncol - was,
               channels ? "the numbers of the letter there"
                        : "one for each letter that occurs there");
    if (short_rows > 0)
        buf_printf(
            f->notes,
            "warning[lengths]: %zu of %zu training sequences are shorter than %zu: they are "
            "aligned at their first letter, and have none beyond their last (kernel conv(rbf) "
            "compares windows instead)\n",
            short_rows, f->n, longest);
    return ST_OK;
}

static bool encodes(const struct encoding *e, enum enc_kind kind, bool windows)
{
    return e->seq.node == NULL && (windows || kind == ENC_LETTER || kind == ENC_FILTER);
}

static enum status map_letters(const struct encoding *e, struct encode_group *g, struct err *err)
{
    g->position = mem_calloc(g->n, sizeof *g->position, "letters", err);
    g->letter = mem_calloc(g->n, 1, "letters", err);
    g->channel = e->seq.value ? mem_calloc(g->n, sizeof *g->channel, "letters", err) : NULL;
    if (g->position == NULL || g->letter == NULL || (e->seq.value && g->channel == NULL))
        return ST_NOMEM;
    if (e->seq.value)
        positions_codes(&e->seq, g->code);
    for (size_t k = 0; k < g->n; k++) {
        char *end;
        g->position[k] = strtoul(e->col[g->first + k].level, &end, 10) - 1;
        g->letter[k] = (unsigned char)*end;
        if (g->channel)
            g->channel[k] = strtoul(end + 1, NULL, 10) - 1;
    }
    return ST_OK;
}

static enum status map(const struct encoding *e, const struct table *t, struct encode_group *g,
                       struct err *err)
{
    enum status rc = positions_map(e, g, err);

    if (rc == ST_OK && g->c->type != COL_SEQUENCE) {
        g->own = mem_calloc(1, sizeof *g->own, "sequences", err);
        rc = g->own != NULL ? sequence_words(t, g->col, g->own, err) : ST_NOMEM;
        if (rc == ST_OK)
            g->c = g->own;
    }
    return rc == ST_OK && g->kind == ENC_LETTER && !g->windows ? map_letters(e, g, err) : rc;
}

/* The letters of a row by position. */
static void encode_letters(const struct encoding *e, const struct encode_group *g, size_t row,
                           double *x, size_t *cut)
{
    size_t len;
    const char *s = sequence_at(g->c->seq, row, &len);

    for (size_t k = 0; k < g->n; k++) {
        const size_t p = g->position[k];
        if (g->channel) {
            const size_t i = p < len ? g->code[(unsigned char)s[p]] : SIZE_MAX;
            const double v = i < strlen(e->seq.order)
                                 ? e->seq.value[i * e->seq.layer.channels + g->channel[k]] : 0.0;
            x[g->first + k] = encoding_column_value(&e->col[g->first + k], v, cut);
            continue;
        }
        const bool has = p < len && ((unsigned char)s[p] == g->letter[k] ||
                                     (g->own != NULL &&
                                      toupper((unsigned char)s[p]) == g->letter[k]));
        x[g->first + k] = encoding_column_value(&e->col[g->first + k], has ? 1.0 : 0.0, cut);
    }
}

/* known[256 p + c]: some training row has letter c at position p, or p does not vary. */
static bool *known_letters(const struct encode_group *g, size_t *positions, struct err *err)
{
    *positions = 0;
    for (size_t k = 0; k < g->n; k++)
        *positions = g->position[k] + 1 > *positions ? g->position[k] + 1 : *positions;
    bool *known = mem_calloc(*positions * 256 + 1, sizeof *known, "letters", err);
    bool *varies =
        known != NULL ? mem_calloc(*positions + 1, sizeof *varies, "letters", err) : NULL;
    for (size_t k = 0; varies != NULL && k < g->n; k++) {
        known[g->position[k] * 256 + g->letter[k]] = varies[g->position[k]] = true;
        if (g->own != NULL)
            known[g->position[k] * 256 + (size_t)tolower(g->letter[k])] = true;
    }
    for (size_t p = 0; varies != NULL && p < *positions; p++)
        for (size_t c = 0; !varies[p] && c < 256; c++)
            known[p * 256 + c] = true;
    if (varies == NULL) {
        free(known);
        known = NULL;
    }
    free(varies);
    return known;
}

/* Letters of new rows that the model cannot tell from one another, or sees as none. */
static enum status count_strange(const struct encoding *e, const struct encode_group *g,
                                 struct encoded *out, struct err *err)
{
    const bool place = g->kind == ENC_LETTER && !g->windows && g->channel == NULL;
    const size_t letters = strlen(e->seq.order);
    size_t positions = 0, n = 0, first = 0;
    uint8_t code[256];

    if (!place && letters == 0)
        return ST_OK;
    bool *known = place ? known_letters(g, &positions, err) : NULL;
    if (place && known == NULL)
        return ST_NOMEM;
    sequence_alphabet_codes(e->seq.order, letters, code);
    for (size_t i = 0; i < out->n; i++) {
        size_t len;
        const char *s = sequence_at(g->c->seq, out->row[i], &len);
        bool strange = false;
        for (size_t p = 0; p < len && !strange; p++)
            strange = place ? p < positions && !known[p * 256 + (unsigned char)s[p]]
                            : code[(unsigned char)s[p]] >= letters;
        if (strange && n++ == 0)
            first = out->row[i];
        page_use_step(out->row, i, page_use_row_bytes(g->c));
    }
    free(known);
    if (n > out->strange) {
        out->strange = n;
        out->strange_first = first;
        out->strange_place = place;
    }
    return ST_OK;
}

/* Storage. */

static void write_json(struct buf *b, const struct enc_sequence *s)
{
    if (s->kmer > 0)
        json_write_number(b, "kmer", (double)s->kmer);
    for (size_t i = 0; s->value != NULL && i < strlen(s->order) * s->layer.channels; i++) {
        buf_puts(b, i > 0 ? "," : ",\"values\":[");
        buf_json_double(b, s->value[i]);
    }
    buf_puts(b, s->value != NULL ? "]" : "");
}

static enum status take_values(struct json_reader *r, struct enc_sequence *s)
{
    enum { MOST = SEQUENCE_LETTERS_MOST * 256 };
    size_t n = 0;

    s->value = mem_calloc(MOST, sizeof *s->value, "an encoding", r->err);
    if (s->value == NULL)
        return ST_NOMEM;
    if (!json_take(r, '['))
        return json_wrong(r, "a list was expected");
    while (!json_take(r, ']')) {
        if (n == MOST || (n > 0 && !json_take(r, ',')))
            return json_wrong(r, "a comma was expected");
        const enum status rc = json_number(r, &s->value[n++]);
        if (rc != ST_OK)
            return rc;
    }
    return ST_OK;
}

static enum status member(struct json_reader *r, const char *key, struct enc_sequence *s,
                          bool *mine)
{
    if (strcmp(key, "kmer") == 0)
        return json_count(r, LETTERS_KMER_MOST, &s->kmer);
    if (strcmp(key, "values") == 0 && s->value == NULL && s->node == NULL)
        return take_values(r, s);
    *mine = false;
    return ST_OK;
}

/* Wording. */

static void words(const struct column *c, struct buf *out)
{
    const struct sequences *s = c->seq;

    buf_printf(out, "sequence of %zu", s->shortest);
    if (s->longest > s->shortest)
        buf_printf(out, " to %zu", s->longest);
    buf_printf(out, " letters (%s)", sequence_alphabet_name(s->kind));
}

static void measure(const struct column *c, struct buf *out)
{
    sequence_lengths(c->seq, "letters", out);
    buf_printf(out, ", %s", sequence_alphabet_name(c->seq->kind));
    if (c->seq->common > 0)
        buf_printf(out, "; the first %zu are the same in all", c->seq->common);
}

static const struct import_option options[] = {
    { .name = "unknown", .type = IMPORT_CHOICE, .flags = IMPORT_CELLS, .place = 16,
      .choices = "keep|missing|stop", .field = offsetof(struct import_opts, unknown),
      .help = "sequences with letters outside the alphabet: keep them, take them as missing, or "
              "stop (default: keep)" },
    { .name = NULL },
};

const struct row_kind kind_letters = {
    .name = "letters",
    .whole = "sequence",
    .part = "letter",
    .cells = &sequence_cells,
    .shorter_width = true,
    .options = options,
    .type = "sequence",
    .guess = sequence_guess,
    .make = sequence_make,
    .note = sequence_note,
    .near_miss = sequence_note_blank,
    .finish = finish,
    .fit = fit,
    .fit_positions = fit_positions,
    .positions = positions,
    .encodes = encodes,
    .map = map,
    .judge = positions_judge,
    .encode = encode_letters,
    .count_strange = count_strange,
    .write = write_json,
    .member = member,
    .words = words,
    .measure = measure,
};
