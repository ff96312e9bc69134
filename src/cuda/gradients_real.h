/* cuda/gradients_real.h -- derivatives of features for one precision, by going backwards through
 * the steps of a term. It is included after steps_real.h with the same macros.
 *
 * The derivative of the objective with respect to a feature is a number B for each column. The last
 * stage of a term (the steps of the row, or those of each window if nothing follows their sum)
 * computes from a base pair (c, s), which is (1, 0) unless the stage rotates a sum over windows,
 *
 *   re = g (c cos p - s sin p), im = g (c sin p + s cos p)
 *
 * where p is the sum of the phases of its links and g the product of their gains. A link begins
 * with a row and ends in FM_PHASE (or in a pair of columns) or in a gain. Its own projection f is
 * the last one computed, after all others, so that v, w, p, g are enough for any number of
 * links. */

DEV REAL N(back_read)(const struct back_args *a, size_t row, size_t col)
{
    const size_t at = row * a->ldb + col;

    return a->b64 ? (REAL)((const double *)a->B)[at] : (REAL)((const float *)a->B)[at];
}

/* The gain of a link with projection f, and its slope. */
DEV REAL N(back_value)(const struct dev_step *end, REAL f, REAL *slope)
{
    switch (end->op) {
    case FM_RELU:
        *slope = f > (REAL)0 ? (REAL)end->value : (REAL)0;
        return (REAL)end->value * (f > (REAL)0 ? f : (REAL)0);
    case FM_ERF:
        *slope = (REAL)1.12837916709551257390 * REAL_EXP(-f * f);
        return REAL_ERF(f);
    default:
        *slope = (REAL)1;
        return f;
    }
}

/* v = the derivative with respect to the projection of link k of `stage`, from bc and bs (those of
 * re and im). weight: adds the stage's own sum of B times columns there. turned: bc and bs become
 * the derivatives with respect to c and s. */
DEV void N(back_ends)(const struct back_args *a, const struct dev_link *k, int phase, size_t base,
                      int nt, struct N(back_room) *m, double *weight, int turned)
{
    const struct dev_term *t = &a->s.term;
    const struct dev_step *end = &t->steps[k->q1 - 1];
    const int own = end->op != FM_TIMES && end->op != FM_RELU && end->op != FM_ERF;

    LANES(l, nt)
        for (int i = l; i < t->D; i += nt) {
            REAL sine = (REAL)0, cosine = (REAL)1, slope = (REAL)1;
            const REAL f = m->v[i], g = m->g[i], gain = own ? g : g * N(back_value)(end, f, &slope);
            if (phase)
                TURNS((m->p[i] + (own ? f : (REAL)0)) * (REAL)0.15915494309189533577, &sine,
                      &cosine);
            const REAL re = m->c[i] * cosine - m->s[i] * sine,
                       im = m->c[i] * sine + m->s[i] * cosine;
            const REAL bc = m->bc[i], bs = m->bs[i], along = bc * re + bs * im;
            const int there = base + (size_t)i < t->mf;
            if (there && weight)
                weight[i] += (double)along * (double)gain;
            m->v[i] = !there ? (REAL)0 : own ? gain * (bs * re - bc * im) : along * g * slope;
            if (turned) {
                m->bc[i] = gain * (bc * cosine + bs * sine);
                m->bs[i] = gain * (bs * cosine - bc * sine);
            }
        }
}

