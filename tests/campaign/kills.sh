#!/bin/bash
# tests/campaign/kills.sh -- kill -9 at moments of tune, fit, save with its data, migration, resume,
# import, export and of a fit of two processes: at the n-th request for memory, so that each can be
# repeated.  Afterwards the session opens, with every run that was printed, and r1 predicts to the
# bit.  A sample here; GPDESK_CAMPAIGN=all: 150 moments a scene, and every write and sync of those
# that faults.sh does not kill there.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

drive=$(dirname "$gpdesk")/tests/campaign/drive
top_builddir=$(dirname "$gpdesk")
export top_builddir
if ! test -f "$top_builddir/tests/campaign/faults.so" || grep -q __asan_init "$gpdesk" ||
    grep -q __tsan_init "$gpdesk"; then
    echo "1..0 # SKIP calls cannot be intercepted here"
    exit 0
fi
sample=1
test "${GPDESK_CAMPAIGN:-}" = all && sample=150
for scene in tune fit save migrate resume import export ranks; do
    "$drive" --scene=$scene --class=alloc --error=kill --sample=$sample >said 2>&1
    rc=$?
    sed 's/^/# /' said
    is "$scene: killed at a moment, its session opens with all that was printed" "$rc" 0
    ok "$scene: it was killed" grep -q " [1-9][0-9]* killed, 0 found" said
done
if test "${GPDESK_CAMPAIGN:-}" = all; then
    for scene in save migrate tune fit ranks screen; do
        for call in "write kill" "write half" "sync kill"; do
            "$drive" --scene=$scene --class="${call% *}" --error="${call#* }" >said 2>&1
            rc=$?
            sed 's/^/# /' said
            is "$scene: killed at each $call, its session opens with all that was printed" "$rc" 0
            ok "$scene: it was killed ($call)" grep -q " [1-9][0-9]* killed, 0 found" said
        done
    done
fi
finish
