/* data/molecules/molecule_rows.c -- see molecule_rows.h. */
#include "data/molecules/molecule_rows.h"

#include "data/cache.h"
#include "data/checksum.h"
#include "data/molecules/molecule_repeats.h"
#include "data/molecules/molecules.h"
#include "data/molecules/smiles_column.h"
#include "data/molecules/smiles_syntax.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELPERS_MOST = 4, KEEP_LEAST = 200 };

static const char *const descriptor[] = {
#define NAME(word, words) word,
    MOLECULES_DESCRIPTOR_ROWS(NAME)
#undef NAME
};

const char *molecule_rows_descriptor(size_t k)
{
    return descriptor[k];
}

/* Answers come in any order. */
static void add_unread(struct molecule_unread *u, size_t row, const char *reason)
{
    size_t k = u->n < MOLECULE_ROWS_TOLD ? u->n : MOLECULE_ROWS_TOLD;

    u->n++;
    while (k > 0 && u->row[k - 1] > row)
        k--;
    if (k == MOLECULE_ROWS_TOLD)
        return;
    for (size_t i = MOLECULE_ROWS_TOLD - 1; i > k; i--) {
        u->row[i] = u->row[i - 1];
        memcpy(u->reason[i], u->reason[i - 1], sizeof u->reason[i]);
    }
    u->row[k] = row;
    snprintf(u->reason[k], sizeof u->reason[k], "%s", reason);
}

/* Taking answers. */

struct making {
    struct molecule_rows *m;
    size_t *row, n;  /* of each molecule: rows with a missing cell are left out */
    uint32_t asked;  /* of RDKit */
    bool keeps;      /* the answers go to the cache as well: */
    uint8_t *state;  /* of each row: 1 read, 2 not */
    char **reason;
};

static const char *text_at(void *ctx, size_t i, size_t *length)
{
    const struct making *k = ctx;
    const char *s = k->m->text[k->row[i]];

    *length = strlen(s);
    return s;
}

static enum status take(void *ctx, size_t i, const struct molecule *one, struct err *err)
{
    struct making *k = ctx;
    struct molecule_rows *m = k->m;
    const size_t row = k->row[i];

    k->state[row] = one->state == MOLECULE_READ ? 1 : 2;
    if (one->state != MOLECULE_READ) {
        add_unread(&m->unread, row, one->reason);
        k->reason[row] = mem_strdup(one->reason, err);
        return k->reason[row] != NULL ? ST_OK : ST_NOMEM;
    }
    m->same[row] = molecule_repeats_number(one->canonical, strlen(one->canonical));
    for (size_t d = 0; d < MOLECULES_DESCRIPTORS && (k->asked & MOLECULES_DESCRIBED) != 0; d++)
        if (isfinite(one->descriptor[d]))
            m->v[d][row] = one->descriptor[d];
    if ((k->asked & MOLECULES_SCAFFOLD) != 0) {
        m->scaffold[row] = mem_strdup(one->scaffold, err);
        if (m->scaffold[row] == NULL)
            return ST_NOMEM;
    }
    return (k->asked & MOLECULES_COUNTS) != 0
               ? fingerprint_rows_add(&m->counts, row, one->pairs, one->places, one->counts, err)
               : ST_OK;
}

/* The cache: a head of numbers, then the arrays of the rows, then texts with a NUL each. */

struct head { uint64_t n, pairs, texts, asked; };

/* The name of the entry: texts, settings and the version of RDKit. */
static void entry_name(const struct making *k, char out[24])
{
    const struct molecule_rows *m = k->m;
    struct molecules_ask ask = m->how.ask;
    uint32_t a = 0, b = 1;

    ask.want = k->asked;
    for (size_t i = 0; i < m->n; i++) {
        const char *s = m->text[i] != NULL ? m->text[i] : "";
        a = checksum_add(a, s, strlen(s) + 1);
        b = checksum_adler(b, s, strlen(s) + 1);
    }
    a = checksum_add(checksum_add(a, &ask, sizeof ask), m->version, strlen(m->version));
    b = checksum_adler(checksum_adler(b, &ask, sizeof ask), m->version, strlen(m->version));
    snprintf(out, 24, "m%08lx%08lx", (unsigned long)a, (unsigned long)b);
}

