#!/bin/bash
# tests/campaign/cases.sh -- the campaign's named cases: terminals that go away, programs that are
# stopped, floods, full and closed outputs, limits of the machine, two programs at one file, a
# directory that vanishes, a clock that is set back.  In each the program does its work or refuses
# it with a word; nothing is corrupt, and the session opens.  GPDESK_CAMPAIGN=all: longer, more
# limits.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# A failure prints the command that repeats it: all cases, for they build on one another.
eval "$(declare -f result | sed '1s/result/tell/')"
result() {
    tell "$@"
    test "$1" -eq 0 || echo "# repeat: GPDESK_CAMPAIGN=${GPDESK_CAMPAIGN:-} top_srcdir=$src \
top_builddir=$(dirname "$gpdesk") bash $src/tests/campaign/cases.sh   (case $n)"
}

built=$(dirname "$gpdesk")
terminal=$built/tests/campaign/terminal
all=${GPDESK_CAMPAIGN:-}
GPDESK_LEARN=off OPENBLAS_NUM_THREADS=1
export GPDESK_LEARN OPENBLAS_NUM_THREADS
sanitized=no
grep -q -e __asan_init -e __tsan_init "$gpdesk" && sanitized=yes
small="demo toy n=40; split test=25%; kernel rbf; fit features=32 seed=5; score"
# A fit of minutes.
long="fit features=4096 solver=cg plan=regenerate rtol=1e-15 maxit=1000000 noise=0.0001"
long="$long variance=none"

# batch ARGS: gpdesk without a terminal; output to said and said.err, leaves $rc.
batch() {
    "$gpdesk" --no-config --threads=1 --format json -q "$@" >said 2>said.err </dev/null
    rc=$?
}
# opens NAME SESSION RUN: the session opens without an error and has the run, with its model.
opens() {
    rm -f opened.csv
    "$gpdesk" --no-config --threads=1 --format json -q -k \
        -e "resume $2; runs; predict run=$3 out=opened.csv" >opened 2>&1 </dev/null
    result $? "$1: the session opens, and its run predicts" "$(tail -n 5 opened)"
    cmp -s opened.csv whole.csv
    result $? "$1: as it did before" "$(head -n 3 opened.csv whole.csv)"
}
# words NAME: the program has done its work, or has ended with status 5 (or 1 to 4, a refusal) and
# an error that has a text.
words() {
    if test "$rc" -eq 0; then
        result 0 "$1: done"
    else
        test "$rc" -le 5 && { grep -q '"type":"error".*"message":"[^"]' said ||
            grep -q 'gpdesk: .' said.err; }
        result $? "$1: refused with a word" "status $rc: $(tail -n 2 said said.err)"
    fi
}

batch -s w.gpd -e "$small; predict out=whole.csv"
is "without trouble" "$rc" 0

# The terminal.
if "$terminal" "$gpdesk" probe.gpd "wait:gpdesk>" type:quit end >probe 2>&1; then
    for how in close hup; do
        s=$how.gpd
        said=$("$terminal" "$gpdesk" $s "wait:gpdesk>" "type:$small" "wait:baselines:" \
            "type:demo friedman1 n=20000; $long" "wait:20,000 rows" type:jobs wait:r2 $how end 2>&1)
        result $? "terminal gone in mid job ($how): the program ends" "$said"
        opens "terminal gone ($how)" $s r1
        ok "terminal gone ($how): the job is kept" grep -q '{"run":"r2"' opened
    done
    ms=1000
    test "$all" = all && ms=10000
    said=$("$terminal" "$gpdesk" stop.gpd "wait:gpdesk>" "type:$small" "wait:baselines:" \
        "type:demo friedman1 n=20000; $long" "wait:20,000 rows" type:jobs wait:r2 stop:$ms key:C \
        type:quit end 2>&1)
    is "stopped for $ms ms in mid job, then quit" "$said" "exit 0"
    opens "stopped" stop.gpd r1
    bytes=200000
    said=$("$terminal" "$gpdesk" paste.gpd "wait:gpdesk>" "type:$small" "wait:baselines:" \
        paste:$bytes key:C "type:note r1 kept" "wait:kept" type:quit end 2>&1)
    is "a paste of $bytes bytes, then quit" "$said" "exit 0"
    opens "paste" paste.gpd r1
    # pasted HOW SCREEN: 10 MB in mid job, with the marks of a paste or without, and Enter; the job
    # goes on, memory is bounded, the next commands are answered, and none of the text is run.
    pasted() {
        said=$(TERMINAL_SCREEN=$2 "$terminal" "$gpdesk" "$1$2.gpd" "wait:gpdesk>" \
            "type:$small" "wait:baselines:" "type:demo friedman1 n=200000; $long" \
            "wait:200,000 rows" "wait:gpdesk>" "$1:10000003" type: "type:jobs" "wait:/1000000" \
            memory:500000 key:C "type:note r1 kept" "wait:kept" "type:quit" end 2>&1)
        is "10 MB in mid job ($1${2:+, screen}), then quit" "$said" "exit 0"
        opens "10 MB ($1${2:+, screen})" "$1$2.gpd" r1
        ok "10 MB ($1${2:+, screen}): the job was kept" grep -q '{"run":"r2"' opened
        ok "10 MB ($1${2:+, screen}): the note is there" grep -q '"note":"kept"' opened
    }
    if test "$all" = all && test $sanitized = no; then
        pasted paste ''
        pasted pasted ''
        pasted paste 1
        pasted pasted 1
        # One byte more than a line may hold (ui/prompt.c): what is left when it ends is no command.
        said=$(TERMINAL_SCREEN=1 "$terminal" "$gpdesk" paste.gpd "wait:gpdesk>" paste:1052673 \
            "type:star r1" "wait:grew beyond 1 MB" "type:note r1 again" "wait:again" \
            type:quit end 2>&1)
        is "a line of more than 1 MB, then quit" "$said" "exit 0"
        opens "a long line" paste.gpd r1
        ok "a long line: the next one is read" grep -q '"note":"again"' opened
        ok "a long line: its end is not" grep -q '"star":false' opened
    fi
