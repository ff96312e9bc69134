#!/bin/sh
# monkey.sh [SEED [SECONDS]]: random keys, pastes, mouse reports and resizes; afterwards the program
# must still answer, and quit with status 0.  A few seconds here: monkey.sh 1 1800 with a build of
# --enable-sanitize is the test of record.
. "$(dirname "$0")/terminal.sh"
# What readline keeps of its own until the process ends (kill ring, messages) has no way to be
# freed.
echo 'leak:libreadline' > "$dir/lsan.supp"
LSAN_OPTIONS="suppressions=$dir/lsan.supp print_suppressions=0"
export LSAN_OPTIONS
# The sanitizer speaks of a crash, not our own handler.
ASAN_OPTIONS="${ASAN_OPTIONS:-}:log_path=$dir/sanitizer:color=never:handle_segv=2:handle_sigfpe=2:handle_abort=2:handle_sigbus=2:handle_sigill=2"
UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:log_path=$dir/sanitizer:print_stacktrace=1"
export ASAN_OPTIONS UBSAN_OPTIONS
behind monkey "${1:-1}" "${2:-8}" "$gpdesk" --threads 1
status=$?
cat "$dir"/sanitizer* 2> /dev/null | head -n 200 | sed 's/^/# /'
exit $status
