#!/usr/bin/env python3
"""Public Python peers on the same work, in one run with gpdesk: same machine, data, split, threads.

    python3 tests/bench/peers.py [--gpdesk build/gpdesk] [--bench build/tests/bench/bench_compute]
                                 [--shared ../shared] [--threads 2] [--repeats 1] [--ffht DIR] [JOB ...]

Jobs: ffht transforms predict features exact cg dual adam variational xgpr; all of them by default.  Not part
of the build.  Needs NumPy; a peer that cannot be imported (scikit-learn, GPyTorch, torch, xGPR) is said to be
absent and its rows are left out.  Prints a table and writes peers.json and peers.txt.  adam runs bench_learn,
which lies beside bench_compute, and wants one thread and one core (taskset -c 1 ... --threads 1 adam).

FFHT is C: --ffht names the directory of its source (fht.c, fht.h and what they include), which is
compiled here, as its own Makefile does it, with the loops of ffht_loops.c and timed inside
bench_compute, in turn with gpdesk's transforms.  Its source is github.com/FALCONN-LIB/FFHT; PyPI's
archive FALCONN-1.3.1 has an earlier one in include/falconn/ffht.

Two times stand for each side: on the clock, and of the processor over all threads.  Where other
programs run on the machine the second is the one to compare; gpdesk's then includes reading the data
and starting, the peer's does not.  Times are medians of --repeats."""
import argparse
import contextlib
import csv
import gzip
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--gpdesk", default="build/gpdesk")
parser.add_argument("--bench", default="build/tests/bench/bench_compute")
parser.add_argument("--ffht", help="directory of FFHT's source")
parser.add_argument("--epochs", type=int, default=40, help="of the variational peer")
parser.add_argument("--rows", type=int, default=4000, help="of the exact peers cg and dual")
parser.add_argument("--steps", type=int, default=5000, help="of dual descent")
parser.add_argument("--shared", default="../shared")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--repeats", type=int, default=1)
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
    """Median seconds, on the clock and of the processor, of a job that returns its figure."""
    wall, cpu, figure = [], [], None
    for _ in range(opts.repeats):
        start, used = time.perf_counter(), time.process_time()
        figure = job()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return (statistics.median(wall), statistics.median(cpu)), figure


