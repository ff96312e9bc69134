#!/bin/bash
# tests/campaign/faults.sh -- a sample of the campaign's refused calls (README.md beside this): each
# class in each scene, at three places that are spread over its calls.  GPDESK_CAMPAIGN=all tries
# every place, which takes hours.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

drive=$(dirname "$gpdesk")/tests/campaign/drive
top_builddir=$(dirname "$gpdesk")
export top_builddir
if ! test -f "$top_builddir/tests/campaign/faults.so" || grep -q __asan_init "$gpdesk" ||
    grep -q __tsan_init "$gpdesk"; then
    echo "1..0 # SKIP calls cannot be intercepted here"
    exit 0
fi
# held NAME OPTIONS...: nothing is found by the drive with these.
held() {
    name=$1
    shift
    "$drive" "$@" >said 2>&1
    rc=$?
    sed 's/^/# /' said
    is "$name" "$rc" 0
}
sample=--sample=3
test "${GPDESK_CAMPAIGN:-}" = all && sample=--step=1
for scene in batch resume import export ranks; do
    test $scene = ranks && test "$sample" = --sample=3 && sample=--sample=2
    held "$scene: nothing crashes, hangs, is mute or lost" --scene=$scene "$sample"
done
# On a screen, where most of a run is waiting; every 11th request in the campaign.
step=--sample=3
test "${GPDESK_CAMPAIGN:-}" = all && step="--step=11 --jobs=8"
# shellcheck disable=SC2086
held "screen: nothing crashes or hangs, and the session is as it was" \
    --scene=screen --class=alloc $step
# A record of the session that there is no memory for is made again later.
held "import: no run lacks a part for one refused request" --scene=import --class=alloc --sample=24
# A session that there is no memory to read is not opened: requests about the reading of runs.
held "resume: no run is taken for damaged for want of memory" \
    --scene=resume --class=alloc --first=3249 --last=3252
# A read that is refused is no damage (SQLite calls it so), and one that gives a part is made again:
# every read, for they are few.
for row in "batch EIO" "export EIO" "export EINTR" "export short"; do
    # shellcheck disable=SC2086
    set -- $row
    held "$1: reads that end with $2 are told as such, or made again" \
        --scene="$1" --class=read --error="$2" --step=1
done
# What there is no memory for on the command line is no mistake of its words: requests about 202.
held "import: no memory for arguments" --scene=import --class=alloc --first=196 --last=208
# A report lacks no plot for want of memory: requests about its bins of equal counts.
held "export: no report lacks a plot" --scene=export --class=alloc --first=5840 --last=5848
# A fit lacks neither its condition number nor points of its trace without a word: requests about
# both.  A run of which the job cannot be made is not there, so that the session does not miss it.
held "ranks: no fit lacks what its iterations tell" --scene=ranks --class=alloc --first=7085 \
    --last=7104
held "screen: no run is left of a job that was not made" --scene=screen --class=alloc --first=4776 \
    --last=4787 --jobs=4
# What is refused before main changes no result either: the kernels of OpenBLAS are chosen there.
held "batch: no memory while the program is loaded" --scene=batch --class=alloc --first=1 --last=3
"$drive" --scene=batch --class=write --error=kill --sample=3 >said 2>&1
is "faults are met" "$(grep -c ' [1-9][0-9]* tried.* [1-9][0-9]* killed, 0 found' said)" 1
finish
