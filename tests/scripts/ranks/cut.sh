#!/bin/sh
# tests/scripts/ranks/cut.sh -- the network to a rank is cut off in the middle of a fit, which two
# network namespaces play: after 20 s without a sign of life the fit goes on without it and has the
# same bits; what is left there ends when the network is back.  Part of check-long: it waits.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"
. "$src/tests/scripts/ranks/net.sh"
why=$(net_why) || { echo "1..0 # SKIP $why" && exit 0; }
trap 'net_end; cd /; rm -rf "$dir"' EXIT

run --accept-unconverged -e "$fit=one.csv"
is "one process" "$rc" 0
net_make "$gpdesk"
for hosts in far:1 localhost:1,far:1; do
    # shellcheck disable=SC2086 # words
    GPDESK_SSH=$ssh $near "$gpdesk" --accept-unconverged --hosts $hosts --threads 2 \
        -e "$fit=cut.csv" >said 2>&1 </dev/null &
    front=$!
    await 'test -n "$(net_ranks)" && test "$(work_of $(net_ranks))" -ge 30'
    result $? "$hosts: the rank there computes" "$(cat said)"
    there=$(net_ranks | tr -d ' ')
    net_down
    wait $front
    is "$hosts: the network is cut off" $? 0
    ok "$hosts: nothing changes" cmp one.csv cut.csv
    case $hosts in
    far:1) has "and is told" "$(cat said)" 'warning\[ranks\].*went on alone' ;;
    *) has "and is told" "$(cat said)" \
        'warning\[rank-lost\].*rank 2 of 2 on far: it did not answer for 20 s' ;;
    esac
    net_up
    await "gone $there"
    result $? "$hosts: nobody is left there once the network is back" "$there"
done
finish