def gpdesk(*lines):
    """The result lines of a session, by command."""
    args = [opts.gpdesk, "--no-config", "--accept-unconverged", "--format", "json", "--seed", "7",
            "--threads", str(opts.threads)]
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
    """Median of what measure(results) gives, and of processor seconds; the last results."""
    wall, cpu = [], []
    for _ in range(opts.repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = gpdesk(*lines)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append(measure(results))
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (statistics.median(wall), statistics.median(cpu)), results


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


table, lines = [], []


def say(text):
    print(text, flush=True)
    lines.append(text)


def row(work, ours, our_error, peer, theirs, their_error, floor):
    """ours, theirs: (seconds on the clock, of the processor)."""
    clock, ratio = theirs[0] / ours[0], theirs[1] / ours[1]
    table.append({"work": work, "peer": peer, "gpdesk_seconds": ours[0], "gpdesk_processor": ours[1],
                  "gpdesk_rmse": our_error, "peer_seconds": theirs[0], "peer_processor": theirs[1],
                  "peer_rmse": their_error, "ratio_clock": clock, "ratio_processor": ratio, "floor": floor})
    error = ["" if e is None else "%.4f" % e for e in (our_error, their_error)]
    say("%-40s %-28s %8.2f %8.2f %6s %8.2f %8.2f %6s %6.1fx %6.1fx  %s" %
        (work, peer, *ours, error[0], *theirs, error[1], clock, ratio,
         "" if floor is None else "%gx reached" % floor if ratio >= floor else "%gx MISSED" % floor))


def features(work_dir):
    """kin40k: random features and ridge regression; gpdesk with as many features as give no more error."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler
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

    def fit():
        s = Nystroem(gamma=0.5 / lengthscale ** 2, n_components=2048, random_state=1)
        m = Ridge(alpha=ratio, fit_intercept=False, solver="cholesky").fit(s.fit_transform(x), y)
        fit.model = (s, m)
    theirs, _ = median(fit)
    s, m = fit.model
    row("kin40k, the same", ours, r["score"]["rmse_scaled"], "Nystroem(2048) + Ridge", theirs,
        rmse(m.predict(s.transform(xt)), yt), None)


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
    """kin40k with the search for hyperparameters: GPyTorch's SVGP, 500 inducing points, --epochs epochs."""
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

    start, used = time.perf_counter(), time.process_time()
    torch.manual_seed(1)
    model, likelihood = Model(x[:500].clone()), gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    for _ in range(opts.epochs):
        for batch in torch.randperm(len(x)).split(1024):
            adam.zero_grad()
            loss = -bound(model(x[batch]), y[batch])
            loss.backward()
            adam.step()
    theirs = time.perf_counter() - start, time.process_time() - used
    model.eval()
    with torch.no_grad():
        error = rmse(model(xt).mean.numpy(), yt.numpy())
    ours, r = gpdesk_median(lambda r: r["tune"]["seconds"] + r["fit"]["seconds"]["total"],
                            "open %s/data/kin40k/data.csv.gz target=y" % opts.shared,
                            "split file=%s/data/kin40k/splits.csv.gz column=split0" % opts.shared,
                            "kernel rbf", "tune features=1024", "fit features=4096", "score")
    row("kin40k, search included", ours, r["score"]["rmse_scaled"],
        "GPyTorch SVGP, %d epochs" % opts.epochs, theirs, error, 3.0)


def cg(work_dir):
    """An exact GP of --rows rows: GPyTorch by conjugate gradients against one factorisation of ours."""
    import gpytorch
    import torch
    torch.set_num_threads(opts.threads)
    n = opts.rows
    data = load("kin40k")
    x, y = (torch.tensor(v[:n], dtype=torch.float32) for v in data[:2])

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood)
    model.covar_module.base_kernel.lengthscale, model.covar_module.outputscale = 1.9, 9.0
    likelihood.noise = 0.04
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step():
        model.train(), likelihood.train()
        with gpytorch.settings.max_cholesky_size(0), gpytorch.settings.cg_tolerance(0.01):
            (-bound(model(x), y)).backward()

    def solve():
        model.eval(), likelihood.eval()
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(0), gpytorch.settings.eval_cg_tolerance(1e-4), \
                gpytorch.settings.skip_posterior_variances():
            return rmse(model(torch.tensor(data[2], dtype=torch.float32)).mean.numpy(), data[3])
    opening = subset(*data, n, os.path.join(work_dir, "cg.csv"))
    ours, _ = gpdesk_median(lambda r: r["tune"]["seconds"], *opening,
                            "tune solver=exact l=1.9 amplitude=3 noise=0.2 evals=1")
    theirs, _ = median(step)
    row("exact GP, n=%d, a likelihood" % n, ours, None, "GPyTorch CG, with gradient", theirs, None, None)
    ours, r = gpdesk_median(lambda r: r["fit"]["seconds"]["total"] + r["score"]["seconds"], *opening,
                            "set l=1.9 amplitude=3 noise=0.2", "fit solver=exact variance=none", "score")
    theirs, error = median(solve)
    row("exact GP, n=%d, fit and predict 4000" % n, ours, r["score"]["rmse_scaled"], "GPyTorch CG", theirs,
        error, 3.0)


def published(name):
    """Noise, amplitude and lengthscales of split 0, as the authors of dual descent found them."""
    with open(os.path.join(opts.shared, "data", "sdd_hyperparameters.csv")) as f:
        for r in csv.DictReader(f):
            if r["data"] == name and r["split"] == "0":
                return float(r["noise"]), float(r["amplitude"]), [float(v) for v in r["lengthscales"].split()]
    raise KeyError(name)


