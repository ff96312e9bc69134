#!/bin/sh
# Two focuses and what keys do in them: views, panes, layouts, the searchable list, the palette,
# keys of one's own, learning, sort and filter of the runs, copying, line mode and back.
. "$(dirname "$0")/lib.sh"

start 120 40 GPDESK_COLOR=never -- --threads 2
type_line "demo friedman1 n=300 seed=3; split test=25% seed=1"
expect "test 75" "data"
type_line "tune features=64 evals=4; fit features=64; fit features=128; score r1; score r2"
expect "[6 Calib" "a tuning and two fits"
expect " ready" "done"

# Focus, views and panes.
expect "[prompt]" "starts in the prompt"
keys -l "half"
to_view
expect "gpdesk> half" "Esc keeps the half-typed line"
keys 2
expect "[2 Runs]" "a digit shows a view"
expect "gpdesk> view runs" "and the log has the line that it ran"
keys M-5
expect "[5 Rank]" "Alt-5 works, too"
keys i
expect "[prompt]" "i goes back to the prompt"
keys M-2
expect "[2 Runs]" "where Alt-2 works"
expect "gpdesk> half" "and the line stays"
keys C-u
type_line "view calibration"
expect "[6 Calib" "view NAME shows one"
type_line "view 2"
expect "[2 Runs]" "and view N"

# The runs: columns, sort, filter, marks.
to_view
keys Right Right Right
keys s
expect "rank<" "s sorts by the column under the cursor"
keys s
expect "rank>" "again: the other way round"
keys s
expect_gone "rank>" "again: as they were made"
keys f
keys -l "r2"
expect "with 'r2'" "f filters while it is typed"
keys Enter
keys q
expect_gone "with 'r2'" "q shows them all again"
keys -l "/"
keys -l "t1"
keys Enter
expect "Inspector: t1" "/ finds a run"
keys G Space k
expect "1 marked" "Space marks"
keys =
expect "* differs" "= compares the marked with the selected"
keys q
keys -l "-"
keys Left Left

# ? lists the keys of this view and searches them.
keys '?'
expect "Keys of this view" "? lists the keys"
keys -l "filter"
expect "show only runs" "a word finds one"
keys C-u
keys -l "z"
expect "> z" "a key finds itself"
screen | sed -n '/Keys of this view/{n;p;}' | grep -q "this pane alone"
verdict $? "first"
keys Escape
expect_gone "Keys of this view" "Esc closes the list"

# The palette runs lines or puts them on the prompt.
keys F2
expect "Palette" "F2 opens the palette"
keys -l "view resid"
expect "view 3 Residual" "letters find a view"
keys Enter
expect "[3 Residual" "Enter runs its line"
keys M-x
keys -l "theme mono"
keys C-u
keys -l "option theme"
keys Enter
expect "gpdesk> set theme=" "an option waits on the prompt"
keys C-c
type_line "palette calibration"
expect "Palette" "palette TEXT opens it, too"
keys Escape
expect_gone "Palette" "Esc closes it"

# Own keys; help shows keys as bound now.
type_line "bind view Ctrl-t runs"
type_line "bind view z \"compare {marks}\""
type_line "bind conflict"
expect "view z now runs" "bind conflict tells what is covered"
type_line "bind view Ctrl-y @zoom"
to_view
keys '?'
keys -l "pane alone"
expect "Ctrl-y" "the list shows the key as bound now"
expect "1 of" "a sentence is searched by its words"
keys Escape
waitgone "Keys of this view"
keys C-y
expect_gone "Inspector" "and the key works"
keys C-y
expect "Inspector" "and back"
keys i
type_line "bind view z none"
type_line "bind prompt x runs"
expect "needed for typing" "keys that a line is typed with stay"

# Layouts, zoom, and a restart that remembers.
type_line "layout main"
expect_gone "Inspector" "layout main is one view"
type_line "layout two"
expect "Inspector" "layout two has panes"
type_line "layout three"
expect "needs a larger terminal" "what does not fit says so"
type_line "layout two"
to_view
keys z
expect_gone "Inspector" "z zooms the pane"
keys z
expect "Inspector" "and back"
keys Tab Tab
keys z
expect "9 Log" "the log can be zoomed, too"
keys q
expect "Inspector" "q closes the zoom"
resize 80 24
expect "Inspector" "layout two survives a resize"
resize 120 40
keys i

# Copy: to the file, and says so.
type_line "view runs"
type_line "copy view"
expect "copied" "copy says what it did"
expect "copy.txt" "and where"
head -n 1 "$work/gpdesk/copy.txt" | grep -q "^run,kernel,features"
verdict $? "the file holds the table"
grep -q "^r1,matern" "$work/gpdesk/copy.txt"
verdict $? "with its runs"
type_line "copy calibration r1"
waituntil grep -q "^panel,series,x,y" "$work/gpdesk/copy.txt"
verdict $? "the numbers of a plot"

# Line mode and back.
keys F5
expect "line mode: one event a line" "F5 goes to line mode"
type_line "runs"
expect "cover" "where commands run"
type_line "view calibration"
expect "lie inside" "view says the same in words"
keys F5
expect "[2 Runs]" "F5 comes back"
type_line "theme high"
expect "theme high" "theme"
type_line "theme nosuch"
expect "choose one of" "an unknown theme names those there are"
type_line "set glyphs=ascii"
expect "+- Inspector" "ASCII frames when asked for"
leave 0 "quit"

start 80 24
expect "Inspector" "the layout is remembered"
leave 0 "quit again"

# Learning: three times a key shows its line first.
start 80 24 STATE= GPDESK_LEARN=on -- --threads 1
type_line "demo toy; fit"
expect "r1 " "a fit"
to_view
keys 2
keys p
expect "plot residual r1   Enter runs it" "a key shows its line first"
keys Enter
expect "[3 Resid" "Enter runs it"
keys i
leave 0 "end of learning"
done_testing
