#!/bin/sh
# A terminal that takes no more bytes, behind a pseudo-terminal: the program waits inside a write, a job
# runs, and TERM ends it all the same; what was done before is in the session.
top=${top_builddir:-.}
gpdesk=${GPDESK:-$(cd "$top" && pwd)/gpdesk}
drive=$(cd "$top" && pwd)/tests/screens/ptydrive
[ -x "$drive" ] || { echo "1..0 # SKIP no pseudo-terminal driver"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-stalled.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
cd "$dir" || exit 1
HOME=$dir XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/config XDG_CACHE_HOME=$dir/cache XDG_RUNTIME_DIR=$dir \
    GPDESK_LEARN=off OPENBLAS_NUM_THREADS=1 "$drive" stalled "$gpdesk"
