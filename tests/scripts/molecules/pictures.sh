#!/bin/sh
# tests/scripts/molecules/pictures.sh -- plot molecules: what pick, neighbours and cliffs told, and
# rows, side by side; a list of names and shortened SMILES without RDKit, structures with it.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
built=${gpdesk%/gpdesk}
GPDESK_MOLECULES=$dir/nowhere
export GPDESK_MOLECULES

# Five alike pairs, hostile names, and a row without a molecule.
cat >m.csv <<'END'
smiles,id,y
CCCCCCCCO,octanol,0
CCCCCCCCCO,<b>&"nonanol,9
CCCCCCCCN,]]></text><script>,4
c1ccccc1C,toluene,2
c1ccccc1CC,a name that is much longer than a cell is wide,3
C1CC,broken,3
CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC,long,1
END
open='open m.csv; cols id type=text role=id; missing drop; kernel tanimoto; fit noise=0.3'
run -k -e "$open; plot molecules" -e 'cliffs similar=0.5 difference=4; plot molecules' \
    -e 'plot molecules out=c.txt; neighbours row:1; plot molecules out=n.txt' \
    -e 'plot molecules cliffs out=again.txt; plot molecules row:1 toluene out=r.txt' \
    -e 'plot molecules out=x.svg; plot molecules out=x.png; plot molecules pick'
has "before there are any, what to do" "$err" 'no-plot.*no molecules to draw yet'
has "a screen lists names, SMILES and targets" "$out" '^  1  octanol (row 1).*CCCCCCCCO .*target 0'
has "and the similarity of a pair" "$out" '^  2  <b>&"nonanol (row 2).*target 9.*similarity 0\.'
is "two of a pair stand together, a blank line behind them" "$(sed -n '4{/^$/=;}' c.txt)" 4
has "neighbours begin with their row" "$(cat n.txt)" '^  1  octanol (row 1)'
has "and have their similarity" "$(cat n.txt)" '^  2  .*similarity 0\.[0-9]*'
has "a long SMILES is shortened" "$(cat n.txt)" 'CCCCCCCCCCCCCCCC\.\. '
ok "those of another command are kept" cmp c.txt again.txt
has "rows have a similarity to the first" "$(cat r.txt)" '^  2  toluene (row 4).*similarity 0\.'
has "without RDKit no picture is written, and why" "$err" 'x.svg is not written: RDKit draws'
has "with what to do" "$err" 'out=FILE.txt lists them'
ok "no file is left" test ! -e x.svg -a ! -e x.png
has "a command that told of none" "$err" 'this command has told of none'
run --format json -k -e "$open; plot molecules row:99; plot molecules nothing" -e 'cols; undo'
has "a row that is not there" "$out$err" 'row 99: the data have 7 rows'
has "a word that is none" "$out$err" 'nothing is not a row.*plot molecules row:12'
run --format json -e "$open; pick m.csv count=2 by=mean" -k -e 'plot molecules out=p.txt'
has "what was measured is not picked, and nothing drawn" "$out$err" 'no molecules to draw yet'
printf 'smiles,id\nCCCCCCO,hexanol\nCCCCCN,pentylamine\nCCBr,bromoethane\n' >pool.csv
run --format json -e "$open; pick pool.csv count=2 by=mean; plot molecules out=p.txt" \
    -e 'describe molecules'
has "the picked have mean and sd" "$(cat p.txt)" '^  1  .* mean .*, sd .*nearest'
has "in words, too" "$out" '"command":"describe".*2 picked by r1, mean'

# A molecule that is no row, and the sd of a difference: with tanimoto of amplitude a and noise s
# it is the sd of the target times sqrt(2 a^2 (1 - T) + 2 s^2).
run --format json -k -e "$open; fit amplitude=0.8 noise=0.3 rescale=no" \
    -e 'neighbours CCCCCCO count=2' -e 'plot molecules out=q.txt' \
    -e 'neighbours "C1CC"; neighbours row:1 count=1'
has "a new molecule has neighbours" "$out" \
    '"command":"neighbours".*"molecule":"CCCCCCO".*"target":null'
has "and is drawn first" "$(cat q.txt)" '^  1  new  *CCCCCCO'
has "a text that is none is no row either" "$out$err" 'C1CC is not a row'
ok "the sd of a difference" sh -c 'printf "%s\n" "$1" | awk "
    /\"command\":\"neighbours\".*\"row\":1,/ {
        match(\$0, /\"similarity\":[0-9.]*/); T = substr(\$0, RSTART + 13, RLENGTH - 13)
        match(\$0, /\"sd\":[0-9.]*/); sd = substr(\$0, RSTART + 5, RLENGTH - 5) }
    END { v = 0; n = split(\"0 9 4 2 3 1\", y, \" \"); for (i in y) m += y[i] / n
        for (i in y) v += (y[i] - m) ^ 2 / n
        d = sd / sqrt(v * (1.28 * (1 - T) + 0.18))
        exit !(d > 0.999999 && d < 1.000001) }"' sh "$out"

# Similarities are those of counts of letters and bonds, as in the file of neighbours.
alike() { sed -n "s/^  $1 .*similarity \(0\.[0-9]*\).*/\1/p" n.txt; }
is "the similarity is that of the record" "$(alike 2)" "$(
    run --format json -e "$open; neighbours row:1 count=1"
    printf '%s\n' "$out" | sed -n 's/.*"neighbours":\[{[^}]*"similarity":\([0-9.]*\).*/\1/p' |
        awk '{ printf "%.3f", $1 }')"

if test -x "$built/gpdesk-molecules"; then
    GPDESK_MOLECULES=$built/gpdesk-molecules
    run -e "$open; cliffs similar=0.5 difference=4; plot molecules out=c.svg" \
        -e 'neighbours row:4; plot molecules out=n.svg; plot molecules out=n.csv' \
        -e 'pick pool.csv count=3; plot molecules out=p.svg'
    is "drawn" "$rc" 0
    has "names are text" "$(cat c.svg)" '&lt;b&gt;&amp;&quot;nonanol (row 2)</text>'
    is "and never a tag" "$(cat ./*.svg | grep -c '<script\|<b>')" 0
    is "each document ends once" "$(cat c.svg n.svg p.svg | grep -c '</svg>')" 3
    # Toluene, ethylbenzene, three chains, a long chain: bonds of ring, side and chains are lines.
    has "the nitrogen of an amine has its name" "$(cat c.svg)" '>NH<tspan font-size="10">2</tspan>'
    is "aromatic bonds are double" "$(grep -c dasharray n.svg)" 12
    is "a bar for each molecule" "$(grep -c '^1,' n.csv)" 6
    if command -v gnuplot >/dev/null; then
        run -e "$open; neighbours row:1; plot molecules out=n.png; plot molecules out=n.pdf" \
            -e 'plot molecule row:3 out=m.png'
        is "gnuplot draws png and pdf files" "$rc" 0
        ok "of the size of the picture" test "$(od -An -tu1 -j18 -N2 n.png |
            awk '{ print $1 * 256 + $2 }')" -eq 936
    else
        echo "ok $((n = n + 1)) - png files # SKIP without gnuplot"
    fi
else
    echo "ok $((n = n + 1)) - structures # SKIP without RDKit"
fi
finish
