#!/bin/sh
# tests/scripts/molecules.sh -- descriptors and counts of molecules, from the file to sessions and
# new rows: with the stand-in of tests/molecules, and with RDKit where it is built.
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
has "four are not read, and counted" "$out" '"name":"unreadable".*4 molecules of structure '
has "the first is named with its reason" "$out" "row 2 ('no', line 3): bad; row 4 ('die', line 5)"
has "so is the third" "$out" "row 5 ('C1 C2', line 6): character 3 is a blank, .*; \.\."
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
has "another version: what to do" "$out$err" '"name":"backend".*version [0-9]*.*"try":"make install'
unset FAKE_MOLECULES

# Counts: pieces of the text need no program; settings are in the name of the column.
GPDESK_MOLECULES=$dir/nowhere
mv few.csv few.rings
printf 'smiles,y\nCCO,1\nCCCCO,4\nCCN,2\nc1ccccc1,3\nCCC,2\nCCCl,1\n' >few.csv
run -e 'open few.csv fingerprint=lingo; kernel tanimoto; fit; save pieces.gpd' \
    -e 'predict few.csv fingerprint=lingo out=d.csv'
is "pieces of the text are fitted without RDKit" "$rc" 0
run -s pieces.gpd -e 'predict few.csv fingerprint=lingo(length=4) out=e.csv'
ok "a session predicts the same from them" cmp d.csv e.csv
run --format json -s pieces.gpd -e 'predict few.csv fingerprint=lingo(length=3) out=f.csv'
has "pieces of another length are another column" "$out$err" 'smiles.lingo4'
for wrong in 'morgan(radius=99)' 'morgan(size=x)' 'lingo(length=0)' 'lingo(radius=1)' ecfp \
    'lingo()x'; do
    run --format json -e "open few.csv fingerprint=$wrong"
    has "fingerprint=$wrong is refused" "$out$err" '"name":"fingerprint".*"try":"open FILE'
done
run --format json -e 'open bad.csv smiles=structure fingerprint=morgan'
has "fingerprints need it" "$out$err" '"name":"not-found"'
GPDESK_MOLECULES=$built/tests/molecules/fake_molecules
all='fingerprint=morgan(radius=1,size=64,values=bits,chirality=yes,salts=largest)'
run --format json -e "open bad.csv smiles=structure descriptors=yes $all;
    cols structure.* role=input; cols structure role=skip; missing drop; cols" \
    -e 'kernel tanimoto on structure.morgan1_64_bits_chiral_largest + rbf on structure.logp; fit'
has "all settings are in the name" "$out" '"column":"structure.morgan1_64_bits_chiral_largest"'
has "molecules that are not read are missing counts, too" "$out" '"unreadable".*4 molecules of'
is "counts and descriptors in one kernel" "$rc" 0

# With RDKit: benzene, ethanol and a ring that does not close; its messages stay where they are.
if test -x "$built/gpdesk-molecules"; then
    GPDESK_MOLECULES=$built/gpdesk-molecules
    printf 'smiles,y\nc1ccccc1,1\nCCO,2\nC1CC,3\nCCCC,3\nCN,1\n' >real.csv
    run -e 'open real.csv descriptors=yes; missing drop; cols y,smiles role=skip;
        cols smiles.weight role=target; kernel rbf; fit' \
        -e 'predict real.csv descriptors=yes out=p.csv'
    has "a ring that does not close is told" "$out$err" "row 3 ('C1CC', line 4): unclosed ring"
    is "RDKit's own messages stay away" "$(printf '%s' "$out$err" | grep -c 'Parse Error')" 0
    run --format json -e 'open real.csv descriptors=yes; summary'
    has "the weight of benzene is the largest" "$out" '78\.1'
    data=${GPDESK_SHARED:-$src/../shared}/data/freesolv
    if test -d "$data"; then # the file's counts were made by another program
        rest="target=target; split file=$data/splits.csv.gz column=split0"
        rmse() { printf '%s\n' "$out" | grep -o '"rmse":[0-9.]*' | tail -n 1; }
        run --format json -e "open $data/data.csv.gz fingerprint=morgan(radius=1,size=1024) $rest;
            kernel tanimoto; fit; score"
        ours=$(rmse)
        run --format json -e "open $data/data.csv.gz beside=$data/fingerprints.csv.gz $rest;
            kernel tanimoto on morgan1; fit; score"
        is "freesolv: the same score as from the shared fingerprints" "$ours" "$(rmse)"
        ok "which is a number" test -n "$ours"
    else
        echo "ok $((n = n + 1)) - counts of freesolv # SKIP without the shared data"
    fi
else
    echo "ok $((n = n + 1)) - descriptors and counts of molecules # SKIP without RDKit"
fi
finish
