#!/bin/sh
# monkey.sh [SEED [SECONDS]]: random keys, pastes, mouse reports and resizes; afterwards the program
# must still answer, and quit with status 0.  A few seconds here: monkey.sh 1 1800 with a build of
# --enable-sanitize is the test of record.
top=${top_builddir:-.}
gpdesk=${GPDESK:-$(cd "$top" && pwd)/gpdesk}
drive=$(cd "$top" && pwd)/tests/screens/ptydrive
[ -x "$drive" ] || { echo "1..0 # SKIP no pseudo-terminal driver"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-monkey.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
cd "$dir" || exit 1
# What readline keeps of its own until the process ends (kill ring, messages) has no way to be freed.
echo 'leak:libreadline' > lsan.supp
LSAN_OPTIONS="suppressions=$dir/lsan.supp print_suppressions=0"
export LSAN_OPTIONS
# The sanitizer speaks of a crash, not our own handler.
ASAN_OPTIONS="${ASAN_OPTIONS:-}:log_path=$dir/sanitizer:color=never:handle_segv=2:handle_sigfpe=2:handle_abort=2:handle_sigbus=2:handle_sigill=2"
UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:log_path=$dir/sanitizer:print_stacktrace=1"
export ASAN_OPTIONS UBSAN_OPTIONS
HOME=$dir XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/config XDG_CACHE_HOME=$dir/cache XDG_RUNTIME_DIR=$dir \
    OPENBLAS_NUM_THREADS=1 "$drive" monkey "${1:-1}" "${2:-8}" "$gpdesk" --threads 1
status=$?
cat "$dir"/sanitizer* 2> /dev/null | head -n 200 | sed 's/^/# /'
exit $status
