/* data/kinds/kind_letters.c -- sequences of letters: proteins, DNA, RNA, words.
 *
 * Kernels of columns read the letters by position, one-hot or as numbers; kernels over windows read
 * a symbol or a vector for each position. */
#include "data/kinds/kind.h"

#include "data/encode_group.h"
#include "data/encoding_column.h"
#include "data/json.h"
#include "data/kinds/letter_distance.h"
#include "data/kinds/letters.h"
#include "data/kinds/positions.h"
#include "data/kinds/sequence.h"
#include "data/page_use.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an encoding keeps about a column (enc_held.state). */
struct letters_state {
    char order[SEQUENCE_LETTERS_MOST + 1]; /* the alphabet */
    double *value; /* `channels` numbers for each of its letters; NULL: one-hot */
    size_t channels;
    size_t kmer;       /* a position is a word of so many letters, one-hot; 0: a single letter */
    uint8_t code[256]; /* symbol of a letter or, with numbers, its place in the alphabet */
};
/* What it finds in another table (encode_group.map), for columns by position. */
struct letters_map {
    size_t *position;      /* for each column, counted from 0 */
    unsigned char *letter; /* for each column, if one-hot */
    size_t *channel;       /* or which number of the letter; NULL: one-hot */
};
static const struct kind_number numbers[] = { { "letter", true }, { NULL, false } };

/* What an encoding keeps, if it is about letters. */
static const struct letters_state *state_of(const struct enc_held *held)
{
    return held != NULL && held->kind == &kind_letters ? held->state : NULL;
}

static enum status finish(struct table *t, const struct import_opts *opts, struct err *err)
{
    return sequence_unknown(t, opts->unknown, err);
}

static void find_codes(const struct enc_held *held)
{
    struct letters_state *s = held->state;
    const size_t letters = strlen(s->order);

    sequence_alphabet_codes(
        s->order, s->value != NULL || s->kmer > 0 ? letters : held->layer.channels, s->code);
}

/* One-hot, proteins have one symbol for all letters outside the alphabet. */
static void find_others(struct enc_held *held)
{
    const struct letters_state *s = held->state;

    held->layer.others = s->value == NULL && s->kmer == 0 && s->channels > strlen(s->order);
}

static enum status coding(const struct column *c, const char *word, struct err *err);

/* The word of `cols encoding=` that this column follows; NULL: it stays one-hot, as a column of
 * another alphabet does. */
static const char *coding_of(const struct encoding_fitting *f, const struct column *c)
{
    const char *word = f->d->coding;
    const enum status rc = word != NULL ? coding(c, word, NULL) : ST_OK;

    return rc == ST_STATE || rc == ST_LIMIT ? NULL : word; /* other errors come up later */
}

/* Determines the numbers of letters: those of words of k letters, of a table, or one-hot. */
static enum status fit_positions(struct encoding_fitting *f, struct enc_held *held,
                                 const struct column *c)
{
    struct letters_state *s = held->state;
    const struct sequences *q = c->held;
    const char *word = coding_of(f, c);
    struct letters l = { 0 };

    memcpy(s->order, q->order, sizeof s->order);
    s->kmer = letters_kmer(word);
    held->layer.symbols = word == NULL || s->kmer > 0;
    held->layer.channels = sequence_alphabet_channels(q->kind, q->order);
    if (s->kmer > 0) {
        const size_t letters = strlen(s->order);
        held->layer.channels = 1;
        for (size_t i = 0; i < s->kmer; i++)
            held->layer.channels *= letters;
        buf_printf(f->notes,
                   "note[encoding]: a position is one of %zu words of %zu letters; words with "
                   "other letters "
                   "count as none\n",
                   held->layer.channels, s->kmer);
    } else if (word != NULL) {
        const enum status rc = letters_find(word, &l, f->err);
        if (rc != ST_OK)
            return rc;
        memcpy(s->order, l.order, sizeof l.order);
        held->layer.channels = l.channels;
        s->value = l.value;
        buf_printf(f->notes,
                   "note[encoding]: %zu numbers for a letter (%s%s%s); letters other than %s have "
                   "zeros\n",
                   l.channels, word, *l.source ? ", " : "", l.source, s->order);
    }
    s->channels = held->layer.channels;
    find_others(held);
    find_codes(held);
    return ST_OK;
}

