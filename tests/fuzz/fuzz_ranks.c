/* tests/fuzz/fuzz_ranks.c -- what a rank is sent (compute/ranks), under any bytes: descriptions of
 * operators and requests are refused in words or answered with as many numbers as they ask for.
 *
 * The first byte of an input chooses a description that is sound, the second how many changes of it
 * follow: each is a place (two bytes) and a byte that is added there.  The rest are requests: an
 * operation, its five arguments of a byte each, and a byte for the numbers that come with it. */
#include "fuzz.h"

#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/ranks/answer.h"
#include "compute/ranks/content.h"
#include "compute/ranks/drawn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS = 260, INPUTS = 7, COLUMNS = 32, MOST = 1 << 16 };

static const struct base {
    const char *kernel;
    bool sequences, weights, store, half, places;
    enum precision precision;
} bases[] = {
    { "rbf", false, false, false, false, false, PREC_FLOAT },
    { "matern(nu=3/2,ard) * periodic + linear", false, true, true, false, false, PREC_FLOAT },
    { "rbf(ard=1x4:2:1:2) + constant", false, true, false, false, false, PREC_DOUBLE },
    { "conv(rbf,width=2)", true, true, false, false, false, PREC_FLOAT },
    { "rbf", false, false, true, true, false, PREC_FLOAT },
    { "matern(nu=5/2)", false, true, false, false, true, PREC_FLOAT },
};
enum { BASES = sizeof bases / sizeof bases[0] };

/* One process is all: nothing is added, and the largest are its own. */
static enum status alone(void *ctx, size_t n, double *x, struct err *err)
{
    (void)ctx, (void)n, (void)x, (void)err;
    return ST_OK;
}

/* The rows in a file by columns that the process has open. */
static const struct source_places *places_of(const double *x)
{
    static struct source_file file;
    static struct source_input input[INPUTS];
    static struct source_places places = { 1, INPUTS, &file, input, NULL };
    static size_t row[ROWS];
    static char path[64];
    const int fd = memfd_create("columns", MFD_CLOEXEC);

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    file = (struct source_file){ .path = path, .rows = ROWS, .row = sizeof *x,
                                 .column = ROWS * sizeof *x, .size = sizeof *x, .kind = 'f' };
    for (size_t j = 0; j < INPUTS; j++) {
        input[j] = (struct source_input){ .files = 1, .column = (uint32_t)j, .sd = 1.0 };
        for (size_t r = 0; r < ROWS; r++)
            if (pwrite(fd, &x[r * INPUTS + j], sizeof *x,
                       (off_t)((j * ROWS + r) * sizeof *x)) != sizeof *x)
                fuzz_fail("rows cannot be written");
    }
    for (size_t r = 0; r < ROWS; r++)
        row[r] = r;
    places.row = row;
    return &places;
}

/* A sound description, as drawn_send writes it. */
static unsigned char *describe(const struct base *b, size_t *bytes)
{
    static double x[ROWS * INPUTS], w[ROWS], hp[KERNEL_MAX_HP];
    const struct row_layout layout = { .nparts = 1, .part = { { ROWS_VECTORS, 2, 3, 0 } } };
    struct fop_opts o = { .precision = b->precision, .store = b->store, .half = b->half };
    size_t from[KERNEL_MAX_HP];
    struct source_array src;
    struct kernel k;
    struct drawn d;
    struct err err = { 0 };
    bool lost = false;
    uint64_t sum[SHARE_SEGMENTS];

    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = b->sequences && i % INPUTS == 0 ? 2.0 + (double)(i % 2) : sin((double)i);
    for (size_t i = 0; i < ROWS; i++)
        w[i] = 1.0 + 0.5 * cos((double)i);
    source_array_init(&src, x, ROWS, INPUTS, INPUTS);
    o.row_scale = b->weights ? w : NULL;
    if (kernel_parse(b->kernel, &k, hp, &err) != ST_OK)
        fuzz_fail(err.msg);
    if (b->sequences) {
        src.base.layout = layout;
        if (kernel_bind_rows(&k, &layout, NULL, &err) != ST_OK)
            fuzz_fail(err.msg);
    } else if (kernel_bind(&k, INPUTS, from, &err) != ST_OK) {
        fuzz_fail(err.msg);
    }
    struct featmap *fm = featmap_new(&k, INPUTS, COLUMNS, 3, &err);
    const int fd = memfd_create("description", MFD_CLOEXEC);
    const struct wire wire = { .in = fd, .out = fd };
    if (b->places)
        src.base.places = places_of(x);
    if (!fm || fd < 0 || content_of_source(NULL, &src.base, sum, &err) != ST_OK ||
        drawn_of(&d, fm, &src.base, &o, sum, &err) != ST_OK ||
        drawn_for(&d, 0, ROWS, !b->places, &err) != ST_OK)
        fuzz_fail(err.msg);
    *bytes = drawn_bytes(&d);
    unsigned char *body = malloc(*bytes);
    if (!body || drawn_send(&d, &wire, &lost, &err) != ST_OK ||
        pread(fd, body, *bytes, 0) != (ssize_t)*bytes)
        fuzz_fail("a description cannot be written");
    close(fd);
    drawn_free(&d);
    featmap_free(fm);
    return body;
}

