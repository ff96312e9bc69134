#!/bin/sh
# tests/scripts/smiles.sh -- columns of SMILES: how they are guessed, encoded, kept and told; with
# the stand-in of tests/molecules, without any, and with RDKit where it is built.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
built=${gpdesk%/gpdesk}
fake=$built/tests/molecules/fake_molecules

# Without gpdesk-molecules: pieces of the text, and what is no SMILES is a missing cell.
GPDESK_MOLECULES=$dir/nowhere
export GPDESK_MOLECULES
printf 'canonical_smiles,id,y\nCCO,a,1\nC1CC,b,2\nc1ccccc1,c,3\n((((,d,4\nCCN,e,5\nCCO,f,6\n' >m.csv
run --format json -e 'open m.csv; cols; missing drop; kernel tanimoto; fit; save m.gpd' \
    -e 'predict m.csv out=a.csv'
has "guessed by its name" "$out" '"column":"canonical_smiles","role":"input","type":"smiles"'
has "pieces of the text are told" "$out" '"name":"lingo".*lingo(length=4)'
has "two are missing" "$out" '2 molecules of canonical_smiles cannot be read'
has "with row, name, line and reason" "$out" "row 2 (b, 'C1CC', line 3): a ring is not closed"
has "equal molecules are counted" "$out" '1 molecule of .*canonical_smiles.* occurs more.*in 2 rows'
has "and their different targets" "$out" '1 of them has different targets'
has "missing drop goes on" "$out" '4 rows\|"n":4'
run -s m.gpd -e 'predict m.csv out=b.csv'
ok "a session predicts the same" cmp a.csv b.csv
run --format json -e 'open m.csv invalid=stop'
has "invalid=stop names them" "$out$err" '"name":"unreadable".*a ring is not closed'
is "and fails" "$([ "$rc" -ne 0 ] && echo yes)" yes
printf 'smiles,y\nhappy,1\nsad,2\nhappy,3\n' >faces.csv
run --format json -e 'open faces.csv; cols'
has "words are no SMILES" "$out" '"column":"smiles","role":"input","type":"category"'
for wrong in 'morgan(radius=99)' ecfp 'lingo(length=0)'; do
    run --format json -e "open m.csv; cols canonical_smiles encoding=$wrong"
    has "encoding=$wrong is refused" "$out$err" '"name":"fingerprint".*"try":"cols NAME'
done
run --format json -e 'open m.csv; cols canonical_smiles encoding=morgan; cols'
has "morgan needs RDKit" "$out$err" '"name":"not-found"'
run --format json -e 'open m.csv; cols y descriptors=yes'
has "descriptors need SMILES" "$out$err" '"name":"smiles".*"try":"cols NAME type=smiles'
run --format json -e 'open m.csv; cols canonical_smiles encoding=lingo(length=2); history; undo;
    cols canonical_smiles encoding=lingo(length=2); undo; redo' \
    -e 'missing drop; kernel tanimoto; fit' \
    -e 'predict m.csv out=a.csv; save two.gpd'
is "undone and redone" "$rc" 0
run -s two.gpd -e 'predict m.csv out=b.csv'
ok "a session knows the encoding" cmp a.csv b.csv

# The kernel follows the data until somebody chooses one.
kernels() { printf '%s\n' "$out" | grep -o '"command":"kernel","kernel":"[^"]*"' | cut -d'"' -f8 |
    tr '\n' ' '; }
printf 'a,b,y\n1,2,3\n2,3,1\n4,4,2\n' >numbers.csv
run --format json -e 'open m.csv; kernel; open numbers.csv; kernel; undo; kernel; redo; kernel'
is "tanimoto for molecules alone, also after undo" "$(kernels)" \
    'tanimoto matern(nu=5/2) tanimoto matern(nu=5/2) '
run -e 'open m.csv; save k.gpd'
run --format json -s k.gpd -e 'kernel; open numbers.csv; kernel'
is "a session follows, too" "$(kernels)" 'tanimoto matern(nu=5/2) '
run --format json -e 'kernel matern(nu=5/2); open m.csv; kernel; about'
is "a kernel that was chosen stays" "$(kernels)" 'matern(nu=5/2) matern(nu=5/2) '
has "about tells that RDKit is missing" "$out" '"rdkit":null,"rdkit_why":"GPDESK_MOLECULES names'

