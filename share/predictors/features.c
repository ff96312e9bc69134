/* H v for the Hadamard matrix H in natural order. */
static void fht(double *v, int n)
{
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                const double a = v[j], b = v[j + h];
                v[j] = a + b;
                v[j + h] = a - b;
            }
}

/* Sign i from hexadecimal digits, four from each: a bit that is set is -1. */
static double sign_of(const char *digits, size_t i)
{
    const char c = digits[i / 4];
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;

    return value >> (3 - i % 4) & 1 ? -1.0 : 1.0;
}

/* The work of a block of features: projections, phases, gains, a copy, and where the block is in
 * the arrays of its term. */
struct work { double v[WORK], p[WORK], g[WORK], was[WORK]; int phase; size_t at, rows; };

static void one_step(const struct term *t, const struct step *s, const double *x, struct work *w)
{
    const size_t row = (size_t)s->count * w->rows + w->at;

    if (s->op == SCALE_IN || s->op == CIRCLE || s->op == APPEND)
        read_inputs(s, x, w->v, t->size);
    if (s->op == FHT)
        fht(w->v, t->size);
    if (s->op == SHUFFLE)
        memcpy(w->was, w->v, (size_t)t->size * sizeof *w->v);
    w->phase |= s->op == PHASE;
    for (int i = 0; i < t->size; i++)
        switch (s->op) {
        case SIGN: w->v[i] *= sign_of(t->signs, row + (size_t)i); break;
        case SHUFFLE: w->v[i] = w->was[t->perm[row + (size_t)i]]; break;
        case SCALE: w->v[i] *= t->scale[row + (size_t)i]; break;
        case PHASE: w->p[i] += w->v[i]; break;
        case TIMES: w->g[i] *= w->v[i]; break;
        case RELU: w->g[i] *= s->value * fmax(w->v[i], 0.0); break;
        case ERF: w->g[i] *= erf(w->v[i]); break;
        default: break;
        }
}

/* The features z of a row from a list of terms. */
static void features(const double *x, const struct term *terms, int nterms, double *z)
{
    static struct work w;

    for (const struct term *t = terms; t < terms + nterms; t++) {
        for (int i = 0; t->blocks == 0 && i < t->count; i++)
            z[t->column + i] = t->factor * (t->steps->op == COPY ? x[t->first + i] : 1.0);
        for (int b = 0; b < t->blocks; b++) {
            w.at = (size_t)(b * t->size);
            w.rows = (size_t)(t->blocks * t->size);
            w.phase = 0;
            for (int i = 0; i < t->size; i++)
                w.p[i] = 0.0, w.g[i] = 1.0;
            for (int s = 0; s < t->nsteps; s++)
                one_step(t, &t->steps[s], x, &w);
            const double *p = w.phase ? w.p : w.v;
            for (int i = 0, j = b * t->size; i < t->size && j < t->frequencies; i++, j++) {
                if (t->steps[t->nsteps - 1].op == EMIT) {
                    z[t->column + j] = t->factor * w.g[i];
                    continue;
                }
                z[t->column + 2 * j] = t->factor * w.g[i] * cos(p[i]);
                z[t->column + 2 * j + 1] = t->factor * w.g[i] * sin(p[i]);
            }
        }
    }
}

/* Scaled means and, with a factor, latent variances of an encoded row. */
static void model(const double *x, double *mean, double *latent)
{
    static double z[WIDTH];

    memset(z, 0, sizeof z);
    features(x, mean_terms, MEAN_TERMS, z);
    for (int j = 0; j < TARGETS; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < MEAN_WIDTH; i++)
            mean[j] += weights[j * MEAN_WIDTH + i] * z[i];
    }
    if (!FACTOR_SIZE)
        return;
    if (!SAME_MAP) {
        memset(z, 0, sizeof z);
        features(x, variance_terms, VARIANCE_TERMS, z);
    }
    const double sum = solved(FACTOR_SIZE, z);
    for (int j = 0; j < TARGETS; j++)
        latent[j] = targets[j].noise * targets[j].noise * sum;
}
