# tests/scripts/lib.sh -- what the script tests share: the program, a directory, TAP.
# Each test calls `is NAME GOT WANTED` or `ok NAME command...` and ends with `finish`.
LC_ALL=C
export LC_ALL
unset GPDESK_SEED GPDESK_THREADS GPDESK_MEM GPDESK_PRECISION GPDESK_VERBOSITY NO_COLOR
top_builddir=${top_builddir:-build}
top_srcdir=${top_srcdir:-.}
gpdesk=$(cd "$top_builddir" && pwd)/gpdesk
jsonl=$(cd "$top_builddir" && pwd)/tests/jsonl
src=$(cd "$top_srcdir" && pwd)
if ! test -x "$gpdesk"; then
    echo "$gpdesk is not built"
    exit 77
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-test.XXXXXX") || exit 99
trap 'cd /; rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$dir/cache
export XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME
cd "$dir" || exit 99
n=0
failed=0

result() { # status name detail
    n=$((n + 1))
    if test "$1" -eq 0; then
        echo "ok $n - $2"
    else
        failed=$((failed + 1))
        echo "not ok $n - $2"
        printf '%s\n' "$3" | sed 's/^/# /' | head -n 20
    fi
}
is() { # name got wanted
    test "$2" = "$3"
    result $? "$1" "got: $2
wanted: $3"
}
ok() { # name command...
    name=$1
    shift
    detail=$("$@" 2>&1)
    result $? "$name" "$detail"
}
has() { # name text pattern: the text has a line that matches
    printf '%s\n' "$2" | grep -q -e "$3"
    result $? "$1" "no line like '$3' in:
$2"
}
# Runs gpdesk with input from nowhere; leaves $out, $err, $rc.
run() {
    "$gpdesk" "$@" >"$dir/.out" 2>"$dir/.err" </dev/null
    rc=$?
    out=$(cat "$dir/.out")
    err=$(cat "$dir/.err")
}
finish() {
    echo "1..$n"
    exit 0
}