# A row without each place, and a molecule without each piece of its text: as predicted for such a
# row. The change comes from one kernel matrix, the predictions from another.
printf 'counts,y\n1:1 2:2,0\n1:1 2:1 9:3,5\n2:2,3\n1:1,7\n9:1,6\n' >places.csv
printf 'counts\n1:1 2:1 9:3\n2:1 9:3\n1:1 9:3\n1:1 2:1\n' >without.csv
changes() { # of the file of explain-row against predictions, the whole row first
    awk -F, 'NR == FNR { if (FNR > 1) m[n++] = $2; next }
        FNR > 1 { d = $NF - (m[FNR - 1] - m[0]); if (d * d > 1e-18) exit 1; k++ }
        END { exit !(k == n - 1 && k > 0) }' "$1" "$2"
}
run --format json -e 'open places.csv types=counts=counts; kernel tanimoto; fit noise=0.3' \
    -e 'explain-row row:2 out=e.csv; predict without.csv types=counts=counts out=q.csv columns=row,mean'
ok "explain-row leaves out each place" changes q.csv e.csv
is "and names them" "$(cut -d, -f2 e.csv | tr '\n' ' ')" 'name "1" "2" "9" '
has "in JSON, too" "$out" '"places":\[{"position":[123],"name":"[129]","change":'
run --format json -e 'open m.csv; missing drop; kernel tanimoto; fit noise=0.3; explain-row row:1' \
    -e 'explain-row row:3 out=e.csv'
has "a molecule without a piece of its text" "$out" '"pieces":\[{"position":1,"name":"CCO","change"'
is "by the letters" "$(cut -d, -f2 e.csv | tr '\n' ' ')" 'name "0ccc" "c0cc" "ccc0" "cccc" '
run --format json -e 'open m.csv; missing drop; kernel tanimoto; fit noise=0.3; plot molecule row:1'
has "without RDKit no molecule is drawn" "$out$err" \
    'pieces of text, not of atoms.*"try":"cols NAME encoding=morgan, then fit'
run --format json -e 'open places.csv types=counts=counts; kernel tanimoto; fit; plot molecule row:1'
has "nor are counts" "$out$err" 'r1 reads no molecule.*"try":"cols NAME type=smiles, then fit'
run --format json -e 'open m.csv; missing drop; kernel tanimoto; fit noise=0.3; plot row'
has "nothing was explained" "$out$err" 'No row has been explained yet'

# Lists of SMILES.
printf '# a comment\nCCO ethanol\n\nc1ccccc1\tbenzene, pure\r\nC1C broken\nCCN\n' >pool.smi
run --format json -s m.gpd -e 'predict pool.smi out=p.csv'
is "a list of SMILES is new data" "$rc" 0
is "with a line for each molecule that is read" "$(wc -l <p.csv)" 4
printf 'name,y\nethanol,1\n"benzene, pure",2\nbroken,3\n' >values.csv
run --format json -e 'open pool.smi targets=values.csv; cols'
has "a table is joined by name" "$out" '"column":"y","role":"target"'
printf 'smiles\tvalue\nCCO\t1\nCCN\t2\nCCC\t3\n' >table.smi
run --format json -e 'open table.smi; cols'
has "with a header it is a table" "$out" '"column":"value","role":"target"'
printf 'CCO\0 x\n' >zero.smi
run --format json -e 'open zero.smi'
has "a zero byte" "$out$err" 'zero byte'
printf '\n# nothing\n' >none.smi
run --format json -e 'open none.smi'
has "no molecules" "$out$err" 'has no molecules'

# Cliffs: of these five, 1 and 2 are 2/3 alike and differ by 5, 2 and 3 by 2; 1 and 3 are equal.
printf 'counts,y\n1:1 2:1,0\n1:1 2:1 3:1,5\n1:1 2:1,3\n8:1 9:1,0\n6:1 7:1 8:1 9:1,1\n' >c.csv
run --format json -e 'open c.csv; cliffs similar=0.5 difference=2'
has "pairs so alike" "$out" '"pairs":4,"equal":1,"equal_differ":1,"found":2,"molecules":3'
has "the steepest first" "$out" '"cliffs":\[{"row":1,"other":2,.*"difference":5,"slope":1[45]'
has "then the other" "$out" '{"row":2,"other":3,.*"difference":-2,"slope":[56]'
run --format json -e 'open c.csv; kernel tanimoto; fit noise=0.5; cliffs similar=0.5'
has "the noise in the same unit" "$out" '"run":\|"noise":1\.[0-9]*,"cliffs"'
run -e 'open c.csv; kernel tanimoto; fit noise=0.5; cliffs similar=0.5 difference=2' \
    -e 'plot cliffs out=k.csv; plot cliffs out=k.svg'
