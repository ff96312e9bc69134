#!/bin/sh
# pictures.sh GPDESK > share/doc/screens.md: the three layouts and the small sizes as text, with a
# live fit; made again whenever the screen changes.
LIMIT=600
GPDESK=${1:-${GPDESK:-$(pwd)/build/gpdesk}}
export GPDESK
. "$(dirname "$0")/lib.sh" > /dev/null

# The clock, the memory and the machine's speed are nobody's business here; the width stays.
shot() {
    echo
    echo '```'
    screen | sed -e 's/[[:space:]]*$//' -e 's/ (saved [0-9:]*)/ (saved 14:02:11)/' \
        -e 's/session: [0-9-]*\.gpd/session: 2026-01-01-140000.gpd/'
    echo '```'
}
prepare() {
    type_line "demo robot n=20000 seed=2"
    waitfor "robot 20,000 x 8"
    type_line "split test=20% seed=1"
    waitfor "train 16,000"
    type_line "kernel matern(nu=5/2)"
    type_line "tune features=512 evals=12"
    waitfor "12 evaluations"
    waitfor " ready"
    type_line "fit solver=pcg features=1024 rank=128"
    waitfor "r1  matern"
    waitfor " ready"
    type_line "score"
    waitfor "inside the 50 / 90 / 95"
    type_line \
        "fit solver=pcg features=4096 rank=64 noise=0.1 rtol=1e-10 maxit=9999 plan=regenerate rescale=no"
    waitfor "r2 cg"
    waitfor "forecast of r2"
}
cat << END
# Screens

These pictures show one session at several sizes of the terminal, with a running fit. They are
made by \`tests/screens/pictures.sh\`. \`layout main|two|three|slide|auto\` chooses the panes, \`z\` shows
one pane alone, \`P\` the plot alone; \`<\` \`>\` and the mouse move the edges. Colours are left out here;
every state also has its own sign.

A result that is too long for the log is shown as a page over the view. Esc closes it, and so does
anything that comes to the front later: a view that a command shows, the plot of a later job, other
data. A page opened while a job runs stays, and the plot continues behind it. The table of \`compare\`
is shown above the curves of its runs. \`theme auto\` takes the terminal's own colours; the plots are
for a dark background unless COLORFGBG says that it is light (\`theme light\` does, too).

## 200 columns, 60 rows: layout three
END
start 200 60 GPDESK_COLOR=never -- --threads 2
waitfor " ready"
prepare
shot
printf '\n## 120 columns, 40 rows: layout two\n'
resize 120 40
waitgone "What next"
sleep 1
shot
printf '\n## 80 columns, 24 rows: layout main\n'
resize 80 24
waitgone "Inspector"
sleep 1
shot
printf '\nThe table of runs (`view runs`) has signs: `>` is running, `*` is marked.\n'
keys M-2
waitfor "[2 Runs]"
shot
printf '\nThe list of keys (`?`), searched for a word:\n'
to_view
keys '?'
keys -l "plot"
waitfor "key or word> plot"
shot
keys Escape
waitgone "Keys of this view"
printf '\nThe palette (F2) searches commands, views, plots, options, pages, runs and columns:\n'
keys F2
keys -l "resid"
waitfor "find> resid"
shot
keys Escape
waitgone "Palette"
keys M-3
printf '\n## Small terminals: 60 x 16, 40 x 8 and 20 x 5\n'
for size in "60 16" "40 8" "20 5"; do
    resize ${size% *} ${size#* }
    sleep 1
    shot
done
resize 100 30
waitfor "Resid"
keys C-c
waitfor "stop r2"
waitfor " ready"
keys i C-u
type_line quit
waitfor "EXIT=0"
