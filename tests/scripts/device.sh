#!/bin/sh
# tests/scripts/device.sh -- which device computes: modules that cannot serve, and one that does
# (its device is a loop over the kernels' threads, tests/emulated_device.c).
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
unset GPDESK_CUDA_MODULE GPDESK_DEVICE GPDESK_EMU_MEMORY GPDESK_EMU_LOST
modules=$(dirname "$gpdesk")/tests
test -f "$modules/emulated.so" || { echo "1..0 # SKIP the modules are not built"; exit 0; }
with() { # file command...
    GPDESK_CUDA_MODULE=$1
    export GPDESK_CUDA_MODULE
    shift
    run "$@"
    unset GPDESK_CUDA_MODULE
}
number() { # name: of the last record that has it
    printf '%s\n' "$out" | sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p" | tail -n 1
}
component() { # the share of the first component of the last pca
    printf '%s\n' "$out" | sed -n 's/.*"share":\[\([-0-9.e+]*\).*/\1/p' | tail -n 1
}
near() { # name a b tolerance
    ok "$1" awk -v a="$2" -v b="$3" -v t="$4" \
        'BEGIN { d = a - b; if (d < 0) d = -d; m = b < 0 ? -b : b; print a, b
                 exit a == "" || b == "" || d > t * (m + 1e-9) }'
}

# -- no module that serves: why, and the processor goes on
fit='demo robot n=300 seed=3; split test=20% seed=1; kernel rbf; fit features=256 solver=pcg rank=32 precision=float variance=none'
printf 'not a library\n' >text.so
for case in "missing.so:cannot be loaded" "text.so:cannot be loaded" \
    "$modules/wrong_abi.so:is for version" "$modules/no_entry.so:has no gpdesk_backend"; do
    file=${case%%:*}
    test "${file#/}" = "$file" && file=$dir/$file
    with "$file" -e about
    has "about says why: ${case#*:}" "$out" "${case#*:}"
    with "$file" --device cuda -e "$fit"
    is "the processor goes on" "$rc" 0
    has "after one line" "$err" "warning.device.*${case#*:}"
    is "and no more" "$(printf '%s\n' "$err" | grep -c 'the CPU is used instead')" 1
    with "$file" -e "$fit"
    is "auto says nothing" "$(printf '%s\n' "$err" | grep -c device)" 0
done
real=$(dirname "$gpdesk")/libgpdesk-cuda.so
if test -f "$real" && ! test -e /dev/nvidiactl; then
    with "$real" -e about
    has "the module of this build loads and has no device" "$out" \
        'no CUDA device: there is no driver'
    run --device cuda -e "$fit"
    is "it is not even opened without a driver" "$rc" 0
    has "with the reason" "$err" 'no CUDA device: there is no driver (libcuda.so.1)'
fi

# -- words
run -e 'set device=gpu'
is "a device that is none is an error" "$rc" 1
run --device cuda:x -e about
is "so is a number that is none" "$rc" 2
has "with what was expected" "$err" 'auto, cpu, cuda or cuda:N'
with "$modules/emulated.so" -e about
has "about lists devices" "$out" 'cuda:1: emulated device, .* free'
with "$modules/emulated.so" --format json -e about
has "in JSON too" "$out" '"cuda":\[{"name":"emulated device","memory":[0-9]*,"free":[0-9]*}'
with "$modules/emulated.so" --device cuda:7 -e "$fit"
has "there is no eighth" "$err" 'there is no CUDA device 7: the last one is 1'
is "and the processor goes on" "$rc" 0

# -- the same figures on the device, within single precision
job='demo robot n=260 seed=3; split test=20% seed=1; kernel KERNEL; tune features=128 evals=5; fit FIT; score; pca features=PCA'
# Components of 128 features come from their Gram matrix, those of 2,048 from sketches.
compare() { # name kernel fit tolerance features
    line=$(printf '%s\n' "$job" | sed "s/KERNEL/$2/; s/FIT/$3/; s/PCA/${5:-128}/")
    run --format json --device cpu -e "$line"
    is "$1: the processor" "$rc" 0
    rmse=$(number rmse) nlpd=$(number nlpd) nmll=$(number nmll) effdim=$(number effective_dimension)
    share=$(component)
    with "$modules/emulated.so" --format json --device cuda:1 -e "$line"
    is "$1: the device" "$rc" 0
    near "$1: rmse" "$(number rmse)" "$rmse" "$4"
    near "$1: nlpd" "$(number nlpd)" "$nlpd" "$4"
    near "$1: nmll" "$(number nmll)" "$nmll" "$4"
    near "$1: effective dimension" "$(number effective_dimension)" "$effdim" "$4"
    near "$1: first component" "$(component)" "$share" "$4"
}
compare pcg rbf 'features=256 solver=pcg rank=32 precision=float plan=regenerate' 2e-3 2048
compare stored 'matern(nu=5\/2)' 'features=256 solver=pcg rank=32 precision=float plan=store' 2e-3
compare float16 'matern(nu=5\/2,ard)' \
    'features=256 solver=pcg rank=32 precision=float plan=store store=float16' 2e-3
