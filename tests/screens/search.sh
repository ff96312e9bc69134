#!/bin/sh
# Searches in the history that keys typed ahead begin behind a line, with the keys of emacs and of
# vi, while the history is full and drops its oldest line with each that is typed.  They end, the
# line is run once, and nothing hangs.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/state/gpdesk"
i=0
while [ $i -lt 10000 ]; do
    i=$((i + 1))
    echo "# old $i"
done > "$work/state/gpdesk/history"

# ahead TEXT [TEXT...]: all in one piece, as a terminal sends what was typed while it waited.
ahead() {
    # shellcheck disable=SC2046
    t send-keys -t a -H $(printf '%b' "$*" | od -An -v -tx1)
}
# answers WORD NAME: Ctrl-C drops what stands there (something does, in the commands of vi, too),
# and the next line is run.
answers() {
    keys -l "ix"
    keys C-c
    type_line "# $1"
    expect "# $1" "$2"
    type_line "zz$1"
    expect "there is no command 'zz$1'" "$2: the next line is run"
}

start 80 24
expect " ready" "starts with a full history"
type_line "lesson end"

# Emacs: Ctrl-R and Ctrl-S behind a line, in the same piece as the line.
ahead '# ahead one\r\0022old 77'
expect "old 77" "Ctrl-R behind a line searches"
keys Enter
answers emacsone "a search behind a line ends with Enter"
ahead '# ahead two\r\0022old 9\0022\0022\r# ahead three\r\0022ahead t'
expect "# ahead three" "a search, its line and one more search"
keys Escape
answers emacstwo "it ends with Esc"
ahead '# ahead four\r\0022no such thing in it'
answers emacsthree "a search that finds nothing ends"
# A keyboard macro that a search is in, run once and twice.
ahead '\0030(# macro\r\0022old 5\0030)'
keys C-c
ahead '\0030e'
keys C-c
ahead '\0030e\0030e'
answers emacsfour "a search in a macro ends"
ahead '\0033p'
ahead 'old 12\r'
answers emacsfive "a search that is typed as a line ends"

# Vi: / and ? in its commands, and a search for a character that waits for it.
type_line "set editing=vi"
expect "editing = vi" "the keys of vi"
ahead '# vi one\r'
keys Escape
ahead '/old 44\r'
expect "old 44" "/ behind a line searches"
answers vione "and ends"
ahead '# vi two\r\0022old 8\0022\0022'
answers vitwo "Ctrl-R behind a line ends"
keys Escape
ahead '?vi\rnnN'
answers vithree "? and repeats of it end"
keys -l "# some words"
keys Escape
ahead '0fz;Fq,tw5f'
answers vifour "a search for a character that is not there, or not typed, ends"
keys Escape
ahead '/no such thing\r/\r?\r'
answers vifive "searches that find nothing, or for nothing, end"
type_line "set editing=emacs"
expect "editing = emacs" "back to the keys of emacs"

# Line mode, where readline reads the terminal.
keys F5
expect "line mode" "line mode"
type_line "zzfirst" # when it is answered readline has the terminal, which eats no Ctrl-R any more
expect "there is no command 'zzfirst'" "runs a line"
ahead '# plain one\r\0022old 66'
expect "old 66" "Ctrl-R behind a line searches there"
keys C-g
type_line "zzplain"
expect "there is no command 'zzplain'" "and ends"
keys F5
expect " ready" "back on the screen"
leave 0 "it quits"
done_testing
