#!/bin/sh
# What stands on the screen before it is on disk is marked, and the mark goes when the disk has it:
# the disk waits as long as a file exists (tests/slow_disk.c).
. "$(dirname "$0")/lib.sh"

preload=$(cd "$(dirname "$GPDESK")" && pwd)/tests/slow_disk.so
if ! test -f "$preload" || grep -q __asan_init "$GPDESK" || grep -q __tsan_init "$GPDESK"; then
    echo "1..0 # SKIP the disk cannot be slowed down here"
    exit 0
fi
slow=$work/slow

start 100 30 "LD_PRELOAD=$preload" "GPDESK_SLOW_DISK=$slow" -- -s "$work/a.gpd"
waitfor "ready"
type_line "demo toy n=40; kernel rbf"
expect "saved " "what is on disk is marked as saved"
absent "not saved yet" "and not as missing"
: > "$slow"
type_line "set noise=0.3"
expect "(not saved yet)" "what the disk has not taken is marked"
expect "noise = 0.3" "while it stands on the screen"
type_line "split test=25%"
expect "train 30  test 10" "work goes on"
expect "(not saved yet)" "and stays marked"
type_line "fit features=16"
expect "r1  rbf" "a fit starts and ends, whose name is not on disk yet"
keys -l "show run:r"
expect "show run:r" "and the keyboard is alive"
keys C-u
rm "$slow"
expect_gone "not saved yet" "the mark goes when the disk has it"
expect "(saved " "and it is said that it is saved"
leave 0 "the end"

# In line mode the same in words.
start 100 30 TERM=dumb "LD_PRELOAD=$preload" "GPDESK_SLOW_DISK=$slow" -- -s "$work/b.gpd"
type_line "demo toy n=40"
waitfor "40 rows x"
: > "$slow"
type_line "set noise=0.3"
expect "not saved yet: the disk is slow" "line mode says it"
rm "$slow"
waituntil sh -c "tmux -L $SOCKET capture-pane -p -t a | grep -x saved"
verdict $? "and that it is saved"
type_line quit
expect "EXIT=0" "line mode ends"
done_testing