static void keep(const struct making *k)
{
    const struct molecule_rows *m = k->m;
    const struct fingerprint_rows *c = &m->counts;
    const bool counted = (k->asked & MOLECULES_COUNTS) != 0;
    struct buf texts = { 0 }, all = { 0 };
    struct head h = { .n = m->n, .pairs = counted ? c->used : 0, .asked = k->asked };
    char name[24];

    for (size_t i = 0; i < m->n; i++) {
        const bool scaffold = k->state[i] == 1 && (k->asked & MOLECULES_SCAFFOLD) != 0;
        const char *s = k->state[i] == 2 ? k->reason[i] : scaffold ? m->scaffold[i] : NULL;
        if (s != NULL)
            buf_putn(&texts, s, strlen(s) + 1);
    }
    h.texts = texts.len;
    buf_putn(&all, (const char *)&h, sizeof h);
    buf_putn(&all, (const char *)m->same, m->n * sizeof *m->same);
    for (size_t d = 0; d < MOLECULES_DESCRIPTORS && (k->asked & MOLECULES_DESCRIBED) != 0; d++)
        buf_putn(&all, (const char *)m->v[d], m->n * sizeof **m->v);
    for (size_t i = 0; i < m->n && counted; i++) {
        const uint32_t places = (uint32_t)c->places[i];
        buf_putn(&all, (const char *)&places, sizeof places);
    }
    for (int value = 0; value < 2; value++)
        for (size_t i = 0; i < m->n && counted; i++)
            for (size_t p = c->from[i]; p < c->from[i] + c->places[i]; p++) {
                const uint32_t x = value ? (uint32_t)c->count[p].value : c->count[p].place;
                buf_putn(&all, (const char *)&x, sizeof x);
            }
    buf_putn(&all, (const char *)k->state, m->n);
    if (texts.len > 0)
        buf_putn(&all, texts.s, texts.len);
    entry_name(k, name);
    if (!texts.failed && !all.failed)
        cache_keep_bytes(name, all.s, all.len);
    buf_free(&texts);
    buf_free(&all);
}

/* Gives the arrays of an entry of the right length to the rows. */
static enum status give(struct making *k, const struct head *h, const char *p, struct err *err)
{
    const size_t n = k->m->n;
    const bool described = (k->asked & MOLECULES_DESCRIBED) != 0,
               counted = (k->asked & MOLECULES_COUNTS) != 0;
    const char *same = p, *v = same + 8 * n, *places = v + (described ? 80 * n : 0),
               *place = places + (counted ? 4 * n : 0), *count = place + 4 * h->pairs,
               *state = count + 4 * h->pairs, *text = state + n, *end = text + h->texts;
    size_t at = 0;
    enum status rc = ST_OK;
    double x[MOLECULES_DESCRIPTORS];