compare direct 'rbf + linear' 'features=256 solver=direct' 2e-3
compare double 'rbf * periodic' 'features=128 solver=pcg rank=16 precision=double plan=store' 1e-4
compare svrg rbf 'features=128 solver=svrg precision=float rtol=1e-2' 2e-2
GPDESK_EMU_DENSE=64
export GPDESK_EMU_DENSE
compare "factorised there" rbf 'features=128 solver=direct' 2e-3
unset GPDESK_EMU_DENSE

compare "the whole factor" rbf \
    'features=256 solver=pcg precond=gram precision=float plan=store store=float16' 2e-3

# -- an exact model of more rows than a matrix has room for: on the device without one
exact='demo robot n=3000 seed=3; split test=1% seed=1; kernel matern(nu=3\/2); set l=2 noise=2; fit'
exact=$(printf '%s\n' "$exact" | tr -d '\\')
with "$modules/emulated.so" --format json --device cpu -e "$exact solver=exact variance=none; score"
rmse=$(number rmse)
with "$modules/emulated.so" --device cuda --mem 64MB -e "$exact solver=exact"
has "with variances it is refused, and what is possible said" "$err" \
    'fit model=exact solver=pcg  (without the matrix)'
with "$modules/emulated.so" --device cpu --mem 64MB -e "$exact solver=exact variance=none"
has "the processor refuses it" "$err" 'needs 67.3 MB'
with "$modules/emulated.so" --format json --accept-unconverged --device cuda --mem 64MB -e \
    "$exact model=exact solver=cg rtol=1e-3 maxit=4; fit continue=r1 rtol=3e-3 maxit=40; score"
is "the device has an exact model without the matrix" "$rc" 0
has "it stops and goes on" "$out" '"outcome":"maxit".*'
has "to the tolerance" "$out" '"outcome":"rtol"'
near "with the same error" "$(number rmse)" "$rmse" 5e-3
with "$modules/emulated.so" --accept-unconverged --device cuda -e \
    'demo robot n=300 seed=3; kernel rbf + linear; fit model=exact solver=cg maxit=3'
has "a kernel without a form for the device is computed here, and that is said" "$err" \
    'the device has no form of rbf'

awk 'BEGIN { srand(5); print "dna,y"; for (i = 0; i < 200; i++) { s = ""; for (j = 0; j < 12; j++)
    s = s substr("ACGT", 1 + int(4 * rand()), 1); t = s; print s "," gsub(/A/, "", t) + 0.1 * rand() } }' >dna.csv
words='open dna.csv; kernel spectrum(n=1..2); fit features=20 solver=direct; score on=train'
with "$modules/emulated.so" --device cuda -e "$words"
has "neither has a device words" "$err" \
    'note.device.: the processor computed the kernel: the device has no form of spectrum'
there=$out
run --device cpu -e "$words"
is "and the score is the processor's" "$(printf '%s\n' "$there" | grep RMSE)" \
    "$(printf '%s\n' "$out" | grep RMSE)"

# -- plans count the memory of the device, and take float16 where only that fits
plan='demo robot n=3500 seed=3; split test=20% seed=1; kernel rbf; fit features=2048 rank=32 precision=float variance=none solver=pcg'
for case in '40000000:stores the features (21' '22000000:stores the features in float16 (10' \
    '9000000:makes the features anew'; do
    GPDESK_EMU_MEMORY=${case%%:*}
    export GPDESK_EMU_MEMORY
    with "$modules/emulated.so" --device cuda -n -e "$plan"
    has "with $GPDESK_EMU_MEMORY bytes the plan ${case#*:}" "$out" "${case#*:}"
    has "and says what is free" "$out" 'the device has .* free'
done

# -- a device that is full, and one that is lost
GPDESK_EMU_MEMORY=4000000
export GPDESK_EMU_MEMORY
with "$modules/emulated.so" --device cuda -e \
    'demo robot n=4000 seed=3; kernel rbf; set l=2; fit features=1024 precision=float plan=store solver=pcg rank=32 variance=none'
is "a full device is an error of memory" "$rc" 5
has "with numbers" "$err" 'storing 4000 x 1024 features takes 15.6 MB; the device has'
unset GPDESK_EMU_MEMORY
GPDESK_EMU_LOST=100
export GPDESK_EMU_LOST
with "$modules/emulated.so" --format json --device cuda -e "$fit; score"
is "a lost device does not end the fit" "$rc" 0
has "and is told of" "$out" '"device-lost"'
unset GPDESK_EMU_LOST
finish
