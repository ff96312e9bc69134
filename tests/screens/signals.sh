#!/bin/sh
# Signals and a terminal that vanishes: jobs keep their best iterate, the session is on disk.
. "$(dirname "$0")/lib.sh"

long="fit solver=pcg features=4096 rank=16 noise=0.0001 rtol=1e-12 maxit=100000 plan=regenerate"

start 80 24 -- --threads 2 -s "$work/one.gpd"
type_line "demo robot n=20000 seed=2"
expect "robot 20,000 x" "data"
type_line "$long"
expect "r1 cg" "a job runs"
pid=$(pid_of)
kill -TERM "$pid"
expect "EXIT=143" "SIGTERM: status 143"
start 80 24 -- --threads 2 -s "$work/one.gpd"
expect "robot 20,000 x" "the session comes back"
keys M-2
expect "r1" "with the run that was stopped"
keys C-d
expect "EXIT=0" "quit"

# Killed without a chance to say anything: what was done is in the session.
start 80 24 -- --threads 2 -s "$work/kill.gpd"
type_line \
    "demo friedman1 n=600 seed=5; split test=25% seed=1; fit features=256 solver=direct; score"
expect "RMSE" "a scored fit"
rmse=$(screen | grep -o 'RMSE [0-9.]*' | head -n 1)
type_line "note r1 kept"
expect "noted at r1" "and a note"
kill -9 "$(pid_of)"
expect "EXIT=137" "kill -9"
start 80 24 -- --threads 2 -s "$work/kill.gpd"
expect "friedman1 600 x 10" "the session of a killed program opens"
type_line "score"
expect "$rmse" "and its model predicts the same ($rmse)"
pid=$(pid_of)
kill -SEGV "$pid"
expect "EXIT=139" "a crash gives the terminal back"

start 80 24 -- --threads 2
expect " ready" "again"
pid=$(pid_of)
kill -HUP "$pid"
expect "EXIT=129" "SIGHUP: status 129"

start 80 24 -- --threads 2 -s "$work/two.gpd"
type_line "demo robot n=20000 seed=2"
expect "robot 20,000 x" "data"
type_line "$long"
expect "r1 cg" "a job runs"
keys C-d
expect "Ctrl-D again" "Ctrl-D asks once while a job runs"
keys C-c
expect "stopped on request" "another key answers no"
expect " ready" "and is a key as ever"
type_line "$long"
waitfor "r2 cg"
pid=$(pid_of)
t kill-pane -t a
waituntil ended "$pid"
verdict $? "the terminal vanishes: the program ends"
test -s "$work/two.gpd"
verdict $? "its session is on disk"

# The terminal hangs up while a job runs.
start 80 24 -- --threads 2 -s "$work/hup.gpd"
type_line "demo robot n=20000 seed=2"
waitfor "robot 20,000 x"
type_line "$long"
waitfor "r1 cg"
pid=$(pid_of)
kill -HUP "$pid"
expect "EXIT=129" "SIGHUP while a job runs: status 129"
start 80 24 -- --threads 2 -s "$work/hup.gpd"
waitfor "robot 20,000 x"
keys M-2
expect "~r1" "its best iterate is in the session"
leave 0 "quit"

# Ctrl-Z needs a shell with job control around it.
if command -v bash > /dev/null 2>&1; then
    tmux -L "$SOCKET" kill-server > /dev/null 2>&1
    SOCKET=gpdesk-bash
    t new-session -d -s a -x 80 -y 24 "env HOME=$work PS1='shell> ' XDG_STATE_HOME=$work/state \
LANG=C.UTF-8 bash --norc --noprofile -i" > /dev/null 2>&1
    expect "shell>" "a shell"
    type_line "$GPDESK"
    expect " ready" "starts"
    keys -l "half"
    expect "gpdesk> half" "half a line"
    keys C-z
    expect "Stopped" "Ctrl-Z stops it"
    type_line "echo SA''NE"
    expect "SANE" "the shell has its terminal back"
    type_line "fg"
    expect " ready" "fg brings the screen back"
    expect "gpdesk> half" "with the typed line"
    keys C-c
    type_line "demo robot n=20000 seed=2"
    waitfor "robot 20,000 x"
    type_line "$long"
    waitfor "r1 cg"
    keys C-z
    expect "Stopped" "Ctrl-Z while a job runs stops that, too"
    type_line "fg"
    expect "r1 cg" "and fg lets it go on"
    keys C-c
    waitfor " ready"
    type_line quit
    expect_gone " ready" "quit"
    type_line 'echo STATUS=$?'
    expect "STATUS=0" "with status 0"
fi
done_testing
