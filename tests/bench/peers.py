#!/usr/bin/env python3
"""Public Python peers on the same work, in one run with gpdesk: same machine, data, split, threads.

    python3 tests/bench/peers.py [--gpdesk build/gpdesk] [--shared ../shared] [--threads 2] [JOB ...]

Not part of the build.  Needs NumPy; a peer that cannot be imported (scikit-learn, GPyTorch) is said to
be absent and its rows are left out.  Prints a table and writes peers.json.  Times are medians of
three, fits and predictions alone: reading the data is not counted on either side."""
import argparse
import csv
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--gpdesk", default="build/gpdesk")
parser.add_argument("--shared", default="../shared")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("jobs", nargs="*")
opts = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(opts.threads)

import numpy as np  # noqa: E402  (after the thread counts)


def load(name, split="split0"):
    """Standardised by the training rows, as gpdesk does it: x, y of training and test rows."""
    base = os.path.join(opts.shared, "data", name)
    with gzip.open(os.path.join(base, "data.csv.gz"), "rt") as f:
        rows = list(csv.DictReader(f))
    with gzip.open(os.path.join(base, "splits.csv.gz"), "rt") as f:
        test = np.array([r[split] for r in csv.DictReader(f)]).astype(float) > 0.5
    x = np.array([[float(v) for k, v in r.items() if k != "y"] for r in rows])
    y = np.array([float(r["y"]) for r in rows])
    mean, sd = x[~test].mean(0), x[~test].std(0)
    x = (x - mean) / np.where(sd > 0, sd, 1.0)
    y = (y - y[~test].mean()) / y[~test].std()
    return x[~test], y[~test], x[test], y[test]


def median(job):
    """Median seconds of a job that returns its figure."""
    seconds, figure = [], None
    for _ in range(opts.repeats):
        start = time.perf_counter()
        figure = job()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), figure


def gpdesk(*lines):
    """The result lines of a session, by command."""
    args = [opts.gpdesk, "--no-config", "--format", "json", "--threads", str(opts.threads), "--seed", "7"]
    for line in lines:
        args += ["-e", line]
    out = subprocess.run(args, capture_output=True, text=True, check=True).stdout
    results = {}
    for line in out.splitlines():
        record = json.loads(line)
        if record["type"] == "result":
            results[record["command"]] = record
    return results


def gpdesk_median(measure, *lines):
    """Median of what measure(results) gives; the last results."""
    seconds = []
    for _ in range(opts.repeats):
        results = gpdesk(*lines)
        seconds.append(measure(results))
    return statistics.median(seconds), results


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def subset(x, y, xt, yt, n, path):
    """A file of n training rows and all test rows, for both sides."""
    with open(path, "w") as f:
        print(*("x%d" % j for j in range(x.shape[1])), "y", "part", sep=",", file=f)
        for rows, targets, part in ((x[:n], y[:n], "train"), (xt, yt, "test")):
            for r, t in zip(rows, targets):
                print(*("%.17g" % v for v in r), "%.17g" % t, part, sep=",", file=f)
    return ["open %s target=y" % path, "scale x=none y=none", "split column=part", "kernel rbf"]


table = []


def row(work, ours, our_error, peer, theirs, their_error, floor):
    ratio = theirs / ours
    table.append({"work": work, "peer": peer, "gpdesk_seconds": ours, "gpdesk_rmse": our_error,
                  "peer_seconds": theirs, "peer_rmse": their_error, "ratio": ratio, "floor": floor})
    print("%-44s %-28s %8.2f s (%.4f) %8.2f s (%.4f)  %6.1fx %s" %
          (work, peer, ours, our_error, theirs, their_error, ratio,
           "" if floor is None else "reached" if ratio >= floor else "MISSED, floor %gx" % floor), flush=True)


