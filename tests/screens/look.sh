#!/bin/sh
# How it looks: themes from a file, NO_COLOR, ASCII; sorted data; zoomed plots; iterations of a run;
# an earlier state of the session; the paste that waits; the mouse.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/config/gpdesk/themes"
printf 'base dark\ntext #ffffff 17\ntitle 226 17 bold\nnonsense 1 2\n' > \
    "$work/config/gpdesk/themes/navy"
printf 'bind view F9 "compare {marks}"\nset fps=10\n' > "$work/config/gpdesk/config"
start 120 40 XDG_CONFIG_HOME="$work/config" COLORTERM=truecolor -- --threads 2
colours() { t capture-pane -e -p -t a; }
type_line "demo friedman1 n=300 seed=3; split test=25% seed=1"
expect "test 75" "data"
type_line "theme"
expect "navy" "a theme in a file is listed"
type_line "theme navy"
expect "theme navy" "and set"
has_blue() { colours | grep -q '48;5;17'; }
waituntil has_blue
verdict $? "its background is drawn"
type_line "bind"
expect "compare {marks}" "the config file binds keys"
type_line "get fps"
expect "config file" "and sets options"

# Data: a cursor, sorted rows.
type_line "view data"
to_view
keys s
expect "x1<" "s sorts the rows by the column"
keys s
expect "x1>" "again: the other way"
keys -l "/"
keys -l "x7"
keys Enter s
expect "x7<" "/ finds a column, s sorts by it"
# The cursor is at a column that other data lacks, which comes while a plot hides the table.
keys p i
type_line "demo toy n=40"
expect "toy 40 x" "other data behind a plot"
to_view
keys s p
expect "y<" "s sorts it by its last column"
keys i
type_line "undo"
expect "gpdesk friedman1" "and back"
to_view

# A plot: zoom, axes, iterations.
keys i
type_line "fit solver=pcg features=512 rank=8 noise=0.05"
expect "stopped: reached rtol" "a fit"
expect "[3 Residual" "its residual"
to_view
keys '{'
expect "as at iteration" "{ shows the run as it stood"
keys '}'
expect_gone "as at iteration" "} goes to its end"
keys P
expect_gone "Inspector" "P is the plot alone"
keys P
expect "Inspector" "and back"
keys -l "+"
keys -l "0"
keys i
waitfor "[prompt]"

# An earlier state, by key.
type_line "kernel rbf"
expect "Squared exponential" "another kernel"
to_view
keys '['
expect "read-only" "[ shows the session one command earlier"
keys ']'
expect_gone "read-only" "] comes back"
keys u
expect "gpdesk> undo" "u takes the change back"
keys i
waitfor "[prompt]"

# Mouse reports only when it is on; a click chooses a tab.
type_line "set mouse=yes"
expect "mouse = yes" "mouse on"
waituntil sh -c "[ \"\$(tmux -L $SOCKET display -p -t a '#{mouse_button_flag}')\" = 1 ]"
verdict $? "the terminal is asked for reports"
keys -H 1b 5b 3c 30 3b 31 32 3b 32 4d
expect "[2 Runs]" "a click on a tab shows the view"
type_line "set mouse=no"
waituntil sh -c "[ \"\$(tmux -L $SOCKET display -p -t a '#{mouse_button_flag}')\" = 0 ]"
verdict $? "mouse off"
leave 0 "quit"

# A terminal that says that its background is light gets curves in dark colours.
curve() { colours | LC_ALL=C grep -q "38;5;$1m$(printf '\342[\240-\243]')"; }
for light in '15\;0=75' '0\;15=25'; do
    start 80 24 "COLORFGBG=${light%=*}" -- --threads 1
    waitfor " ready"
    type_line "demo toy; split test=20% seed=1; fit features=64; score"
    waitfor "nominal level"
    waituntil curve "${light#*=}"
    verdict $? "COLORFGBG=${light%=*}: curves in colour ${light#*=}"
    leave 0 "quit"
done

start 80 24 NO_COLOR=1 -- --threads 1
expect " ready" "NO_COLOR"
type_line "theme dark"
expect " gpdesk> theme dark" "a theme"
! colours | grep -q '\[[0-9;]*3[0-7]m\|38;5'
verdict $? "leaves no colour"
type_line "set glyphs=ascii"
type_line "layout two"
expect "+- Inspector" "ASCII frames"
leave 0 "quit without colour"
done_testing