static void state_free(void *state)
{
    free(((struct letters_state *)state)->value);
}

static enum status state_copy(void *to, const void *from, struct err *err)
{
    struct letters_state *c = to;
    const struct letters_state *s = from;
    const size_t n = strlen(s->order) * s->channels;

    *c = *s;
    c->value = s->value != NULL ? mem_calloc(n, sizeof *c->value, "an encoding", err) : NULL;
    if (c->value != NULL)
        memcpy(c->value, s->value, n * sizeof *c->value);
    return s->value == NULL || c->value != NULL ? ST_OK : ST_NOMEM;
}

static bool ordered(const void *state)
{
    (void)state;
    return true;
}

static size_t beyond(const char *coding, const void *state)
{
    const size_t kmer = state != NULL ? ((const struct letters_state *)state)->kmer
                                      : letters_kmer(coding);

    return kmer > 0 ? kmer - 1 : 0;
}

static size_t length(const struct column *c, size_t row)
{
    size_t len;

    (void)sequence_at(c->held, row, &len);
    return len;
}

static size_t longest(const struct column *c)
{
    return sequence_of(c)->longest;
}

/* Writes each word of a row as a symbol: its letters are the digits of a number. */
static void words_of(const struct letters_state *e, const char *s, size_t len, double *x)
{
    const size_t letters = strlen(e->order), n = len >= e->kmer ? len - e->kmer + 1 : 0;

    x[0] = (double)n;
    for (size_t p = 0; p < n; p++) {
        size_t word = 0;
        bool none = false;
        for (size_t i = 0; i < e->kmer; i++) {
            const size_t k = e->code[(unsigned char)s[p + i]];
            none |= k >= letters;
            word = word * letters + k;
        }
        x[1 + p] = (double)(none ? e->channels : word);
    }
}

/* Writes the letters of a row as symbols or vectors: row_layout.h. */
static void positions(const struct enc_held *held, const struct column *c, const void *map,
                      size_t row, size_t room, double *x)
{
    const struct letters_state *e = held->state;
    const size_t per = e->value != NULL ? e->channels : 1, letters = strlen(e->order);
    size_t len;
    const char *s = sequence_at(c->held, row, &len);

    (void)map;
    if (len > room)
        len = room;
    if (e->kmer > 0) {
        words_of(e, s, len, x);
        return;
    }
    x[0] = (double)len;
    for (size_t p = 0; p < len; p++) {
        const size_t k = e->code[(unsigned char)s[p]];
        if (e->value == NULL)
            x[1 + p] = (double)k;
        else if (k < letters)
            memcpy(x + 1 + p * per, e->value + k * per, per * sizeof *x);
        else
            memset(x + 1 + p * per, 0, per * sizeof *x);
    }
}

/* Counts the letters of the training rows at each position. Returns how many rows are shorter than
 * the longest. */
static size_t count_letters(const struct encoding_fitting *f, const struct column *c,
                            size_t (*count)[256])
{
    size_t short_rows = 0;

    for (size_t i = 0; i < f->n; i++) {
        size_t len;
        const char *s = sequence_at(c->held, f->rows[i], &len);
        for (size_t p = 0; p < len; p++)
            count[p][(unsigned char)s[p]]++;
        short_rows += len < sequence_of(c)->longest;
        page_use_step(f->rows, i, page_use_row_bytes(c));
    }
    return short_rows;
}

/* Adds the inputs of one position: a number for each channel, or one for each letter that occurs
 * there. */
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
        if (encoding_column_cell(f, &kind_letters, c, 0, word) == NULL)
            return ST_NOMEM;
    }
    return ST_OK;
}

/* True if all rows have the same letter, so that the position carries no information. */
static bool is_constant(const size_t count[256], size_t n)
{
    size_t seen = 0, first = 0;

    for (size_t k = 1; k < 256; k++)
        if (count[k] > 0 && seen++ == 0)
            first = k;
    return seen == 0 || (seen == 1 && count[first] == n);
}

/* One-hot encoding of the letters that occur at each position. Positions that do not vary carry no
 * information and are left out. Beyond the end of a sequence there is no letter. */
