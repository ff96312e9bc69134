#!/bin/sh
# Lessons at the screen, as a student: the tour, a lesson with its question, sliders, points, slide
# layout, Ctrl-C in the middle, line mode.
. "$(dirname "$0")/lib.sh"

start 80 24
expect " ready" "starts"
type_line "3"
expect "lesson 1     Functions at random" "the first start offers lessons: 3 lists them"
type_line "lesson 1"
expect "[8 Lesson]" "a lesson has its own view"
expect "A Gaussian process says" "with its text"
keys Enter
expect "5 functions before any data" "Enter on an empty line runs the step's lines"
expect "[l 0.8]" "the picture has sliders"
expect "A Gaussian process says" "beside the text"
keys Escape
waitfor "[view]"
keys Up
expect "[l 0.88]" "Up moves the chosen one"
expect "set lengthscale=0.88" "by a line that the log shows"
keys Right
expect "[amp 1]" "Right chooses the next"
keys Down
expect "[amp 0.909]" "Down moves it down"
expect "amplitude 0.909, noise 0.1:" "and the picture's sentence follows"
keys Enter
expect "points 1 x 1" "Enter adds a point"
expect "given the points" "and the functions go through it"
keys i
keys Enter
expect "step 2 of 9" "Enter at the prompt goes on"
keys Enter
expect "falls to a half at" "with another picture"
keys Enter
keys Enter
expect "along each diagonal" "and the covariance of all pairs"
keys Enter
expect "b  rough" "a question waits"
type_line "b"
expect "Right: b" "its letter answers it"
type_line "lesson back"
expect "step 3 of 9" "and back"
type_line "layout slide"
expect_gone "9 Log" "the slide layout has no tabs"
expect "x, standardised" "but the picture"
type_line "foo"
expect "there is no command 'foo'" "the slide layout shows an error"
type_line "open /nosuch"
expect "/nosuch" "and the next one"
type_line "set threads"
expect "threads" "and a result in words"
type_line "layout auto"
expect "[8 Lesson]" "and everything again"
type_line "lesson end"
expect "lesson 1 is over" "a lesson ends"
type_line "lesson 5"
keys Enter
keys Enter
keys Enter
keys C-c
expect " ready" "Ctrl-C in the middle stops what runs"
type_line "lesson next"
expect "gpdesk>" "and the lesson goes on, or says why not"
for size in "200 60" "40 8" "20 5" "80 24"; do
    resize ${size% *} ${size#* }
    expect "gpdesk>" "size $size"
done
type_line "lesson 3 all"
expect "lesson 3 is over" "straight through"
expect "No lesson is open" "and the plots of a lesson go with it"
leave 0 "quits"

start 80 24
expect " ready" "a second start"
absent "lessons" "has no choice any more"
type_line "tour"
expect "Five minutes" "but tour is there"
leave 0 "quits"

# A step whose table is longer than the log shows its plot, and no page over it.
start 80 24
waitfor " ready"
type_line "layout slide"
waitfor " ready"
type_line "lesson 4"
i=0
changed() { [ "$(screen)" != "$shown" ]; }
while ! screen | grep -q "Compare: the landscape" && [ $i -lt 40 ]; do
    i=$((i + 1))
    waitfor " ready"
    shown=$(screen)
    keys Enter
    waituntil changed || in_vain "for what Enter does"
done
waitfor " ready"
expect "show=nmll" "lesson 4 comes to its sweep"
keys Enter
expect "least NMLL" "which is drawn"
absent "Esc closes" "and not covered by its table"
leave 0 "quits"

start 80 24
expect "9 Log" "a slide layout is not kept for the next start"
leave 0 "quits"

# Nor for the next start of a session that was left in it.
start 80 24 -- -s slide.gpd
waitfor " ready"
type_line "demo toy n=40; layout slide"
expect_gone "9 Log" "a session in the slide layout"
leave 0 "quits"
start 80 24 -- -s slide.gpd
expect "going on with" "is opened again"
expect "9 Log" "with its log"
leave 0 "quits"

# Line mode.
start 80 24 -- --plain
expect "gpdesk>" "line mode"
type_line "lesson 2"
expect "step 1 of 6" "has the steps as text"
keys Enter
expect "lesson next) continues" "Enter runs and goes on there, too"
leave 0 "quits"
done_testing
