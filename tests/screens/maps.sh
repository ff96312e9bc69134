#!/bin/sh
# tests/screens/maps.sh -- a map of images at the keyboard, small and large: tuned with a live plot,
# stopped and gone on with, calibrated while its training is looked at, stopped in the middle of
# that, and there again at the next start.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(3); for (j = 0; j < 64; j++) printf "p%d,", j; print "stroke"
    for (i = 0; i < 600; i++) { way = int(2 * rand())
        y = int((way ? 5 : 8) * rand()); x = int((way ? 8 : 5) * rand())
        for (j = 0; j < 64; j++) p[j] = 0.05 * rand()
        for (k = 0; k < 4; k++) p[8 * (y + (way ? k : 0)) + x + (way ? 0 : k)] += 1
        for (j = 0; j < 64; j++) printf "%.3f,", p[j]
        print way ? "down" : "across" } }' > "$work/strokes.csv"
for size in '80 24' '200 60'; do
    # shellcheck disable=SC2086
    start $size -- -s maps.gpd
    type_line "open strokes.csv target=stroke; split test=20% seed=1; scale x=common"
    expect "600" "images are read"
    type_line "kernel cnn(channels=16:32,out=16); likelihood dirichlet; tune steps=100000"
    expect "[4 NMLL" "$size: tune brings its view forward"
    expect "best so far" "with a live plot"
    keys C-c
    type_line "view log"                # the lines below a plot are few
    expect "t1  cnn" "Ctrl-C keeps the best so far"
    type_line "view nmll; tune continue=t1 steps=5"
    expect "t2: best NMLL" "continue= goes on from there"
    type_line "plot training"
    expect "share of wrong classes" "plot training draws rows kept aside"
    type_line "view log"
    type_line "kernel cnn(channels=4,out=8); tune steps=20; fit; calibrate rows=100; score"
    expect "calibrated by 100 rows" "calibrate learns anew"
    expect "calibrated by 100 rows (" "and score says so"
    type_line "calibrate rows=50"
    expect "error[not-tuned]" "what it made has no tuning"
    type_line "kernel cnn(channels=16:32,out=16); tune steps=100000"
    expect "t4 tune" "a long one"
    expect "best NMLL" "is at work"
    keys C-c
    type_line "view log"
    expect "t4  cnn" "and stopped keeps its best"
    type_line "fit; calibrate rows=100"
    expect "r4 tune" "calibrate learns as long"
    type_line "plot training"
    expect "training: r4:" "$size: plot training draws the steps of calibrate"
    keys C-c
    expect "r4 was stopped before there was a result" "and it is stopped"
    leave 0 "it leaves"
    # shellcheck disable=SC2086
    start $size -- -s maps.gpd
    expect "strokes" "the next start has the data"
    type_line "plot training t2"
    expect "share of wrong classes" "and what was learned"
    type_line "predict run=r2 out=p.csv"
    expect "predicted 120 rows" "and predicts by the map that calibrate learned"
    leave 0 "and leaves"
    rm -f "$work/maps.gpd"
done
done_testing