static enum status fit(struct encoding_fitting *f, const struct column *c)
{
    const size_t longest = sequence_of(c)->longest;
    const char *coded = coding_of(f, c);
    if (letters_kmer(coded) > 0) {
        err_named(f->err, ST_UNSUPPORTED, "encoding",
                  "encoding=%s is read by kernels over windows, not by position", coded);
        err_hint(f->err, "kernel conv(rbf,width=1)  |  cols %.40s encoding=onehot", c->name);
        return ST_UNSUPPORTED;
    }
    size_t (*count)[256] = mem_calloc(longest, sizeof *count, "letters by position", f->err);
    size_t varying = 0, was = f->e->ncol;

    if (count == NULL)
        return ST_NOMEM;
    enum status rc = ST_OK;
    struct enc_held *held = NULL;
    if (coded != NULL)
        rc = positions_fit(f, &kind_letters, c, NULL, &held);
    const struct letters_state *state = state_of(held);
    const size_t channels = state != NULL && state->value != NULL ? state->channels : 0;
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

static void unmap(void *map)
{
    struct letters_map *m = map;

    if (m == NULL)
        return;
    free(m->position);
    free(m->letter);
    free(m->channel);
    free(m);
}

static enum status map(const struct encoding *e, struct encode_group *g, struct err *err)
{
    const struct letters_state *s = state_of(g->held);

