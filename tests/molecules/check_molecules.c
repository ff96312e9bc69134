/* tests/molecules/check_molecules.c -- molecules by gpdesk-molecules: with a stand-in that hangs,
 * dies, writes rubbish or is of another version (fake_molecules.c); with RDKit, where it is built,
 * against fingerprints and descriptors that RDKit 2022.09 gave in another program, and values known
 * from its documentation. */
#include "base/mem.h"
#include "data/molecules/molecules.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST = 64 };

struct seen {
    enum molecule_state state;
    size_t times, pairs, fragments;
    uint32_t place[MOST], count[MOST];
    double descriptor[MOLECULES_DESCRIPTORS];
    char canonical[200], scaffold[200], reason[200];
};
struct texts {
    const char *const *text;
    const size_t *length; /* NULL: up to their ends */
    struct seen *seen;
};

static const char *text_at(void *ctx, size_t i, size_t *length)
{
    const struct texts *t = ctx;

    *length = t->length ? t->length[i] : strlen(t->text[i]);
    return t->text[i];
}

static enum status keep(void *ctx, size_t i, const struct molecule *m, struct err *err)
{
    struct seen *s = &((struct texts *)ctx)->seen[i];

    (void)err;
    s->state = m->state;
    s->times++;
    s->pairs = m->pairs;
    s->fragments = m->fragments;
    for (size_t k = 0; k < m->pairs && k < MOST; k++) {
        s->place[k] = molecules_number(m->places, k);
        s->count[k] = molecules_number(m->counts, k);
    }
    if (m->descriptor)
        memcpy(s->descriptor, m->descriptor, sizeof s->descriptor);
    snprintf(s->canonical, sizeof s->canonical, "%s", m->canonical);
    snprintf(s->scaffold, sizeof s->scaffold, "%s", m->scaffold);
    snprintf(s->reason, sizeof s->reason, "%s", m->reason);
    ck_assert_msg((m->state == MOLECULE_READ) == (m->reason[0] == '\0'), "reason: %s", m->reason);
    return ST_OK;
}

static const struct molecules_ask counts_wanted = { MOLECULES_COUNTS, 2, 0, 0 };

static enum status read_texts(const char *const *text, size_t n, const struct molecules_ask *ask,
                              const struct molecules_limits *limits, struct seen *seen,
                              struct err *err)
{
    struct texts t = { text, NULL, seen };
    const struct molecules_list list = { n, &t, text_at, keep };

    memset(seen, 0, n * sizeof *seen);
    *err = (struct err){ 0 };
    const enum status rc = molecules_read(&list, ask, limits, NULL, err);
    for (size_t i = 0; i < n && rc == ST_OK; i++)
        ck_assert_uint_eq(seen[i].times, 1);
    return rc;
}

/* With the stand-in. */

static char *dir;
/* Some patience, so that a busy machine is not taken for a hung helper. */
static const struct molecules_limits short_limits = { .seconds = 0.4, .helpers = 2 };

static void built(const char *name, bool needed)
{
    const char *top = getenv("top_builddir");
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", top ? top : ".", name);
    if (access(path, X_OK) != 0) {
        ck_assert_msg(!needed, "%s is not built", path);
        printf("# without RDKit\n");
        exit(77);
    }
    setenv("GPDESK_MOLECULES", path, 1);
}

static void fake_setup(void)
{
    built("tests/molecules/fake_molecules", true);
    dir = support_tmpdir();
    setenv("FAKE_MOLECULES_MARK", support_path(dir, "mark"), 1);
    unsetenv("FAKE_MOLECULES");
}

static void fake_teardown(void)
{
    support_rmdir(dir);
}

static void is_five(const struct seen *s, uint32_t first)
{
    ck_assert_int_eq(s->state, MOLECULE_READ);
    ck_assert_uint_eq(s->pairs, 2);
    ck_assert_uint_eq(s->place[0], first);
    ck_assert_uint_eq(s->place[1], first + 1);
    ck_assert_uint_eq(s->count[1], 2);
}

