#!/bin/sh
# screen.sh -- what the screen costs, measured from outside through a pseudo-terminal: the time from
# a key to its echo while a fit keeps all cores busy, bytes and redraws a second with that job and
# idle, a session of 200 runs opened and scrolled, a run of 100,000 trace points plotted.
#     tests/bench/screen.sh [BUILD]      (make check_PROGRAMS first: it needs
#       tests/screens/ptydrive)
set -eu
build=$(cd "${1:-build}" && pwd)
gpdesk=$build/gpdesk drive=$build/tests/screens/ptydrive
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
cd "$dir"
export HOME="$dir" XDG_STATE_HOME="$dir/state" XDG_CONFIG_HOME="$dir/config" \
    XDG_RUNTIME_DIR="$dir" GPDESK_LEARN=off

"$drive" live "$gpdesk"
{
    echo 'demo friedman1 n=400 seed=3; split test=20% seed=1'
    i=0
    while [ $i -lt 200 ]; do
        echo "fit solver=pcg features=256 rank=16 noise=0.05 l=1.$((100 + i))"
        i=$((i + 1))
    done
} > runs.gps
"$gpdesk" -q -s runs.gpd -f runs.gps > /dev/null 2>&1
"$drive" open "$gpdesk" runs.gpd
# Descent takes as many steps as it is asked for.
"$gpdesk" -q -s long.gpd -e 'demo toy n=64' -e \
    'fit solver=svrg features=16 noise=1e-5 rtol=1e-15 maxit=100000' \
    > /dev/null 2>&1 || true
"$drive" trace "$gpdesk" long.gpd
