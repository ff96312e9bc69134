#!/bin/sh
# tests/screens/classes.sh -- view 6 of a fit of classes: pictures in both panes of a wide screen,
# and its pages; amplitudes that are all alike are told once; pixels are found on opening.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(5); print "x1,x2,kind"
    for (i = 1; i <= 200; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2
        printf "%.4f,%.4f,%s\n", a, b, (a > 1.2 ? "rare" : b > 0 ? "north" : "south") } }' \
    > "$work/three.csv"
awk 'BEGIN { srand(7); for (j = 0; j < 64; j++) printf "p%d,", j; print "y"
    for (i = 0; i < 40; i++) { for (j = 0; j < 64; j++)
            printf "%d,", rand() < 0.3 ? 255 : rand() < 0.4 ? 0 : 256 * rand()
        print rand() } }' > "$work/pixels.csv"
awk -F, -v OFS=, 'NR > 1 { $3 = $3 == "rare" ? "yes" : "no" } 1' "$work/three.csv" > "$work/two.csv"

start 200 60 -- --threads 1
type_line "open three.csv target=kind"
expect "three 200 x" "three classes"
type_line "split test=40% seed=1"
expect "test 80" "a split"
type_line "fit features=64 amplitude=2"
expect "(all 3)" "the amplitude of all classes is told once"
type_line "score"
expect "[6 Calib" "score brings the calibration"
expect "r1, probabilities (1 of 4)" "with the probabilities"
expect "r1, confusion (2 of 4)" "and beside them the confusions"
absent "This plot is of" "no pane has a sentence for a picture"
to_view
keys Right
expect "r1, confusion (2 of 4)" "Right turns to the confusions"
expect "r1, ROC (3 of 4)" "beside ROC"
keys Right
keys Right
expect "r1, precision and recall (4 of 4)" "then to precision and recall"
absent "This plot is of" "all of them pictures"
keys i
type_line "plot confusion"
expect "r1, confusion (2 of 4)" "plot confusion comes here, too"
type_line "open two.csv target=kind"
expect "two 200 x" "two classes"
type_line "split test=40% seed=1"
type_line "likelihood bernoulli"
type_line "fit amplitude=2"
expect "r2  " "a fit"
type_line "score"
expect "r2, confusion (2 of 4)" "its confusions"
to_view
keys Left
expect "r2, probabilities (1 of 4)" "and probabilities"
absent "This plot is of" "as pictures"
keys i
type_line "open pixels.csv target=y"
expect "as pixels are" "one unit is told when a file is opened"
leave 0 "quit"
done_testing