has "the plot has the steeper cliff" "$(cat k.csv)" ',0\.33333333[0-9]*,5,'
has "and the other" "$(cat k.csv)" ',0\.33333333[0-9]*,2,'
has "by their rows" "$(cat k.svg)" 'rows 1, 2'
has "equal counts at the left" "$(cat k.csv)" 'equal counts,0,3,'
has "the pair that differs by less" "$(cat k.csv)" 'other alike pairs,0\.5,1,'
has "a line at the noise" "$(cat k.csv)" 'noise of r1'
ok "the picture is written" grep -q '</svg>' k.svg
printf 'counts,name,y\n1:1 2:2,<b>&"x,0\n1:1 2:1,]]></text><script>,5\n' >names.csv
run -e 'open names.csv; cols name type=text; cliffs similar=0.5' \
    -e 'plot cliffs out=names.svg'
has "a name is text in a picture" "$(cat names.svg)" '&lt;b\(>\|&gt;\)&amp;'
is "and never a tag" "$(grep -c '<script\|<b>' names.svg)" 0
run -e 'open c.csv; plot cliffs out=o.csv'
has "without cliffs before it, the plot compares the rows itself" "$(cat o.csv)" 'equal counts,0,3,'
run --format json -e 'open c.csv; cols counts role=skip; plot cliffs'
has "a plot of no counts says what to do" "$out$err" '"name":"counts".*"try":"cols NAME type=smiles'
run --format json -e 'open c.csv; cliffs y'
has "a column without counts" "$out$err" '"name":"counts".*"try":"cols NAME type=smiles'

# With the stand-in: the step names the version, and answers are kept.
GPDESK_MOLECULES=$fake
run --format json -e about
has "about tells the version of RDKit" "$out" '"rdkit":"fake 1"'
{ echo smiles,y
  i=1
  while [ $i -le 240 ]; do
      k=$((i % 9 + 1))
      echo "C${k}CC${k}[${i}CH3],$((i % 17))"
      i=$((i + 1))
  done; } >many.csv
run --format json -e 'open many.csv; cols smiles scaffold=yes descriptors=yes; cols' \
    -e 'split group=smiles.scaffold test=30%; kernel tanimoto on smiles + rbf on smiles.*; fit' \
    -e 'predict many.csv out=a.csv; save many.gpd; history'
is "counts beside descriptors" "$rc" 0
has "morgan is what is made" "$out" '"name":"molecules".*morgan(radius=2,size=0).*RDKit fake 1'
has "a descriptor is an input" "$out" '"column":"smiles.logp","role":"input"'
has "a scaffold is none" "$out" '"column":"smiles.scaffold","role":"skip","type":"category"'
has "whole groups are split" "$out" '"column":"smiles.scaffold","groups":3'
run --format json -e 'open many.csv; split test=30% seed=1'
has "equal molecules on both sides are warned of" "$out" '"name":"same-molecules".*72 test rows'
run --format json -e 'open many.csv; set threads=1; cliffs similar=0.2; set threads=2' \
    -e 'cliffs similar=0.2'
is "the same for any number of threads" "$(printf '%s\n' "$out" | grep '"command":"cliffs"' |
    sed 's/"seconds".*//' | sort -u | wc -l)" 1
FAKE_MOLECULES=mute
export FAKE_MOLECULES
run --format json -s many.gpd -e 'predict many.csv out=b.csv'
ok "all comes from the cache, and is the same" cmp a.csv b.csv
FAKE_MOLECULES=newer
run --format json -s many.gpd -e 'predict many.csv out=c.csv'
has "another RDKit is told" "$out" '"name":"rdkit".*RDKit fake 1 before and now by fake 2'
ok "before predicting the same" cmp a.csv c.csv
unset FAKE_MOLECULES
printf 'CCO\nC3CC3\nhang\nC4CC4\n' >slow.smi
run --format json -s many.gpd -e 'set molecule-seconds=0.1; missing drop; fit; predict slow.smi'
has "what takes too long is told" "$out$err" 'takes more than 0.1 s'