    positions_map(g);
    if (g->windows || g->filters)
        return ST_OK;
    struct letters_map *m = g->map = mem_calloc(1, sizeof *m, "letters", err);
    if (m == NULL)
        return ST_NOMEM;
    const bool values = s != NULL && s->value != NULL;
    m->position = mem_calloc(g->n, sizeof *m->position, "letters", err);
    m->letter = mem_calloc(g->n, 1, "letters", err);
    m->channel = values ? mem_calloc(g->n, sizeof *m->channel, "letters", err) : NULL;
    if (m->position == NULL || m->letter == NULL || (values && m->channel == NULL))
        return ST_NOMEM;
    for (size_t k = 0; k < g->n; k++) {
        char *end;
        m->position[k] = strtoul(e->col[g->first + k].level, &end, 10) - 1;
        m->letter[k] = (unsigned char)*end;
        if (values)
            m->channel[k] = strtoul(end + 1, NULL, 10) - 1;
    }
    return ST_OK;
}

/* Writes the letters of a row by position. */
static void encode_letters(const struct encoding *e, const struct encode_group *g, size_t row,
                           double *x, size_t *cut)
{
    const struct letters_map *m = g->map;
    const struct letters_state *state = state_of(g->held);
    size_t len;
    const char *s = sequence_at(g->c->held, row, &len);

    for (size_t k = 0; k < g->n; k++) {
        const size_t p = m->position[k];
        if (m->channel != NULL) {
            const size_t i = p < len ? state->code[(unsigned char)s[p]] : SIZE_MAX;
            const double v = i < strlen(state->order)
                                 ? state->value[i * state->channels + m->channel[k]] : 0.0;
            x[g->first + k] = encoding_column_value(&e->col[g->first + k], v, cut);
            continue;
        }
        const bool has = p < len && ((unsigned char)s[p] == m->letter[k] ||
                                     (g->own != NULL &&
                                      toupper((unsigned char)s[p]) == m->letter[k]));
        x[g->first + k] = encoding_column_value(&e->col[g->first + k], has ? 1.0 : 0.0, cut);
    }
}

/* known[256 p + c]: some training row has letter c at position p, or p does not vary. */
static bool *known_letters(const struct encode_group *g, size_t *positions, struct err *err)
{
    const struct letters_map *m = g->map;

    *positions = 0;
    for (size_t k = 0; k < g->n; k++)
        *positions = m->position[k] + 1 > *positions ? m->position[k] + 1 : *positions;
    bool *known = mem_calloc(*positions * 256 + 1, sizeof *known, "letters", err);
    bool *varies =
        known != NULL ? mem_calloc(*positions + 1, sizeof *varies, "letters", err) : NULL;
    for (size_t k = 0; varies != NULL && k < g->n; k++) {
        known[m->position[k] * 256 + m->letter[k]] = varies[m->position[k]] = true;
        if (g->own != NULL)
            known[m->position[k] * 256 + (size_t)tolower(m->letter[k])] = true;
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

/* Counts letters of new rows that the model cannot distinguish, or does not see. */
static enum status count_strange(const struct encoding *e, const struct encode_group *g,
                                 struct encoded *out, struct err *err)
{
    (void)e;
    const struct letters_state *state = state_of(g->held);
    const struct letters_map *m = g->map;
    const bool place = m != NULL && m->channel == NULL;
    const char *order = state != NULL ? state->order : "";
    const size_t letters = strlen(order);
    size_t positions = 0, n = 0, first = 0;
    uint8_t code[256];

    if (!place && letters == 0)
        return ST_OK;
    bool *known = place ? known_letters(g, &positions, err) : NULL;
    if (place && known == NULL)
        return ST_NOMEM;
    sequence_alphabet_codes(order, letters, code);
    for (size_t i = 0; i < out->n; i++) {
        size_t len;
        const char *s = sequence_at(g->c->held, out->row[i], &len);
        bool strange = false;
        for (size_t p = 0; p < len && !strange; p++)
            strange = place ? p < positions && !known[p * 256 + (unsigned char)s[p]]
                            : code[(unsigned char)s[p]] >= letters;
        if (strange && n++ == 0)
            first = out->row[i];
        page_use_step(out->row, i, page_use_row_bytes(g->c));
    }
    free(known);
    if (n > out->strange.n)
        out->strange = (struct strange_rows){ &kind_letters, g->held, n, first, place };
    return ST_OK;
}

static const char *tell_strange(const struct strange_rows *s, struct buf *out)
{
    const struct letters_state *state = state_of(s->held);
    const bool more = !s->place && state->value == NULL && state->kmer == 0 &&
                      state->channels > strlen(state->order);

    buf_printf(out, "%zu row%s hold%s letters %s, first row %zu: they count as %s", s->n,
               s->n == 1 ? "" : "s", s->n == 1 ? "s" : "",
               s->place ? "that no training row has at their positions"
                        : "outside the training alphabet",
               s->first + 1, more ? "one letter more, of no word" : "none");
    return "letters";
}

/* The numbers that `cols encoding=` gives to letters. */
static enum status coding(const struct column *c, const char *word, struct err *err)
{
    const struct sequences *q = c->held;
    const size_t kmer = letters_kmer(word), letters = strlen(q->order);
    struct letters l = { 0 };
    size_t known = 0;

    if (strcmp(word, "onehot") == 0)
        return ST_OK;
    if (kmer > 0 && pow((double)letters, (double)kmer) > LETTERS_WORDS_MOST) {
        err_set(err, ST_LIMIT, "encoding=%s: %zu letters make more than %d words of %zu", word,
                letters, LETTERS_WORDS_MOST, kmer);
        err_hint(err, "cols %.40s encoding=kmer2", c->name);
        return ST_LIMIT;
    }
    if (kmer > 0)
        return ST_OK;
    enum status rc = letters_find(word, &l, err);
    if (rc == ST_OK && *l.source != '\0' && q->kind != ALPHABET_PROTEIN) {
        rc = err_set(err, ST_STATE, "encoding=%s is for proteins; '%.40s' holds %s", word, c->name,
                     sequence_alphabet_name(q->kind));
        err_hint(err, "cols %.40s encoding=FILE  with a table of letters and numbers", c->name);
    }
    for (const char *p = q->order; rc == ST_OK && *p != '\0'; p++)
        known += strchr(l.order, *p) != NULL;
    if (rc == ST_OK && known == 0) {
        rc = err_set(err, ST_STATE,
                     "encoding=%.60s has numbers for none of the %zu letters of '%.40s' (%s)", word,
                     letters, c->name, q->order);
        err_hint(err, "cols %.40s encoding=onehot", c->name);
    }
    letters_free(&l);
    return rc;
}

/* Storage. */

static const char *alphabet(const void *state)
{
    return ((const struct letters_state *)state)->order;
}

static void write_json(struct buf *b, const struct enc_held *held)
{
    const struct letters_state *s = held->state;

    if (s->kmer > 0)
        json_write_number(b, "kmer", (double)s->kmer);
    for (size_t i = 0; s->value != NULL && i < strlen(s->order) * s->channels; i++) {
        buf_puts(b, i > 0 ? "," : ",\"values\":[");
        buf_json_double(b, s->value[i]);
    }
    buf_puts(b, s->value != NULL ? "]" : "");
}

static enum status take_values(struct json_reader *r, struct letters_state *s)
{
    enum { MOST = SEQUENCE_LETTERS_MOST * LETTERS_CHANNELS_MOST };
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

static enum status take_order(struct json_reader *r, struct letters_state *s)
{
    char *order = NULL;
    enum status rc = json_string(r, &order);

    if (rc == ST_OK && strlen(order) > SEQUENCE_LETTERS_MOST)
        rc = json_wrong(r, "an alphabet is too long");
    if (rc == ST_OK)
        strcpy(s->order, order);
    free(order);
    return rc;
}

static enum status member(struct json_reader *r, const char *key, struct enc_held *held, bool *mine)
{
    struct letters_state *s = held->state;

    if (strcmp(key, "alphabet") == 0)
        return take_order(r, s);
    if (strcmp(key, "kmer") == 0)
        return json_count(r, LETTERS_KMER_MOST, &s->kmer);
    if (strcmp(key, "values") == 0 && s->value == NULL)
        return take_values(r, s);
    *mine = false;
    return ST_OK;
}

/* One-hot, a position has as many channels as there are letters, or one more; words of k letters
 * have that number to the power k. */
static const char *check(struct enc_held *held)
{
    struct letters_state *s = held->state;
    const size_t letters = strlen(s->order);
    size_t least = letters, most = letters + 1;

    s->channels = held->layer.channels;
    held->layer.symbols = s->value == NULL;
    if (s->value != NULL && s->channels > LETTERS_CHANNELS_MOST)
        return "numbers of letters are too many";
    for (size_t i = 1; i < s->kmer && least <= LETTERS_WORDS_MOST; i++)
        least = most = least * letters;
    if (letters == 0 || s->channels == 0 || (s->kmer > 0 && s->value != NULL) ||
        (s->value == NULL && (s->channels < least || s->channels > most)))
        return "a sequence is incomplete";
    find_others(held);
    find_codes(held);
    return NULL;
}

/* Checks "39V": a position counted from 1, and a letter; with numbers for letters "39#2". */
static bool suits(const struct enc_held *held, const struct enc_col *col)
{
    const struct letters_state *s = state_of(held);
    const size_t digits = strspn(col->level, "0123456789");
    size_t position, k;

    if (s != NULL && s->value != NULL)
        return positions_level(col->level, &position, &k) && k <= s->channels;
    return digits > 0 && digits < 10 && *col->level != '0' && col->level[digits] != '\0' &&
           col->level[digits + 1] == '\0';
}

/* Looking at rows. */

/* For sequences of one length: how often each letter occurs. */
static size_t shares(const struct column *c, size_t rows, size_t some, char word[][2],
                     double *share)
{
    const struct sequences *q = c->held;
    const size_t n = strlen(q->order);
    double all = 0;

    if (q->shortest < q->longest)
        return 0;
    some = rows < some ? rows : some;
    for (size_t i = 0; i < some; i++) {
        size_t len;
        const char *s = sequence_at(q, (size_t)((double)i * (double)rows / (double)some), &len);
        for (size_t p = 0; p < len; p++, all++) {
            const char *at = strchr(q->order, s[p]);
            if (at != NULL)
                share[at - q->order]++;
        }
    }
    for (size_t k = 0; k < n; k++) {
        share[k] /= all > 0 ? all : 1;
        word[k][0] = q->order[k];
        word[k][1] = '\0';
    }
    return n;
}

/* A letter that the alphabet does not have, to stand for no letter. */
static char no_letter(const struct sequences *q)
{
    static const char usual[] = "?_*#~^|.-+=XZ0"; /* a text may have some of them */

    if (q->kind != ALPHABET_OTHER)
        return q->kind == ALPHABET_PROTEIN ? 'X' : 'N';
    for (const char *p = usual; *p; p++)
        if (!strchr(q->order, *p))
            return *p;
    for (int c = 1; c < 256; c++)
        if (!strchr(q->order, c))
            return (char)c;
    return '?';
}

static enum status variants(const struct column *c, size_t row, struct row_variants *v,
                            struct err *err)
{
    const struct sequences *q = c->held;

    (void)err;
    *v = (struct row_variants){ .positions = length(c, row), .choices = strlen(q->order) };
    memcpy(v->choice, q->order, v->choices); /* each letter, and none */
    v->choice[v->choices++] = no_letter(q);
    return ST_OK;
}

static enum status vary(const struct column *c, size_t row, const struct row_variants *v,
                        struct column *to, struct err *err)
{
    const struct sequences *of = c->held;
    size_t len;
    const char *own = sequence_at(of, row, &len);
    const size_t rows = 1 + v->choices * len;
    struct sequences *s = mem_calloc(1, sizeof *s, "sequences", err);

    *to = (struct column){ .type = COL_HELD, .held = s, .cells = &sequence_cells };
    if (s == NULL)
        return ST_NOMEM;
    s->kind = of->kind;
    memcpy(s->order, of->order, sizeof s->order);
    s->at = spill_array(rows + 1, sizeof *s->at, "sequences", err);
    s->letters = s->at ? spill_array(rows * (len + 1), 1, "sequences", err) : NULL;
    s->shortest = s->longest = len;
    for (size_t i = 0; s->letters != NULL && i < rows; i++) {
        char *word = s->letters + i * (len + 1);
        memcpy(word, own, len + 1);
        s->at[i + 1] = (i + 1) * (len + 1);
        if (i > 0)
            word[(i - 1) % len] = v->choice[(i - 1) / len];
    }
    return s->letters != NULL ? ST_OK : ST_NOMEM;
}

/* Describing. */

static void words(const struct column *c, struct buf *out)
{
    const struct sequences *s = c->held;

    buf_printf(out, "sequence of %zu", s->shortest);
    if (s->longest > s->shortest)
        buf_printf(out, " to %zu", s->longest);
    buf_printf(out, " letters (%s)", sequence_alphabet_name(s->kind));
}

static void measure(const struct column *c, struct buf *out)
{
    const struct sequences *s = c->held;

    kind_note_lengths(s->shortest, s->longest, "letter", out);
    buf_printf(out, ", %s", sequence_alphabet_name(s->kind));
    if (s->common > 0)
        buf_printf(out, "; the first %zu are the same in all", s->common);
}

static const struct import_option options[] = {
    { .name = "unknown", .type = IMPORT_CHOICE, .flags = IMPORT_CELLS, .place = 16,
      .choices = "keep|missing|stop", .field = offsetof(struct import_opts, unknown),
      .help = "sequences with letters outside the alphabet: keep them, count them as missing, or "
              "stop (default: keep)" },
    { .name = NULL },
};

const struct row_kind kind_letters = {
    .name = "letters",
    .whole = "sequence",
    .part = "letter",
    .several = "sequences",
    .cells = &sequence_cells,
    .rows = ROWS_NUMBERS | ROWS_SYMBOLS | ROWS_VECTORS,
    .spelled = true,
    .sole = true,
    .shorter_width = true,
    .options = options,
    .guess = sequence_guess,
    .make = sequence_make,
    .adopt = sequence_words,
    .note = sequence_note,
    .near_miss = sequence_note_blank,
    .finish = finish,
    .fit = fit,
    .numbers = numbers,
    .stateless = true,
    .coding = coding,
    .state_bytes = sizeof(struct letters_state),
    .state_free = state_free,
    .state_copy = state_copy,
    .length = length,
    .longest = longest,
    .ordered = ordered,
    .beyond = beyond,
    .fit_positions = fit_positions,
    .positions = positions,
    .map = map,
    .unmap = unmap,
    .judge = positions_judge,
    .encode = encode_letters,
    .count_strange = count_strange,
    .tell_strange = tell_strange,
    .mark = "alphabet",
    .alphabet = alphabet,
    .write = write_json,
    .member = member,
    .check = check,
    .suits = suits,
    .words = words,
    .example = "sequence\nMKVLAWRT\nMKVLCWRT\nMKWLAW\nARNDCQEG\nMKVLAWRH\nHILKMF\n",
    .measure = measure,
    .shares = shares,
    .distance = &letter_distance_ops,
    .variants = variants,
    .vary = vary,
};
