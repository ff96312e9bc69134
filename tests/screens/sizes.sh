#!/bin/sh
# Every size down to one cell, and a storm of resizes with a job running.
. "$(dirname "$0")/lib.sh"

start 80 24 -- --threads 2
type_line "demo robot n=20000 seed=2"
expect "robot 20,000 x" "data"
expect "[1 Data]" "80x24 shows one view"
absent "Inspector" "without the panes of wide screens"
resize 120 40
expect "Inspector" "120x40 adds list and inspector"
expect "Data & runs" "and the list of runs"
absent "What next" "but no notes"
resize 200 60
expect "What next" "200x60 adds a second plot and notes"
resize 60 16
expect_gone "Inspector" "60x16"
expect "[1 Data]" "still has tabs"
resize 60 11
expect_gone "2 Runs" "60x11 drops the tabs"
expect "[1 Data] robot" "and names the view where the program's name stood"
expect "gpdesk>" "and keeps the prompt"
resize 40 8
to_view
expect_gone "robot  20,000" "40x8 has no strip of the log"
keys i
type_line "abc"
expect "there is no command" "until a line has something to say"
type_line "help split"
expect "Esc closes" "what is long stands over the view"
keys Escape
expect_gone "Esc closes" "and goes"
resize 39 7
expect_gone "[1 Data]" "39x7 is a status line"
expect "before it." "with what was said last"
expect "ready" "with the state"
expect "gpdesk>" "and the prompt"
resize 19 4
expect_gone "ready" "19x4"
expect "gpdesk>" "is the prompt alone"
resize 1 1
resize 80 24
expect "[1 Data]" "one cell and back"

type_line \
    "fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"
expect "r1 " "a job runs"
seed=12345
i=0
while [ $i -lt 60 ]; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    w=$((seed / 65536 % 150 + 1))
    h=$((seed / 16 % 50 + 1))
    [ $((i % 20)) -eq 19 ] && w=1 && h=1
    resize $w $h
    i=$((i + 1))
done
resize 100 30
expect "[3 Resid" "after 60 sizes the view is back"
expect "r1 cg" "and the job still runs"
keys z
keys C-c
keys C-c
expect " ready" "it can be stopped"
leave 0 "quit"

# The lines of a page are wrapped to the pane, and not before that to another width.
start 120 40
waitfor " ready"
type_line "help fit"
waitfor "Esc closes"
keys NPage
expect "can be given here: fit l=0.5 noise=0.1." "the paragraphs of a page are wrapped once"
leave 0 "the end of a page"
done_testing