def descend(torch, rows, b, noise2, steps, batch=512, rho=0.9, beta_n=50.0):
    """Algorithm 1 of Lin et al. (ICLR 2024), as their code does it: the step length of the paper for the
    mean, a geometric average, gradients clipped nowhere.  rows(i) gives rows of K."""
    n, r = len(b), 100.0 / steps
    a, v, average = (torch.zeros_like(b) for _ in range(3))
    pick = torch.Generator().manual_seed(1)
    for _ in range(steps):
        i = torch.randint(n, (batch,), generator=pick)
        u = a + rho * v
        g = torch.zeros_like(b).index_add_(0, i, (n / batch) * (rows(i) @ u + noise2 * u[i] - b[i]))
        v = rho * v - beta_n / n * g
        a = a + v
        average = r * a + (1 - r) * average
    return average


def dual(work_dir):
    """pol, --rows rows, Matern 3/2 ARD at the authors' hyperparameters: GPyTorch's conjugate gradients with
    pivoted Cholesky, and dual descent in torch, against the same two methods of ours."""
    import gpytorch
    import torch
    torch.set_num_threads(opts.threads)
    n, (noise, amplitude, scales) = opts.rows, published("pol")
    data = load("pol")
    x, y, xt = (torch.tensor(v, dtype=torch.float32) for v in (data[0][:n], data[1][:n], data[2]))
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=x.shape[1]))
    kernel.base_kernel.lengthscale, kernel.outputscale = torch.tensor(scales), amplitude ** 2

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood)
    likelihood.noise = noise ** 2
    s = gpytorch.settings

    def solve():
        model.train(), likelihood.train()
        model.eval(), likelihood.eval()
        with torch.no_grad(), s.max_cholesky_size(0), s.eval_cg_tolerance(1e-3), s.max_preconditioner_size(100), \
                s.min_preconditioning_size(1), s.max_cg_iterations(1000), s.skip_posterior_variances():
            return rmse(model(xt).mean.numpy(), data[3])

    scaled = x / torch.tensor(scales)

    def between(p, q):
        """Amplitude squared times (1 + a) exp(-a), a = sqrt(3) |p - q|."""
        a = 3.0 ** 0.5 * torch.cdist(p, q)
        return amplitude ** 2 * (1.0 + a) * torch.exp(-a)

    def run():
        with torch.no_grad():
            w = descend(torch, lambda i: between(scaled[i], scaled), y, noise ** 2, opts.steps)
            return rmse((between(xt / torch.tensor(scales), scaled) @ w).numpy(), data[3])
    opening = subset(*data, n, os.path.join(work_dir, "dual.csv"))[:-1] + [
        "kernel matern(nu=3/2,ard)", "set noise=%r amplitude=%r l=%s" % (noise, amplitude, ",".join(map(repr, scales)))]

    def seconds(r):
        return r["fit"]["seconds"]["total"] + r["score"]["seconds"]
    exact, r = gpdesk_median(seconds, *opening, "fit solver=exact variance=none", "score")
    direct = r["score"]["rmse"]
    ours, r = gpdesk_median(seconds, *opening, "fit model=exact solver=pcg precond=pchol rank=100 rtol=1e-3 "
                            "variance=none", "score")
    theirs, error = median(solve)
    row("pol, %d rows, PCG to 1e-3, predict 1500" % n, ours, r["score"]["rmse"],
        "GPyTorch CG, pivoted Cholesky", theirs, error, None)
    ours, r = gpdesk_median(seconds, *opening, "fit model=exact solver=sdd maxit=%d rtol=1e-12 variance=none"
                            % opts.steps, "score")
    theirs, error = median(run)
    row("the same, %d steps of dual descent" % opts.steps, ours, r["score"]["rmse"], "the same in torch", theirs,
        error, None)
    say("%-40s %-28s %8.2f %8.2f %.4f" % ("the same, Cholesky", "", *exact, direct))


