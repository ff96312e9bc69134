/* app/session/store_doc.c -- the JSON bodies of a session file, read field by field.
 *
 * SQLite decides whether a text is JSON. Then one pass records where every value begins, under its
 * path, in a hash table (hsearch). Asking SQLite for each field would parse the text again each
 * time: with 200 runs a session took half a second to open, mostly for that reason. */
#include "app/session/store_impl.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEP = 32, PATH_MOST = 160 };

enum jtype { J_NULL, J_TRUE, J_FALSE, J_INTEGER, J_REAL, J_TEXT, J_ARRAY, J_OBJECT };
static const char *const type_names[] = {"null", "true", "false", "integer",
                                         "real", "text", "array", "object"};
struct jnode {
    size_t path;             /* offset into paths; SIZE_MAX: too long to be asked for */
    const char *at;          /* where its text begins */
    size_t len, children;    /* children: for a list or an object */
    enum jtype type;
};

void store_doc_wrong(struct jdoc *j, const char *fmt, ...)
{
    va_list ap;

    if (*j->bad)
        return;
    va_start(ap, fmt);
    vsnprintf(j->bad, sizeof j->bad, fmt, ap);
    va_end(ap);
}

void store_doc_nomem(struct jdoc *j)
{
    (void)err_nomem(NULL, 0, "the session");
    store_doc_wrong(j, "out of memory");
}

bool store_doc_ok(const struct jdoc *j)
{
    return *j->bad == '\0';
}

/* The table of paths. */

static const struct jnode *find(const struct jdoc *j, const char *asked)
{
    char path[PATH_MOST];
    size_t n = 0;
    ENTRY *found = NULL;

    for (; *asked && n + 1 < sizeof path; asked++)
        if (*asked != '"') /* quotes around a key belong to the path, not to the key */
            path[n++] = *asked;
    path[n] = '\0';
    if (*asked || !j->tabled ||
        !hsearch_r((ENTRY){.key = path}, FIND, &found, (struct hsearch_data *)&j->table))
        return NULL;
    return found->data;
}

/* If a key occurs twice, the first value counts. */
static bool make_table(struct jdoc *j)
{
    ENTRY *kept;

    j->tabled = hcreate_r(j->nnode + j->nnode / 2 + 1, &j->table) != 0;
    for (size_t i = 0; j->tabled && i < j->nnode; i++)
        if (!hsearch_r((ENTRY){j->paths.s + j->node[i].path, &j->node[i]}, ENTER, &kept, &j->table))
            return false;
    return j->tabled;
}

/* The pass over the text. */

struct scan {
    struct jdoc *j;
    const char *p;
    char path[PATH_MOST];
    size_t len;              /* length of the path; PATH_MOST: too long to be asked for */
};

static void skip_blanks(struct scan *s)
{
    s->p += strspn(s->p, " \t\r\n");
}

static void skip_string(struct scan *s)
{
    for (s->p++; *s->p && *s->p != '"'; s->p++)
        if (*s->p == '\\' && s->p[1])
            s->p++;
    s->p += *s->p == '"';
}

/* Appends to the path. The caller restores s->len. */
static void descend(struct scan *s, const char *add, size_t n)
{
    if (s->len + n >= PATH_MOST) {
        s->len = PATH_MOST;
        return;
    }
    memcpy(s->path + s->len, add, n);
    s->len += n;
    s->path[s->len] = '\0';
}

static void come_back(struct scan *s, size_t len)
{
    s->len = len;
    if (len < PATH_MOST)
        s->path[len] = '\0';
}

/* Adds a node for the value at s->p and returns its index; SIZE_MAX if its path is too long or
 * memory is exhausted. */
static size_t note(struct scan *s, enum jtype type)
{
    struct jdoc *j = s->j;

    if (s->len >= PATH_MOST)
        return SIZE_MAX;
    if (mem_grow((void **)&j->node, &j->capnode, j->nnode + 1, sizeof *j->node, "the session",
                 NULL) != ST_OK) {
        store_doc_nomem(j);
        return SIZE_MAX;
    }
    j->node[j->nnode] = (struct jnode){ .path = j->paths.len, .at = s->p, .type = type };
    buf_putn(&j->paths, s->path, s->len + 1);
    return j->nnode++;
}

