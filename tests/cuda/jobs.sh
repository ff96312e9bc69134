#!/bin/sh
# tests/cuda/jobs.sh GPDESK -- the main jobs on a device and on the processor: score, marginal
# likelihood, variance (nlpd, coverage) and pca agree within single precision; a stop, and a device
# that is full.  Data is generated on the spot; ROWS (20000) of it.
gpdesk=${1:-build/gpdesk}
n=0
failed=0
if "$gpdesk" --format json -e about | grep -q '"cuda":\[\]'; then
    echo "1..0 # SKIP $("$gpdesk" --format json -e about | sed -n \
        's/.*"cuda_why":"\([^"]*\)".*/\1/p')"
    exit 0
fi
number() { sed -n "s/.*\"$1\":\\[\\{0,1\\}\\([-0-9.e+]*\\).*/\\1/p" "$2" | tail -n 1; }
job() { # name tolerance line
    tmp=${TMPDIR:-/tmp}/gpdesk-cuda.$$
    for device in cpu cuda:0; do
        start=$(date +%s.%N)
        "$gpdesk" --no-config --format json --seed 1 --device $device -e "$3" >"$tmp.$device" 2>&1
        rc=$?
        end=$(date +%s.%N)
        n=$((n + 1))
        seconds=$(awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f", b - a }')
        if test $rc -le 3 && ! grep -q device-lost "$tmp.$device"; then
            echo "ok $n - $1 on $device ($seconds s)"
        else
            failed=1
            echo "not ok $n - $1 on $device: $rc"
            grep -E '"type":"(error|warning)"' "$tmp.$device" | sed 's/^/# /'
        fi
    done
    for key in rmse nlpd crps coverage95 nmll effective_dimension share; do
        a=$(number $key "$tmp.cpu") b=$(number $key "$tmp.cuda:0")
        test -n "$a$b" || continue
        n=$((n + 1))
        if awk -v a="$a" -v b="$b" -v t="$2" \
            'BEGIN { d = a - b; if (d < 0) d = -d; m = a < 0 ? -a : a; exit !(d <= t * (m + 1e-6)) }'; then
            echo "ok $n - $1: $key $a, $b"
        else
            failed=1
            echo "not ok $n - $1: $key $a, $b"
        fi
    done
    rm -f "$tmp".*
}
data="demo robot n=${ROWS:-20000} seed=7; split test=20% seed=7"
job "pcg, stored" 2e-3 \
    "$data; kernel matern(nu=5/2); set l=2; fit features=4096 solver=pcg rank=256 precision=float plan=store; score; pca"
job "pcg, float16" 2e-3 \
    "$data; kernel rbf; set l=2; fit features=8192 solver=pcg rank=256 precision=float plan=store store=float16; score"
job "pcg, made anew" 2e-3 \
    "$data; kernel rbf(ard); set l=2; fit features=16384 solver=pcg rank=512 precision=float plan=regenerate; score"
job "the whole factor" 2e-3 \
    "$data; kernel rbf; set l=2 noise=0.05; fit features=8192 solver=pcg precond=gram precision=float plan=store; score"
job "tuned by gradients" 2e-2 \
    "$data; kernel rbf(ard) + linear; tune features=1024 method=lbfgs evals=12; fit features=4096; score"
job "direct" 2e-3 \
    "$data; kernel rbf; set l=2; fit features=2048 solver=direct precision=float; score; pca"
job "double" 1e-6 \
    "$data; kernel matern(nu=3/2); set l=2; fit features=1024 solver=pcg rank=128 precision=double; score"
job "tuned" 2e-2 \
    "$data; kernel matern(nu=5/2); tune features=1024 evals=12; fit features=4096; score"
job "products" 5e-3 \
    "$data; kernel rbf * periodic + linear; fit features=2048 solver=pcg rank=128 precision=float; score"
job "svrg" 5e-2 \
    "$data; kernel rbf; set l=2; fit features=1024 solver=svrg precision=float rtol=1e-2; score"
job "classes of kernels" 5e-3 \
    "$data; kernel rbf + matern(nu=3/2,ard) * periodic; fit features=1024 solver=pcg rank=64 precision=float; score"
job "exact" 2e-3 \
    "demo robot n=5000 seed=7; split test=20% seed=7; kernel rbf; set l=2; fit solver=exact; score"
# beyond the matrix: the device alone has this one
tmp=${TMPDIR:-/tmp}/gpdesk-cuda.$$
"$gpdesk" --no-config --format json --seed 1 --device cuda:0 -e \
    "demo robot n=40000 seed=7; split test=20% seed=7; kernel matern(nu=3/2); set l=2 noise=0.3; fit model=exact solver=cg rtol=1e-3; score" >"$tmp.products" 2>&1
rc=$?
n=$((n + 1))
if test $rc -eq 0 && test "$(number rmse "$tmp.products")"; then
    echo "ok $n - exact, 32000 rows without their matrix: rmse $(number rmse "$tmp.products")"
else
    failed=1
    echo "not ok $n - exact, 32000 rows without their matrix: $rc"
    sed 's/^/# /' "$tmp.products"
fi
job "many right-hand sides" 2e-2 \
    "$data; kernel rbf; set l=2; tune features=2048 nmll=approx rank=128 evals=4; fit features=2048 rank=128; score"

# -- a stop in the middle: from the signal to the end of the program
stop="$data; kernel rbf; set l=2 noise=1e-3; fit features=${STOP_FEATURES:-65536} solver=cg rtol=1e-14 maxit=100000 precision=float variance=none"
tmp=${TMPDIR:-/tmp}/gpdesk-cuda.$$
"$gpdesk" --no-config --seed 1 --device cuda:0 -e "$stop" >"$tmp.stop" 2>&1 &
pid=$!
sleep "${STOP_AFTER:-8}"
start=$(date +%s%N)
kill -INT $pid
wait $pid
rc=$?
ms=$((($(date +%s%N) - start) / 1000000))
n=$((n + 1))
if test $rc -ne 0 && test $ms -le "${STOP_WITHIN:-1000}"; then
    echo "ok $n - a stop ends the fit: $ms ms from the signal to the end of the program (status $rc)"
else
    failed=1
    echo "not ok $n - a stop: status $rc after $ms ms"
    sed 's/^/# /' "$tmp.stop"
fi
# -- more than there is
"$gpdesk" --no-config --seed 1 --device cuda:0 -e \
    "$data; kernel rbf; fit features=8388608 plan=store store=float32 solver=cg maxit=3 precision=float variance=none" >"$tmp.stop" 2>&1
rc=$?
n=$((n + 1))
if test $rc -eq 5 && grep -q 'memory' "$tmp.stop"; then
    echo "ok $n - a device that is full: $(grep -m 1 memory "$tmp.stop")"
else
    failed=1
    echo "not ok $n - a device that is full: status $rc"
    sed 's/^/# /' "$tmp.stop"
fi
rm -f "$tmp".*
echo "1..$n"
exit $failed