def features(work_dir):
    """kin40k: random features and ridge regression; gpdesk with as many features as give no more error."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    x, y, xt, yt = load("kin40k")
    lengthscale, ratio = 1.9, 2.5e-4
    lines = subset(x, y, xt, yt, len(x), os.path.join(work_dir, "kin40k.csv"))
    ours, r = gpdesk_median(lambda r: r["fit"]["seconds"]["total"], *lines,
                            "set l=%g amplitude=1 noise=%g" % (lengthscale, ratio ** 0.5),
                            "fit features=4096 solver=direct variance=none precision=float", "score")
    for dtype, floor in ((np.float64, 3.0), (np.float32, 1.5)):
        def fit():
            s = RBFSampler(gamma=0.5 / lengthscale ** 2, n_components=4096, random_state=1)
            z = s.fit_transform(x.astype(dtype))
            m = Ridge(alpha=ratio, fit_intercept=False, solver="cholesky").fit(z, y.astype(dtype))
            fit.model = (s, m)
            return m
        theirs, _ = median(fit)
        s, m = fit.model
        row("kin40k, 4096 features, fit", ours, r["score"]["rmse_scaled"],
            "RBFSampler + Ridge %s" % np.dtype(dtype).name, theirs,
            rmse(m.predict(s.transform(xt.astype(dtype))), yt), floor)


def exact(work_dir):
    """Exact GPs: fixed hyperparameters, n = 4000; and optimised, n = 2000."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    x, y, xt, yt = load("kin40k")
    lines = subset(x, y, xt, yt, 4000, os.path.join(work_dir, "exact.csv"))
    ours, r = gpdesk_median(lambda r: r["fit"]["seconds"]["total"] + r["score"]["seconds"], *lines,
                            "set l=1.9 amplitude=3 noise=0.2", "fit solver=exact variance=none", "score")

    def fixed():
        m = GaussianProcessRegressor(ConstantKernel(9.0) * RBF(1.9), alpha=0.04, optimizer=None)
        return rmse(m.fit(x[:4000], y[:4000]).predict(xt), yt)
    theirs, error = median(fixed)
    row("exact GP, n=4000, fit and predict 4000", ours, r["score"]["rmse_scaled"], "GaussianProcessRegressor",
        theirs, error, 3.0)

    lines = subset(x, y, xt, yt, 2000, os.path.join(work_dir, "optimised.csv"))
    ours, r = gpdesk_median(lambda r: r["tune"]["seconds"] + r["fit"]["seconds"]["total"], *lines,
                            "tune solver=exact", "fit solver=exact", "score")

    def optimised():
        m = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.01), alpha=0.0)
        optimised.model = m.fit(x[:2000], y[:2000])
    theirs, _ = median(optimised)
    row("exact GP, n=2000, hyperparameters found", ours, r["score"]["rmse_scaled"], "GaussianProcessRegressor",
        theirs, rmse(optimised.model.predict(xt), yt), 3.0)


def variational(work_dir):
    """kin40k with the search for hyperparameters: GPyTorch's SVGP, 500 inducing points, 40 epochs."""
    import gpytorch
    import torch
    torch.set_num_threads(opts.threads)
    x, y, xt, yt = (torch.tensor(v, dtype=torch.float32) for v in load("kin40k"))

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            q = gpytorch.variational.CholeskyVariationalDistribution(points.shape[0])
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, q))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))

    start = time.perf_counter()
    torch.manual_seed(1)
    model, likelihood = Model(x[:500].clone()), gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    for _ in range(40):
        for batch in torch.randperm(len(x)).split(1024):
            adam.zero_grad()
            loss = -bound(model(x[batch]), y[batch])
            loss.backward()
            adam.step()
    theirs = time.perf_counter() - start
    model.eval()
    with torch.no_grad():
        error = rmse(model(xt).mean.numpy(), yt.numpy())
    r = gpdesk("open %s/data/kin40k/data.csv.gz target=y" % opts.shared,
               "split file=%s/data/kin40k/splits.csv.gz column=split0" % opts.shared, "kernel rbf",
               "tune features=1024", "fit features=4096", "score")
    row("kin40k, search included", r["tune"]["seconds"] + r["fit"]["seconds"]["total"],
        r["score"]["rmse_scaled"], "GPyTorch SVGP, 40 epochs", theirs, error, 3.0)


jobs = {"features": features, "exact": exact, "variational": variational}
if not os.path.isdir(os.path.join(opts.shared, "data", "kin40k")):
    sys.exit("peers: %s/data/kin40k is not here" % opts.shared)
print("%-44s %-28s %19s %19s  (seconds, RMSE of the standardised target)" % ("work", "peer", "gpdesk", "peer"))
with tempfile.TemporaryDirectory() as work_dir:
    for name in opts.jobs or jobs:
        try:
            jobs[name](work_dir)
        except ImportError as absent:
            print("%s: left out, %s" % (name, absent))
with open("peers.json", "w") as f:
    json.dump({"threads": opts.threads, "rows": table}, f, indent=1)
    f.write("\n")
