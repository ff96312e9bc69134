#!/bin/sh
# tests/scripts/ranks/device.sh -- ranks that use devices, through the program: tunings, fits and
# predictions have the same bits for any number of them and the processor's figures within single
# precision; which device each has is told, and who has none.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
unset GPDESK_CUDA_MODULE GPDESK_DEVICE
module=$(dirname "$gpdesk")/tests/emulated.so
test -f "$module" || { echo "1..0 # SKIP the emulated device is not built"; exit 0; }
GPDESK_CUDA_MODULE=$module
export GPDESK_CUDA_MODULE

# The largest difference of the columns mean and sd of two files is at most so much; they have rows.
near() { paste -d, "$1" "$2" | awk -F, -v t="$3" 'NR == 1 { h = NF / 2; for (j = 1; j <= h; j++)
    if ($j == "mean" || $j == "sd") use[j] = 1; next }
    { for (j in use) { d = $j - $(j + h); if (d < 0) d = -d; if (d > most) most = d } }
    END { print most; exit !(NR > 100 && most <= t) }'; }

data='demo robot n=5600 seed=3; split test=20% seed=1; kernel rbf; set l=2 noise=0.1'
work='fit features=64 solver=pcg rank=16 precision=float rtol=1e-5 plan=regenerate
predict columns=row,mean,sd out=pcg.csv
fit solver=direct features=64; predict columns=row,mean,sd out=direct.csv
tune features=64 rows=4480 evals=4; fit features=64; predict columns=row,mean,sd out=tune.csv'
lacks() { # name text pattern
    is "$1" "$(printf '%s\n' "$2" | grep -c "$3")" 0
}
all() { # directory, options
    mkdir "$1"
    cd "$1" || exit 99
    shift
    run "$@" -e "$data" -e "$work" -e about
    cd ..
}
all cpu --threads 2 --device cpu
is "the processor" "$rc" 0
all two --threads 2 --ranks 2 --device cuda
is "two ranks with devices" "$rc" 0
has "each tells its device" "$err" \
    'note.ranks.: 2 processes shared the rows: 1: cuda:0, .*; 2: cuda:1, '
has "about, too" "$out" '2: .*, 1 thread, cuda:1: emulated device'
lacks "and nobody lacks one" "$err" 'rank-device'
all three --threads 3 --ranks 3 --device auto
has "auto takes those that are there, modulo their number" "$err" '3: cuda:0, '
for file in pcg direct tune; do
    ok "$file: the same bits by two and three ranks" cmp two/$file.csv three/$file.csv
    ok "$file: near the processor" near two/$file.csv cpu/$file.csv 1e-4
    ok "$file: but not by it" sh -c "! cmp -s two/$file.csv cpu/$file.csv"
done

# -- some that have none: the processor of the rank works, and that is told
fit="$data; fit features=64 solver=pcg rank=16 precision=float plan=regenerate variance=none"
GPDESK_EMU_FAIL=200 GPDESK_EMU_ONLY=1
export GPDESK_EMU_FAIL GPDESK_EMU_ONLY
run --threads 2 --ranks 2 --device cuda -e "$fit; score"
unset GPDESK_EMU_FAIL GPDESK_EMU_ONLY
is "a device that fails does not end the fit" "$rc" 0
has "and is told of" "$err" \
    'warning\[rank-device\]: rank 2 on .*: the CUDA device failed .*; its processor did the work'
is "once" "$(printf '%s\n' "$err" | grep -c rank-device)" 1
GPDESK_CUDA_MODULE=$dir/missing.so
run --threads 2 --ranks 2 --device cuda -e "$fit; predict out=cuda.csv; score; about"
is "neither does a module that is not there" "$rc" 0
is "it is told of for each rank" \
    "$(printf '%s\n' "$err" | grep -c 'rank-device.*cannot be loaded')" 2
has "about says why, too" "$out" '1: .*, processor: .*cannot be loaded'
run --threads 2 --ranks 2 -e "$fit; predict out=auto.csv"
lacks "auto says nothing" "$err" 'rank-device'
run --threads 2 --device cpu -e "$fit; predict out=cpu.csv"
ok "without any device all is the processor's" cmp cuda.csv cpu.csv
ok "with auto, too" cmp auto.csv cpu.csv
finish
