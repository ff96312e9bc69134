#!/bin/sh
# tests/scripts/data.sh -- data of any size and shape, as a user meets it: the same figures whatever
# --mem is, a table parsed once, arrays in files, sessions that find them again.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# ---- the same bits from memory and from disk: 250,000 x 9 doubles are 18 MB, a quarter of 64 MB is
# 16
job='demo robot n=250000 seed=3; split test=1% seed=1; kernel rbf; fit features=64 l=3 noise=0.5'
for solver in 'direct variance=32' 'pcg rank=16 rtol=1e-2 plan=regenerate variance=none'; do
    for mem in 64MB 4GB; do
        run --mem $mem --format json -e "$job solver=$solver; predict out=$mem.csv; about"
        is "$solver under --mem $mem ends with 0" $rc 0
        peak=$(printf '%s\n' "$out" | sed -n 's/.*"memory_peak":\([0-9]*\),.*/\1/p')
        test $mem = 64MB && low=$peak
    done
    ok "$solver: 64 MB take less than 4 GB" test "$low" -lt "$peak"
    ok "$solver: --mem changes no byte of the predictions" cmp 64MB.csv 4GB.csv
done

# ---- the cache
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 250000; i++) printf "%.6f,%d,%.5f\n", sin(i), i % 97, cos(i) }' > big.csv
job='open big.csv; split test=10% seed=1; kernel rbf; fit features=64 l=2 noise=0.5; predict out'
run --format json -e "$job=first.csv; about"
is "a large table opens" $rc 0
has "it is kept" "$out" '"cache_tables":1'
run --format json -e "$job=second.csv; about"
has "and found again" "$out" '"cache_tables":1'
ok "with the same predictions" cmp first.csv second.csv
find cache -name c0.npy -exec sh -c \
    'printf x | dd of="$1" bs=1 seek=5000 conv=notrunc 2>/dev/null' - {} \;
run --format json -e "$job=third.csv"
ok "also after damage" cmp first.csv third.csv
run --format json -e 'set cache=1MB; open big.csv'
is "too small a cache is no error" $rc 0
has "but said" "$out" '"name":"cache"'

# ---- arrays: |i1 items, so that printf can write them
npy() { # FILE ROWS COLS START
    head=$(printf "{'descr': '|i1', 'fortran_order': False, 'shape': (%d, %d), }" "$2" "$3")
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$head"
      i=0; while [ $i -lt $(($2 * $3)) ]; do printf "\\$(printf %03o $(((i * 37 + $4) % 120)))"; \
          i=$((i + 1)); done; } > "$1"
}
mkdir blocks
for b in 1 2 10; do npy blocks/x_$b.npy 20 3 $b; npy blocks/y_$b.npy 20 1 $b; done
run --format json -e 'open blocks'
has "a directory of pairs is one table" "$out" \
    '"dataset":"blocks".*"rows":60,"columns":4,"inputs":3,"target":"y"'
run --format json -e \
    "open 'blocks/x_*.npy' target='y_*.npy'; split test=20% seed=1; fit; score; save s.gpd"
is "patterns are fitted" $rc 0
has "as the same table" "$out" '"dataset":"blocks".*"rows":60'
run --format json -s s.gpd -e 'data; predict blocks/x_2.npy out=p.csv'
is "the session finds them again" $rc 0
has "with their rows" "$out" '"rows":60'
hasnt() { printf '%s\n' "$2" | grep -q -e "$3"; test $? -ne 0; result $? "$1" "$2"; }
hasnt "and nothing has changed" "$out" 'session-data'
is "one row for each of a file's" "$(wc -l < p.csv | tr -d ' ')" 21
run -n -e "open 'blocks/x_*.npy'; fit"
is "a dry run takes patterns" $rc 0
printf 'blocks/x_1.npy blocks/y_1.npy\nblocks/x_10.npy blocks/y_10.npy\n' > list.txt
run --format json -e 'open list.txt'
has "a list is one table" "$out" '"rows":40,"columns":4'
run --format json -e 'open blocks/x_1.npy target=y_3.npy'
is "a missing file of targets ends with 4" $rc 4
has "and is named" "$out" 'y_3.npy is not there'
run --format json -e 'open blocks/x_1.npy target=z'
is "a column that is not there is no file" $rc 1
printf '\211HDF\r\n\032\n' > cut.h5
run --format json -e 'open cut.h5'
is "a damaged HDF5 file, or one that cannot be read here, ends with 4" $rc 4
export GPDESK_HDF5_MODULE=./cut.h5
run -e 'open cut.h5'
is "a module for HDF5 that is none ends with 4" $rc 4
has "and is named" "$err" 'cut.h5 cannot be loaded'
run -e about
is "and about goes on" $rc 0
unset GPDESK_HDF5_MODULE
run -e about
has "about tells of HDF5" "$out" 'HDF5'
has "about tells of the cache" "$out" 'cache .* of 10.*GB'