def torch_steps(torch, n, d, width=512, q=64):
    """A function that makes one step of Adam on NMLL/n: the net of `kernel mlp` in single precision, its Gram
    matrix in double, derivatives by autograd."""
    torch.manual_seed(0)
    x = torch.randn(n, d)
    y = torch.sin(x[:, 0]).double() + 0.3 * torch.randn(n, dtype=torch.float64)
    net = torch.nn.Sequential(torch.nn.Linear(d, width), torch.nn.LayerNorm(width), torch.nn.ReLU(),
                              torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.ReLU(),
                              torch.nn.Linear(width, q))
    scale = torch.nn.Parameter(torch.tensor([-np.log(q), np.log(0.1)], dtype=torch.float64))
    adam = torch.optim.Adam([*net.parameters(), scale], lr=1e-3)

    def step():
        adam.zero_grad()
        f = net(x).double()
        noise, ratio = scale[1].exp(), scale[1] - scale[0]
        factor = torch.linalg.cholesky(f.T @ f + ratio.exp() * torch.eye(q, dtype=torch.float64))
        b = f.T @ y
        fit = (y @ y - b @ torch.cholesky_solve(b[:, None], factor)[:, 0]) / (2.0 * noise)
        nmll = fit + factor.diagonal().log().sum() + 0.5 * ((n - q) * ratio + n * scale[0])
        (nmll / n).backward()
        adam.step()
    return step


def adam(work_dir):
    """A step of Adam of `kernel mlp` on 20,000 rows: bench_learn and torch in turn, processor time."""
    import torch
    torch.set_num_threads(opts.threads)
    bench = os.path.join(os.path.dirname(opts.bench), "bench_learn")
    path, ours, theirs, rate = os.path.join(work_dir, "learn.json"), [], [], []
    step = torch_steps(torch, 20000, 15)
    step()
    for _ in range(max(opts.repeats, 5)):
        if os.path.exists(path):
            os.remove(path)
        subprocess.run([bench, "--rows", path], capture_output=True, check=True)
        with open(path) as f:
            made = json.loads(f.readline())
        ours.append(made["value"])
        rate.append(made["rate"])
        used = time.process_time()
        for _ in range(5):
            step()
        theirs.append((time.process_time() - used) / 5)
    mine, other = statistics.median(ours), statistics.median(theirs)
    unit_row(made["row"], mine, other, "s", 1.0, "torch %s, %d thread%s" %
             (torch.__version__, opts.threads, "" if opts.threads == 1 else "s"))
    rate = statistics.median(rate)
    say("%-40s %-28s %17.1f %-6s %17.1f" % ("the same", "", rate, "GFLOP/s", rate * mine / other))


def peer_xgpr():
    """xGPR prints when it is imported."""
    with contextlib.redirect_stdout(io.StringIO()):
        import xGPR
        import xGPR.xgpr_cpu_rfgen_cpp_ext as transforms
    return xGPR, transforms


def xgpr(work_dir):
    """kin40k, 10,000 rows: search, fit and predict, as xGPR's manual has it."""
    peer, _ = peer_xgpr()
    n = 10000
    x, y, xt, yt = load("kin40k")
    seconds = {}

    def timed(name, job):
        start, used = time.perf_counter(), time.process_time()
        out = job()
        seconds[name] = time.perf_counter() - start, time.process_time() - used
        return out
    with contextlib.redirect_stdout(io.StringIO()):
        data = peer.build_regression_dataset(x[:n], y[:n], chunk_size=2000)
        model = peer.xGPRegression(num_rffs=1024, variance_rffs=512, kernel_choice="RBF", verbose=False,
                                   random_seed=123)
        timed("tune", lambda: model.tune_hyperparams_crude(data))
        model.num_rffs = 4096
        timed("fit", lambda: model.fit(data, tol=1e-6))
        error = rmse(timed("predict", lambda: model.predict(xt)), yt)
    r = {}
    opening = subset(x, y, xt, yt, n, os.path.join(work_dir, "xgpr.csv"))

    def measure(name):
        def of(r):
            return r["tune"]["seconds"] if name == "tune" else r["fit"]["seconds"]["total"]
        return of
    tuned, r = gpdesk_median(measure("tune"), *opening, "tune features=1024")
    both, r = gpdesk_median(measure("fit"), *opening, "tune features=1024",
                            "fit solver=pcg plan=regenerate features=4096 variance=512", "score")
    row("kin40k, 10,000 rows, tune 1024", tuned, None, "xGPR, crude", seconds["tune"], None, None)
    row("the same, fit 4096, 512 for variances", (both[0], max(both[1] - tuned[1], 1e-3)),
        r["score"]["rmse_scaled"], "xGPR, automatic rank", seconds["fit"], error, None)