    for (size_t i = 0, j = 0; i < n && rc == ST_OK; i++) {
        uint32_t pairs = 0;
        uint64_t canonical;
        const bool speaks = state[i] == 2 ||
                            (state[i] == 1 && (k->asked & MOLECULES_SCAFFOLD) != 0);
        if (counted)
            memcpy(&pairs, places + 4 * i, 4);
        if ((state[i] != 0) != (k->m->text[i] != NULL) || pairs > h->pairs - at ||
            (speaks && memchr(text, '\0', (size_t)(end - text)) == NULL))
            return ST_FORMAT;
        memcpy(&canonical, same + 8 * i, 8);
        for (size_t d = 0; d < MOLECULES_DESCRIPTORS && described; d++)
            memcpy(&x[d], v + 8 * (d * n + i), 8);
        const struct molecule one = {
            .state = state[i] == 1 ? MOLECULE_READ : MOLECULE_WRONG,
            .pairs = pairs,
            .places = (const unsigned char *)place + 4 * at,
            .counts = (const unsigned char *)count + 4 * at,
            .descriptor = x, .canonical = "", .drawn = "", .scaffold = speaks ? text : "",
            .reason = speaks ? text : "" };
        if (state[i] != 0)
            rc = take(k, j++, &one, err);
        if (state[i] == 1)
            k->m->same[i] = canonical;
        text += speaks ? strlen(text) + 1 : 0;
        at += pairs;
    }
    return rc;
}

/* Takes all from the cache.  False if there is no entry, or not a good one. */
static bool recall(struct making *k, struct err *err)
{
    char name[24];
    size_t bytes = 0;
    struct head h = { 0 };

    entry_name(k, name);
    char *p = cache_find_bytes(name, &bytes);
    if (p != NULL && bytes >= sizeof h)
        memcpy(&h, p, sizeof h);
    const uint64_t each = 9 + ((k->asked & MOLECULES_DESCRIBED) != 0 ? 80 : 0) +
                          ((k->asked & MOLECULES_COUNTS) != 0 ? 4 : 0);
    const bool good = h.n == k->m->n && h.asked == k->asked && h.pairs < bytes && h.texts < bytes &&
                      bytes == sizeof h + h.n * each + 8 * h.pairs + h.texts &&
                      give(k, &h, p + sizeof h, err) == ST_OK;
    free(p);
    return good;
}

/* Reading. */

static enum status ask_rdkit(struct making *k, const struct ctl *ctl, struct err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct molecules_limits limits = {
        .seconds = limits_now().molecule,
        .helpers = cores < 1 ? 1 : cores > HELPERS_MOST ? HELPERS_MOST : (size_t)cores };
    struct molecules_ask ask = k->m->how.ask;
    const struct molecules_list list = { k->n, k, text_at, take };

    ask.want = k->asked;
    return molecules_read(&list, &ask, &limits, ctl, err);
}

/* The pieces of each text, which need no RDKit: against the grammar are those that are no SMILES,
 * unless RDKit has read them. */
static enum status count_pieces(struct making *k, const struct ctl *ctl, struct err *err)
{
    struct molecule_rows *m = k->m;
    struct lingo l = { 0 };
    enum status rc = ST_OK;
    char reason[MOLECULES_REASON_MOST + 1];
    size_t at;

    for (size_t i = 0; i < k->n && rc == ST_OK; i++) {
        const size_t row = k->row[i], n = strlen(m->text[row]);
        const char *s = m->text[row],
                   *wrong = k->asked != 0 ? NULL : smiles_syntax_wrong(s, n, &at);
        if (wrong != NULL) {
            if (at > 0)
                snprintf(reason, sizeof reason, "character %zu: %s", at, wrong);
            else
                snprintf(reason, sizeof reason, "%s", wrong);
            add_unread(&m->unread, row, reason);
            continue;
        }
        if (k->asked == 0)
            m->same[row] = molecule_repeats_number(s, n);
        else if (k->state[row] != 1)
            continue;
        rc = lingo_counts(s, n, m->how.length, &l, err);
        if (rc == ST_OK)
            rc = fingerprint_rows_add(&m->counts, row, l.n, (const unsigned char *)l.place,
                                      (const unsigned char *)l.count, err);
        if (rc == ST_OK && ctl_stopped(ctl))
            rc = err_set(err, ST_CANCELLED, "stopped after %zu of %zu molecules", i, k->n);
    }
    lingo_free(&l);
    return rc;
}

