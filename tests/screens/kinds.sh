#!/bin/sh
# tests/screens/kinds.sh -- files of every kind are looked at in every view: nothing ends the
# program.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { print "sequence,y,part"; srand(3); a = "ACDEFGHIKLMNPQRSTVWY"
    for (i = 0; i < 60; i++) { k = 1 + int(rand() * 20); l = 1 + int(rand() * 20)
        print "MQYKLILNGKTLKG" substr(a, k, 1) "TT" substr(a, l, 1) "AVDA," k + l / 3 "," (i % 4 ? "train" : "test") } }' \
    > "$work/mutants.csv"
awk 'BEGIN { for (i = 0; i < 30; i++) printf ">p%d some protein\nMKT%sAYIAK%s\n", i, substr("AVILMFWY", 1 + i % 8, 1),
    substr("RRRRRRRRR", 1, 1 + i % 7) }' > "$work/p.fasta"
awk 'BEGIN { print "name,y"; for (i = 0; i < 30; i++) print "p" i "," i % 8 + i % 7 }' > \
    "$work/p.csv"
awk 'BEGIN { print "day,shop,sold,returned,remark"; for (i = 0; i < 50; i++)
    printf "2024-%02d-%02d,%s,%d,%d,\"it, was \"\"%d\"\"\"\n", 1 + i % 12, 1 + i % 28, substr("abc", 1 + i % 3, 1),
        i * 7 % 23, i * 5 % 11, i }' > "$work/shop.csv"
awk 'BEGIN { print "a,b"; for (i = 0; i < 9; i++) print "word " i ",more " i }' > "$work/words.csv"

# look COMMAND SIGN: the file is opened, and all views shown.
look() {
    type_line "$1"
    expect "$2" "$1"
    expect " ready" "it is read"
    for key in 2 3 4 5 6 7 8 9 1; do
        keys "M-$key"
        waitfor "[$key "
    done
    expect "[1 Data]" "all views show it"
    ! screen | grep -q 'EXIT='
    verdict $? "and the program lives"
}
start 80 24 -- --threads 1
waitfor "gpdesk>"
look "open mutants.csv target=y" "mutants 60 x"
expect "..KG" "sequences that begin alike are shown from where they differ"
expect "22 letters each" "their length is told"
look "open p.fasta targets=p.csv target=y" "p 30 x"
look "demo molecules n=40" "molecules 40 x"
look "demo points xy=-1:0.5,0:1.2,2:-0.3" "points 3 x"
look "demo co2" "co2 741 x"
look "open shop.csv target=sold,returned" "shop 50 x"
to_view
keys G
keys l l l l
keys c
waituntil grep -q 'it, was "49"' "$work/gpdesk/copy.txt"
verdict $? "a cell is copied whole"
keys C
waituntil grep -q '"it, was ""49"""' "$work/gpdesk/copy.txt"
verdict $? "the view is copied as CSV that can be read again"
keys /
type_line '"47"'
waituntil sh -c "tmux -L $SOCKET capture-pane -p -t a | grep -q ' 48 '"
verdict $? "the whole text of a cell is searched"
keys :
type_line "open words.csv"
expect "words.csv" "a table of words only"
expect " ready" "is answered"
leave 0 "quit"

# Two classes: the inspector of a wide screen shows their scores and no score of numbers.
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) print i / 10 "," (i % 20 < 9 ? "in" : "out") }' \
    > "$work/two.csv"
start 200 60 -- --threads 1
waitfor "gpdesk>"
type_line "open two.csv target=y types=y=category; split test=30% stratify=yes; likelihood bernoulli"
expect "bernoulli: two classes" "the likelihood is told"
type_line "kernel rbf; fit; score"
expect "log loss " "the inspector shows the log loss"
expect "evidence " "and the evidence"
! screen | grep -q 'RMSE  *-\|coverage .*nan'
verdict $? "and no score of numbers"
leave 0 "quit"

# What tuning would find is named by the kernel and the likelihood there are.
awk 'BEGIN { print "s,y"; for (i = 0; i < 40; i++) print "MKTAYIAKQR" substr("ACDEFGHIKLMNPQRSTVWY", 1 + i % 17, 3) "," i % 2 }' \
    > "$work/two.csv"
start 200 60
type_line "open $work/two.csv types=s=sequence target=y; split test=25%"
expect "find lengthscale, amplitude and noise" "a kernel with a lengthscale"
type_line "kernel spectrum"
expect "find amplitude and noise" "one without"
type_line "likelihood bernoulli"
expect "find the amplitude" "and two classes"
type_line "fit; score"
expect "evidence " "they are fitted"
absent "and noise" "with nothing that there is not"
type_line "likelihood gaussian; kernel periodic + rbf"
expect "find lengthscale, period, weight, amplitude and noise" "sums name each once"
leave 0 "quit"
done_testing
