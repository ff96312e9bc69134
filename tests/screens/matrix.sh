#!/bin/sh
# Every view at every size on every kind of terminal: it says which it is and shows what it is for,
# no row is wider than the screen, the prompt takes what is typed, and painting everything anew
# changes nothing: what stands there is the view, the whole view, and nothing of the one before.
# matrix.sh alone runs one of itself for each terminal, side by side.
terms="tmux-256color screen vt100 linux dumb"
if [ $# -eq 0 ]; then
    . "$(dirname "$0")/lib.sh"
    for term in $terms; do
        sh "$0" "$term" > "$work/$term.tap" 2>&1 &
    done
    wait
    for term in $terms; do
        if ! grep -q "^1\.\.[0-9]\|is not known here" "$work/$term.tap"; then
            n=$((n + 1))
            failed=1
            echo "not ok $n - $term: comes to its end"
        fi
        while IFS= read -r line; do
            case $line in
            ok\ * | not\ ok\ *)
                n=$((n + 1))
                [ "${line#not }" = "$line" ] || failed=1
                echo "${line%% - *}" | sed "s/[0-9]*\$/$n - $term: /" | tr -d '\n'
                echo "${line#* - }"
                ;;
            1..*) ;;
            *) echo "$line" ;;
            esac
        done < "$work/$term.tap"
    done
    done_testing
fi
term=$1
. "$(dirname "$0")/lib.sh"
if [ "$term" != dumb ] && ! infocmp "$term" > /dev/null 2>&1; then
    echo "# $term is not known here"
    exit 0
fi
cat > "$work/prepare.gps" << 'END'
demo friedman1 n=300 seed=3; split test=20% seed=1
tune features=64 evals=4; fit solver=pcg features=128 rank=8; score
advise features=128 rank=8,16; pca; lesson 1
END

# What only the view shows, whatever the size.
content() {
    case $1 in
    1) echo ' 1  train ' ;; 2) echo ' t1   matern' ;; 3) echo '1e-0[48]' ;; 4) echo ' evaluation' ;;
    5) echo 'preconditioner|panels' ;; 6) echo 'perfect' ;; 7) echo 'PC1 ' ;; 8) echo \
        'Read: a prob' ;;
    9) echo '^.*gpdesk> view log' ;;
    esac
}
shows() { screen | grep -qE -- "$1"; }

if [ "$term" = dumb ]; then
    start 80 24 TERM=dumb -- --threads 1
    type_line "source prepare.gps"
    waitfor "step 1 of"
    for view in data runs residual nmll rank calibration pca lesson log; do
        type_line "echo '=== $view'; view $view; echo 'after $view'"
        expect "after $view" "view $view"
        lines=$(screen | sed -n "/^=== $view/,/^after $view/p" | wc -l)
        [ "$lines" -gt 2 ] || [ "$lines" -eq 0 ]    # none: it has scrolled away, being long
        verdict $? "has words for it"
    done
    leave 0 "quit"
    done_testing
fi

# The clock and the memory change by themselves.
look() { screen | sed -e 's/ (saved [0-9:]*)//' -e 's/memory [0-9.]* .B//'; }
settled() { # two looks that agree, with the view's own text
    shows "$1" || return 1
    look > "$work/a"
    sleep 0.05
    look > "$work/b"
    cmp -s "$work/a" "$work/b"
}
widest() { t capture-pane -p -J -t a | LC_ALL=C.UTF-8 wc -L; }
same_again() {
    keys C-l
    i=0
    while [ $i -lt 200 ]; do
        sleep 0.05
        look > "$work/b"
        cmp -s "$work/a" "$work/b" && return 0
        i=$((i + 1))
    done
    diff "$work/a" "$work/b" | sed 's/^/# /'
    return 1
}

# The plots are our own: gnuplot's take their place a moment later, and what stands there would
# change.
start 80 24 "TERM=$term" GPDESK_COLOR=never GPDESK_GNUPLOT=/nonexistent -- --threads 1
waitfor " ready"
type_line "demo toy n=20; fit solver=pcg rank=4 features=16"
waitfor " recursive"
keys M-9
waitfor "the program GPDESK_GNUPLOT names" # which is said once, whenever the first plot is drawn
type_line "source prepare.gps"
waitfor "step 1 of"
waitfor " ready"
type_line "view data"
for size in "80 24" "40 8" "120 40" "200 60"; do
    cols=${size% *}
    # shellcheck disable=SC2086
    resize $size
    for view in 1 2 3 4 5 6 7 8 9; do
        keys "M-$view"
        waituntil shows "\\[$view " && waituntil settled "$(content $view)"
        verdict $? "view $view at $size"
        [ "$(widest)" -le "$cols" ] && same_again
        verdict $? "view $view at $size, no wider and nothing but it"
    done
    keys -l "abc d"
    expect "gpdesk> abc d" "the prompt at $size"
    keys C-u
done
leave 0 "quit"
done_testing