START_TEST(answers_belong_to_their_texts)
{
    enum { N = 500 };
    static char name[N][8];
    static const char *text[N];
    static struct seen seen[N];
    struct err err;

    for (size_t i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "C%zu", i);
        text[i] = name[i];
    }
    for (size_t helpers = 1; helpers <= 5; helpers += 2) {
        const struct molecules_limits limits = { .helpers = helpers };
        ck_assert_msg(read_texts(text, N, &counts_wanted, &limits, seen, &err) == ST_OK, "%s",
                      err.msg);
        for (size_t i = 0; i < N; i++)
            is_five(&seen[i], (uint32_t)i);
    }
}
END_TEST

/* Each of these is told apart; those around it are read, and every process of ours is collected. */
START_TEST(a_bad_molecule_is_told)
{
    static const char *const text[] = { "C1",  "hang", "C2", "die",  "C3", "leave",
                                        "C4",  "no",   "C5", "much", "C6", "once",
                                        "C7",  "  C8\t" };
    enum { N = sizeof text / sizeof *text };
    static struct seen seen[N];
    struct err err;

    ck_assert_msg(read_texts(text, N, &counts_wanted, &short_limits, seen, &err) == ST_OK, "%s",
                  err.msg);
    for (uint32_t i = 0; i < 7; i++)
        is_five(&seen[2 * i], i + 1);
    is_five(&seen[13], 8);
    ck_assert_int_eq(seen[1].state, MOLECULE_SLOW);
    ck_assert_str_eq(seen[1].reason, "reading it takes more than 0.4 s");
    ck_assert_int_eq(seen[3].state, MOLECULE_CRASHED);
    ck_assert_int_eq(seen[5].state, MOLECULE_CRASHED);
    ck_assert_int_eq(seen[7].state, MOLECULE_WRONG);
    ck_assert_str_eq(seen[7].reason, "bad");
    ck_assert_int_eq(seen[9].state, MOLECULE_LARGE);
    ck_assert_int_eq(seen[11].state, MOLECULE_READ); /* a death by chance is forgiven */
}
END_TEST

/* A process that neither answers nor computes is given up, twice. */
START_TEST(a_sleeping_helper_is_given_up)
{
    static const char *const text[] = { "sleep", "C2" };
    const struct molecules_limits limits = { .seconds = 0.1, .helpers = 1 };
    struct seen seen[2];
    struct err err;

    ck_assert_int_eq(read_texts(text, 2, &counts_wanted, &limits, seen, &err), ST_OK);
    ck_assert_int_eq(seen[0].state, MOLECULE_CRASHED);
    is_five(&seen[1], 2);
}
END_TEST

/* What a helper writes is checked, and each fault ends the work with what to do. */
START_TEST(rubbish_ends_the_work)
{
    static const char *const bad[] = { "noise", "late", "huge", "fall" };
    struct seen seen[3];
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const text[] = { "C1", bad[i], "C2" };
        ck_assert_msg(read_texts(text, 3, &counts_wanted, &short_limits, seen, &err) == ST_BACKEND,
                      "%s: %s", bad[i], err.msg);
        ck_assert_msg(strstr(err.msg, "writes what is no answer") != NULL, "%s", err.msg);
        ck_assert_msg(strncmp(err.hint, "make install", 12) == 0, "%s", err.hint);
    }
}
END_TEST

/* A stand-in of another kind from its start on: what the message says. */
START_TEST(a_helper_that_does_not_start_is_told)
{
    static const char *const how[][2] = {
        { "version", "speaks version 8 of the protocol, this gpdesk version 2" },
        { "noise", "writes what is no answer (no message begins there)" },
        { "huge", "writes what is no answer (a message of another kind)" },
        { "die", "was ended by signal 9 before it could answer" },
        { "leave", "ended before it could answer (exit status 3)" },
        { "sleep", "does not answer within 1.5 s" },
    };
    static const char *const text[] = { "C1" };
    const struct molecules_limits limits = { .seconds = 0.1 };
    struct seen seen[1];
    struct err err;

    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        setenv("FAKE_MOLECULES", how[i][0], 1);
        ck_assert_int_eq(read_texts(text, 1, &counts_wanted, &limits, seen, &err), ST_BACKEND);
        ck_assert_msg(strstr(err.msg, how[i][1]) != NULL, "%s: %s", how[i][0], err.msg);
        ck_assert_str_ne(err.hint, "");
    }
}
END_TEST

