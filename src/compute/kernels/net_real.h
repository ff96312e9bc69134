/* compute/kernels/net_real.h -- the loops of a learned map for one precision: REAL, WORD (an
 * integer of its size), PASS, NET(name), the two ways and GEMM are set by net.c, which includes
 * this once for each.  Loops over a row go by vectors of LANES numbers, then over those that are
 * left. */

typedef REAL NET(vec) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
typedef WORD NET(mask) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
#define LANES (16 / sizeof(REAL))
#define AT(p) (*(NET(vec) *)(p))
#define OF(p) (*(const NET(vec) *)(p))
#define WHERE(condition, v) ((NET(vec))((condition) & (NET(mask))(v)))

static REAL NET(fold)(const NET(vec) *v)
{
    REAL sum = 0;

    for (size_t i = 0; i < LANES; i++)
        sum += (*v)[i];
    return sum;
}

/* z (n rows of l->out) = rows of h through a linear layer. */
static void NET(linear)(const struct net_layer *l, const REAL *w, size_t n, const REAL *h, REAL *z)
{
    for (size_t r = 0; r < n; r++)
        memcpy(z + r * l->out, w + l->b, l->out * sizeof *z);
    GEMM(true, false, l->out, n, l->in, 1, w + l->w, l->in, h, l->in, 1, z, l->out);
}

/* Standardises each row of z; *rstd: one over its standard deviation (with 1e-5, 23.2). */
static void NET(standardise)(size_t n, size_t width, REAL *z, REAL *rstd)
{
    const size_t whole = width - width % LANES;

    for (size_t r = 0; r < n; r++, z += width) {
        NET(vec) sum = { 0 }, squares = { 0 };
        for (size_t j = 0; j < whole; j += LANES)
            sum += OF(z + j);
        REAL mean = NET(fold)(&sum), var;
        for (size_t j = whole; j < width; j++)
            mean += z[j];
        mean /= (REAL)width;
        for (size_t j = 0; j < whole; j += LANES) {
            AT(z + j) -= mean;
            squares += OF(z + j) * OF(z + j);
        }
        var = NET(fold)(&squares);
        for (size_t j = whole; j < width; j++) {
            z[j] -= mean;
            var += z[j] * z[j];
        }
        rstd[r] = 1 / (REAL)sqrt((double)(var / (REAL)width) + NORM_EPS);
        for (size_t j = 0; j < whole; j += LANES)
            AT(z + j) *= rstd[r];
        for (size_t j = whole; j < width; j++)
            z[j] *= rstd[r];
    }
}

/* The means and deviations of a batch norm. */
static void NET(centre)(const struct net_layer *l, const REAL *w, size_t n, REAL *z)
{
    const REAL *mean = w + l->mean, *rstd = w + l->rstd;

    for (size_t r = 0; r < n; r++, z += l->out)
        for (size_t j = 0; j < l->out; j++)
            z[j] = (z[j] - mean[j]) * rstd[j];
}

/* h = max(gain hat + shift, 0), without a norm max(hat, 0). */
static void NET(activate)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat,
                          REAL *h)
{
    const size_t width = l->out, whole = width - width % LANES;
    const bool norm = l->gain != SIZE_MAX;
    const REAL *gain = norm ? w + l->gain : NULL, *shift = norm ? w + l->shift : NULL;

    for (size_t r = 0; r < n; r++, hat += width, h += width) {
        for (size_t j = 0; norm && j < whole; j += LANES) {
            const NET(vec) v = OF(gain + j) * OF(hat + j) + OF(shift + j);
            AT(h + j) = WHERE(v > 0, v);
        }
        for (size_t j = 0; !norm && j < whole; j += LANES)
            AT(h + j) = WHERE(OF(hat + j) > 0, OF(hat + j));
        for (size_t j = whole; j < width; j++) {
            const REAL v = norm ? gain[j] * hat[j] + shift[j] : hat[j];
            h[j] = v > 0 ? v : 0;
        }
    }
}

void NET_FORWARD(const struct net_shape *s, const REAL *w, size_t n, const struct PASS *p)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t one = s->width * n;
    REAL *f = p->f, *rstd = p->rstd, *h = p->work, *own = h + one, *spread = own + one;

    net_layers(s, layer);
    for (size_t i = 0; i < s->depth; i++) {
        REAL *z = p->hat ? p->hat + i * one : own;
        NET(linear)(&layer[i], w, n, i ? h : p->x, z);
        if (s->norm == NET_LAYER)
            NET(standardise)(n, s->width, z, rstd ? rstd + i * n : spread);
        else if (s->norm == NET_BATCH)
            NET(centre)(&layer[i], w, n, z);
        NET(activate)(&layer[i], w, n, z, h);
    }
    NET(linear)(&layer[s->depth], w, n, h, f);
    for (size_t r = 0; s->unit_rows && r < n; r++) {
        REAL sum = 0;
        for (size_t j = 0; j < s->out; j++)
            sum += f[r * s->out + j] * f[r * s->out + j];
        const REAL inverse = sum > 0 ? 1 / (REAL)sqrt((double)sum) : 0;
        for (size_t j = 0; j < s->out; j++)
            f[r * s->out + j] *= inverse;
        if (rstd)
            rstd[s->depth * n + r] = inverse;
    }
}

