def probit(mean, variance):
    return math.erfc(-mean / math.sqrt(2 * (1 + variance))) / 2


def logit(mean, variance):
    """The mean of 1 / (1 + exp(-f)) by the trapezoidal rule, with an error below 1e-15."""
    sd = math.sqrt(variance)
    step = min(0.25, 0.5 / max(sd, 1e-6))
    most = math.ceil(9 / step)
    z = np.arange(-most, most + 1) * step
    weight = exp(-z ** 2 / 2)
    return float(weight @ (1 / (1 + exp(-np.clip(mean + sd * z, -700, 700)))) / weight.sum())


def in_classes(mean, latent):
    """The probability of the second class, the chosen class, and the latent function."""
    link = {"probit": probit, "logit": logit}[class_link]
    p = np.array([link(m / temperature, v / temperature ** 2)
                  for m, v in zip(mean[:, 0], latent[:, 0])]).reshape(-1, 1)
    return {"p": p, "class": np.array(class_names, dtype=object)[second_class(p).astype(int)],
            "mean_latent": mean, "sd_latent": sqrt(latent)}
