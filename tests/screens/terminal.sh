# tests/screens/terminal.sh -- what the tests behind a pseudo-terminal share: a directory of their
# own and gpdesk behind tests/screens/ptydrive.  Sourced.  behind KIND ARGS: the driver's test of
# that name.
top=${top_builddir:-.}
gpdesk=${GPDESK:-$(cd "$top" && pwd)/gpdesk}
drive=$(cd "$top" && pwd)/tests/screens/ptydrive
[ -x "$drive" ] || { echo "1..0 # SKIP no pseudo-terminal driver"; exit 77; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-$(basename "$0" .sh).XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP

behind() {
    (cd "$dir" && HOME=$dir XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/config \
        XDG_CACHE_HOME=$dir/cache \
        XDG_RUNTIME_DIR=$dir OPENBLAS_NUM_THREADS=1 "$drive" "$@")
}
