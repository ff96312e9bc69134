#!/bin/sh
# Names and cells that would like to be more than text.
. "$(dirname "$0")/lib.sh"

esc=$(printf '\033')
{
    printf '"%s]0;owned\007%s[31mred","`touch %s/pwned`","$(touch %s/pwned)","%%s%%n","a\nb","y"\n' \
        "$esc" "$esc" "$work" "$work"
    i=0
    while [ $i -lt 40 ]; do
        echo "$i,$((i * 7 % 11)),$((i * 5 % 13)),$((i % 3)),$((i % 4)),$((i * i % 17))"
        i=$((i + 1))
    done
} > "$work/hostile.csv"

start 100 30 -- --threads 1
type_line "open hostile.csv target=y"
expect "hostile 40 x 5" "hostile names are accepted"
expect '\x1b' "and shown escaped"
title=$(t display-message -p -t a '#{pane_title}')
case $title in *owned*) false ;; *) true ;; esac
verdict $? "no escape sequence reached the terminal"
type_line "plot columns"
expect "columns of 40 rows" "the plot of the columns"
expect " ready" "is drawn"
type_line "fit features=64 solver=direct"
expect "r1 " "a fit works"
expect " ready" "and ends"
type_line "summary"
expect " ready" "so does a summary"
test ! -e "$work/pwned"
verdict $? "nothing in a name was run"
type_line 'note r1 "`touch pwned`"'
type_line 'describe columns'
resize 200 60
expect "What next" "all panes draw them"
test ! -e "$work/pwned"
verdict $? "still nothing was run"
keys -l "cols "
keys Tab
expect 'touch' "completion of such names"
keys C-c
expect_gone "gpdesk> cols" "and the prompt is free"
leave 0 "quit"

# Files that are not what they say, at 80x24: one sentence each, and the prompt answers.
printf 'a,y\n1,2\n\0\0,3\n' > "$work/nul.csv"
awk 'BEGIN { printf "a,b,y\n1,"; for (i = 0; i < 1000000; i++) printf "x"; print ",3"; for (i = 0; i < 9; i++) print i ",w," i * i }' > "$work/long.csv"
printf 'a,b,y\n1,"2,3\n4,5,6\n' > "$work/quote.csv"
printf '=1+1,"+cmd|x!A0",-2,@sum(A1),y\n' > "$work/sheet.csv"
awk 'BEGIN { for (i = 0; i < 30; i++) print i * 7 % 11 ",=HYPERLINK(\"\"x\"\")" i % 3 "," i % 5 "," i % 7 "," i % 4 }' >> "$work/sheet.csv"
"$GPDESK" -q --no-config -s "$work/good.gpd" -e 'demo toy n=50; fit' > /dev/null 2>&1
head -c 9000 "$work/good.gpd" > "$work/cut.gpd"
{ head -c 4000 "$work/good.gpd"; head -c 30000 /dev/urandom; } > "$work/noise.gpd"
start 80 24 -- --threads 1
for line in "open nul.csv=zero byte" "open quote.csv=quote" "resume cut.gpd=cut.gpd" \
    "resume noise.gpd=noise.gpd"; do
    type_line "echo; echo; echo; echo; echo; echo; echo; echo"
    type_line "${line%%=*}"
    expect "error" "${line%%=*}: refused"
    expect "${line#*=}" "with what is wrong"
done
type_line "open long.csv target=y"
waitfor " ready"
keys -l "abc"
expect "gpdesk> abc" "a line of a megabyte: the prompt answers"
keys C-c
type_line "open sheet.csv target=y"
expect "sheet 30 x" "cells and names like formulas are text"
type_line "fit features=16; predict out=sheet-out.csv"
expect "sheet-out.csv" "and come through a fit"

# A line typed and pasted: signs of every kind, escape sequences, a hundred thousand letters.
keys -l "plot \$(touch pwned) \`touch pwned\` ;;; | > x < y & %s%n '\"(((= #"
keys Enter
expect "error" "a typed line of signs is refused"
printf 'echo "\033]0;owned\007 \033[2J \001\002 %%s"\nset l=0.7\n' > "$work/paste"
t load-buffer "$work/paste"
t paste-buffer -p -t a
expect "set l=0.7" "a pasted block waits"
title=$(t display-message -p -t a '#{pane_title}')
case $title in *owned*) false ;; *) true ;; esac
verdict $? "and its escape sequences are question marks"
keys Enter
type_line "get l"
expect "lengthscale  0.7" "Enter runs it"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "a"; print "" }' > "$work/paste"
t load-buffer "$work/paste"
t paste-buffer -p -t a
waitfor "aaaaaaaaaa"
keys Enter
expect "too long" "a line of a hundred thousand letters is refused"
test ! -e "$work/pwned"
verdict $? "nothing was run by a shell"

# Ctrl-C in the middle of a tuning; then the terminal itself goes.
type_line "demo robot n=20000 seed=2"
waitfor "robot 20,000 x"
type_line "tune features=2048 evals=300"
waitfor "t1 tune"
keys C-c
expect " ready" "Ctrl-C stops a tuning"
leave 0 "quit"
start 80 24 -- --threads 1 -s "$work/gone.gpd"
type_line "demo robot n=20000 seed=2; split test=20% seed=5; kernel rbf; fit features=64"
waitfor "r1  rbf"
waitfor " ready"
type_line "tune features=2048 evals=300"
waitfor "t1 tune"
pid=$(pid_of)
t kill-server
waituntil ended "$pid"
verdict $? "the terminal is gone: the program ends"
start 80 24 -- --threads 1 -s "$work/gone.gpd"
expect "robot 20,000 x 8" "a second start finds the data"
type_line "runs"
expect "r1" "the fit"
type_line "data"
expect "test=20% seed=5" "and the split"
leave 0 "quit"
done_testing