START_TEST(a_missing_helper_is_told)
{
    static const char *const text[] = { "C1" };
    struct seen seen[1];
    struct err err;

    setenv("GPDESK_MOLECULES", support_path(dir, "nowhere"), 1);
    ck_assert_int_eq(read_texts(text, 1, &counts_wanted, &short_limits, seen, &err), ST_NOT_FOUND);
    ck_assert_str_ne(err.hint, "");
    setenv("GPDESK_MOLECULES", dir, 1); /* no program */
    ck_assert_int_eq(read_texts(text, 1, &counts_wanted, &short_limits, seen, &err), ST_NOT_FOUND);
    const char *script = support_path(dir, "text"); /* executable, and the system cannot run it */
    support_write(script, "\x7f" "ELF?", 5);
    ck_assert_int_eq(chmod(script, 0700), 0);
    setenv("GPDESK_MOLECULES", script, 1);
    ck_assert_int_eq(read_texts(text, 1, &counts_wanted, &short_limits, seen, &err), ST_IO);
    ck_assert_msg(strstr(err.hint, "--version") != NULL, "%s", err.hint);
}
END_TEST

/* One that dies on everything is taken to be broken, not the molecules. */
START_TEST(endless_deaths_are_an_error)
{
    enum { N = 200 };
    static const char *text[N];
    static struct seen seen[N];
    struct err err;

    for (size_t i = 0; i < N; i++)
        text[i] = "leave";
    ck_assert_int_eq(read_texts(text, N, &counts_wanted, &short_limits, seen, &err), ST_BACKEND);
    ck_assert_msg(strstr(err.msg, "and read nothing") != NULL, "%s", err.msg);
}
END_TEST

START_TEST(a_stop_is_obeyed)
{
    static const char *const text[] = { "sleep" };
    struct seen seen[1] = { 0 };
    struct texts t = { text, NULL, seen };
    const struct molecules_list list = { 1, &t, text_at, keep };
    struct cancel cancel = { true };
    const struct ctl ctl = { .cancel = &cancel };
    struct err err = { 0 };

    ck_assert_int_eq(molecules_read(&list, &counts_wanted, &short_limits, &ctl, &err),
                     ST_CANCELLED);
    ck_assert_uint_eq(seen[0].times, 0);
}
END_TEST

/* Texts that are refused before anybody reads them: no helper is needed beyond its path. */
START_TEST(texts_that_are_no_smiles)
{
    enum { LONG = 1 << 20 };
    char *million = malloc(LONG);
    ck_assert_ptr_nonnull(million);
    memset(million, 'C', LONG);
    const char *const text[] = { "", "  \t ", "C C", "C\tC", "C\0C", million, "C\x80", "C\x1b[1m" };
    const size_t length[] = { 0, 4, 3, 3, 3, LONG, 2, 5 };
    static const char *const reason[] = {
        "it is empty", "it is empty", "character 2 is a blank, which no SMILES has",
        "character 2 is a tab, which no SMILES has", "character 2 is a NUL, which no SMILES has",
        "it has 1048576 characters; at most 65536 are read",
        "character 2 is no printable ASCII, which no SMILES has",
        "character 2 is no printable ASCII, which no SMILES has" };
    struct seen seen[8] = { 0 };
    struct texts t = { text, length, seen };
    const struct molecules_list list = { 8, &t, text_at, keep };
    struct err err = { 0 };

    ck_assert_int_eq(molecules_read(&list, &counts_wanted, &short_limits, NULL, &err), ST_OK);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(seen[i].state, i == 5 ? MOLECULE_LARGE : MOLECULE_WRONG);
        ck_assert_str_eq(seen[i].reason, reason[i]);
    }
    free(million);
}
END_TEST