/* The gradient in the weights and shifts of a linear layer from dz (n rows of l->out). */
static void NET(linear_back)(const struct net_layer *l, size_t n, const REAL *h, const REAL *dz,
                             REAL *grad)
{
    const size_t whole = l->out - l->out % LANES;
    REAL *db = grad + l->b;

    GEMM(false, true, l->in, l->out, n, 1, h, l->in, dz, l->out, 0, grad + l->w, l->in);
    for (size_t j = 0; j < l->out; j++)
        db[j] = 0;
    for (size_t r = 0; r < n; r++, dz += l->out) {
        for (size_t j = 0; j < whole; j += LANES)
            AT(db + j) += OF(dz + j);
        for (size_t j = whole; j < l->out; j++)
            db[j] += dz[j];
    }
}

/* dh, the derivatives behind a layer's ReLU, becomes that before its norm (23.3). */
static void NET(norm_back)(const struct net_layer *l, const REAL *w, size_t n, const REAL *hat,
                           const REAL *rstd, REAL *dh, REAL *grad)
{
    const REAL *gain = w + l->gain, *shift = w + l->shift;
    REAL *dgain = grad + l->gain, *dshift = grad + l->shift;
    const size_t width = l->out, whole = width - width % LANES;

    for (size_t j = 0; j < width; j++)
        dgain[j] = dshift[j] = 0;
    for (size_t r = 0; r < n; r++, hat += width, dh += width) {
        NET(vec) sum = { 0 }, along = { 0 };
        for (size_t j = 0; j < whole; j += LANES) {
            const NET(vec) t = OF(hat + j);
            const NET(vec) g = WHERE(OF(gain + j) * t + OF(shift + j) > 0, OF(dh + j));
            AT(dgain + j) += g * t;
            AT(dshift + j) += g;
            AT(dh + j) = g * OF(gain + j);
            sum += OF(dh + j);
            along += OF(dh + j) * t;
        }
        REAL mean = NET(fold)(&sum), slope = NET(fold)(&along);
        for (size_t j = whole; j < width; j++) {
            const REAL g = gain[j] * hat[j] + shift[j] > 0 ? dh[j] : 0;
            dgain[j] += g * hat[j];
            dshift[j] += g;
            dh[j] = g * gain[j];
            mean += dh[j];
            slope += dh[j] * hat[j];
        }
        mean /= (REAL)width;
        slope /= (REAL)width;
        for (size_t j = 0; j < whole; j += LANES)
            AT(dh + j) = (OF(dh + j) - mean - OF(hat + j) * slope) * rstd[r];
        for (size_t j = whole; j < width; j++)
            dh[j] = (dh[j] - mean - hat[j] * slope) * rstd[r];
    }
}

/* The derivatives before rows=unit (23.4). */
static void NET(unit_back)(const struct net_shape *s, size_t n, const struct PASS *p, REAL *df)
{
    const REAL *f = p->f;

    for (size_t r = 0; s->unit_rows && r < n; r++, f += s->out, df += s->out) {
        REAL along = 0;
        for (size_t j = 0; j < s->out; j++)
            along += f[j] * df[j];
        for (size_t j = 0; j < s->out; j++)
            df[j] = (df[j] - along * f[j]) * p->rstd[s->depth * n + r];
    }
}

void NET_BACK(const struct net_shape *s, const REAL *w, size_t n, const struct PASS *p, REAL *df,
              REAL *grad)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];
    const size_t one = s->width * n;
    const REAL *hat = p->hat, *rstd = p->rstd;
    REAL *h = p->work, *dz = h + one, *dh = dz + one;

    net_layers(s, layer);
    NET(unit_back)(s, n, p, df);
    const REAL *from = df;
    for (size_t i = s->depth + 1; i-- > 0;) {
        const struct net_layer *l = &layer[i];
        if (i > 0)
            NET(activate)(&layer[i - 1], w, n, hat + (i - 1) * one, h);
        NET(linear_back)(l, n, i ? h : p->x, from, grad);
        if (i == 0)
            break;
        GEMM(false, false, l->in, n, l->out, 1, w + l->w, l->in, from, l->out, 0, dh, l->in);
        if (s->norm == NET_LAYER)
            NET(norm_back)(&layer[i - 1], w, n, hat + (i - 1) * one, rstd + (i - 1) * n, dh, grad);
        else
            for (size_t e = 0; e < one; e++)
                dh[e] = hat[(i - 1) * one + e] > 0 ? dh[e] : 0;
        REAL *spare = dz;
        dz = dh;
        dh = spare;
        from = dz;
    }
}

#undef LANES
#undef AT
#undef OF
#undef WHERE
