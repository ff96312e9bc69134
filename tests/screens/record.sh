#!/bin/sh
# record.sh [GPDESK] > tests/screens/record.md: a session at 80x24 and at 200x60 that shows what was
# once wrong or mute on the screen, a picture for each. A step that does not show what it is to show
# ends the recording with status 1, so that a picture never says the contrary of its text. It takes
# some minutes; run it again when the screen changes. PARTS="pictures lessons" SIZES=80x24 for some.
LIMIT=1200
GPDESK=${1:-${GPDESK:-$(pwd)/build/gpdesk}}
export GPDESK
exec 3>&1
. "$(dirname "$0")/lib.sh" > /dev/null
exec 1>&2

say() { printf '%s\n' "$@" >&3; }
# Times, sizes of memory and the name of the session are those of a machine, and become zeros.
shot() { # [UNITS that become zeros]
    { echo; echo '```'
      screen | sed -e 's/[[:space:]]*$//' -e 's/ (saved [0-9:]*)/ (saved 00:00:00)/' \
          -e 's/session: [0-9-]*\.gpd/session: 2026-01-01-000000.gpd/' \
          -e 's/[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9] /01-01 00:00 /' \
          -e "s|$work|/tmp/gpdesk|g" |
          awk -v units="${1:-s|ms|MB|kB|GB|B|\\/s}" '{ out = ""
              while (match($0, "[0-9][0-9.]* (" units ")([^a-zA-Z]|$)")) {
                  part = substr($0, RSTART, RLENGTH); gsub(/[0-9]/, "0", part)
                  out = out substr($0, 1, RSTART - 1) part; $0 = substr($0, RSTART + RLENGTH) }
              print out $0 }'
      echo '```'; } >&3
}
entry() { # TEXT of what was wrong, and what is to be seen
    say '' "### $size: $1" '' "$(echo "$2" | fold -s -w 98 | sed 's/ *$//')"
}
must() { # TEXT: is on the screen soon
    waituntil seen "$1" && return
    echo "$size: '$1' is not on the screen:" >&2
    screen >&2
    [ -n "${TRY:-}" ] || exit 1
}
must_not() { waituntil unseen "$1" || { screen >&2; exit 1; }; }
line() { # LINE TEXT: the line is typed, and TEXT seen
    type_line "$1"
    must "$2"
    must " ready"
}
close_page() { ! seen "Esc closes" || { keys Escape; must_not "Esc closes"; }; }

