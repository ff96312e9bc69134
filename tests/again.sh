#!/bin/sh
# again.sh DIR [VARIABLE=VALUE...]: after a `make check` in DIR that failed, runs the tests that
# failed once more, alone, with these variables of make.  Both results are printed.  Succeeds when
# all of them pass now; fails when one fails twice, or when what failed was make and no test.
set -u
build=$1
shift

failures() { # the tests that test-suite.log has in it as failed
    awk 'name != "" && /^=+$/ { print name }
        { name = "" }
        /^(FAIL|ERROR|XPASS): tests\// { name = $2 }' "$build/test-suite.log"
}
one_line() { echo "$1" | paste -s -d ' '; }

first=
[ -r "$build/test-suite.log" ] && first=$(failures)
if [ -z "$first" ]; then
    echo "again: no test in $build failed, something else did" >&2
    exit 1
fi
cp "$build/test-suite.log" "$build/test-suite.first.log"
echo "== what failed at first in $build (the whole output: $build/test-suite.first.log)"
grep -E -A 12 '^(not ok|ERROR: |Bail out)' "$build/test-suite.first.log"
echo "== once more, alone: $(one_line "$first")"
# Words on the command line of the make that called do not hold here, nor does its -j.
MAKEFLAGS= MFLAGS= make -C "$build" -j1 recheck "$@"
status=$?
second=
[ -r "$build/test-suite.log" ] && second=$(failures)
passed=$(echo "$first" | while read -r name; do
    echo "$second" | grep -qxF -- "$name" || echo "$name"
done)
[ "$status" -ne 0 ] && [ -z "$second" ] && passed=
echo "== failed at first, passed alone: $(one_line "${passed:-none}")"
echo "== failed twice: $(one_line "${second:-none}")"
[ "$status" -eq 0 ] && [ -z "$second" ]
