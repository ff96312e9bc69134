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
sleep 0.3
keys C-c
expect "gpdesk>" "completion of such names"
leave 0 "quit"
done_testing