static void value(struct scan *s, int depth);

static void members(struct scan *s, int depth)
{
    const size_t here = s->len;

    for (s->p++, skip_blanks(s); *s->p == '"' && store_doc_ok(s->j); skip_blanks(s)) {
        const char *key = s->p + 1;
        skip_string(s);
        const size_t n = (size_t)(s->p - key) - 1;
        if (memchr(key, '\\', n) || memchr(key, '[', n))
            s->len = PATH_MOST;
        descend(s, ".", 1);
        descend(s, key, n);
        skip_blanks(s);
        s->p += *s->p == ':';
        value(s, depth + 1);
        come_back(s, here);
        skip_blanks(s);
        s->p += *s->p == ',';
    }
    s->p += *s->p == '}';
}

static size_t items(struct scan *s, int depth)
{
    const size_t here = s->len;
    size_t n = 0;

    for (s->p++, skip_blanks(s); *s->p && *s->p != ']' && store_doc_ok(s->j); skip_blanks(s)) {
        char index[32];
        descend(s, index, (size_t)snprintf(index, sizeof index, "[%zu]", n++));
        value(s, depth + 1);
        come_back(s, here);
        skip_blanks(s);
        s->p += *s->p == ',';
    }
    s->p += *s->p == ']';
    return n;
}

static void value(struct scan *s, int depth)
{
    size_t children = 0;

    skip_blanks(s);
    const char *first = s->p;
    const char c = *first;
    if (depth > DEEP) {
        store_doc_wrong(s->j, "its JSON is nested too deep");
        return;
    }
    const size_t at = note(s, c == '{'   ? J_OBJECT
                              : c == '[' ? J_ARRAY
                              : c == '"' ? J_TEXT
                              : c == 't' ? J_TRUE
                              : c == 'f' ? J_FALSE
                              : c == 'n' ? J_NULL
                                         : J_INTEGER);
    if (c == '{')
        members(s, depth);
    else if (c == '[')
        children = items(s, depth);
    else if (c == '"')
        skip_string(s);
    else
        s->p += strcspn(s->p, ",]} \t\r\n");
    if (s->p == first)
        store_doc_wrong(s->j, "no JSON");
    if (at == SIZE_MAX)
        return;
    struct jnode *node = &s->j->node[at];
    node->len = (size_t)(s->p - first);
    node->children = children;
    if (node->type == J_INTEGER && (memchr(first, '.', node->len) ||
                                    memchr(first, 'e', node->len) || memchr(first, 'E', node->len)))
        node->type = J_REAL;
}

/* Runs a statement about one text; *rc is what SQLite says, and a lack of memory is counted. The
 * caller finalizes it. */
static sqlite3_stmt *ask(struct sdb *s, const char *sql, const char *text, int *rc)
{
    sqlite3_stmt *q = NULL;

    *rc = sqlite3_prepare_v2(store_db_handle(s), sql, -1, &q, NULL);
    if (*rc == SQLITE_OK && (*rc = sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC)) == SQLITE_OK)
        *rc = sqlite3_step(q);
    if ((*rc & 0xff) == SQLITE_NOMEM)
        (void)err_nomem(NULL, 0, "the session");
    return q;
}

/* True if the answer is a word, or a number other than zero. */
static bool says_yes(struct sdb *s, const char *sql, const char *text)
{
    int rc;
    sqlite3_stmt *q = ask(s, sql, text, &rc);
    const bool yes = rc == SQLITE_ROW && (sqlite3_column_type(q, 0) == SQLITE_TEXT ||
                                          sqlite3_column_int64(q, 0) != 0);

    sqlite3_finalize(q);
    return yes;
}

/* json_valid calls a text invalid that there was no memory to parse, without an error; json_type
 * has one for it. */
static bool is_json(struct sdb *s, const char *text)
{
    static const char valid[] = "SELECT json_valid(?1)";

    return says_yes(s, valid, text) ||
           (says_yes(s, "SELECT json_type(?1)", text) && says_yes(s, valid, text));
}

