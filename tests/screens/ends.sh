#!/bin/sh
# The end comes when it is asked for: with a gnuplot that hangs or is stopped, in the middle of
# every kind of long work, with files that never come.
. "$(dirname "$0")/lib.sh"

# A gnuplot that takes everything and says nothing.
printf '#!/bin/sh\necho $$ > "%s/hung.pid"\nexec sleep 1000\n' "$work" > "$work/hung"
chmod +x "$work/hung"
hung() { cat "$work/hung.pid"; }
small="demo friedman1 n=300 seed=3; split test=20% seed=1; fit solver=pcg features=128 rank=8"

start 100 30 GPDESK_GNUPLOT="$work/hung" -- --threads 1
type_line "$small"
expect "stopped: reached rtol" "a fit, with a gnuplot that hangs"
type_line "plot residual out=x.png"
making() { [ -n "$(find "$work" -maxdepth 1 -name '.gpdesk-plot-*')" ]; }
waituntil making
verdict $? "which is asked for a picture"
keys C-c
expect "before there was a picture" "Ctrl-C does not wait for it"
test ! -e "$work/x.png"
verdict $? "no picture is left"
type_line "plot residual out=x.png"
waituntil making
verdict $? "once more"
type_line "quit"
expect "EXIT=0" "nor does quit"
waituntil ended "$(hung)"
verdict $? "nothing of it is left"
[ -z "$(find "$work" -maxdepth 1 -name '.gpdesk-plot-*')" ]
verdict $? "nor of its directory"

start 100 30 GPDESK_GNUPLOT="$work/hung" DISPLAY=:77 -- --threads 1
type_line "$small"
waitfor "stopped: reached rtol"
type_line "plot residual to=window"
sleep 0.5
type_line "quit"
expect "EXIT=0" "quit does not wait for a window"
waituntil ended "$(hung)"
verdict $? "that never came"

start 100 30 -- --threads 1
type_line "$small"
expect "stopped: reached rtol" "a gnuplot"
if waituntil gnuplot_of; then
    gp=$(gnuplot_of)
    kill -STOP "$gp"
    type_line "plot residual y=linear"
    keys -l "abc"
    expect "gpdesk> abc" "stopped: the prompt answers"
    keys C-c
    type_line "quit"
    expect "EXIT=0" "quit"
    waituntil ended "$gp"
    verdict $? "takes it along"
else
    leave 0 "no gnuplot: quit"
fi

# Files that never come.
mkfifo "$work/fifo"
start 100 30 -- --threads 1
for line in "source fifo=is not a regular file" "source -=is the keyboard" "open -=is the keyboard"; do
    type_line "${line%%=*}"
    expect "${line#*=}" "${line%%=*}: refused at once"
done
type_line "open fifo"
keys -l "abc"
expect "gpdesk> abc" "open fifo: the prompt answers"
keys C-c
keys C-c
expect "was not loaded" "and Ctrl-C gives it up"
type_line "open fifo"
sleep 0.3
type_line "quit"
expect "EXIT=0" "so does quit"

# Long work of every kind.
robot="demo robot n=20000 seed=2"
for work_line in "race pcg(rank=16),cg,svrg features=2048 noise=0.001 rtol=1e-12 for=600s" \
    "tune features=2048 evals=200" \
    "fit solver=direct features=4096" "advise features=4096 rank=64,256,1024" \
    "cluster k=2..12 features=4096 rows=20000" \
    "sweep l=0.5..4/0.1 features=2048" "landscape" "fit features=2048; score; check; spectrum"; do
    start 100 30 -- --threads 1
    type_line "$robot"
    waitfor "robot 20,000 x"
    type_line "$work_line"
    waitfor "Ctrl-C stops"
    sleep 0.5
    type_line "quit"
    expect "EXIT=0" "quit in the middle of: $work_line"
done

# Without waiting: a second key.
start 100 30 -- --threads 1
type_line "$robot"
waitfor "robot 20,000 x"
type_line \
    "fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"
waitfor "recursive"
type_line "quit"
keys C-c
expect "EXIT=0" "quit, then Ctrl-C"
start 100 30 -- --threads 1 --plain
waitfor "gpdesk>"
type_line "$robot"
waitfor "robot  20,000"
type_line \
    "fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"
sleep 1
type_line "q"
expect "EXIT=0" "q in line mode, with a job"
# Keys that are still typed when the program ends: in line mode Ctrl-C is a signal, and curses,
# which was there before, would make a failure of it.
for i in 1 2 3; do
    start 80 24 -- --threads 1
    waitfor " ready"
    keys F5
    waitfor "line mode"
    type_line "q"
    keys C-c C-c C-c C-c C-c
    # A Ctrl-C drops what is typed and not read yet, as terminals do: it may have been the q.
    attempt=0
    until [ $attempt -ge 20 ] || LIMIT=50 waituntil seen "EXIT="; do
        attempt=$((attempt + 1))
        type_line "q"
        keys C-c C-c C-c C-c C-c
    done
    expect "EXIT=0" "Ctrl-C while it ends ($i)"
done
done_testing