START_TEST(settings_have_limits)
{
    static const char *const text[] = { "C1" };
    const struct molecules_ask bad[] = { { MOLECULES_COUNTS, 17, 0, 0 },
                                         { MOLECULES_COUNTS, 2, 1u << 25, 0 },
                                         { 32, 2, 0, 0 },
                                         { MOLECULES_COUNTS, 2, 0, 8 } };
    struct seen seen[1];
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(read_texts(text, 1, &bad[i], &short_limits, seen, &err), ST_RANGE);
}
END_TEST

/* With RDKit. */

static void rdkit_setup(void)
{
    built("gpdesk-molecules", false); /* ends the test where there is no RDKit */
    dir = support_tmpdir();
}

/* Lines of a gzipped file of the shared collection; free them with lines_free. */
static char **lines_of(const char *name, size_t *n)
{
    const char *path = support_shared(name);
    char buf[1 << 16], **line = NULL;
    size_t cap = 0;

    if (!path) {
        support_rmdir(dir);
        printf("# %s is not here\n", name);
        exit(77);
    }
    gzFile f = gzopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    for (*n = 0; gzgets(f, buf, sizeof buf); (*n)++) {
        struct err err;
        ck_assert_int_eq(mem_grow((void **)&line, &cap, *n + 1, sizeof *line, "lines", &err),
                         ST_OK);
        buf[strcspn(buf, "\r\n")] = '\0';
        line[*n] = strdup(buf);
    }
    gzclose(f);
    return line;
}

static void lines_free(char **line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(line[i]);
    free(line);
}

struct rows {
    char **smiles, **expected; /* "place:count .." */
    size_t equal, different;
};

static const char *smiles_at(void *ctx, size_t i, size_t *length)
{
    const char *s = ((struct rows *)ctx)->smiles[i];

    *length = strcspn(s, ",");
    return s;
}

static enum status compare(void *ctx, size_t i, const struct molecule *m, struct err *err)
{
    struct rows *r = ctx;
    char *at = r->expected[i];
    size_t k = 0;

    (void)err;
    for (; *at && *at != ','; k++) {
        const unsigned long place = strtoul(at, &at, 10), count = strtoul(at + 1, &at, 10);
        if (k >= m->pairs || molecules_number(m->places, k) != place ||
            molecules_number(m->counts, k) != count)
            break;
        at += *at == ' ';
    }
    if (m->state == MOLECULE_READ && k == m->pairs && (*at == '\0' || *at == ','))
        r->equal++;
    else
        r->different++;
    return ST_OK;
}

/* Counts of radius 1, folded to 1024 places, equal those of the shared files in every row.  Of hiv
 * 300 rows; with MOLECULES_ALL in the environment all of them. */