/* The characters of a JSON string; the caller frees them. */
static char *characters(struct sdb *s, const char *string)
{
    int rc;
    sqlite3_stmt *q = ask(s, "SELECT ?1 ->> '$'", string, &rc);
    const bool there = rc == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL;
    const char *text = there ? (const char *)sqlite3_column_text(q, 0) : NULL;
    char *out = text ? mem_strdup(text, NULL) : NULL;

    if (there && !text)
        (void)err_nomem(NULL, 0, "the session");
    sqlite3_finalize(q);
    return out;
}

bool store_doc_open(struct jdoc *j, struct sdb *db, const char *text)
{
    struct scan s = { .j = j, .p = text, .path = "$", .len = 1 };

    *j = (struct jdoc){ .db = db };
    if (!is_json(db, text)) {
        store_doc_wrong(j, "no JSON");
        return false;
    }
    value(&s, 0);
    if (j->paths.failed || (store_doc_ok(j) && !make_table(j)))
        store_doc_nomem(j);
    if (store_doc_ok(j) && j->node[0].type != J_OBJECT)
        store_doc_wrong(j, "no JSON object");
    if (!store_doc_ok(j)) {
        store_doc_close(j);
        return false;
    }
    return true;
}

void store_doc_close(struct jdoc *j)
{
    if (j->tabled)
        hdestroy_r(&j->table);
    free(j->node);
    buf_free(&j->paths);
    buf_free(&j->raw);
    free(j->plain);
    j->tabled = false;
    j->node = NULL;
    j->plain = NULL;
    j->nnode = j->capnode = 0;
}

/* Reading the value at a path. */

/* The type, the JSON text and, for a string, its characters; NULL if there is nothing at the path.
 * The last two are valid until the next call. */
static void jdoc_at(struct jdoc *j, const char *path, const char **type, const char **raw,
                    const char **plain)
{
    const struct jnode *node = find(j, path);

    *type = *raw = *plain = NULL;
    if (!node)
        return;
    buf_clear(&j->raw);
    buf_putn(&j->raw, node->at, node->len);
    free(j->plain);
    j->plain = NULL;
    if (j->raw.failed)
        store_doc_nomem(j);
    *type = type_names[node->type];
    *raw = buf_str(&j->raw);
    if (node->type == J_TEXT && memchr(node->at, '\\', node->len)) {
        *plain = j->plain = characters(j->db, *raw);
    } else if (node->type == J_TEXT) {
        j->plain = strndup(node->at + 1, node->len - 2);
        *plain = j->plain;
        if (!j->plain) /* without it the text is read as another */
            store_doc_nomem(j);
    }
    if (j->raw.failed || (node->type == J_TEXT && !j->plain))
        (void)err_nomem(NULL, 0, "the session");
}

#define PATH_OF(name)                              \
    char name[160];                                \
    do {                                           \
        va_list ap_;                               \
        va_start(ap_, path);                       \
        vsnprintf(name, sizeof name, path, ap_);   \
        va_end(ap_);                               \
    } while (0)

bool store_doc_has(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);
    const bool has = type && strcmp(type, "null") != 0;

    return has;
}

static bool is_number(const char *type)
{
    return type && (strcmp(type, "integer") == 0 || strcmp(type, "real") == 0);
}

double store_doc_num(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    double x = NAN;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);

    /* Converted from the text, not by SQLite, because every bit must be restored. */
    if (is_number(type) && raw && text_double(raw, strlen(raw), &x))
        ;
    else if (!type || strcmp(type, "null") != 0)
        store_doc_wrong(j, "%.120s is not a number", p);
    return x;
}

int64_t store_doc_int(struct jdoc *j, int64_t lo, int64_t hi, const char *path, ...)
{
    const char *type, *raw, *plain;
    long long v = lo;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);
    char *end = NULL;

    if (type && strcmp(type, "integer") == 0 && raw) {
        errno = 0;
        v = strtoll(raw, &end, 10);
    }
    if (!end || *end || errno || v < lo || v > hi) {
        store_doc_wrong(j, "%.120s is out of range", p);
        v = lo;
    }
    return v;
}

