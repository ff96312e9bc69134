#!/bin/sh
# plot to=picture on three terminals behind a pseudo-terminal: one that shows sixel graphics, one that
# does not, one that never says.  Skipped where gnuplot has no such terminal.
top=${top_builddir:-.}
gpdesk=${GPDESK:-$(cd "$top" && pwd)/gpdesk}
drive=$(cd "$top" && pwd)/tests/screens/ptydrive
[ -x "$drive" ] || { echo "1..0 # SKIP no pseudo-terminal driver"; exit 77; }
echo 'set terminal sixelgd' | gnuplot > /dev/null 2>&1 || { echo "1..0 # SKIP no gnuplot with sixelgd"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-picture.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
cd "$dir" || exit 1
HOME=$dir XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/config XDG_CACHE_HOME=$dir/cache XDG_RUNTIME_DIR=$dir \
    GPDESK_LEARN=off OPENBLAS_NUM_THREADS=1 "$drive" picture "$gpdesk"