# With RDKit: the counts are those of another program, and chemistry decides.
if test -x "$built/gpdesk-molecules"; then
    GPDESK_MOLECULES=$built/gpdesk-molecules
    printf 'smiles,y\nCCO,1\nOCC,2\nC(C)(C)(C)(C)C,3\nCCC,4\n[Na+].[Cl-],5\nc1ccccc1Br,6\n' >r.csv
    run --format json -e 'open r.csv'
    has "five bonds at a carbon" "$out" "row 3 ('C(C)(C)(C)(C)C', line 4): Explicit valence"
    has "equal by canonical SMILES" "$out" '"name":"equal-molecules".*in 2 rows; 1 of them'
    # Atoms that are bonded to none: without one it is the molecule of the others.
    printf 'smiles,y\nC.N.O,1\nCC.N,2\nO.O,4\nc1ccccc1,3\nN,5\n' >apart.csv
    printf 'smiles\nC.N.O\nN.O\nC.O\nC.N\n' >fewer.csv
    run --format json -e 'open apart.csv; kernel tanimoto; fit noise=0.3; explain-row row:1 out=e.csv' \
        -e 'predict fewer.csv out=q.csv columns=row,mean; explain-row row:4 out=b.csv'
    ok "explain-row leaves out each atom" changes q.csv e.csv
    is "and names it" "$(cut -d, -f2 e.csv | tr '\n' ' ')" 'name "C1" "N2" "O3" '
    is "six equal atoms are equal" "$(awk -F, 'NR > 1 { printf "%.12g\n", $3 }' b.csv |
        sort | uniq -c | awk '{ print $1 }')" 6
    # The picture: a circle for each atom, what raises the mean and what lowers it, names as text.
    printf 'smiles,id,y\nCC[N+](C)(C)C.[Cl-],<b>&,1\nc1ccccc1C#N,</svg>,2\nCCO,c,5\nN,d,3\n' >named.csv
    run --format json -e 'open named.csv; cols id type=text role=id; kernel tanimoto' \
        -e 'fit noise=0.3; plot molecule row:1 out=m.svg; plot molecule row:1 out=m.csv' \
        -e 'explain-row row:1 out=e.csv; plot molecule row:2 out=n.svg' -k -e 'plot molecule' \
        -e 'plot molecule row:99'
    is "a circle for each atom" "$(grep -c '<title>' m.svg)" 7
    is "charged atoms have letters" "$(grep -c '>N+</text>\|>Cl-</text>' m.svg)" 2
    has "names are text" "$(cat m.svg)" '>&lt;b&gt;&amp;</text>'
    is "and end no document" "$(grep -c '</svg>' n.svg)" 1
    ok "bars are what explain-row tells" awk -F, 'NR == FNR { if (FNR > 1) m[FNR] = $4; next }
        FNR > 1 && (m[FNR] + $3) ^ 2 > 1e-18 { exit 1 } END { exit FNR != 8 }' m.csv e.csv
    has "a row has to be named" "$out$err" '"try":"plot molecule row:12 out=FILE.svg'
    has "and be there" "$out$err" 'row 99: the data have 4 rows'
    data=${GPDESK_SHARED:-$src/../shared}/data
    for set in freesolv photoswitch; do
        test -d "$data/$set" || continue
        run --format json -e "open $data/$set/data.csv.gz; cols * role=skip" \
            -e "cols target role=target; cols smiles role=input; show 1..2" \
            -e "cols smiles encoding=morgan(radius=1,size=1024); kernel tanimoto; fit" \
            -e "save $set.gpd"
        is "$set: fitted" "$rc" 0
        run -s $set.gpd -e "predict $data/$set/data.csv.gz out=a.csv"
        run -e "open $data/$set/data.csv.gz beside=$data/$set/fingerprints.csv.gz target=target" \
            -e "kernel tanimoto on morgan1; fit" \
            -e "predict $data/$set/data.csv.gz beside=$data/$set/fingerprints.csv.gz out=b.csv"
        ok "$set: every prediction as from the file's counts" cmp a.csv b.csv
    done
else
    echo "ok $((n = n + 1)) - molecules # SKIP without RDKit"
fi
finish
