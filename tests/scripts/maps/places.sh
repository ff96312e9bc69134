#!/bin/sh
# tests/scripts/maps/places.sh -- maps that learn, by another device and from rows on disk: the
# figures of the processor, and the bits of rows in memory.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

num() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 |
    sed -n "s/.*\"$2\":\([-+0-9.eE]*\)[,}].*/\1/p"; }
near() { awk -v a="$1" -v b="$2" -v t="$3" \
    'BEGIN { d = a - b; exit !(a != "" && b != "" && d * d <= (t * b) ^ 2) }'; }
# The largest difference of the columns mean and sd of two files, and whether there is one.
apart() { paste -d, "$1" "$2" | awk -F, 'NR == 1 { h = NF / 2; for (j = 1; j <= h; j++)
    if ($j == "mean" || $j == "sd") use[j] = 1; next }
    { for (j in use) { d = $j - $(j + h); if (d < 0) d = -d; if (d > most) most = d }
      differ = differ || substr($0, 1, length($0) / 2) != substr($0, length($0) / 2 + 2) }
    END { print most + 0, NR, differ + 0 }'; }
close() { # FILE FILE TOLERANCE: equal to that, in many rows
    apart "$1" "$2" | awk -v t="$3" '{ exit !($1 <= t && $2 > 50) }'
}

# The device makes the features of rows; weights are learned by the processor.
module=$(dirname "$gpdesk")/tests/emulated.so
data='demo friedman1 n=400 seed=1; split test=25% seed=2'
if test -f "$module"; then
    for kernel in 'mlp(width=32,out=8)' 'mlp(width=16,out=4) * mlp(width=16,out=4)' \
        'mlp(width=16,out=4) + rbf' 'mlp(rbf,width=16,out=2)' 'cnn(shape=2x5,channels=4,out=8)'; do
        lines="$data; kernel $kernel; tune steps=15 features=96; fit features=96; score baseline=no"
        run --format json --device cpu -e "$lines; predict out=cpu.csv"
        error=$(num score rmse)
        GPDESK_CUDA_MODULE=$module
        export GPDESK_CUDA_MODULE
        run --format json --device cuda -e "$lines; predict out=device.csv"
        unset GPDESK_CUDA_MODULE
        ok "$kernel on another device" near "$(num score rmse)" "$error" 1e-4
        ok "$kernel: the same predictions" close cpu.csv device.csv 2e-3
    done
else
    echo "# the emulated device is not built: other devices are not tested"
fi

# Arrays are read where they are.
npy() { # FILE COLS STEP START
    head=$(printf "{'descr': '|i1', 'fortran_order': False, 'shape': (300, %d), }" "$2")
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$head"
      # shellcheck disable=SC2059
      printf "$(awk -v n=$((300 * $2)) -v a="$3" -v b="$4" \
          'BEGIN { for (i = 0; i < n; i++) printf "\\%03o", (i * a + b) % 113 + 1 }')"; } >"$1"
}
npy x.npy 3 37 5
npy y.npy 1 29 11
awk 'BEGIN { print "x0,x1,x2,y"; for (i = 0; i < 300; i++) { for (j = 0; j < 3; j++)
    printf "%d,", ((3 * i + j) * 37 + 5) % 113 + 1; print (i * 29 + 11) % 113 + 1 } }' >memory.csv
map='split test=20% seed=1; kernel mlp(width=32,out=8); tune steps=20; fit; predict out='
run -e "open x.npy target=y.npy; ${map}disk.csv"
is "arrays on disk are learned" $rc 0
run -e "open memory.csv target=y; ${map}memory_p.csv"
ok "to the bits of a table in memory" cmp disk.csv memory_p.csv
finish