def predict(work_dir):
    """Rows a second at 8192 features; the fit itself hardly matters and is short."""
    peer, _ = peer_xgpr()
    x, y, xt, yt = load("kin40k")
    many = np.concatenate([x, xt])
    with contextlib.redirect_stdout(io.StringIO()):
        data = peer.build_regression_dataset(x[:2000], y[:2000], chunk_size=2000)
        model = peer.xGPRegression(num_rffs=8192, variance_rffs=1024, kernel_choice="RBF", verbose=False,
                                   random_seed=123)
        model.set_hyperparams(np.log(np.array([0.1, 0.5])), data)
        model.fit(data, max_rank=64, min_rank=64, max_iter=20)
        mean, _ = median(lambda: model.predict(many))
        both, _ = median(lambda: model.predict(many, get_var=True))
    opening = subset(x, y, xt, yt, 2000, os.path.join(work_dir, "predict.csv"))
    rows = os.path.join(work_dir, "many.csv")
    with open(rows, "w") as f:
        print(*("x%d" % j for j in range(many.shape[1])), sep=",", file=f)
        for r in many:
            print(*("%.9g" % v for v in r), sep=",", file=f)
    common = (*opening, "set l=2 amplitude=1 noise=0.1")
    for variance, theirs, floor in (("none", mean, 10.0), ("1024", both, 2.0)):
        fit = "fit features=8192 solver=pcg rank=64 maxit=20 plan=regenerate variance=%s" % variance
        base, _ = gpdesk_median(lambda r: 0.0, *common, fit)
        ours, _ = gpdesk_median(lambda r: r["predict"]["seconds"], *common, fit,
                                "predict %s out=%s" % (rows, os.path.join(work_dir, "p.csv")))
        ours = ours[0], max(ours[1] - base[1], 1e-3)
        row("predict 40,000 rows, 8192 features%s" % ("" if variance == "none" else ", sd of 1024"), ours, None,
            "xGPR", theirs, None, floor)


def ffht_library(work_dir):
    """FFHT and our loops around it, compiled with the flags of its Makefile."""
    if opts.ffht is None:
        raise ImportError("--ffht does not say where FFHT's source is")
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(opts.ffht, "fht.h")) as f:
        early = "FHTFloat" in f.read()
    library = os.path.join(work_dir, "libffht.so")
    subprocess.run([os.environ.get("CC", "gcc"), "-O3", "-march=native", "-std=gnu99", "-shared", "-fPIC", "-w",
                    *(["-DFFHT_CHUNK=1024"] if early else []), "-I", opts.ffht, "-o", library,
                    os.path.join(here, "ffht_loops.c"), os.path.join(opts.ffht, "fht.c")], check=True)
    return library


def ffht(work_dir):
    """FFHT's transforms, and projections of 128 inputs made of them, in one process with gpdesk's."""
    library = ffht_library(work_dir)
    path = os.path.join(work_dir, "ffht.json")
    for part in ("transforms", "features"):
        subprocess.run([opts.bench, "--only", part, "--rows", path, "--ffht", library], capture_output=True,
                       check=True)
    before = None
    with open(path) as f:
        for r in map(json.loads, f):
            if (r["baseline_name"] or "").startswith("FFHT"):
                name = before["row"] if r["row"] == "the same" else r["row"]
                unit_row(name, r["value"], r["baseline"], r["unit"].split("/")[0], r["floor"], r["baseline_name"])
            before = r


