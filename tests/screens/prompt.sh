#!/bin/sh
# The prompt and the first screen: choice, typing, completion, history, paste, Ctrl-C, quit.
. "$(dirname "$0")/lib.sh"

start 80 24
expect " ready" "starts and says that it is ready"
expect "open a file of yours" "the first start shows the choice"
expect "gpdesk>" "the prompt stands below it"

type_line "abc def"
expect "there is no command 'abc'" "the choice eats no typed line"
type_line "2"
expect "[8 Lesson]" "2 begins the tour"
expect "Five minutes" "with its first step"
type_line "lesson end"
type_line "demo co2"
expect "co2 741 x 1" "the bundled data is there"
expect "[1 Data]" "and shown"
expect " ready" "and is ready again"

keys -l "spl"
keys Tab
expect "gpdesk> split" "Tab completes a verb"
keys C-c
expect_gone "gpdesk> split" "Ctrl-C clears the line"
keys C-c
expect "nothing is running" "Ctrl-C on an empty line never quits"

keys -l "s"
keys Tab
expect "score" "Tab lists what is possible"
keys C-c

type_line "# one"
type_line "# two"
keys -l "abc"
keys Up
expect "gpdesk> abc def" "Up finds the earlier line with this beginning"
keys C-c
keys Up
keys C-c
type_line "# three"
keys Up
keys Up
expect "gpdesk> # two" "a line found and cleared stays in the history"
keys C-c
keys C-r
keys -l "tw"
expect "# two" "Ctrl-R finds by what is inside"
keys Escape
keys C-c

keys -l "ab"
keys Escape
expect "[view]" "Esc goes to the view"
expect "gpdesk> ab" "and keeps the half-typed line"
keys 2
expect "[2 Runs]" "a digit chooses a view there"
keys i
keys -l "c"
expect "gpdesk> abc" "i returns to the line"
keys C-c

t set-buffer "# first line
# second line"
t paste-buffer -p -t a
expect "      > # second line" "a paste of two lines is a block that waits"
keys C-c
expect_gone "      > # second line" "Ctrl-C drops the block"
absent "# first line" "and nothing of it ran"

keys -H e6 97 a5 c3 a9
keys -l "x"
expect "gpdesk> 日éx" "characters of several bytes"
keys BSpace
keys BSpace
expect "gpdesk> 日" "are deleted whole"
keys C-c

keys M-0
keys -l "abc"
expect "gpdesk> abc" "Alt-0 eats nothing"
keys C-c

keys F1
expect "Keys of this view" "F1 explains the view"
keys Escape
expect_gone "Keys of this view" "Esc closes it"

keys M-9
expect "[9 Log]" "Alt-9 shows the log"
expect "gpdesk> demo co2" "which has what was typed"
leave 0 "quit ends with status 0"

start 80 24
expect " ready" "starts again"
absent "open a file of yours" "without the choice of the first start"
keys Up
keys Up
expect "gpdesk> # two" "the history survives"
keys C-c
type_line '# "back\\'
keys M-.
expect "gpdesk> \"back\\\\" "the last word of a line that ends with a backslash"
keys C-c
keys F5
expect "line mode: one event a line" "in line mode readline reads the terminal"
keys -l "a"
keys C-v
keys C-Space
keys -l "b"
expect "gpdesk> a b" "a NUL is typed as a space"
keys C-c
type_line 'set editing=vi'
expect "editing = vi" "the keys of vi"
keys -l "x"
keys C-v
keys C-Space
keys -l "j"
keys C-Space
keys -l "j"
expect "gpdesk> x j j" "in vi mode, too"
keys Escape
keys -l "0fj;iy"
expect "gpdesk> x j yj" "and searches for a character end there"
keys C-c
type_line 'set editing=emacs'
expect "editing = emacs" "back to emacs"
keys F5
expect " ready" "and to the screen"
keys C-d
expect "EXIT=0" "Ctrl-D on an empty line leaves"
done_testing
