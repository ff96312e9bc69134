#!/bin/sh
# tests/cuda/jobs.sh GPDESK -- the main jobs on a device and on the processor: score, marginal
# likelihood, variance and pca agree within single precision.  Data is generated on the spot.
gpdesk=${1:-build/gpdesk}
n=0
failed=0
if "$gpdesk" --format json -e about | grep -q '"cuda":\[\]'; then
    echo "1..0 # SKIP $("$gpdesk" --format json -e about | sed -n 's/.*"cuda_why":"\([^"]*\)".*/\1/p')"
    exit 0
fi
number() { sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p" "$2" | tail -n 1; }
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
    for key in rmse nlpd nmll effective_dimension; do
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
data='demo robot n=20000 seed=7; split test=20% seed=7'
job "pcg, stored" 2e-3 "$data; kernel matern(nu=5/2); set l=2; fit features=4096 solver=pcg rank=256 precision=float plan=store; score; pca"
job "pcg, float16" 2e-3 "$data; kernel rbf; set l=2; fit features=8192 solver=pcg rank=256 precision=float plan=store store=float16; score"
job "pcg, made anew" 2e-3 "$data; kernel rbf(ard); set l=2; fit features=16384 solver=pcg rank=512 precision=float plan=regenerate; score"
job "direct" 2e-3 "$data; kernel rbf; set l=2; fit features=2048 solver=direct precision=float; score; pca"
job "double" 1e-6 "$data; kernel matern(nu=3/2); set l=2; fit features=1024 solver=pcg rank=128 precision=double; score"
job "tuned" 2e-2 "$data; kernel matern(nu=5/2); tune features=1024 evals=12; fit features=4096; score"
job "products" 5e-3 "$data; kernel rbf * periodic + linear; fit features=2048 solver=pcg rank=128 precision=float; score"
job "svrg" 5e-2 "$data; kernel rbf; set l=2; fit features=1024 solver=svrg precision=float rtol=1e-2; score"
echo "1..$n"
exit $failed
