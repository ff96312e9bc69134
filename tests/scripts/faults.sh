#!/bin/bash
# tests/scripts/faults.sh -- one failed request for memory never loses anything silently: either the
# program says so and its exit status is not 0, or every output and the session are what they are
# without the failure.  GPDESK_FAULTS: how many of the requests are failed in turn, spread over the
# batch (40; "all" takes minutes).
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

preload=$(dirname "$gpdesk")/tests/fail_alloc.so
if ! test -f "$preload" || grep -q __asan_init "$gpdesk" || grep -q __tsan_init "$gpdesk"; then
    echo "1..0 # SKIP requests for memory cannot be intercepted here"
    exit 0
fi
lines='demo toy n=40; split test=25%; kernel rbf; tune features=32 evals=3; fit features=32 seed=5; score;
predict out=p.csv; export r1 out=r1.json; script out=s.gps; note r1 "kept"; runs'

# Times and dates differ from run to run.
mask() {
    sed -E 's/"(seconds|seconds_wall|created|started|ended|at|left|rate|share|bytes|changed)":(-?[0-9.e+-]+|null)/"\1":T/g
        s/"seconds":\{[^}]*\}/"seconds":{}/g; s/(about )?[0-9]+\.[0-9]+ (s|ms)/T/g; s/[0-9.]+ [KMG]?B/B/g
        s/[0-9]+-[0-9]+-[0-9]+[ T][0-9:]+(Z|\.[0-9]+)?/DATE/g; /"type":"tick"/d' "$@"
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

step=1
test "${GPDESK_FAULTS:-40}" = all || step=$((requests / ${GPDESK_FAULTS:-40} + 1))
told=0 whole=0 silent='' crashed='' mute=''
for ((at = 1; at <= requests; at += step)); do
    batch one "$at"
    rc=$?
    if ((rc >= 128)); then
        crashed="$crashed $at($rc)"
    elif ((rc != 0)); then
        told=$((told + 1))
        test -s one/errors || grep -q '"type":"error"' one/said || mute="$mute $at($rc)"
    elif portrait one >got; diff -q want got >/dev/null; then
        whole=$((whole + 1))
    else
        silent="$silent $at"
        test -z "$GPDESK_FAULTS_SHOW" || { echo "# $at"; diff want got | head -n 6 | cut -c1-300; \
            } >&2
    fi
    rm -rf one
done
echo "# $requests requests, every ${step}th failed: $told told, $whole without effect"
is "no failure crashes" "$crashed" ""
is "every failure that ends the program is told" "$mute" ""
is "exit 0 means that everything is there" "$silent" ""
ok "failures are met" test "$told" -gt 3
finish