static void check(enum status rc, const struct err *err)
{
    if (rc != ST_OK && (err->code != rc || err->msg[0] == '\0'))
        fuzz_fail("refused without words");
}

/* A request with as many numbers as it takes, or with one too few. */
static void ask(struct answers *a, const uint8_t *in, size_t M, size_t nhp, size_t n)
{
    struct ask_head head = { .op = in[0] % (ASK_OPS + 2), .state = 1, .first = in[6] % 2 };
    struct ask_sizes z = { 0 };
    struct answer answer;
    struct err err = { 0 };

    for (size_t i = 0; i < ASK_ARGS; i++)
        head.arg[i] = in[1 + i] == 255 ? UINT64_MAX : in[1 + i];
    if (head.op == ASK_OPEN || head.op == ASK_CLOSE)
        return;
    if (ask_of_basis(&head))
        n = head.arg[3] >= head.arg[2] && head.arg[3] <= MOST ? head.arg[3] - head.arg[2] : 0;
    const bool known = ask_sizes(&head, M, nhp, &z);
    const double numbers = (double)z.all + (double)z.rows * (double)n;
    if (!known || numbers > MOST || (double)z.out + (double)z.out_rows * (double)n > MOST)
        return;
    const size_t some = (size_t)numbers - (in[6] > 250 && numbers > 0.0);
    double *x = malloc((some + 1) * sizeof *x);
    if (!x)
        return;
    for (size_t i = 0; i < some; i++)
        x[i] = in[6] % 5 == 4 ? NAN : head.op == ASK_SET ? 0.5 + 0.1 * (double)(i % 7)
                                                          : (double)((i + in[6]) % 3);
    const enum status rc = answer_ask(a, &head, x, some * sizeof *x, &answer, &err);
    check(rc, &err);
    if (rc == ST_OK && answer.numbers != (head.first ? z.out : 0) + z.out_rows * n)
        fuzz_fail("another number of numbers");
    free(answer.out);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static unsigned char *base[BASES];
    static size_t length[BASES];
    struct answers a = { .share = { .most = alone, .sum = alone } };
    const struct ask_head open = { .op = ASK_OPEN, .state = 1 }, close = { .op = ASK_CLOSE,
                                                                          .state = 1 };
    struct drawn_head head;
    struct answer none;
    struct err err = { 0 };

    if (n < 2)
        return 0;
    const size_t which = data[0] % BASES, changes = data[1] % 16;
    if (!base[which])
        base[which] = describe(&bases[which], &length[which]);
    unsigned char *body = mem_aligned(length[which], 1, "a body", NULL);
    if (!body)
        return 0;
    memcpy(body, base[which], length[which]);
    size_t at = 2;
    for (size_t c = 0; c < changes && at + 3 <= n; c++, at += 3)
        body[(data[at] + 256u * data[at + 1]) % length[which]] += data[at + 2];
    memcpy(&head, body, sizeof head);
    const bool small = head.M <= 4 * COLUMNS && head.n == ROWS && head.r1 - head.r0 == ROWS;
    void *own = body;
    bool there = false;
    enum status rc = small ? answer_open(&a, &open, &own, length[which], &there, &err) : ST_FORMAT;
    if (small)
        check(rc, &err);
    if (rc == ST_OK && changes == 0 && !there)
        fuzz_fail("rows that are there are not found");
    rc = there ? rc : ST_FORMAT;
    const size_t nhp = rc == ST_OK ? answer_hyperparameters_for_tests(&a) : 0;
    for (; rc == ST_OK && at + 7 <= n; at += 7)
        ask(&a, data + at, head.M, nhp, ROWS);
    if (rc == ST_OK)
        answer_ask(&a, &close, NULL, 0, &none, &err);
    free(own);
    kept_free_for_tests(&a.kept);
    return 0;
}