# -- tables as spreadsheets write them
printf '\357\273\277Tag;Preis;Menge\r\n2024-02-01;"1.234,50";3\r\n2024-02-02;"99,90";4\r\n2024-02-03;1.017;5\r\n' >excel.csv
run --format json -e 'open excel.csv; show 1..3'
has "marks for thousands where a cell has both" "$out" '"Preis":1234.5,'
has "are known in the others, too" "$out" '"Preis":1017,'
run -e 'open excel.csv'
has "and told" "$out" 'decimal comma, marks for thousands, UTF-8 with BOM, CRLF'
printf 'a;b\n1,234;3\n2,345;4\n' >either.csv
run --format json -e 'open either.csv'
has "what may be either is not guessed" "$out" 'error","name":"decimal"'
has "and both ways out are told" "$out" 'thousands=comma'
run --format json -e 'open either.csv thousands=comma; show 1..1'
has "one" "$out" '"a":1234,'
run --format json -e 'open either.csv decimal=comma; show 1..1'
has "and the other" "$out" '"a":1.234,'
printf 'a,b\n"1,234.5",3\n"12,34",4\n' >odd.csv
run --format json -e 'open odd.csv'
has "marks elsewhere are no number" "$out" 'error","name":"cell"'
run -e 'open either.csv thousands=comma decimal=comma'
is "one mark cannot be both" "$rc" 1
printf 'name,remark\na b,c d\ne f,g h\n' >words.csv
run --format json -e 'open words.csv'
has "words only: nothing to predict" "$out" '"name":"no-target"'
printf 'a,y\n1,2\n' >single.csv
run --format json -e 'open single.csv; fit'
has "one row is too few, and says so" "$out" 'one training row is left'
# scale x=common: one sd for all numbers, the root of their mean variance in the training rows; the
# same as inputs that were divided before.  A constant column counts for nothing.
awk 'BEGIN { srand(8); print "a,b,c,k,y"; for (i = 0; i < 60; i++) { a = rand(); b = 9 * rand()
    c = int(3 * rand()); print a "," b "," c ",7," sin(3 * a) + b * c / 9 } }' >common.csv
awk -F, -v OFS=, 'NR == FNR { if (FNR > 1) for (j = 1; j <= 3; j++) { n[j]++; s[j] += $j
        q[j] += $j * $j }; next }
    FNR == 1 { for (j = 1; j <= 3; j++) { m = s[j] / n[j]; v += (q[j] / n[j] - m * m) / 3 }
               print; next }
    { for (j = 1; j <= 3; j++) $j = sprintf("%.15g", $j / sqrt(v)); print }' \
    common.csv common.csv >divided.csv
how='target=y; kernel rbf; set l=0.8 noise=0.1; fit solver=exact rescale=no'
run -s x.gpd -e "open common.csv $(echo "$how" | sed 's/; kernel/; scale x=common; kernel/')" \
    -e 'predict common.csv columns=mean,sd out=common.out; export'
has "one sd for all is told" "$(echo $out)" 'Inputs were centred and divided by one standard'
run -e "open divided.csv $(echo "$how" | sed 's/; kernel/; scale x=none; kernel/')" \
    -e 'predict divided.csv columns=mean,sd out=divided.out'
ok "scale x=common divides all by one sd" awk -F, 'NR == FNR { m[FNR] = $1; s[FNR] = $2; next }
    FNR > 1 { d = m[FNR] - $1; e = s[FNR] - $2; n++; if (d * d + e * e > 1e-16) exit 1 }
    END { exit n != 60 }' common.out divided.out
run -s x.gpd -e 'predict common.csv columns=mean,sd out=again.out; scale; undo'
ok "and a session keeps it" cmp -s common.out again.out

# Inputs of one unit, as pixels are, are divided by one sd from the start; others are not.
pixels() { # COLUMNS TOP LAST: whole numbers from 0 to TOP, and one column with cells LAST
    awk -v n="$1" -v top="$2" -v last="$3" 'BEGIN {
        srand(4); for (j = 1; j < n; j++) printf "p%d,", j; print "last,y"
        for (i = 0; i < 40; i++) { s = 0
            for (j = 1; j < n; j++) { v = j % 5 ? int(rand() * (top + 1)) : 0; s += v; printf v "," }
            print last + (last == 0 ? i % 2 : 0) "," s } }' >pixels.csv
}
pixels 64 16 0
run --format json -s px.gpd -e 'open pixels.csv target=y; scale'
has "pixels have one unit" "$out" '"name":"unit".*64 inputs are whole numbers from 0 to 16'
has "and one sd" "$out" '"command":"scale","x":"common"'
run --format json -s px.gpd -e 'scale; scale x=standard'
has "which a session keeps" "$out" '"command":"scale","x":"common"'
run --format json -s px.gpd -e 'scale'
has "and what it was changed to" "$out" '"command":"scale","x":"standard"'
run --format json -s px.gpd -e 'undo; scale'
has "undone" "$out" '"command":"scale","x":"common"'
for other in '63 16 0' '64 1 0' '64 16 0.5' '64 16 -3' '64 16 70000'; do
    pixels $other
    run --format json -e 'open pixels.csv target=y; scale'
    has "others have an sd each ($other)" "$out" '"command":"scale","x":"standard"'
done
pixels 70 16 0
run --format json -e 'open pixels.csv target=y skip=p1,p2,p3,p4,p5,p6,p7; scale'
has "columns that are left out do not count" "$out" '"command":"scale","x":"standard"'
run --format json -e 'open pixels.csv target=y types=p9=category; scale'
has "categories have no unit" "$out" '"command":"scale","x":"standard"'

finish