else
    echo "# no pseudo-terminal: $(cat probe)"
fi
{ printf 'demo toy n=40\nnote '; head -c 10000000 /dev/zero | tr '\0' 'a'; printf '\n%s\n' "$small"
} | tr ';' '\n' >flood.gps
batch -k -s flood.gpd -f flood.gps
words "a script with a line of 10 MB"
"$gpdesk" --no-config --threads=1 -q -s flood2.gpd <flood.gps >said 2>said.err
rc=$?
ok "10 MB on stdin: no crash" test $rc -le 5

# Standard output.
"$gpdesk" --no-config -q -s full.gpd -e "$small" >/dev/full 2>said.err </dev/null
is "stdout full: status" $? 5
ok "stdout full: a word" grep -q 'gpdesk: .' said.err
batch -k -e "resume full.gpd; runs" # the batch ended at its first line
is "stdout full: the session opens" "$rc" 0
"$gpdesk" --no-config -q -s closed.gpd -e "$small" >&- 2>said.err </dev/null
rc=$?
: >said
words "stdout closed"
opens "stdout closed" closed.gpd r1
"$gpdesk" --no-config -q -s none.gpd -e "$small" >&- 2>&- <&-
ok "all three closed: it ends" test $? -le 5
opens "all three closed" none.gpd r1

# Limits of the machine.
if test $sanitized = no; then
    sizes="60000 200000"
    test "$all" = all && sizes=$(seq 20000 10000 600000)
    for kb in $sizes; do
        cp w.gpd as.gpd
        (ulimit -v "$kb"; batch -s as.gpd -e "$small"; echo $rc >rc) 2>/dev/null
        rc=$(cat rc)
        # Before main the loader may refuse, in its own words.
        test "$rc" -eq 127 && grep -q 'error while loading' said.err ||
            words "address space of $kb KB"
    done
    opens "address space" as.gpd r1
fi
files="0 3 4 6 8 12"
test "$all" = all && files=$(seq 0 40)
for k in $files; do
    cp w.gpd files.gpd
    (ulimit -n "$((k + 3))"; batch -s files.gpd -e "$small"; echo $rc >rc) 2>/dev/null
    rc=$(cat rc)
    test "$rc" -eq 127 || words "$k more open files"
done
opens "open files" files.gpd r1
as_nobody=
if test "$(id -u)" = 0; then # the limit is none for root
    as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
    chmod 755 "$dir"
    mkdir threads
    chmod 777 threads
else
    mkdir threads
fi
if $as_nobody test -x "$gpdesk" 2>/dev/null; then
    (
        cd threads || exit 99
        ulimit -u 1
        XDG_STATE_HOME=$dir/threads XDG_CACHE_HOME=$dir/threads XDG_CONFIG_HOME=$dir/threads \
            $as_nobody "$gpdesk" --no-config --threads=2 --format json -q -s x.gpd -e "$small"
        echo $? >rc
    ) >said 2>said.err </dev/null
    rc=$(cat threads/rc)
    words "no threads and no children"
fi

# Two programs at one session, one cache, one file.
# At least one does its work; what is refused says why; and every run that was done is kept.
rounds=4 strange='' idle=0 lost=''
test "$all" = all && rounds=100
for round in $(seq $rounds); do
    rm -f two.gpd*
    for i in 1 2 3 4; do
        "$gpdesk" --no-config --threads=1 --format json -q -s two.gpd -e "$small" >two.$i 2>&1 \
            </dev/null &
        eval "p$i=$!"
    done
    done=0
    for i in 1 2 3 4; do
        eval "wait \$p$i"
        rc=$?
        test $rc -eq 0 && done=$((done + 1))
        test $rc -eq 0 || grep -q 'two.gpd is open in another gpdesk' two.$i || strange="$strange
$rc $(tail -n 2 two.$i)"
    done
    test $done -gt 0 || idle=$((idle + 1))
    batch -k -e "resume two.gpd; runs"
    kept=$(grep -o '{"run":"r[0-9]*"' said | sort -u | wc -l)
    test "$kept" -eq $done || lost="$lost round $round: $done done, $kept kept;"
