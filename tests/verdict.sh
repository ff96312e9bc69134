# tests/verdict.sh -- TAP of the tests that look at the sources and at the build.  Sourced.
n=0
failed=0
# verdict NAME OFFENDERS: passed when there are none; else the first of them are named.
verdict() {
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf '%s\n' "$2" | head -20 | sed 's/^/#   /'
        failed=1
    fi
}
