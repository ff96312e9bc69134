static double probit(double mean, double var)
{
    return 0.5 * erfc(-mean / sqrt(2.0 * (1.0 + var)));
}

/* The mean of 1 / (1 + exp(-f)) by the trapezoidal rule, with an error below 1e-15. */
static double logit(double mean, double var)
{
    const double sd = sqrt(var), step = fmin(0.25, 0.5 / fmax(sd, 1e-6));
    const int most = (int)ceil(9.0 / step);
    double sum = 0.0, mass = 0.0;

    for (int k = -most; k <= most; k++) {
        const double z = k * step, w = exp(-0.5 * z * z);
        sum += w / (1.0 + exp(-(mean + sd * z)));
        mass += w;
    }
    return sum / mass;
}

/* The probability of the second class. */
static double probability(double mean, double var)
{
    const double m = mean / temperature, v = var / (temperature * temperature);

    return strcmp(class_link, "logit") ? probit(m, v) : logit(m, v);
}