/* Applies the steps of a link to v in reverse, back to its input. */
DEV void N(back_steps)(const struct back_args *a, const struct dev_link *k, size_t base, int nt,
                       REAL *v, REAL *w)
{
    const struct dev_term *t = &a->s.term;
    const size_t one = (size_t)t->nb * (size_t)t->D;

    for (int q = k->q1 - 2; q > k->q0; q--) {
        const struct dev_step *s = &t->steps[q];
        const size_t at = (s->row < 0 ? 0 : (size_t)s->row * one) + base;
        const int mixes = s->op == FM_SHUFFLE || s->op == FM_DENSE;
        if (s->op == FM_FHT) {
            N(steps_fht)(v, t->D, nt);
            continue;
        }
        if (mixes)
            SYNC();
        LANES(l, nt)
            for (int i = l; i < t->D; i += nt) {
                if (s->op == FM_SIGN)
                    v[i] = t->signs[at + (size_t)i] < 0 ? -v[i] : v[i];
                else if (s->op == FM_SCALE)
                    v[i] *= (REAL)t->scale[at + (size_t)i];
                else if (s->op == FM_SHUFFLE)
                    w[t->perm[at + (size_t)i]] = v[i];
                else if (s->op == FM_DENSE) {
                    REAL sum = (REAL)0;
                    for (int j = 0; i < t->d && j < t->D; j++)
                        sum += (REAL)t->filter[(size_t)i * one + base + (size_t)j] * v[j];
                    w[i] = sum;
                }
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

/* The derivative with respect to the input of a link, times that input: D numbers, and for circles
 * D more for their period. */
DEV void N(back_input)(const struct back_args *a, const struct dev_link *k, size_t row, int at,
                       int nt, const REAL *v, double *part)
{
    const struct dev_term *t = &a->s.term;
    const struct dev_step *s = &t->steps[k->q0];

    LANES(l, nt)
        for (int i = l; i < t->D; i += nt) {
            REAL u = N(steps_begin)(&a->s, s, row, at, i);
            for (int q = k->q0 + 1; q < k->q1; q++)
                if (t->steps[q].op == FM_APPEND && t->steps[q].count == i)
                    u = (REAL)t->steps[q].value;
            part[i] += (double)v[i] * (double)u;
            if (s->op != FM_CIRCLE || i >= 2 * s->count)
                continue;
            const double angle = 6.283185307179586477 * s->value *
                                 (double)N(steps_input)(&a->s, row, s->first + i / 2);
            const REAL other = N(steps_begin)(&a->s, s, row, at, i ^ 1);
            part[t->D + i] += (i % 2 ? -angle : angle) * (double)v[i] * (double)other;
        }
}

/* Handles links l0 to l1 - 1, which make up a stage. */
DEV void N(back_stage)(const struct back_args *a, int l0, int l1, int phase, size_t row, int at,
                       size_t base, int nt, struct N(back_room) *m, double *part, double *weight,
                       int turned)
{
    const struct dev_term *t = &a->s.term;

    for (int i = l0; i < l1; i++) {
        const struct dev_link *k = &a->link[i];
        N(steps_reset)(t, nt, m->p, m->g);
        for (int j = l0; j < l1; j++)
            if (j != i)
                N(steps_go)
                (&a->s, a->link[j].q0, a->link[j].q1, row, at, base, nt, m->v, m->w, m->p, m->g);
        N(steps_go)(&a->s, k->q0, k->q1 - 1, row, at, base, nt, m->v, m->w, m->p, m->g);
        N(back_ends)(a, k, phase, base, nt, m, i == l0 ? weight : NULL, turned && i == l1 - 1);
        N(back_steps)(a, k, base, nt, m->v, m->w);
        N(back_input)(a, k, row, at, nt, m->v, part + 2 * (size_t)i * (size_t)t->D);
        SYNC();
    }
}

/* B of the columns of each frequency, times the factor of the columns and that of the row; c, s: 1,
 * 0. */
DEV void N(back_begin)(const struct back_args *a, size_t row, double c, size_t base, int nt,
                       struct N(back_room) *m)
{
    const struct dev_term *t = &a->s.term;
    const double out = c * a->s.to.out * (a->s.to.factor ? a->s.to.factor[row] : 1.0);

    SYNC();
    LANES(l, nt)
        for (int i = l; i < t->D; i += nt) {
            const size_t j = base + (size_t)i;
            const int there = j < t->mf;
            m->bc[i] = there ? (REAL)out * N(back_read)(a, row, t->col0 + (t->paired ? 2 * j : j))
                             : (REAL)0;
            m->bs[i] = there && t->paired ? (REAL)out * N(back_read)(a, row, t->col0 + 2 * j + 1)
                                          : (REAL)0;
            m->c[i] = (REAL)1;
            m->s[i] = (REAL)0;
        }
}

/* Copied columns have no hyperparameter other than their weight. */
DEV void N(back_copied)(const struct back_args *a, size_t row, int nt, double *weight)
{
    const struct dev_term *t = &a->s.term;
    const double out = a->s.to.out * (a->s.to.factor ? a->s.to.factor[row] : 1.0);

    LANES(l, nt)
        for (int i = l; i < (int)t->cols; i += nt)
            weight[i] += out * (double)N(back_read)(a, row, t->col0 + (size_t)i) *
                         (t->copied == 2 ? 1.0 : (double)N(steps_input)(&a->s, row, t->first + i));
}

/* Handles a row: its windows, if it has any, between the steps of the row and the sums that they
 * rotate. smem: 8 D numbers. */
DEV void N(back_block)(const struct back_args *a, int block, int chunk, int nt, REAL *smem)
{
    const struct dev_term *t = &a->s.term;
    const int D = t->D, rest = t->nsteps > t->nsum, phase = t->phase || !t->width;
    struct N(back_room) m = {smem,         smem + D,     smem + 2 * D, smem + 3 * D,
                             smem + 4 * D, smem + 5 * D, smem + 6 * D, smem + 7 * D};
    const size_t base = (size_t)block * (size_t)D, end = (size_t)(chunk + 1) * (size_t)a->s.per;
    double *part =
        a->part + ((size_t)chunk * (size_t)(t->copied ? 1 : t->nb) + (size_t)block) * a->slots;
    double *weight = part + (t->copied ? 0 : 2 * (size_t)a->links * (size_t)D);

    for (size_t row = (size_t)chunk * (size_t)a->s.per; row < end && row < a->s.rows; row++) {
        if (t->copied) {
            N(back_copied)(a, row, nt, weight);
            continue;
        }
        double c = 1.0;
        const int windows = t->width ? N(steps_windows)(&a->s, row, &c) : 0;
        N(back_begin)(a, row, c, base, nt, &m);
        if (t->width && rest)
            N(steps_sum)(&a->s, windows, row, base, nt, m.v, m.w, m.p, m.g, m.c, m.s);
        if (rest) {
            N(back_stage)
            (a, a->inner, a->links, t->paired && phase, row, -1, base, nt, &m, part, weight,
             t->width != 0);
            LANES(l, nt)
                for (int i = l; i < D; i += nt)
                    m.c[i] = (REAL)1, m.s[i] = (REAL)0;
        }
        for (int at = 0; t->width && at < windows; at++)
            N(back_stage)(a, 0, a->inner, t->sum_paired, row, at, base, nt, &m, part,
                          rest ? NULL : weight, 0);
    }
}
