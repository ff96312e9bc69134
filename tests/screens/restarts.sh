#!/bin/sh
# A tuning with restarts at the keyboard: the view of the tuning goes with the one that runs, Ctrl-C
# ends the line and not only the one, stop NAME ends one, and what was found until then is taken.
. "$(dirname "$0")/lib.sh"

data="demo friedman1 n=2000 seed=1; kernel rbf"

start 120 40 -- --threads 2
type_line "$data"
expect "friedman1 2,000" "data"
type_line "tune features=1024 restarts=4 evals=8"
expect "NMLL and tuning: t1 running" \
    "the view shows the first, which runs, not the last, which waits"
expect "of restart 1/4" "the job line says which it is"
expect "Ctrl-C stops all restarts" "and what Ctrl-C does"
expect "NMLL and tuning: t2 running" "then the second"
type_line "stop t2"
expect "NMLL and tuning: t3 running" "stop with a name ends that one: the next begins"
keys C-c
expect "is used" "Ctrl-C ends them all, and the best is taken"
expect " ready" "nothing runs any more"
best=$(screen | sed -n 's/.* \(t[1-4]\) has the least NMLL.*/\1/p' | tail -n 1)
expect "NMLL and tuning: $best " "the view ends at the best of them"
keys M-9
expect "gpdesk> stop restarts" "the log has the line that the key ran"
expect "t3 stopped, and 1 restart of its line that had not begun" "and what it did"
absent "t4 was stopped" "one that never began needs no line of its own"
type_line "stop restarts"
expect "no tuning with restarts= is running" "stop restarts without one says so"

# Who picks another run keeps it.
type_line "view nmll"
type_line "tune features=1024 restarts=2 evals=8"
expect "NMLL and tuning: t5 running" "another line"
type_line "plot nmll t1"
expect "NMLL and tuning: t1 done" "a run that was asked for"
waitfor "is used"
expect " ready" "while the restarts end"
expect "NMLL and tuning: t1 done" "stays"
leave 0 "quit"

# Line mode says the same.
start 100 30 -- --plain --threads 2
waitfor "gpdesk>"
type_line "$data"
waitfor "friedman1  2,000"
type_line "tune features=1024 restarts=3 evals=8"
expect "then tune" "in line mode"
keys C-c
expect "stop restarts" "Ctrl-C is the same line"
expect "2 restarts of its line that had not begun" "and ends them all"
type_line quit
expect "EXIT=" "quit"
done_testing
