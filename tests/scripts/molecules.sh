#!/bin/sh
# tests/scripts/molecules.sh -- descriptors of molecules, from the file to sessions and new rows:
# with the stand-in of tests/molecules, and with RDKit where it is built.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
built=${gpdesk%/gpdesk}
GPDESK_MOLECULES=$built/tests/molecules/fake_molecules
export GPDESK_MOLECULES

cat >few.csv <<'END'
smiles,y
C1,1
C20,4
C3,2
C14,3
C7,2
C9,1
END
run --format json -e 'open few.csv descriptors=yes; cols'
has "ten inputs are added" "$out" '"rows":6,"columns":12'
for name in logp mr tpsa weight donors acceptors rotatable rings aromatic sp3; do
    has "smiles.$name is an input" "$out" "\"column\":\"smiles.$name\",\"role\":\"input\""
done
has "the SMILES are none" "$out" '"column":"smiles","role":"skip"'
has "the target stays the last column" "$out" '"column":"y","role":"target"'
has "the version is told" "$out" '"name":"molecules".*6 molecules.*RDKit fake 1'

# The stand-in makes descriptors 1 + k/2 of C1: the model of their sum is linear.
run -e 'open few.csv descriptors=yes; kernel linear; fit; save few.gpd' \
    -e 'predict few.csv descriptors=yes out=a.csv'
is "fitted, saved and predicted" "$rc" 0
run -s few.gpd -e 'predict few.csv descriptors=yes out=b.csv'
ok "a session predicts the same" cmp a.csv b.csv
run --format json -s few.gpd -e 'predict few.csv out=c.csv'
has "new rows need descriptors, too" "$out$err" 'smiles.logp'

printf 'structure,y\nC1,1\nno,2\nC3,2\ndie,5\nC1 C2,4\n,4\nno,3\nC4,2\n' >bad.csv
run --format json -e 'open bad.csv smiles=structure descriptors=yes; missing drop; kernel rbf; fit'
has "four are not read, and counted" "$out" '"name":"unread".*4 molecules cannot be read'
has "the first is named with its reason" "$out" "row 2 ('no'): bad; row 4 ('die'): RDKit fails"
has "so is the third" "$out" "row 5 ('C1 C2'): character 3 is a blank, which no SMILES has; \.\."
has "the others are fitted" "$out" '"n":3\|3 rows'

run --format json -e 'open few.csv smiles=nothing descriptors=yes'
has "a column that is not there" "$out$err" '"name":"smiles".*"try":"open FILE smiles=COLUMN'
run --format json -e 'open few.csv smiles=y descriptors=yes'
has "a column of numbers" "$out$err" '"name":"smiles".*holds numbers'
printf 'smiles,smiles.mr,y\nC1,1,1\nC2,2,2\nC3,1,3\n' >taken.csv
run --format json -e 'open taken.csv descriptors=yes'
has "a name that is taken" "$out$err" '"name":"smiles".*smiles.mr already'
GPDESK_MOLECULES=$dir/nowhere
run --format json -e 'open few.csv descriptors=yes'
has "no program: what to do" "$out$err" '"name":"not-found".*"try":"unset GPDESK_MOLECULES'
GPDESK_MOLECULES=$built/tests/molecules/fake_molecules
FAKE_MOLECULES=version
export FAKE_MOLECULES
run --format json -e 'open few.csv descriptors=yes'
has "another version: what to do" "$out$err" '"name":"backend".*version 7.*"try":"make install'
unset FAKE_MOLECULES

# With RDKit: benzene, ethanol and a ring that does not close; its messages stay where they are.
if test -x "$built/gpdesk-molecules"; then
    GPDESK_MOLECULES=$built/gpdesk-molecules
    printf 'smiles,y\nc1ccccc1,1\nCCO,2\nC1CC,3\nCCCC,3\nCN,1\n' >real.csv
    run -e 'open real.csv descriptors=yes; missing drop; cols y,smiles role=skip;
        cols smiles.weight role=target; kernel rbf; fit' \
        -e 'predict real.csv descriptors=yes out=p.csv'
    has "a ring that does not close is told" "$out$err" "row 3 ('C1CC'): unclosed ring"
    is "RDKit's own messages stay away" "$(printf '%s' "$out$err" | grep -c 'Parse Error')" 0
    run --format json -e 'open real.csv descriptors=yes; summary'
    has "the weight of benzene is the largest" "$out" '78\.1'
else
    echo "ok $((n = n + 1)) - descriptors of molecules # SKIP without RDKit"
fi
finish
