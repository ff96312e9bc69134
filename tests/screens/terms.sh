#!/bin/sh
# The terminals: full screen where the cursor can be placed, line mode elsewhere; no colour.
. "$(dirname "$0")/lib.sh"

for term in tmux-256color screen xterm-256color vt100 linux; do
    if infocmp "$term" > /dev/null 2>&1; then
        start 80 24 "TERM=$term"
        expect " ready" "$term: full screen"
        type_line "demo toy"
        expect "[1 Data]" "$term: draws"
        leave 0 "$term: quit"
    fi
done

start 80 24 TERM=dumb
expect "line mode" "dumb: line mode, with the reason"
expect "gpdesk>" "dumb: a prompt"
type_line "demo toy"
expect "toy  " "dumb: commands work"
type_line "tune features=64 evals=3"
expect "t1  matern" "dumb: jobs report"
keys C-c
expect "nothing is running" "dumb: Ctrl-C does not quit"
type_line "quit"
expect "EXIT=0" "dumb: quit"

start 80 24 TERM=no-such-terminal
expect "is not known here" "unknown: line mode, with the reason"
keys C-d
expect "EXIT=0" "unknown: Ctrl-D leaves"

start 80 24 -- --plain
expect "gpdesk>" "--plain: a prompt"
absent " ready" "--plain: no screen"
type_line "demo toy"
expect "toy  " "--plain: commands work"
type_line "plot columns"
expect "columns" "--plain: a plot is words"
keys C-d
expect "EXIT=0" "--plain: Ctrl-D leaves"

colours() { t capture-pane -e -p -t a | grep -c "$(printf '\033')\[[0-9;]*3[0-8]"; }
start 80 24
type_line "demo toy"
expect "[1 Data]" "with colour"
[ "$(colours)" -gt 0 ]
verdict $? "colours are on the screen"
leave 0 "quit"
start 80 24 NO_COLOR=1
type_line "demo toy"
expect "[1 Data]" "NO_COLOR"
[ "$(colours)" -eq 0 ]
verdict $? "no colour is on the screen"
leave 0 "quit"

start 80 24 LC_ALL=en_XX.missing
expect " ready" "a locale that is not there"
type_line "demo toy"
expect "──" "falls back to C.UTF-8"
leave 0 "quit"
start 80 24 LC_ALL=C
type_line "demo toy"
expect "200 x 1 -> y" "LC_ALL=C: ASCII"
expect "------------" "rules, too"
[ "$(screen | LC_ALL=C grep -c '[^ -~]')" -eq 0 ]
verdict $? "and nothing else"
type_line "draw n=3"
expect "draw" "with a plot"
waitfor " ready"
[ "$(screen | LC_ALL=C grep -c '[^ -~]')" -eq 0 ]
verdict $? "of ASCII"
leave 0 "quit"
start 80 24 TERM=
expect "TERM is not set" "no TERM: line mode, with the reason"
leave 0 "quit"
done_testing
