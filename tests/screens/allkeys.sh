#!/bin/sh
# Every key of the two focuses does what the list of keys says: pressed where it applies, and seen.
. "$(dirname "$0")/lib.sh"

# The plots are our own: gnuplot's would take their place a moment later.
start 120 40 GPDESK_COLOR=never GPDESK_GNUPLOT=/nonexistent -- --threads 2
type_line \
    "demo friedman1 n=300 seed=3; split test=25% seed=1; fit solver=pcg features=128 rank=8 noise=0.05; fit solver=pcg features=256 rank=8 noise=0.05; score"
expect "[6 Calib" "two fits and a score"
waitfor " ready"

# Both focuses: the F keys and their Alt twins, from the prompt.
keys F3
expect "gpdesk> explain calibration" "F3 at the prompt"
keys M-2
waitfor "[2 Runs"
keys M-4
waitfor "[4 NMLL"
keys M-e
expect "Explain: NMLL and tuning" "M-e at the prompt"
keys Escape
expect_gone "Explain: NMLL and tuning" "Esc closes it"
keys M-6
waitfor "[6 Calib"
for pair in "F1=Keys of this view" "M-h=Keys of this view" "F2=Palette" "M-x=Palette"; do
    keys "${pair%%=*}"
    expect "${pair#*=}" "${pair%%=*} at the prompt"
    keys Escape
    expect_gone "${pair#*=}" "Esc closes it"
    waitfor "[prompt]"
done
mouse_is() { [ "$(t display -p -t a '#{mouse_button_flag}')" = "$1" ]; }
keys F4
waituntil mouse_is 1
verdict $? "F4: mouse on"
keys M-m
waituntil mouse_is 0
verdict $? "Alt-m: and off"
for i in 1 2 3 4 5 6 7 8 9; do
    keys "M-$i"
    expect "[$i " "Alt-$i"
done
keys M-3
waitfor "[3 "
keys F6
expect "[view]" "F6 goes to a pane"
keys i
waitfor "[prompt]"
keys C-l
expect "gpdesk>" "Ctrl-L paints anew"
keys F5
expect "line mode" "F5"
keys F5
expect "[3 Residual" "and back"

# A view: explain, search, why, undo, copy.
to_view
keys e
expect "Convergence of the solver" "e explains"
keys i
type_line "help options"
expect "Esc closes" "a page"
keys F6
waitfor "[view]"
keys -l "/"
asks() { screen | tail -n 1 | grep -q "^/"; }
waituntil asks
verdict $? "/ asks for a word"
keys -l "auto"
keys Enter
answered() { ! asks; }
waituntil answered
verdict $? "and goes to it"
top() { screen | sed -n 3,8p; }
differs() { [ "$(top)" != "$seen" ]; }
seen=$(top)
keys n
waituntil differs
verdict $? "n goes on"
keys N
is_again() { [ "$(top)" = "$seen" ]; }
waituntil is_again
verdict $? "N goes back"
keys q
expect_gone "Esc closes" "q closes"
keys w
expect "r2" "w: why"
waitfor " ready"
keys q
waitgone "Esc closes"
keys i
type_line "kernel linear"
waitfor "linear"
to_view
keys u
expect "undone: kernel linear" "u takes it back"
keys U
expect "redone: kernel linear" "U does it again"
keys u
waitfor "gpdesk> undo"
keys c
expect "copied" "c copies"
copied_view() { head -n 1 "$work/gpdesk/copy.txt" | grep -q "$1"; }
keys 2
waitfor "[2 Runs"
keys C
waituntil copied_view "^run,kernel"
verdict $? "C copies the view as CSV"

# The runs: move, mark, sort, filter, hide, star, delete, note, stop.
keys g
expect "Inspector: r1" "g: the first"
keys G
expect "Inspector: r2" "G: the last"
keys k
expect "Inspector: r1" "k: up"
keys j
expect "Inspector: r2" "j: down"
keys Space
expect "1 marked" "Space marks"
keys Space
expect_gone "1 marked" "and unmarks"
keys -l "*"
expect "star" "* stars"
keys m
expect "gpdesk> note r2" "m: a note"
keys C-u
keys Escape
waitfor "[view]"
column_gone() { ! screen | grep -q "features  *rank"; }
keys l l
keys -l "-"
waituntil column_gone
verdict $? "- hides a column"
keys Tab
keys BTab
expect "[2 Runs" "Tab and Shift-Tab change the pane"
keys p
expect "[3 Residual" "p plots the run"
waitfor "r2 recursive"

# The plot: axes, zoom, panes, iterations, file.
linear_axis() { screen | grep -q " 0.4┤"; }
keys y
waituntil linear_axis
verdict $? "y: a linear axis"
keys X
expect "1e-04┤" "X: as it was"
axis() { screen | grep -A1 "└┬" | tail -n 1 | tr -s ' ' | cut -c1-60; }
same() { [ "$(axis)" = "$1" ]; }
other() { ! same "$before"; }
before=$(axis)
for pair in "x=x axis logarithmic" "+=half of the axis"; do
    keys -l "${pair%%=*}"
    waituntil other
    verdict $? "${pair%%=*}: ${pair#*=}"
    keys -l "$([ "${pair%%=*}" = x ] && echo X || echo 0)"
    waituntil same "$before"
    verdict $? "and back"
done
keys -l "+"
waituntil other
verdict $? "+ once more"
middle=$(axis)
keys -l "."
moved() { [ "$(axis)" != "$middle" ]; }
waituntil moved
verdict $? ". moves a zoomed axis"
keys -l ","
keys -l "_"
waituntil same "$before"
verdict $? "_ zooms out"
keys '{'
expect "as at iteration" "{: earlier iterations"
keys '}'
expect_gone "as at iteration" "}: the end"
keys d
expect "Residual" "d describes"
keys q
keys z
expect_gone "Inspector" "z: this pane alone"
keys z
expect "Inspector" "and back"
keys P
expect_gone "Inspector" "P: the plot alone"
keys P
expect "Inspector" "and back"
keys o
expect "out=" "o: the line that writes a file"
keys C-u
keys Escape
waitfor "[view]"
keys '['
expect "read-only" "[: the session one command earlier"
keys F5
expect "line mode: one event a line" "F5 goes to lines while an earlier state is looked at"
keys F5
expect "read-only" "and back, to that state"
waitfor "[view]"
keys ']'
expect_gone "read-only" "]: and back"
keys ':'
expect "[prompt]" ": goes to the prompt"

# The prompt: completion of verbs, keys, values, objects, columns, files.
: > "$work/some-file.csv"
while IFS='|' read -r typed want; do
    keys -l "$typed"
    keys Tab < /dev/null
    expect "gpdesk> $want" "Tab after '$typed'"
    keys C-c
done << 'END'
hist|history
fit feat|fit features=
fit precision=dou|fit precision=double
note r|note r
cols x1|cols x1
open some-f|open some-file.csv
theme hi|theme high
plot calib|plot calibration
show run:r|show run:r
END
leave 0 "quit"
done_testing
