#!/bin/sh
# tests/screens/shown.sh -- what was once wrong or mute on the screen, at 80x24 and at 200x60, all
# in one start of the program, and at 120x40, where text was wrapped twice. Other tests show the
# rest, at these sizes or by the result's words:
#
#   lessons in the slide layout, which is not kept; their plots go    screens/lessons.sh
#   all runs of lessons 9 to 11 in one plot                           scripts/lessons.sh
#   units of what compare shows; scaled errors under y=log            scripts/lines.sh, targets.sh
#   a rescaled noise is not called the likeliest                      scripts/export.sh
#   folds after a tuning on all rows; bounds of many lengthscales     scripts/model.sh, targets.sh
#   scripts with undo and redo; layouts that undo leaves              scripts/time.sh, undo.sh
#   an interrupted fit in history and script                          screens/resume.sh
#   the size of a session, and a damaged page of it                  scripts/model.sh, check_salvage
#   bands, bars and colour bars of plots; files of plots that fail    scripts/plots.sh
. "$(dirname "$0")/lib.sh"

answer() { # LINE TEXT NAME: its answer is on the screen
    type_line "$1"
    expect "$2" "$size: $3"
    waitfor " ready"
}
wrong_or_mute() {
    # The slide layout shows errors and results in words.
    type_line "layout slide"
    expect_gone "9 Log" "$size: the slide layout"
    answer "foo" "there is no command 'foo'" "shows an error"
    answer "open /nosuch" "/nosuch" "and that of a file"
    answer "score r1" "RMSE" "and a score"
    type_line "layout auto"
    waitfor "9 Log"
    # Scales that differ, and words about what was tuned.
    answer "compare r1 r2" "y=log" "compare shows the scale of y"
    answer "tune l=5..6 features=64 evals=3" "at its lower bound" "an optimum at its bound is told"
    answer "undo" "undone" "undo"
    # Arguments are completed in brackets and behind =.
    for part in "kernel matern(:nu=" "fit solver=p:pcg"; do
        keys -l "${part%%:*}"
        keys Tab
        expect "${part#*:}" "$size: Tab behind ${part%%:*}"
        keys C-c
    done
}
start 80 24 -- --threads 1
type_line "nonsense"
expect "there is no command 'nonsense'" "80x24: an error of the first start stays in sight"
type_line "demo friedman1 n=200 seed=3; split test=25% seed=1; tune features=64 evals=4"
type_line "fit features=64; score; scale y=log; fit features=64; score; scale y=standard"
expect "y standard (mean" "two fits with different scales"
waitfor " ready"
for size in 80x24 200x60; do
    resize "${size%x*}" "${size#*x}"
    wrong_or_mute
done
# A line that a page broke is not broken again by its pane: a full line and then two words.
resize 120 40
type_line "help fit"
waitfor "Esc closes"
keys NPage
expect "can be given here: fit l=0.5 noise=0.1." "120x40: a page of help is wrapped once"
keys Escape
expect_gone "Esc closes" "120x40: the page closes"
leave 0 "ends"
done_testing
