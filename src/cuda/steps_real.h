/* cuda/steps_real.h -- the interpreter of step lists for one precision; included with
 *
 *   REAL, N(name), TURNS(t, sine, cosine), REAL_ERF, REAL_RINT
 *
 * A block of threads makes the D frequencies of one block of a term for some rows, one after the
 * other.  v, w, p, g lie in shared memory: what a step works on, scratch, phase, gain. */

DEV REAL N(steps_input)(const struct steps_args *a, size_t row, int i)
{
    const size_t at = row * a->ldx + (size_t)i;

    return a->x64 ? (REAL)((const double *)a->x)[at] : (REAL)((const float *)a->x)[at];
}

/* Where the sequence of a row begins (layer_first). */
DEV int N(steps_first)(const struct steps_args *a, size_t row)
{
    return a->term.parts ? (int)N(steps_input)(a, row, a->term.first) : a->term.first;
}

/* Input i of window `at` of a sequence (row_layout.h). */
DEV REAL N(steps_window)(const struct steps_args *a, size_t row, int at, int i)
{
    const struct dev_term *t = &a->term;
    const int first = N(steps_first)(a, row) + 1;

    if (!t->symbols)
        return N(steps_input)(a, row, first + at * t->channels + i);
    const int symbol = (int)N(steps_input)(a, row, first + at + i / t->channels);
    return symbol == i % t->channels ? (REAL)1 : (REAL)0;
}

/* The Hadamard transform, unnormalised, in natural order: stages of radix four, and one of radix
 * two if their number is odd. */
DEV void N(steps_fht)(REAL *v, int D, int nt)
{
    int h = 1;

    for (; 4 * h <= D; h *= 4) {
        SYNC();
        LANES(t, nt)
            for (int i = t; i < D / 4; i += nt) {
                REAL *q = v + i / h * 4 * h + i % h;
                const REAL a = q[0] + q[h], b = q[0] - q[h];
                const REAL c = q[2 * h] + q[3 * h], d = q[2 * h] - q[3 * h];
                q[0] = a + c;
                q[h] = b + d;
                q[2 * h] = a - c;
                q[3 * h] = b - d;
            }
    }
    for (; 2 * h <= D; h *= 2) {
        SYNC();
        LANES(t, nt)
            for (int i = t; i < D / 2; i += nt) {
                REAL *q = v + i / h * 2 * h + i % h;
                const REAL a = q[0], b = q[h];
                q[0] = a + b;
                q[h] = a - b;
            }
    }
    SYNC();
}

/* The value i that begins a kernel's steps. at: the window; -1: the row itself. */
DEV REAL N(steps_begin)(const struct steps_args *a, const struct dev_step *s, size_t row, int at,
                        int i)
{
    const struct dev_term *t = &a->term;
    const double *inv = s->row < 0 ? NULL : t->inv + s->row;

    if (at >= 0)
        return i < t->d ? N(steps_window)(a, row, at, i) * (inv ? (REAL)inv[i] : (REAL)1) : (REAL)0;
    if (s->op == FM_CIRCLE) {
        if (i >= 2 * s->count)
            return (REAL)0;
        const double turn = (double)N(steps_input)(a, row, s->first + i / 2) * s->value;
        REAL sine, cosine;
        TURNS((REAL)(turn - rint(turn)), &sine, &cosine);
        return (i % 2 ? sine : cosine) * (inv ? (REAL)inv[i / 2] : (REAL)1);
    }
    return i < s->count ? N(steps_input)(a, row, s->first + i) * (inv ? (REAL)inv[i] : (REAL)1)
                        : (REAL)0;
}

/* Applies one step to value i of v. */
DEV void N(steps_one)(const struct steps_args *a, const struct dev_step *s, size_t base, int i,
                      REAL *v, REAL *w, REAL *p, REAL *g)
{
    const struct dev_term *t = &a->term;
    const size_t row = s->row < 0 ? 0 : (size_t)s->row * (size_t)t->nb * (size_t)t->D;
    const size_t at = row + base + (size_t)i;
    const REAL x = v[i];

    switch (s->op) {
    case FM_SIGN: v[i] = t->signs[at] < 0 ? -x : x; break;
    case FM_SHUFFLE: w[i] = v[t->perm[at]]; break;
    case FM_SCALE: v[i] = x * (REAL)t->scale[at]; break;
    case FM_PHASE: p[i] += x; break;
    case FM_TIMES: g[i] *= x; break;
    case FM_RELU: g[i] *= (REAL)s->value * (x > (REAL)0 ? x : (REAL)0); break;
    case FM_ERF: g[i] *= REAL_ERF(x); break;
    default: break;
    }
}