/* True if what is wanted of a row was found out before. */
static bool is_known(const struct molecule_rows *m, size_t row)
{
    return m->like != NULL && row < m->nlike && m->like->text[row] != NULL &&
           strcmp(m->like->text[row], m->text[row]) == 0;
}

static enum status take_known(struct molecule_rows *m, struct err *err)
{
    const struct counts *c = m->like != NULL ? &m->like->counts : NULL;
    enum status rc = ST_OK;

    for (size_t i = 0; i < m->n && c != NULL && rc == ST_OK; i++) {
        if (m->text[i] == NULL || !is_known(m, i))
            continue;
        m->same[i] = m->like->same[i];
        if (c->missing[i])
            add_unread(&m->unread, i, "it could not be read before");
        else
            rc = fingerprint_rows_copy(&m->counts, i, counts_places(c, i), c->count + c->at[i],
                                       err);
    }
    return rc;
}

static enum status make_room(struct making *k, struct err *err)
{
    struct molecule_rows *m = k->m;
    const size_t n = m->n;

    k->row = mem_calloc(n + 1, sizeof *k->row, "molecules", err);
    k->state = k->row ? mem_calloc(n + 1, 1, "molecules", err) : NULL;
    k->reason = k->state ? mem_calloc(n + 1, sizeof *k->reason, "molecules", err) : NULL;
    m->same = k->reason ? mem_calloc(n + 1, sizeof *m->same, "molecules", err) : NULL;
    m->scaffold = m->same ? mem_calloc(n + 1, sizeof *m->scaffold, "scaffolds", err) : NULL;
    if (m->scaffold == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (m->text[i] != NULL && !is_known(m, i))
            k->row[k->n++] = i;
    for (size_t d = 0; d < MOLECULES_DESCRIPTORS && (m->want & MOLECULES_DESCRIBED) != 0; d++) {
        m->v[d] = mem_calloc(n + 1, sizeof **m->v, "descriptors", err);
        if (m->v[d] == NULL)
            return ST_NOMEM;
        for (size_t i = 0; i < n; i++)
            m->v[d][i] = NAN;
    }
    return fingerprint_rows_init(&m->counts, n, err);
}

/* Whatever a bad entry of the cache has given is forgotten. */
static enum status start_again(struct making *k, struct err *err)
{
    struct molecule_rows *m = k->m;

    for (size_t i = 0; i < m->n; i++) {
        free(k->reason[i]);
        free(m->scaffold[i]);
        k->reason[i] = m->scaffold[i] = NULL;
        k->state[i] = 0;
        m->same[i] = 0;
        for (size_t d = 0; d < MOLECULES_DESCRIPTORS && m->v[d] != NULL; d++)
            m->v[d][i] = NAN;
    }
    fingerprint_rows_free(&m->counts);
    m->unread.n = 0;
    return fingerprint_rows_init(&m->counts, m->n, err);
}

static enum status read_rdkit(struct making *k, const struct ctl *ctl, struct err *err)
{
    enum status rc = molecules_version(k->m->version, sizeof k->m->version, err);

    k->keeps = k->n >= KEEP_LEAST && k->m->like == NULL && limits_now().cache > 0;
    if (rc != ST_OK || (k->keeps && recall(k, err)))
        return rc;
    err_clear(err);
    rc = start_again(k, err);
    if (rc == ST_OK)
        rc = ask_rdkit(k, ctl, err);
    if (rc == ST_OK && k->keeps)
        keep(k);
    return rc;
}

/* Reads every row. */
static enum status read_rows(struct molecule_rows *m, const struct ctl *ctl, struct err *err)
{
    struct making k = { .m = m };
    const bool pieces = (m->want & MOLECULES_COUNTS) != 0 && m->how.lingo;
    const uint32_t wanted = m->want & ~(uint32_t)(pieces ? MOLECULES_COUNTS : 0);
    enum status rc = make_room(&k, err);