other_screen() { [ "$(screen)" != "$was" ]; }
first_start() {
    entry "the first start" "A note of the first start does not push an error out of sight."
    line "nonsense" "there is no command 'nonsense'"
    shot
}
slide() {
    line "demo friedman1 n=200 seed=3; split test=25% seed=1; tune features=64 evals=20" "t1"
    line "fit features=64; score" "RMSE"
    entry "errors and results in the slide layout" \
        "An unknown command, a file that is not there, and a score."
    line "layout slide" "ready"
    must_not "9 Log"
    for try in "foo:there is no command 'foo'" "open /nosuch:/nosuch" "score:RMSE"; do
        line "${try%%:*}" "${try#*:}"
        shot
    done
}
restarted() {
    entry "the next start" "A slide is not kept: the session opens with its log."
    keys C-c
    type_line quit
    must "EXIT=0"
    start "${size%x*}" "${size#*x}" -- --threads 1 -s a.gpd
    must "going on with"
    must "9 Log"
    shot
}
units() {
    entry "compare: scales" "The scale of the target is in the table, and figures in different \
units are not put side by side."
    line "scale y=log; fit features=64; score; compare r1 r2" "y=log"
    shot
    line "scale y=standard" "y standard"
}
scaled() {
    entry "score: a logarithm" "Under y=log the scaled figures are divided by the sd of y itself \
(5.23), not by that of its logarithm."
    line "demo friedman1 n=200 seed=3 as=logs; split test=25% seed=1; scale y=log" "y log"
    line "fit features=64; score" "scaled"
    shot
    line "use friedman1" "friedman1 200 x 10"
}
words() {
    entry "words about a run" "The amplitude and noise that the fit moved are not called the \
minimum of the likelihood."
    line "fit features=64 rescale=yes; export r3" "likeliest"
    shot
    close_page
    entry "bounds" "An optimum at the bound of a search is told."
    line "tune l=5..6 features=64 evals=3" "at its upper bound"
    shot
    entry "folds" "The folds share the tuning that was made on all rows, and score says so."
    line "split folds=3 seed=1; tune features=64 evals=3; fit features=64; score folds" "tune=yes"
    shot
}
many() {
    entry "bounds of many" "Of 48 lengthscales it is told how many are at their bound."
    line "open wide.csv target=y; kernel rbf(ard); tune solver=exact evals=30" "of 48 lengthscales"
    shot
    line "use friedman1; kernel matern(nu=5/2)" "friedman1 200 x 10"
}
history() {
    entry "undo and layouts" "Undo takes back the split, and leaves the layout."
    line "layout two" "ready"
    line "split test=40% seed=1" "test 80"
    line "undo" "undone"
    shot
    line "layout auto" "ready"
    entry "scripts" "A script has what is in force: no undo, no redo."
    line "undo; undo; redo; redo; script" "expect"
    shot
    close_page
    line "script out=s.gps" "s.gps"
    ! grep -q "undo\|redo" "$work/s.gps" || exit 1
    entry "an interrupted fit" "It is marked in history, and a comment in the script."
    type_line "fit solver=cg features=1024 noise=0.0001 rtol=1e-14 maxit=200000 variance=none \
plan=store"
    must "/200000"
    keys C-c
    must "stopped"
    must " ready"
    type_line "history"
    i=0
    until seen "interrupted" || [ $i -gt 20 ]; do
        i=$((i + 1))
        must "Esc closes"
        keys NPage
        sleep 0.3
    done
    must "interrupted"
    shot
    close_page
}
pictures() {
    entry "plots: bands and bars" "The bands of a slice differ in its key; every bar has its name; \
the levels of a surface are named (a picture in a file has a colour bar)."
    line "fit features=256 rtol=1e-6; plot slice x1" "of the function"
    shot
    line "open mixed.csv target=y" "mixed 5 x 2"
    line "plot columns kind" "of 5 rows"
    shot
    line "use friedman1" "friedman1 200 x 10"
    line "landscape grid=6 features=64" "plot landscape draws it"
    line "plot landscape" "+30 nats"
    shot
    entry "a picture that fails" "A plot without data is an error, and writes no file."
    line "plot race out=race.svg" "nothing to draw"
    ! test -e "$work/race.svg" || exit 1
    shot
    entry "the size of a session" "A fit with 1024 features, its factor kept for equal predictions."
    mkdir -p "$work/state/gpdesk"
    line "split test=25% seed=1; fit features=1024; score" "baselines:"
    type_line "save state/gpdesk/copy.gpd"
    waituntil test -s "$work/state/gpdesk/copy.gpd"
    line "sessions" "they are in"
    shot 's|ms'
    close_page
}
damage() {
    entry "a damaged session" "A damaged page costs what is on it: the rest is saved, and what is \
gone is named."
    line "fit features=64; score; note last \"kept\"; save whole.gpd" "whole.gpd"
    waituntil test -s "$work/whole.gpd"
    cp "$work/whole.gpd" "$work/broken.gpd"
    printf '%4096s' '' | dd of="$work/broken.gpd" bs=4096 seek=20 conv=notrunc 2> /dev/null
    line "salvage broken.gpd mended.gpd" "lost:"
    shot
}
completion() {
    entry "Tab" "Arguments are completed within brackets and behind =."
    for part in "kernel matern(:nu=" "fit solver=p:pcg"; do
        keys -l "${part%%:*}"
        keys Tab
        must "${part#*:}"
        shot
        keys C-c
    done
}
lessons() {
    entry "lessons 4, 6 and 13 in the slide layout" "Each goes through all its steps."
    for number in 4 6 13; do
        line "layout slide; lesson $number all" "lesson $number is over"
        shot
    done
    line "layout auto" "9 Log"
    entry "after a lesson" "Its plots have gone with it."
    must "No lesson is open"
    shot
    entry "lessons 9, 10 and 11" "The runs of a lesson are in one plot."
    shown=
    for number in 9 10 11; do
        type_line "lesson $number"
        must "step 1 of"
        must " ready"
        last=$(screen | sed -n 's/.*step 1 of \([0-9]*\).*/\1/p' | head -n 1)
        i=0
        until seen "step $last of $last" || [ $i -gt 60 ]; do # a step runs, then the next begins
            was=$(screen)
            type_line "lesson next"
            waituntil other_screen
            must " ready"
            i=$((i + 1))
            ! seen "o r" || [ "$shown" = "$number" ] || { shown=$number; shot; } # three runs
        done
        [ "$shown" = "$number" ] || must "o r"
        line "lesson end" "is over"
    done
}

awk 'BEGIN { srand(4); for (j = 0; j < 48; j++) printf "x%d,", j; print "y"
    for (i = 0; i < 150; i++) { for (j = 0; j < 48; j++) { v = rand(); if (j == 0) y = v
        printf "%.4f,", v } printf "%.4f\n", y + 0.02 * rand() } }' > "$work/wide.csv"
printf 'kind,a,y\nu,1,2\nv,2,3\nw,3,5\nu,4,4\nv,5,6\n' > "$work/mixed.csv"
say '# What was once wrong or mute on the screen' '' \
    'Made by `tests/screens/record.sh`, which checks what each picture is to show. Times and' \
    'sizes of memory are zeros.'
for size in ${SIZES:-80x24 200x60}; do
    say '' "## $size"
    rm -rf "$work"/*.gpd* "$work/state"
    start "${size%x*}" "${size#*x}" GPDESK_COLOR=never -- --threads 1 -s a.gpd
    must "ready"
    [ -z "${PARTS:-}" ] ||
        line "demo friedman1 n=200 seed=3; split test=25% seed=1; tune features=64 evals=20" "t1"
    for part in ${PARTS:-first_start slide restarted units words history pictures scaled many \
        damage completion lessons}; do
        $part
    done
    keys C-c
    type_line quit
    must "EXIT=0"
done
size=120x40
say '' "## $size"
start 120 40 GPDESK_COLOR=never
must "ready"
entry "a page of help" "A full line and the two words behind it are not broken again by the pane."
line "help fit" "Esc closes"
keys NPage
must "can be given here: fit l=0.5 noise=0.1."
shot