START_TEST(fingerprints_equal_the_shared_ones)
{
    static const struct { const char *name; size_t rows; } set[] = {
        { "esol", 1128 }, { "freesolv", 642 }, { "photoswitch", 392 }, { "hiv", 41913 } };
    const struct molecules_ask ask = { MOLECULES_COUNTS, 1, 1024, 0 };
    const struct molecules_limits limits = { .helpers = 2 };
    char path[2][80];
    struct err err = { 0 };
    size_t n[2];

    snprintf(path[0], sizeof path[0], "data/%s/data.csv.gz", set[_i].name);
    snprintf(path[1], sizeof path[1], "data/%s/fingerprints.csv.gz", set[_i].name);
    struct rows r = { lines_of(path[0], &n[0]), lines_of(path[1], &n[1]), 0, 0 };
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_uint_eq(n[0] - 1, set[_i].rows);
    ck_assert_int_eq(strncmp(r.smiles[0], "smiles", 6), 0);
    ck_assert_int_eq(strncmp(r.expected[0], "morgan1", 7), 0);
    r.smiles++;
    r.expected++;
    const size_t rows = _i == 3 && !getenv("MOLECULES_ALL") ? 300 : set[_i].rows;
    const struct molecules_list list = { rows, &r, smiles_at, compare };
    ck_assert_msg(molecules_read(&list, &ask, &limits, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(r.equal == rows, "%s: %zu rows equal, %zu differ", set[_i].name, r.equal,
                  r.different);
    lines_free(r.smiles - 1, n[0]);
    lines_free(r.expected - 1, n[1]);
}
END_TEST

static void read_one(const char *text, const struct molecules_ask *ask, struct seen *seen)
{
    const struct molecules_limits limits = { 0 };
    struct err err;

    ck_assert_msg(read_texts(&text, 1, ask, &limits, seen, &err) == ST_OK, "%s", err.msg);
}

static const char aspirin[] = "CC(=O)Oc1ccccc1C(=O)O";

/* Whole identifiers: 25 of them with 35 atoms' surroundings in all, and three known ones, above
 * 2^31, too. */
START_TEST(whole_identifiers)
{
    static const uint32_t known[][2] = { { 3218693969u, 4 }, { 98513984u, 2 }, { 864942730u, 2 } };
    struct molecules_ask ask = counts_wanted;
    struct seen s;
    size_t total = 0, found = 0;

    read_one(aspirin, &ask, &s);
    ck_assert_uint_eq(s.pairs, 25);
    for (size_t k = 0; k < s.pairs; k++) {
        total += s.count[k];
        for (size_t j = 0; j < 3; j++)
            found += s.place[k] == known[j][0] && s.count[k] == known[j][1];
    }
    ck_assert_uint_eq(total, 35);
    ck_assert_uint_eq(found, 3);
    ask.size = 2048;
    ask.flags = MOLECULES_BITS;
    read_one(aspirin, &ask, &s);
    ck_assert_uint_eq(s.pairs, 24);
    for (size_t k = 0; k < s.pairs; k++)
        ck_assert_uint_eq(s.count[k], 1);
}
END_TEST

/* logp, mr, tpsa, weight, donors, acceptors, rotatable, rings, aromatic, sp3. The first four are
 * published values of aspirin and caffeine; the rest can be counted. */
START_TEST(descriptors_are_the_published_ones)
{
    static const struct { const char *text; double value[MOLECULES_DESCRIPTORS]; } known[] = {
        { "CC(=O)Oc1ccccc1C(=O)O",
          { 1.3101, 44.7103, 63.60, 180.159, 1, 3, 2, 1, 1, 1.0 / 9 } },
        { "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
          { -1.0293, 51.1960, 61.82, 194.194, 0, 6, 0, 2, 2, 3.0 / 8 } },
    };
    const struct molecules_ask ask = { MOLECULES_DESCRIBED, 2, 0, 0 };

    for (size_t i = 0; i < 2; i++) {
        struct seen s;
        read_one(known[i].text, &ask, &s);
        for (size_t k = 0; k < MOLECULES_DESCRIPTORS; k++)
            ck_assert_msg(fabs(s.descriptor[k] - known[i].value[k]) < 1.1e-3, "%s, %zu: %.5f",
                          known[i].text, k, s.descriptor[k]);
    }
}
END_TEST

struct targets {
    char **line;
    double worst;
};

static const char *qm9_at(void *ctx, size_t i, size_t *length)
{
    const char *s = ((struct targets *)ctx)->line[i];

    *length = strcspn(s, ",");
    return s;
}

static enum status qm9_compare(void *ctx, size_t i, const struct molecule *m, struct err *err)
{
    struct targets *t = ctx;
    char *at = strchr(t->line[i], ',') + 1;
    const double logp = strtod(at, &at), tpsa = strtod(at + 1, &at);

    (void)err;
    ck_assert_int_eq(m->state, MOLECULE_READ);
    t->worst = fmax(t->worst, fabs(logp - m->descriptor[0]));
    t->worst = fmax(t->worst, fabs(tpsa - m->descriptor[2]) / 100);
    return ST_OK;
}

/* Four decimals of logp and two of tpsa, from another program. */
START_TEST(descriptors_equal_the_shared_ones)
{
    const struct molecules_ask ask = { MOLECULES_DESCRIBED, 2, 0, 0 };
    const struct molecules_limits limits = { .helpers = 2 };
    size_t n;
    struct targets t = { lines_of("data/qm9smiles/data.csv.gz", &n), 0 };
    const struct molecules_list list = { getenv("MOLECULES_ALL") ? n - 1 : 400, &t, qm9_at,
                                         qm9_compare };
    struct err err = { 0 };

    ck_assert_int_eq(strncmp(t.line[0], "smiles,crippen_logp,tpsa", 24), 0);
    t.line++;
    ck_assert_int_eq(molecules_read(&list, &ask, &limits, NULL, &err), ST_OK);
    ck_assert_msg(t.worst < 5.1e-5, "%g", t.worst);
    lines_free(t.line - 1, n);
}
END_TEST

START_TEST(canonical_texts_and_scaffolds)
{
    static const struct { const char *text, *same, *scaffold; } pair[] = {
        { "OCC", "C(O)C", "" },
        { "Cc1ccccc1CCO", "OCCc1ccccc1C", "c1ccccc1" },
        { "C1CCCCC1O", "C%10CCCCC%10O", "C1CCCCC1" },
        { "c1ccccc1CCN1CCOCC1", "C1COCCN1CCc1ccccc1", "c1ccc(CCN2CCOCC2)cc1" },
    };
    const struct molecules_ask ask = { MOLECULES_CANONICAL | MOLECULES_SCAFFOLD, 0, 0, 0 };

    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        struct seen a, b;
        read_one(pair[i].text, &ask, &a);
        read_one(pair[i].same, &ask, &b);
        ck_assert_str_eq(a.canonical, b.canonical);
        ck_assert_str_ne(a.canonical, "");
        ck_assert_str_eq(a.scaffold, pair[i].scaffold);
    }
}
END_TEST

static bool same_counts(const struct seen *a, const struct seen *b)
{
    return a->pairs == b->pairs && memcmp(a->place, b->place, a->pairs * sizeof *a->place) == 0 &&
           memcmp(a->count, b->count, a->pairs * sizeof *a->count) == 0;
}

START_TEST(settings_do_what_they_say)
{
    struct molecules_ask ask = counts_wanted;
    struct seen a, b;

    read_one("N[C@@H](C)C(=O)O", &ask, &a);
    read_one("N[C@H](C)C(=O)O", &ask, &b);
    ck_assert(same_counts(&a, &b));
    ask.flags = MOLECULES_CHIRALITY;
    read_one("N[C@@H](C)C(=O)O", &ask, &a);
    read_one("N[C@H](C)C(=O)O", &ask, &b);
    ck_assert(!same_counts(&a, &b));
    ask.flags = 0;
    read_one("CCCC(=O)[O-].[Na+]", &ask, &a);
    read_one("CCCC(=O)[O-]", &ask, &b);
    ck_assert(!same_counts(&a, &b));
    ck_assert_uint_eq(a.fragments, 2);
    ask.flags = MOLECULES_LARGEST;
    read_one("[Na+].CCCC(=O)[O-]", &ask, &a);
    ck_assert(same_counts(&a, &b));
    ck_assert_uint_eq(a.fragments, 2);
    read_one("[Na+].[Cl-]", &ask, &a); /* only salt: the heavier ion stays */
    read_one("[Cl-]", &ask, &b);
    ck_assert(same_counts(&a, &b));
}
END_TEST

/* Each is refused with a reason, and nothing reaches the terminal. */
START_TEST(molecules_that_cannot_be)
{
    static const char *const text[] = { "C1CC",  "C(C)(C)(C)(C)C", "c1cccc1", "CC(", "C)C",
                                        "[Xx]",  "not a molecule", "C%1",     "%%%", "=",
                                        "[C@@@@", "CCO" };
    enum { N = sizeof text / sizeof *text };
    const struct molecules_limits limits = { 0 };
    static struct seen seen[N];
    struct err err;
    struct stat st;

    const char *messages = support_path(dir, "stderr");
    ck_assert_ptr_nonnull(freopen(messages, "w", stderr));
    ck_assert_int_eq(read_texts(text, N, &counts_wanted, &limits, seen, &err), ST_OK);
    fflush(stderr);
    for (size_t i = 0; i < N - 1; i++)
        ck_assert_msg(seen[i].state == MOLECULE_WRONG && strlen(seen[i].reason) > 5, "%s: %d %s",
                      text[i], seen[i].state, seen[i].reason);
    ck_assert_str_eq(seen[0].reason, "unclosed ring");
    ck_assert_msg(strstr(seen[1].reason, "valence") != NULL, "%s", seen[1].reason);
    ck_assert_int_eq(seen[N - 1].state, MOLECULE_READ);
    ck_assert_int_eq(stat(messages, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
}
END_TEST

/* Texts that keep RDKit busy for seconds, or for ever, end within their time, and the next molecule
 * is read. */
START_TEST(endless_molecules_are_given_up)
{
    enum { DEEP = 800, BRACKETS = 3000 };
    static char carbons[3 * DEEP + 1], brackets[4 * BRACKETS], rings[60000];
    const char *const text[] = { carbons, "CCO", brackets, "CCC", rings, "CCN" };
    const struct molecules_limits limits = { .seconds = 0.3 };
    struct seen seen[6];
    struct err err;
    size_t k = 0;

    for (size_t i = 0; i < DEEP; i++)
        memcpy(carbons + 2 * i, "C(", 2);
    carbons[2 * DEEP] = 'C';
    memset(carbons + 2 * DEEP, 'C', 1);
    memset(carbons + 2 * DEEP + 1, ')', DEEP - 1);
    for (size_t i = 0; i < BRACKETS; i++)
        brackets[k++] = '[';
    brackets[k++] = 'C';
    for (size_t i = 0; i < BRACKETS; i++)
        brackets[k++] = ']';
    memset(rings, 'C', sizeof rings - 1);
    ck_assert_msg(read_texts(text, 6, &counts_wanted, &limits, seen, &err) == ST_OK, "%s", err.msg);
    for (size_t i = 1; i < 6; i += 2)
        ck_assert_int_eq(seen[i].state, MOLECULE_READ);
    ck_assert_int_ne(seen[2].state, MOLECULE_READ);
    ck_assert_int_eq(seen[4].state, MOLECULE_SLOW); /* 60,000 carbons: minutes */
}
END_TEST

START_TEST(rdkit_tells_its_version)
{
    char version[80] = "";
    struct err err = { 0 };

    ck_assert_msg(molecules_version(version, sizeof version, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(strncmp(version, "20", 2) == 0 && strchr(version, '.'), "%s", version);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("molecules");
    TCase *fake = tcase_create("stand-in"), *rdkit = tcase_create("rdkit");

    tcase_add_checked_fixture(fake, fake_setup, fake_teardown);
    tcase_add_test(fake, answers_belong_to_their_texts);
    tcase_add_test(fake, a_bad_molecule_is_told);
    tcase_add_test(fake, a_sleeping_helper_is_given_up);
    tcase_add_test(fake, rubbish_ends_the_work);
    tcase_add_test(fake, a_helper_that_does_not_start_is_told);
    tcase_add_test(fake, a_missing_helper_is_told);
    tcase_add_test(fake, endless_deaths_are_an_error);
    tcase_add_test(fake, a_stop_is_obeyed);
    tcase_add_test(fake, texts_that_are_no_smiles);
    tcase_add_test(fake, settings_have_limits);
    suite_add_tcase(s, fake);
    tcase_add_checked_fixture(rdkit, rdkit_setup, fake_teardown);
    tcase_add_loop_test(rdkit, fingerprints_equal_the_shared_ones, 0, 4);
    tcase_add_test(rdkit, whole_identifiers);
    tcase_add_test(rdkit, descriptors_are_the_published_ones);
    tcase_add_test(rdkit, descriptors_equal_the_shared_ones);
    tcase_add_test(rdkit, canonical_texts_and_scaffolds);
    tcase_add_test(rdkit, settings_do_what_they_say);
    tcase_add_test(rdkit, molecules_that_cannot_be);
    tcase_add_test(rdkit, endless_molecules_are_given_up);
    tcase_add_test(rdkit, rdkit_tells_its_version);
    suite_add_tcase(s, rdkit);
    return s;
}

int main(void)
{
    return support_run(suite());
}