/* Value i of a product with the dense filters of a block. */
DEV REAL N(steps_dense)(const struct steps_args *a, size_t base, int i, const REAL *v)
{
    const struct dev_term *t = &a->term;
    const size_t one = (size_t)t->nb * (size_t)t->D;
    const double *filter = t->filter + base + (size_t)i;
    REAL sum = (REAL)0;

    for (int e = 0; e < t->d; e++)
        sum += (REAL)filter[(size_t)e * one] * v[e];
    return sum;
}

DEV void N(steps_put)(const struct dev_out *to, size_t row, size_t col, double c, REAL z)
{
    const size_t at = to->form == FORM_SWEEP32   ? row * sweep_row(to->shape) +
                                                       sweep_place(to->shape, 4, col)
                      : to->form == FORM_SWEEP16 ? row * sweep_row(to->shape) +
                                                       sweep_place(to->shape, 8, col)
                                                 : row * to->ld + col;

    switch (to->form) {
    case FORM_F32: ((float *)to->z)[at] = (float)((REAL)c * z); break;
    case FORM_F64: ((double *)to->z)[at] = c * (double)z; break;
    case FORM_SWEEP32: ((float *)to->z)[at] = (float)z; break;
    case FORM_SWEEP16:
    case FORM_F16: ((uint16_t *)to->z)[at] = half_of((float)z); break;
    }
}

DEV double N(steps_factor)(const struct dev_out *to, size_t row)
{
    return to->form != FORM_F32 && to->form != FORM_F64
               ? 1.0
               : to->out * (to->factor ? to->factor[row] : 1.0);
}

/* Copied columns: written once, by the first block. */
DEV void N(steps_copy)(const struct steps_args *a, size_t row, int nt)
{
    const double c = N(steps_factor)(&a->to, row);

    LANES(t, nt)
        for (int i = t; i < (int)a->term.cols; i += nt)
            N(steps_put)(&a->to, row, a->term.col0 + (size_t)i, c,
                         a->term.copied == 2 ? (REAL)1
                                                : N(steps_input)(a, row, a->term.first + i));
}

/* Resets phase and gain. */
DEV void N(steps_reset)(const struct dev_term *t, int nt, REAL *p, REAL *g)
{
    SYNC();
    LANES(l, nt)
        for (int i = l; i < t->D; i += nt) {
            p[i] = (REAL)0;
            g[i] = (REAL)1;
        }
}

/* Applies steps q0 to q1 - 1 to window `at` or (-1) the row itself; the values are in v, p, g. */
DEV void N(steps_go)(const struct steps_args *a, int q0, int q1, size_t row, int at, size_t base,
                     int nt, REAL *v, REAL *w, REAL *p, REAL *g)
{
    const struct dev_term *t = &a->term;

    for (int q = q0; q < q1; q++) {
        const struct dev_step *s = &t->steps[q];
        if (s->op == FM_FHT) {
            N(steps_fht)(v, t->D, nt);
            continue;
        }
        if (s->op == FM_APPEND) {
            SYNC();
            LANES(l, nt)
                if (l == 0)
                    v[s->count] = (REAL)s->value;
            SYNC();
            continue;
        }
        const int begins = s->op == FM_SCALE_IN || s->op == FM_CIRCLE || s->op == FM_WINDOWS;
        const int mixes = s->op == FM_SHUFFLE || s->op == FM_DENSE; /* the step reads all values */
        if (mixes)
            SYNC();
        LANES(l, nt)
            for (int i = l; i < t->D; i += nt) {
                if (begins)
                    v[i] = N(steps_begin)(a, s, row, at, i);
                else if (s->op == FM_DENSE)
                    w[i] = N(steps_dense)(a, base, i, v);
                else
                    N(steps_one)(a, s, base, i, v, w, p, g);
            }
        if (mixes) {
            SYNC();
            LANES(l, nt)
                for (int i = l; i < t->D; i += nt)
                    v[i] = w[i];
        }
    }
    SYNC();
}

/* Applies steps q0 to q1 - 1 up to the one that emits. */
DEV void N(steps_run)(const struct steps_args *a, int q0, int q1, size_t row, int at, size_t base,
                      int nt, REAL *v, REAL *w, REAL *p, REAL *g)
{
    N(steps_reset)(&a->term, nt, p, g);
    N(steps_go)(a, q0, q1, row, at, base, nt, v, w, p, g);
}

