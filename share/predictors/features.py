def fht(v):
    """H v for the Hadamard matrix H in natural order, over the last axis."""
    shape, half = v.shape, 1
    while half < shape[-1]:
        v = v.reshape(shape[:-1] + (-1, 2, half))
        a, b = v[..., 0, :], v[..., 1, :]
        v = np.stack((a + b, a - b), axis=-2).reshape(shape)
        half *= 2
    return v


def signs_of(text):
    """Signs from hexadecimal digits, four from each: a bit that is set is -1."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))
    return 1.0 - 2.0 * bits


def features(x, terms, width):
    """Z: a row of `width` features for each row of x."""
    z, erf = np.zeros((len(x), width)), np.vectorize(math.erf, otypes=[float])
    for (first, count, size, blocks, frequencies, column, factor, steps, _, signs, scale,
         perm) in terms:
        if blocks == 0:
            z[:, column:column + count] = factor * (x[:, first:first + count]
                                                    if steps[0][0] == COPY else 1.0)
            continue
        shape = (-1, blocks, size)
        signs = signs_of(signs).reshape(shape) if signs else None
        scale = np.asarray(scale).reshape(shape) if scale else None
        perm = np.asarray(perm).reshape(shape) if perm else None
        v, p, g = None, None, np.ones((1, blocks, size))
        for step in steps:
            op, _, row, value, _ = step
            if op in (SCALE_IN, CIRCLE, APPEND):
                v = read_inputs(step, x, None if v is None else v[:, 0, :], size)[:, None, :]
            elif op == SIGN:
                v = v * signs[row]
            elif op == FHT:
                v = fht(v)
            elif op == SHUFFLE:
                v = np.broadcast_to(v, (len(x), blocks, size))
                v = np.take_along_axis(v, perm[row][None], axis=2)
            elif op == SCALE:
                v = v * scale[row]
            elif op == PHASE:
                p = v if p is None else p + v
            elif op == TIMES:
                g = g * v
            elif op == RELU:
                g = g * value * np.maximum(v, 0.0)
            elif op == ERF:
                g = g * erf(v)
        flat = (len(x), blocks * size)
        g = np.broadcast_to(g, (len(x), blocks, size)).reshape(flat)[:, :frequencies]
        if steps[-1][0] == EMIT:
            z[:, column:column + frequencies] = factor * g
            continue
        p = np.broadcast_to(v if p is None else p, (len(x), blocks, size))
        p = p.reshape(flat)[:, :frequencies]
        z[:, column:column + 2 * frequencies:2] = factor * g * cos(p)
        z[:, column + 1:column + 2 * frequencies:2] = factor * g * sin(p)
    return z


def triangle(numbers, n):
    """A lower triangular matrix from its rows, one after the other."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = numbers
    return matrix


weights_of = np.asarray(weights).reshape(len(targets), -1)
factor_of = triangle(factor, factor_size) if factor_size else None


def model(x):
    """Scaled means and latent variances (None: not exported) of encoded rows."""
    z = features(x, mean_terms, mean_width)
    mean = z @ weights_of.T
    if factor_of is None:
        return mean, None
    if variance_terms is not mean_terms:
        z = features(x, variance_terms, variance_width)
    v = np.linalg.solve(factor_of, z.T)
    return mean, np.outer((v ** 2).sum(axis=0), [t[4] ** 2 for t in targets])