done
is "four programs make one session: done, or refused as open" "$strange" ""
is "four programs make one session: never all refused, $rounds times" $idle 0
is "four programs make one session: what was done is kept" "$lost" ""
opens "four programs at one session" two.gpd r1
# Large enough for the cache of tables.
awk 'BEGIN {
    for (j = 0; j < 40; j++) printf "c%d,", j
    print "y"
    for (i = 0; i < 20000; i++) {
        for (j = 0; j < 40; j++) printf "%d,", (i * 7919 + j * i * 31) % 999983
        print i % 53
    }
}' >big.csv
shared="open big.csv target=y; split test=10%; kernel rbf; fit features=16 seed=1"
shared="$shared; predict out=shared.csv"
for i in 1 2 3; do
    "$gpdesk" --no-config --threads=1 --format json -q -k -e "$shared" >cache.$i 2>&1 </dev/null &
    eval "p$i=$!"
done
good=0
for i in 1 2 3; do
    eval "wait \$p$i" && good=$((good + 1))
done
is "three programs with one cache and one file: all done" "$good" 3
cp shared.csv first.csv
batch -k -e "$shared"
is "one more, from the cache" "$rc" 0
ok "and the file is whole" cmp first.csv shared.csv
ok "there was a cache" test -n "$(find "$XDG_CACHE_HOME" -name '*.npy' 2>/dev/null | head -n 1)"
ok "nothing is left beside it" test -z "$(ls -d .*part* ./*.part* shared.csv?* 2>/dev/null)"

# Two programs export a run into one file, and save a session to one path.
batch -k -e "resume w.gpd; export r1 out=alone.json"
is "an export alone" "$rc" 0
rounds=4 strange='' half='' lost=''
test "$all" = all && rounds=100
for round in $(seq $rounds); do
    rm -f one.json one.gpd* a.gpd* b.gpd*
    cp w.gpd a.gpd
    cp w.gpd b.gpd
    for s in a b; do
        "$gpdesk" --no-config --threads=1 --format json -q -s $s.gpd \
            -e "export r1 out=one.json; save one.gpd" >two.$s 2>&1 </dev/null &
        eval "p$s=$!"
    done
    done=0
    for s in a b; do
        eval "wait \$p$s"
        rc=$?
        test $rc -eq 0 && done=$((done + 1))
        test $rc -le 5 && { test $rc -eq 0 || grep -q '"type":"error".*"message":"[^"]' two.$s; } ||
            strange="$strange $rc $(tail -n 1 two.$s)"
        grep -q '"command":"export".*"out":"one.json"' two.$s || strange="$strange $s: no export;"
    done
    test $done -gt 0 || strange="$strange round $round: both were refused;"
    cmp -s one.json alone.json || half="$half $round"
    batch -k -e "resume one.gpd; runs; predict run=r1 out=opened.csv"
    test "$rc" -eq 0 && cmp -s opened.csv whole.csv || lost="$lost $round: $(tail -n 1 said)"
done
is "two programs export to one file and save to one path: done, or refused" "$strange" ""
is "two programs export to one file: it is whole" "$half" ""
is "two programs save to one path: the session opens and predicts as before" "$lost" ""
ok "two programs at one path: nothing is left" test -z "$(ls -d ./*.part* .*part* 2>/dev/null)"

# The working directory goes.
mkdir gone
(
    cd gone || exit 99
    "$gpdesk" --no-config --threads=1 --format json -s x.gpd \
        -e "$small; demo friedman1 n=20000" -e "$long" >../said 2>../said.err </dev/null &
    pid=$!
    for _ in $(seq 1200); do
        grep -q '"phase":"cg"' ../said && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    rm -rf ../gone
    kill -INT $pid
    wait $pid
    echo $? >../rc
)
rc=$(cat rc)
ok "directory removed in mid job: not a success" test "$rc" -ne 0
ok "directory removed in mid job: no crash" test "$rc" -le 5 -o "$rc" -eq 130
has "directory removed in mid job: a word" "$(cat said)" 'removed or moved'
mkdir gone
(
    cd gone || exit 99
    rmdir ../gone
    "$gpdesk" --no-config --threads=1 --format json -q -s x.gpd -e "$small" >"$dir/said" \
        2>"$dir/said.err" </dev/null
    echo $? >"$dir/rc"
)
rc=$(cat rc)
words "started in a directory that is gone"

# The clock is set back: each look at it is an hour earlier than the one before.
if test $sanitized = no && test -f "$built/tests/campaign/faults.so"; then
    for how in -3600 3600000; do
        rm -f clock.gpd
        FAULT_CLOCK=$how LD_PRELOAD=$built/tests/campaign/faults.so "$gpdesk" --no-config \
            --threads=1 --format json -q -s clock.gpd -e "$small; save" >said 2>said.err </dev/null
        is "a clock that goes $how s at each look" $? 0
        opens "a clock that goes $how s" clock.gpd r1
    done
fi
finish