uint64_t store_doc_u64(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    unsigned long long v = 0;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);
    char *end = NULL;

    /* SQLite treats integers of 2^63 and above as real */
    if (is_number(type) && raw && *raw != '-') {
        errno = 0;
        v = strtoull(raw, &end, 10);
    }
    if (!end || *end || errno) {
        store_doc_wrong(j, "%.120s is not a count", p);
        v = 0;
    }
    return v;
}

bool store_doc_bool(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);
    const bool yes = type && strcmp(type, "true") == 0;

    if (!type || (!yes && strcmp(type, "false") != 0))
        store_doc_wrong(j, "%.120s is neither true nor false", p);
    return yes;
}

char *store_doc_str(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    char *out = NULL;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);

    if (type && strcmp(type, "text") == 0 && plain) {
        out = mem_strdup(plain, NULL);
        if (!out)
            store_doc_nomem(j);
    } else if (!type || strcmp(type, "null") != 0) {
        store_doc_wrong(j, "%.120s is not a text", p);
        out = mem_strdup("", NULL);
    }
    return out;
}

void store_doc_strn(struct jdoc *j, char *out, size_t len, const char *path, ...)
{
    const char *type, *raw, *plain;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);

    *out = '\0';
    if (type && strcmp(type, "text") == 0 && plain && strlen(plain) < len)
        memcpy(out, plain, strlen(plain) + 1);
    else if (!type || strcmp(type, "null") != 0)
        store_doc_wrong(j, "%.120s is not a short text", p);
}

int store_doc_word(struct jdoc *j, const char *const *words, const char *path, ...)
{
    const char *type, *raw, *plain;
    int found = -1;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);

    if (type && strcmp(type, "text") == 0 && plain)
        for (int i = 0; found < 0 && words[i]; i++)
            if (strcmp(words[i], plain) == 0)
                found = i;
    if (found < 0)
        store_doc_wrong(j, "%.120s is not one of the words known", p);
    return found < 0 ? 0 : found;
}

size_t store_doc_len(struct jdoc *j, size_t most, const char *path, ...)
{
    PATH_OF(p);
    const struct jnode *node = find(j, p);
    size_t n = 0;

    if (node && node->type == J_ARRAY)
        n = node->children;
    else
        store_doc_wrong(j, "%.120s is not a list", p);
    if (n > most) {
        store_doc_wrong(j, "%.120s has too many items", p);
        n = 0;
    }
    return n;
}

char *store_doc_raw_for_tests(struct jdoc *j, const char *path, ...)
{
    const char *type, *raw, *plain;
    PATH_OF(p);
    jdoc_at(j, p, &type, &raw, &plain);
    char *out = raw && type && strcmp(type, "null") != 0 ? mem_strdup(raw, NULL) : NULL;

    return out;
}

/* A field of a list's item as text in *out, which the caller frees. Returns false if it is
 * absent. */
static bool field_text(struct jdoc *j, const char *path, char **out)
{
    const char *type, *raw, *plain;

    jdoc_at(j, path, &type, &raw, &plain);
    const bool there = type && strcmp(type, "null") != 0;
    *out = there ? mem_strdup(plain ? plain : raw, NULL) : NULL;
    return *out != NULL;
}

bool store_doc_each(struct jdoc *j, const char *path, const char *const field[4], jdoc_row_fn *fn,
               void *ctx)
{
    const struct jnode *node = find(j, path);
    const size_t n = node && node->type == J_ARRAY ? node->children : 0;
    bool ok = node != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        char *text[4] = { NULL };
        for (int k = 0; ok && k < 4; k++) {
            char at[160];
            snprintf(at, sizeof at, "%s[%zu].%s", path, i, field[k]);
            ok = field_text(j, at, &text[k]);
        }
        ok = ok && fn(ctx, (const char *const *)text);
        for (int k = 0; k < 4; k++)
            free(text[k]);
    }
    if (!ok)
        store_doc_wrong(j, "%.120s is damaged", path);
    return ok;
}
