#!/bin/bash
# tests/scripts/faults.sh -- one failed request for memory, one failed write and one failed sync
# never lose anything silently: either the program says so and its exit status is not 0, or every
# output and the session are what they are without the failure.  GPDESK_FAULTS: how many of the
# requests are failed in turn, spread over the batch (40, and a quarter of it of writes and of
# syncs; "all" takes minutes).
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

preload=$(dirname "$gpdesk")/tests/fail_alloc.so
if ! test -f "$preload" || grep -q __asan_init "$gpdesk" || grep -q __tsan_init "$gpdesk"; then
    echo "1..0 # SKIP requests for memory cannot be intercepted here"
    exit 0
fi
lines='demo toy n=40; split test=25%; kernel rbf; tune features=32 evals=3; fit features=32 seed=5; score;
predict out=p.csv; export r1 out=r1.json; script out=s.gps; note r1 "kept"; runs'

# Times and dates differ from run to run, and a write that failed is tried again with a warning.
mask() {
    sed -E 's/"(seconds|seconds_wall|created|started|ended|at|left|rate|share|bytes|changed)":(-?[0-9.e+-]+|null)/"\1":T/g
        s/"seconds":\{[^}]*\}/"seconds":{}/g; s/(about )?[0-9]+\.[0-9]+ (s|ms)/T/g; s/[0-9.]+ [KMG]?B/B/g
        s/[0-9]+-[0-9]+-[0-9]+[ T][0-9:]+(Z|\.[0-9]+)?/DATE/g; /"type":"tick"/d
        /"name":"session".*being saved/d' "$@"
}
portrait() { # directory
    ( cd "$1" && for f in p.csv r1.json s.gps said; do echo "== $f"; mask "$f" 2>&1; done
      echo "== session"
      "$gpdesk" --no-config --format json -q -s x.gpd -e \
          'runs; history; script; predict out=again.csv
          export r1 out=again.json' 2>&1 </dev/null | grep -v '"command":"export"' | mask
      mask again.csv again.json 2>&1 )
}
batch() { # directory [fail-at]
    mkdir "$1"
    ( cd "$1" && GPDESK_FAIL_AT=${2:-0} GPDESK_FAIL_COUNT=$PWD/count OPENBLAS_NUM_THREADS=1 \
        LD_PRELOAD=$preload "$gpdesk" --no-config --threads=1 --format json -q -s x.gpd -e \
        "$lines" \
        >said 2>errors </dev/null )
}
batch whole
is "the batch works" $? 0
portrait whole >want
batch again
portrait again >got
is "it is the same when it runs again" "$(diff want got | head -n 5)" ""
requests=$(cat whole/count)
ok "requests are counted" test "$requests" -gt 200

# Fails requests in turn: each is told, or everything is there (and `whole_too` agrees).
every_fault() { # what, how many, attempts, how many of these are told at least
    local step=1 told=0 whole=0 silent='' crashed='' mute='' at rc
    test "$3" = all || step=$(($2 / $3 + 1))
    for ((at = 1; at <= $2; at += step)); do
        batch one "$at"
        rc=$?
        if ((rc >= 128)); then
            crashed="$crashed $at($rc)"
        elif ((rc != 0)); then
            told=$((told + 1))
            test -s one/errors || grep -q '"type":"error"' one/said || mute="$mute $at($rc)"
        elif portrait one >got; diff -q want got >/dev/null && whole_too; then
            whole=$((whole + 1))
        else
            silent="$silent $at"
            test -z "$GPDESK_FAULTS_SHOW" || { echo "# $at"; cat one/count
                diff want got | head -n 6 | cut -c1-300; } >&2
        fi
        rm -rf one
    done
    echo "# $2 $1, every ${step}th failed: $told told, $whole without effect"
    is "$1: no failure crashes" "$crashed" ""
    is "$1: every failure that ends the program is told" "$mute" ""
    is "$1: exit 0 means that everything is there" "$silent" ""
    ok "$1: failures are met" test "$told" -ge "$4"
}
whole_too() { true; }
every_fault "requests for memory" "$requests" "${GPDESK_FAULTS:-40}" 4

# The disk.  After a failed sync the file is not known to be on disk until it has been synced again,
# whatever can be read from it; or, for the session itself, its log (synced before) is left beside
# it.  SQLite ignores failed syncs of the directory.
preload=$(dirname "$gpdesk")/tests/slow_disk.so
batch() { # directory [fail-at]
    mkdir "$1"
    ( cd "$1" && GPDESK_DISK_FAIL=$disk GPDESK_DISK_FAIL_AT=${2:-0} GPDESK_DISK_COUNT=$PWD/count \
        OPENBLAS_NUM_THREADS=1 LD_PRELOAD=$preload "$gpdesk" --no-config --threads=1 \
        --format json -q -s x.gpd -e "$lines" >said 2>errors </dev/null
      code=$?
      test ! -e x.gpd-wal || echo "the log is left" >>count
      exit $code )
}
case ${GPDESK_FAULTS:-40} in
all) some=all ;;
*) some=$((${GPDESK_FAULTS:-40} / 4)) ;;
esac
for disk in write sync; do
    rm -rf whole
    batch whole
    is "$disk: the batch works" $? 0
    count=$(sed "s/ .*//;q" whole/count)
    ok "$disk: they are counted" test "$count" -gt 10
    test $disk = write || whole_too() { grep -q 'directory\|again\|log\|none' one/count; }
    every_fault "${disk}s" "$count" "$some" 1
done
finish
