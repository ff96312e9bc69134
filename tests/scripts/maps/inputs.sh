#!/bin/sh
# tests/scripts/maps/inputs.sh -- a kernel that names a column which is no input is refused at once,
# with the way out, and the kernel before it stays; without data the name is taken for later.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

printf 'smiles,a,b,y\nCCO,1.5,0,1\nCCC,2.5,1,2\nCCN,0.5,0,3\nCCCC,4,1,4\nCCCO,5.5,1,2.5\n' >m.csv
refused() { # OPEN KERNEL PATTERN
    run --format json -e 'open m.csv target=y'"$1" -e 'kernel rbf(l=0.7)' -e "kernel $2"
    has "kernel $2$1" "$out$err" "\"type\":\"error\".*$3"
    is "is refused by the command itself" "$(printf '%s\n' "$out$err" |
        grep -c '"command":"kernel"')" 1
}
refused '; cols smiles role=skip' 'tanimoto on smiles' \
    '"name":"inputs".*"try":"cols smiles role=input'
refused '; cols smiles type=text' 'tanimoto on smiles' '"try":"cols smiles type=category'
refused '' 'tanimoto on smiles + rbf on y' "reads column 'y'.*\"try\":\"cols y role=input"
refused '' 'rbf on nothere' "there is no column 'nothere'"
run --format json -s k.gpd -e 'open m.csv target=y; cols smiles role=skip' \
    -e 'cols a,b role=input; kernel rbf(l=0.7)'
run -s k.gpd -e 'kernel tanimoto on smiles'
run --format json -s k.gpd -e 'fit'
has "the kernel before it stays" "$out" '"kernel":"rbf'
run -e 'kernel rbf on nothere' -e 'open m.csv target=y; fit'
has "without data it is taken" "$out" '^kernel rbf on nothere'
has "and the fit says so" "$err" "there is no column 'nothere'"
run --format json -e 'open m.csv target=y; cols smiles role=skip' \
    -e 'cols smiles,a,b role=input; kernel tanimoto on smiles + rbf on a,b; fit'
is "the way out" "$rc" 0
finish