/* The number of windows of a row, and the factor of their sum (windows_factor). */
DEV int N(steps_windows)(const struct steps_args *a, size_t row, double *c)
{
    const struct dev_term *t = &a->term;
    const int m = (int)N(steps_input)(a, row, N(steps_first)(a, row)) - t->width + 1;

    *c = m < 1 ? 0.0 : t->average == 0 ? 1.0 / sqrt((double)m) : t->average == 1 ? 1.0 : 1.0 / m;
    return m < 1 ? 0 : m;
}

/* Sums over the windows of a row into sc (and ss if they are pairs); each thread sums its own
 * values. */
DEV void N(steps_sum)(const struct steps_args *a, int windows, size_t row, size_t base, int nt,
                      REAL *v, REAL *w, REAL *p, REAL *g, REAL *sc, REAL *ss)
{
    const struct dev_term *t = &a->term;

    LANES(l, nt)
        for (int i = l; i < t->D; i += nt)
            sc[i] = ss[i] = (REAL)0;
    for (int at = 0; at < windows; at++) {
        N(steps_run)(a, 0, t->nsum, row, at, base, nt, v, w, p, g);
        LANES(l, nt)
            for (int i = l; i < t->D; i += nt) {
                REAL sine = (REAL)0, cosine = (REAL)1;
                if (t->sum_paired)
                    TURNS((t->sum_phase ? p[i] : v[i]) * (REAL)0.15915494309189533577, &sine,
                          &cosine);
                sc[i] += g[i] * cosine;
                ss[i] += g[i] * sine;
            }
    }
}

/* Emits frequency i: a pair (a, b) rotated by the phase, or one number. */
DEV void N(steps_emit)(const struct steps_args *a, size_t row, size_t j, double out, REAL re,
                       REAL im, REAL phase)
{
    const struct dev_term *t = &a->term;
    REAL sine = (REAL)0, cosine = (REAL)1;

    if (t->phase || !t->width)
        TURNS(phase * (REAL)0.15915494309189533577, &sine, &cosine);
    if (!t->paired) {
        N(steps_put)(&a->to, row, t->col0 + j, out, re);
        return;
    }
    N(steps_put)(&a->to, row, t->col0 + 2 * j, out, re * cosine - im * sine);
    N(steps_put)(&a->to, row, t->col0 + 2 * j + 1, out, re * sine + im * cosine);
}

/* smem: 6 D numbers if windows are summed, otherwise 4 D. */
DEV void N(steps_block)(const struct steps_args *a, int block, int chunk, int nt, REAL *smem)
{
    const struct dev_term *t = &a->term;
    REAL *v = smem, *w = v + t->D, *p = w + t->D, *g = p + t->D, *sc = g + t->D, *ss = sc + t->D;
    const size_t base = (size_t)block * (size_t)t->D;
    const size_t end = (size_t)(chunk + 1) * (size_t)a->per;
    const int sweeps = a->to.form != FORM_F32 && a->to.form != FORM_F64;
    const int rest = t->nsteps > t->nsum; /* steps of the row itself */

    for (size_t row = (size_t)chunk * (size_t)a->per; row < end && row < a->rows; row++) {
        if (t->copied) {
            N(steps_copy)(a, row, nt);
            continue;
        }
        double c = 1.0;
        if (t->width) {
            const int windows = N(steps_windows)(a, row, &c);
            N(steps_sum)(a, windows, row, base, nt, v, w, p, g, sc, ss);
        }
        if (rest)
            N(steps_run)(a, t->nsum, t->nsteps, row, -1, base, nt, v, w, p, g);
        /* The layout of sweeps takes no factor of the term, but this factor belongs to the row. */
        const double out = c * N(steps_factor)(&a->to, row);
        const REAL inside = sweeps ? (REAL)c : (REAL)1;
        LANES(l, nt)
            for (int i = l; i < t->D && base + (size_t)i < t->mf; i += nt) {
                const REAL gain = rest ? inside * g[i] : inside;
                const REAL re = t->width ? gain * sc[i] : gain,
                           im = t->width ? gain * ss[i] : (REAL)0;
                const REAL phase = !rest ? (REAL)0 : t->phase ? p[i] : v[i];
                N(steps_emit)(a, row, base + (size_t)i, out, re, im, phase);
            }
    }
}
