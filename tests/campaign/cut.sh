#!/bin/bash
# tests/campaign/cut.sh -- a sample of the campaign's power cuts (README.md beside this).
# GPDESK_CAMPAIGN=all: 500 states a scene; another seed by GPDESK_CAMPAIGN_SEED.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

top_builddir=$(dirname "$gpdesk")
export top_builddir
if ! test -f "$top_builddir/tests/campaign/faults.so" || grep -q __asan_init "$gpdesk" ||
    grep -q __tsan_init "$gpdesk"; then
    echo "1..0 # SKIP calls cannot be intercepted here"
    exit 0
fi
states=15
test "${GPDESK_CAMPAIGN:-}" = all && states=500
for scene in batch resume import export; do
    "$top_builddir/tests/campaign/cut" --scene=$scene --states=$states \
        --seed="${GPDESK_CAMPAIGN_SEED:-1}" >said 2>&1
    rc=$?
    sed 's/^/# /' said
    is "$scene: after a power cut the session opens, with all that was printed" "$rc" 0
done
finish