    k.asked = wanted != 0 ? wanted | MOLECULES_CANONICAL : 0;
    if (rc == ST_OK && k.asked != 0)
        rc = read_rdkit(&k, ctl, err);
    if (rc == ST_OK)
        rc = take_known(m, err);
    if (rc == ST_OK && pieces)
        rc = count_pieces(&k, ctl, err);
    for (size_t i = 0; k.reason != NULL && i < m->n; i++)
        free(k.reason[i]);
    free(k.reason);
    free(k.state);
    free(k.row);
    return rc;
}

/* Gives each row what was found out about its text.  Rows of one text share its counts. */
static enum status spread(const struct molecule_rows *once, const struct molecule_repeats *r,
                          struct molecule_rows *m, struct err *err)
{
    struct molecule_unread *u = &m->unread;

    for (size_t i = 0; i < m->n; i++) {
        const size_t k = r->of[i];
        if (k == SIZE_MAX)
            continue;
        m->same[i] = once->same[k];
        m->counts.from[i] = once->counts.from[k];
        m->counts.places[i] = once->counts.places[k];
        m->counts.missing[i] = once->counts.missing[k];
        for (size_t d = 0; d < MOLECULES_DESCRIPTORS && m->v[d] != NULL; d++)
            m->v[d][i] = once->v[d][k];
        if (once->scaffold[k] != NULL &&
            (m->scaffold[i] = mem_strdup(once->scaffold[k], err)) == NULL)
            return ST_NOMEM;
        if (once->same[k] != 0)
            continue;
        /* Texts are in the order of their first rows: the first rows that cannot be read are of the
         * first such texts. */
        for (size_t t = 0; t < MOLECULE_ROWS_TOLD && u->n < MOLECULE_ROWS_TOLD &&
                           t < once->unread.n; t++)
            if (once->unread.row[t] == k) {
                u->row[u->n] = i;
                memcpy(u->reason[u->n], once->unread.reason[t], sizeof u->reason[u->n]);
            }
        u->n++;
    }
    return ST_OK;
}

/* Reads the different texts, then gives the rows what was found. */
static enum status read_once(struct molecule_rows *m, const struct molecule_repeats *r,
                             const struct ctl *ctl, struct err *err)
{
    struct molecule_rows once = { .n = r->n, .text = r->text, .how = m->how, .want = m->want };
    struct making k = { .m = m };
    enum status rc = read_rows(&once, ctl, err);

    if (rc == ST_OK)
        rc = make_room(&k, err);
    free(k.row);
    free(k.state);
    free(k.reason);
    if (rc == ST_OK)
        rc = spread(&once, r, m, err);
    if (rc == ST_OK) { /* the rows point into the counts of the texts */
        m->counts.count = once.counts.count;
        m->counts.used = once.counts.used;
        m->counts.cap = once.counts.cap;
        once.counts.count = NULL;
    }
    memcpy(m->version, once.version, sizeof m->version);
    once.text = NULL;
    molecule_rows_free(&once);
    return rc;
}

enum status molecule_rows_read(struct molecule_rows *m, const struct ctl *ctl, struct err *err)
{
    struct molecule_repeats r = { 0 };
    enum status rc = ST_OK;

    if (m->like != NULL)
        return read_rows(m, ctl, err);
    rc = molecule_repeats_find(&r, m->text, m->n, err);
    if (rc == ST_OK)
        rc = r.n < r.rows ? read_once(m, &r, ctl, err) : read_rows(m, ctl, err);
    molecule_repeats_free(&r);
    return rc;
}

void molecule_rows_free(struct molecule_rows *m)
{
    for (size_t d = 0; d < MOLECULES_DESCRIPTORS; d++)
        free(m->v[d]);
    for (size_t i = 0; m->scaffold != NULL && i < m->n; i++)
        free(m->scaffold[i]);
    free(m->scaffold);
    free(m->same);
    fingerprint_rows_free(&m->counts);
    *m = (struct molecule_rows){ 0 };
}
