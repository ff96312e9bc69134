#!/bin/sh
# What stands where: runs compared over their curves, pages that give way, several jobs, the bell,
# edges dragged by the mouse, editing=vi, copying through the terminal, the palette over all kinds,
# history over sessions.
. "$(dirname "$0")/lib.sh"
long="fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"
both() { screen | grep -qF -- "$1" && screen | grep -qF -- "$2"; }

start 80 24 -- --threads 2
type_line \
    "demo friedman1 n=600 seed=3; split test=20% seed=1; fit solver=pcg features=256 rank=8 noise=0.05"
expect "[3 Resid" "a fit in the same line as its data brings the residual"
waitfor " ready"
type_line "fit solver=pcg features=256 rank=128 noise=0.05"
expect "r2 recursive" "another"
waitfor " ready"

# Compared: the settings that differ, and below them the curves.
type_line "compare r1 r2"
waituntil both "settings" "r2 recursive"
verdict $? "compare has the table and the curves at once"
expect " *  rank      8   128" "differing settings stand first"
waituntil both "r1 recursive" "target rtol"
verdict $? "both runs are in the plot"
keys Escape
expect_gone "settings" "Esc closes the table"
expect "r2 recursive" "the curves stay"
keys M-2
keys Escape
waitfor "[view]"
keys g Space Space
keys =
waituntil both "settings" "r2 recursive"
verdict $? "= in the runs does the same for the marked"
keys q
keys M-2
keys g Space Space i
type_line "plot residual r2"
expect_gone "r1 recursive" "a plot of one run is of one run"
type_line "plot residual r2 r1"
waituntil both "r2 recursive" "r1 recursive"
verdict $? "a plot of two is of two"

# Pages: what is begun later takes the view; what runs already stays behind.
type_line "summary"
expect "x10     input" "a long result is a page"
type_line "summary; fit solver=pcg features=512 rank=8 noise=0.01"
expect "r3 recursive" "a fit begun after it closes it when it has something to show"
absent "x10     input" "the page has gone"
waitfor " ready"
type_line "demo robot n=20000 seed=2"
waitfor "robot 20,000 x"
type_line "$long"
waitfor "r4 recursive"
type_line "help fit"
expect "Esc closes" "a page that is asked for while a job runs"
iteration() { screen | sed -n 's/.*r4 cg \([0-9]*\).*/\1/p' | head -n 1; }
waitfor "r4 cg 1"
first=$(iteration)
further() { [ "$(iteration)" -gt "$((first + 2))" ]; }
waituntil further
verdict $? "the job goes on"
screen | grep -qF "Esc closes"
verdict $? "the page stays"
keys Escape
expect "r4 recursive" "until Esc"

# Several jobs.
type_line "fit solver=pcg features=64 rank=8"
expect "+1" "the job line counts what waits"
type_line "jobs"
expect "waits: fit solver=pcg features=64" "jobs lists it"
keys C-c
expect "r5 recursive" "it runs when the first is stopped"
waitfor " ready"
leave 0 "quit"

# The bell; tmux keeps a flag of it for windows that nobody looks at.
rang() { [ "$(t display-message -p -t a '#{window_bell_flag}')" = 1 ]; }
start 80 24 GPDESK_BELL_AFTER=0.05 -- --threads 2
type_line "demo friedman1 n=2000 seed=3"
waitfor "friedman1 2,000"
type_line "fit features=512"
waitfor "r1  matern"
waitfor " ready"
type_line "get bell"
waitfor "bell  "
! rang
verdict $? "no bell by itself"
type_line "set bell=on"
type_line "fit features=1024"
waitfor "r2  matern"
waituntil rang
verdict $? "bell=on: a job that took its time rings"
leave 0 "quit"

# The mouse moves edges.
start 120 40 -- --threads 1
type_line "demo toy"
expect "Inspector" "panes"
type_line "set mouse=yes"
expect "mouse = yes" "mouse on"
edge() { screen | sed -n 3p | cut -d'1' -f1 | wc -m; }   # where the main pane's title begins
before=$(edge)
wider() { [ "$(edge)" -gt "$before" ]; }
sgr() { printf '\033[<%s;%s;%s%s' "$1" "$2" "$3" "$4" | od -An -tx1 | tr -d '\n'; }
# shellcheck disable=SC2046
keys -H $(sgr 0 40 10 M) $(sgr 32 50 10 M) $(sgr 0 50 10 m)
waituntil wider
verdict $? "the edge of the list is dragged"
log_at() { screen | grep -n "─ Log" | cut -d: -f1; }
before=$(log_at)
higher() { [ "$(log_at)" -lt "$before" ]; }
# shellcheck disable=SC2046
keys -H $(sgr 0 80 "$before" M) $(sgr 32 80 $((before - 4)) M) $(sgr 0 80 $((before - 4)) m)
waituntil higher
verdict $? "and that of the log"
# shellcheck disable=SC2046
keys -H $(sgr 0 80 35 M) $(sgr 0 80 35 m)
expect "[view]" "a click takes the focus"
keys i
leave 0 "quit"
start 120 40 -- --threads 1
type_line "demo toy"
waitfor "Inspector"
before=42
waituntil wider
verdict $? "the edges are remembered"

# The line editor as vi has it: Esc belongs to the line.
type_line "set editing=vi"
expect "editing = vi" "editing=vi"
keys -l "xabc"
waitfor "gpdesk> xabc"
cursor() { t display-message -p -t a '#{cursor_x}'; }
left_of() { [ "$(cursor)" -lt "$1" ]; }
column=$(cursor)
keys Escape             # shown by the cursor alone, which goes one to the left
waituntil left_of "$column"
verdict $? "Esc begins commands"
keys 0 x
expect "gpdesk> abc" "Esc, 0, x edit the line"
absent "[view]" "and Esc does not leave it"
keys A
keys -l "d"
expect "gpdesk> abcd" "A appends"
column=$(cursor)
keys Escape
waituntil left_of "$column"
verdict $? "Esc, again"
keys -l "dd"
i=0
while [ $i -lt 4 ]; do
    keys -l "999999pdd"
    i=$((i + 1))
done
keys C-c                # a line of a megabyte has been dropped: from there on it was typed
keys -l "here"
expect "gpdesk> here" "however often a command is to be repeated, the next key comes"
keys M-2
expect "[2 Runs]" "Alt keys work as ever"
keys C-c
type_line "set editing=emacs"

# Copy: through the terminal as well.
t set -s set-clipboard on
type_line "fit"
waitfor "r1  "
waitfor " ready"
type_line "view runs"
type_line "copy view"
buffer_has() { t show-buffer 2> /dev/null | grep -q "$1"; }
waituntil buffer_has "^r1,matern"
verdict $? "OSC 52 reaches the terminal's clipboard"

# The palette knows them all.
for what in "explain calibr=explain" "view calib=view 6" "plot scree=plot scree" \
    "run r1=show run:r1" \
    "column x=column x" "option theme=set theme=" "help keys=help keys" "lesson 3=lesson 3" \
    "race=explain tolerance"; do
    keys F2
    waitfor "Palette"
    keys -l "${what%%=*}"
    expect "${what#*=}" "the palette finds ${what%%=*}"
    keys Escape
    waitgone "Palette"
done
type_line "# something to be found again"
leave 0 "quit"

start 80 24
waitfor " ready"
keys C-r
keys -l "found ag"
expect "something to be found again" "Ctrl-R searches the lines of earlier sessions"
keys C-c
keys C-c
leave 0 "quit"
done_testing
