static void points_of(const struct kernel *k, const double *x, double *v)
{
    memset(v, 0, (size_t)k->size * sizeof *v);
    for (int s = 0; s < k->nsteps; s++)
        read_inputs(&k->steps[s], x, v, k->size);
}

/* k(x, y) at amplitude 1. */
static double covariance(const double *x, const double *y)
{
    static double a[WORK], b[WORK];
    double total = 0.0;

    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        double value = products[i].weight;
        for (int f = products[i].first; f < products[i].end; f++) {
            double uu = 0.0, vv = 0.0, uv = 0.0, r2 = 0.0;
            points_of(&kernels[f], x, a);
            points_of(&kernels[f], y, b);
            for (int j = 0; j < kernels[f].size; j++) {
                uu += a[j] * a[j];
                vv += b[j] * b[j];
                uv += a[j] * b[j];
                /* Differences do not cancel for rows that almost coincide. */
                r2 += (a[j] - b[j]) * (a[j] - b[j]);
            }
            value *= kernels[f].value(uu, vv, uv, r2);
        }
        total += value;
    }
    return total;
}

/* Scaled means and, with a factor, latent variances of an encoded row. */
static void model(const double *x, double *mean, double *latent)
{
    static double k[TRAINING];

    for (int i = 0; i < TRAINING; i++)
        k[i] = covariance(x, training + i * INPUTS);
    for (int j = 0; j < TARGETS; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < TRAINING; i++)
            mean[j] += weights[j * TRAINING + i] * k[i];
    }
    if (!FACTOR_SIZE)
        return;
    const double left = fmax(covariance(x, x) - solved(FACTOR_SIZE, k), 0.0);
    for (int j = 0; j < TARGETS; j++)
        latent[j] = targets[j].amplitude * targets[j].amplitude * left;
}
