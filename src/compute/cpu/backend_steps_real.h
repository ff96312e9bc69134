/* compute/cpu/backend_steps_real.h -- the loops of backend_steps.c for one precision; included with
 *
 *   REAL, N(name)   number type, the suffixed name of a function */

/* The input of a link: D entries x lanes, zeros after the last. */
static void N(input)(const struct link *k, const struct fm_term *t, const struct steps_work *work,
                     const struct simd_inputs *in, REAL *u)
{
    const struct simd_real *real = work->real;
    const size_t L = real->lanes, d = k->d, ldx = in->ldx, n = in->n;
    const double *hp = work->hp, *x = in->x + k->x0;

    memset(u, 0, t->D * L * sizeof *u);
    for (size_t i = 0; i < d; i++) {
        const double inv = k->l == FM_NONE ? 1.0 : 1.0 / hp[fm_lengthscale(k->first, i)];
        for (size_t r = 0; r < L; r++) {
            const double v = x[(r < n ? r : 0) * ldx + i];
            if (k->in == FM_SCALE_IN) {
                u[i * L + r] = (REAL)(v * inv);
                continue;
            }
            const double turn = 2.0 * v / hp[k->period]; /* in half turns: exact reduction */
            u[2 * i * L + r] = (REAL)(turn - 2.0 * rint(0.5 * turn));
        }
        if (k->in == FM_SCALE_IN)
            continue;
        REAL *cosine = u + 2 * i * L, *sine = cosine + L;
        real->sincospi(L, cosine, sine, cosine);
        for (size_t r = 0; r < 2 * L; r++)
            cosine[r] *= (REAL)inv;
    }
    for (size_t r = 0; k->append && r < L; r++)
        u[d * L + r] = (REAL)(k->value * (k->append_hp == FM_NONE ? 1.0 : hp[k->append_hp]));
}

/* v = the link's projection of u in block b; w: D x lanes of scratch. */
static void N(forward)(const struct link *k, const struct fm_term *t, const struct simd_real *real,
                       size_t b, const REAL *u, REAL *v, REAL *w)
{
    const size_t L = real->lanes, D = t->D, rows = t->nb * D;

    for (size_t s = 0; s < k->nsigns; s++) {
        real->sign(D, t->signs + (k->sign0 + s) * rows + b * D, s == 0 ? u : v, v);
        real->fht(v, D);
    }
    if (k->perm != FM_NONE) {
        const uint32_t *perm = t->perm + k->perm * rows + b * D;
        memcpy(w, v, D * L * sizeof *w);
        for (size_t i = 0; i < D; i++)
            memcpy(v + i * L, w + perm[i] * L, L * sizeof *v);
    }
    if (k->scale != FM_NONE)
        real->scale(D, t->scale + k->scale * rows + b * D, v);
}

static void N(copy)(const struct fm_term *t, size_t L, double out, const struct simd_inputs *in,
                    REAL *z, size_t cs)
{
    const double *x = in->x + t->first;
    const size_t ldx = in->ldx, n = in->n;

    for (size_t j = 0; j < t->cols; j++)
        for (size_t r = 0; r < L; r++)
            z[j * cs + r] = (REAL)(out * (t->steps[0].op == FM_ONE
                                              ? 1.0 : x[(r < n ? r : 0) * ldx + j]));
}

/* Makes all columns of a term for one lane tile. */
static void N(term)(const struct chain *c, const struct steps_work *work, double out,
                    const struct simd_inputs *in, REAL *z, size_t cs)
{
    const struct simd_real *real = work->real;
    const struct fm_term *t = c->term;
    const size_t L = real->lanes, one = t->D * L;
    REAL *v = work->scratch, *w = v + one, *p = w + one, *g = p + one, *u = g + one;

    if (t->nb == 0) {
        N(copy)(t, L, out, in, z, cs);
        return;
    }
    for (size_t i = 0; i < c->nlinks; i++)
        N(input)(&c->link[i], t, work, in, u + i * one);
    for (size_t b = 0; b < t->nb; b++) {
        const size_t left = t->mf - b * t->D, jn = left < t->D ? left : t->D;
        bool phase = false, gain = false;
        for (size_t i = 0; i < c->nlinks; i++) {
            const bool is_phase = c->link[i].end == FM_PHASE;
            N(forward)(&c->link[i], t, real, b, u + i * one, v, w);
            real->combine(c->link[i].end, c->link[i].gain, t->D, v, is_phase ? p : g,
                          is_phase ? !phase : !gain);
            phase |= is_phase;
            gain |= !is_phase;
        }
        real->columns(jn, out, c->paired ? p : NULL, gain ? g : NULL,
                      z + (c->paired ? 2 : 1) * b * t->D * cs, cs);
    }
}

/* Sums over windows of a term that is not a plain chain: one row after another, its windows in the
 * lanes, added in their order. */
static void N(sum_rows)(const struct chain *c, const struct steps_work *work, double out,
                        const struct simd_inputs *in, REAL *z, size_t ldz)
{
    const struct fm_term *t = c->term;
    const struct layer *w = t->windows;
    const size_t L = work->real->lanes, cols = (t->sum_paired ? 2 : 1) * t->mf;
    double *win = work->scratch, *rest = win + t->d * SIMD_LANES_MOST;
    REAL *columns = (REAL *)(void *)rest;
    struct steps_work after = *work;

    after.scratch = rest + t->cols * SIMD_LANES_MOST;
    for (size_t r = 0; r < in->n; r++) {
        const double *row = in->x + r * in->ldx;
        const size_t m = windows_count(w, row);
        REAL *sum = z + r * ldz;
        memset(sum, 0, cols * sizeof *sum);
        for (size_t a = 0; a < m; a += L) {
            const size_t some = m - a < L ? m - a : L;
            for (size_t i = 0; i < some; i++)
                window_vector(w, row, a + i, win + i * t->d);
            N(term)(c, &after, 1.0, &(struct simd_inputs){win, t->d, some}, columns, L);
            for (size_t j = 0; j < cols; j++)
                for (size_t i = 0; i < some; i++)
                    sum[j] += columns[j * L + i];
        }
        const double f = out * windows_factor(w, m);
        for (size_t j = 0; j < cols; j++)
            sum[j] = (REAL)(f * (double)sum[j]);
    }
}
