#!/bin/sh
# The main job at the keyboard: demo, tune, fit with live plots, cancel, score; gnuplot that dies or
# is missing.
. "$(dirname "$0")/lib.sh"

reaped() { ! kill -0 "$1" 2> /dev/null; }
gnuplot_lives() { [ -n "$(gnuplot_of)" ]; }

start 100 30 -- --threads 2
type_line "demo friedman1 n=400 seed=3"
expect "friedman1 400 x 10" "demo loads data"
type_line "split test=25% seed=1"
expect "test 100" "split"
type_line "tune features=256 evals=8"
expect "[4 NMLL" "tune brings its view forward"
expect "best so far" "with a live plot"
expect "t1  matern" "tune ends with its result"
type_line "fit solver=pcg features=1024 rank=64"
expect "[3 Resid" "fit brings the residual"
expect "stopped: reached rtol" "and says why it stopped"
expect "1e-06" "the axis of the residual is labelled"
type_line "score"
expect "[6 Calib" "score brings the calibration"
expect "share of targets inside" "with the coverage plot"
type_line "advise features=256 rank=16,32 noise=0.1"
expect "[5 Rank" "advise brings the ranks"
expect "least time" "with the star in the plot"
type_line "spectrum"
expect "Spectrum of r1" "spectrum turns the page"
type_line "plot calibration"
expect "[6 Calib" "back to the calibration"
to_view
keys Right
expect "Predictive sd" "Right turns to the histogram of sd"
keys Right
expect "mean predicted sd" "then error against sd"
keys Right
expect "Predicted against observed" "then parity"
keys 2
expect "cover95" "the table of runs"
keys Up
keys Enter
expect "Run t1" "Enter shows all of a run"
keys q
keys ' '
keys ' '
keys =
expect "compare" "= compares the marked runs"
keys q
keys m
expect "gpdesk> note r1" "m puts a note on the prompt"
keys C-c

# A long fit: live, then stopped by Ctrl-C, then the prompt is free.
type_line "demo robot n=20000 seed=2"
expect "robot 20,000 x" "larger data"
type_line \
    "fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate rescale=no"
expect "r2 cg" "the job line follows the solver"
expect "r2 recursive" "the residual is drawn while it runs"
keys -l "abc"
expect "gpdesk> abc" "the prompt echoes while it computes"
keys C-c
expect_gone "gpdesk> abc" "Ctrl-C clears the line first"
expect "r2 cg" "and the job still runs"
gp=$(gnuplot_of)
if [ -n "$gp" ]; then
    kill -9 $gp
    waituntil reaped "$gp"
    verdict $? "gnuplot killed in mid-plot: the child is reaped"
    waituntil gnuplot_lives
    verdict $? "and a new one is started"
    expect "r2 recursive" "the plot stays"
fi
keys C-c
# The result of the stopped job may have pushed the line out of sight by the time we look.
stop_asked() { seen "stop r2" || seen "stopped on request"; }
waituntil stop_asked
verdict $? "Ctrl-C with nothing typed asks the job to stop"
expect " ready" "and it stops"
keys M-2
expect "~r2" "r2 is marked as stopped"

# Several processes: what each does is seen while they work.
type_line "set ranks=2"
expect "ranks = 2" "two processes are asked for"
type_line \
    "fit solver=pcg features=1024 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate rescale=no"
expect "r3 cg" "a fit of several processes"
type_line "plot ranks"
expect "the longest worked" "their plot is there while they work"
expect "r3 cg" "and they still do"
keys C-c
expect " ready" "and stop"
leave 0 "quit"

# A gnuplot that hangs: our own plot stands there all the same, and the prompt answers.
printf '#!/bin/sh\nexec sleep 1000\n' > "$work/hung"
chmod +x "$work/hung"
start 100 30 GPDESK_GNUPLOT="$work/hung" -- --threads 2
type_line "demo toy"
expect "toy 200 x 1" "a gnuplot that hangs"
type_line "tune features=128 evals=4"
expect "best so far" "the plot is drawn all the same"
keys -l "abc"
expect "gpdesk> abc" "the prompt answers"
expect "gnuplot" "and it is said"
keys C-c
leave 0 "quit"

start 100 30 GPDESK_GNUPLOT=/nonexistent -- --threads 2
type_line "demo toy"
expect "toy 200 x 1" "without gnuplot"
type_line "tune features=128 evals=4"
expect "gnuplot" "its absence is said"
expect "best so far" "and the plot is drawn all the same"
leave 0 "quit without gnuplot"
done_testing