def transforms(work_dir):
    """xGPR's own compiled transforms and features against gpdesk's, one thread each."""
    _, peer = peer_xgpr()
    from scipy.stats import chi
    rng = np.random.default_rng(1)
    path = os.path.join(work_dir, "rows.json")
    for part in ("transforms", "features"):
        subprocess.run([opts.bench, "--only", part, "--rows", path], capture_output=True, check=True)
    with open(path) as f:
        ours = {r["row"]: r["value"] for r in map(json.loads, f)}

    def best(job):
        """Processor milliseconds."""
        times = []
        for _ in range(5):
            used = time.process_time()
            job()
            times.append(1e3 * (time.process_time() - used))
        return statistics.median(times)
    for n, name in ((64, "FHT f32 2^6, 16 rows in lanes, hot"), (256, "FHT f32 2^8, 16 rows in lanes, hot"),
                    (1024, "FHT f32 2^10, one row, hot"), (4096, "FHT f32 2^12, one row, hot")):
        if name in ours:
            a = np.ascontiguousarray(rng.normal(size=(2 ** 18 // n, n)).astype(np.float32))
            theirs = best(lambda: peer.cpuFastHadamardTransform2D(a)) * 1e6 / a.size
            unit_row(name, ours[name], theirs, "ns", None)
    for d, cols, floor in ((1024, 16384, 4.0), (128, 8192, 8.0)):
        name = "features f32, 2000 rows %d -> %d" % (d, cols)
        x = rng.normal(size=(2000, d)).astype(np.float32)
        z = np.zeros((2000, cols))
        signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=(3, 1, cols // 2))
        lengths = chi.rvs(df=d, size=cols // 2, random_state=1).astype(np.float32)
        peer.cpuRBFFeatureGen(x, z, signs, lengths, False)
        theirs = best(lambda: peer.cpuRBFFeatureGen(x, z, signs, lengths, False))
        if name in ours:
            unit_row(name, ours[name], theirs, "ms", floor)


def unit_row(work, ours, theirs, unit, floor, peer="xGPR, as distributed"):
    table.append({"work": work, "peer": peer, "gpdesk": ours, "peer_value": theirs, "unit": unit,
                  "ratio_processor": theirs / ours, "floor": floor})
    say("%-40s %-28s %17.3f %-6s %17.3f %-6s %7s %6.1fx  %s" %
        (work, peer, ours, unit, theirs, unit, "", theirs / ours,
         "" if floor is None else "%gx reached" % floor if theirs / ours >= floor else "%gx MISSED" % floor))


jobs = {"ffht": ffht, "transforms": transforms, "predict": predict, "features": features, "exact": exact, "cg": cg,
        "dual": dual, "adam": adam, "variational": variational, "xgpr": xgpr}
if set(opts.jobs or jobs) - {"ffht", "transforms", "adam"} and not os.path.isdir(os.path.join(opts.shared, "data", "kin40k")):
    sys.exit("peers: %s/data/kin40k is not here" % opts.shared)
say("%-40s %-28s %24s %24s %14s  floor" % ("", "", "gpdesk: s, cpu s, RMSE", "peer: s, cpu s, RMSE", "clock, cpu"))
with tempfile.TemporaryDirectory() as work_dir:
    for name in opts.jobs or jobs:
        try:
            jobs[name](work_dir)
        except ImportError as absent:
            say("%s: left out, %s" % (name, absent))
with open("peers.json", "w") as f:
    json.dump({"threads": opts.threads, "rows": table}, f, indent=1)
    f.write("\n")
with open("peers.txt", "w") as f:
    f.write("\n".join(lines) + "\n")
