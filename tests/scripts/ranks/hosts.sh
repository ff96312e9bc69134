#!/bin/sh
# tests/scripts/ranks/hosts.sh -- ranks on another machine, which two network namespaces play: files
# that lie there, too, are read there; other data there, or none, is noticed, and rows are sent; all
# with the bits of one process.  cut.sh takes the network away.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/net.sh"
why=$(net_why) || { echo "1..0 # SKIP $why" && exit 0; }
trap 'net_end; cd /; rm -rf "$dir"' EXIT

# Enough for a cache of its columns, of which the other machine has another copy.
awk 'BEGIN {
    srand(7)
    print "a,b,c,d,e,f,y"
    for (i = 0; i < 60000; i++) {
        for (j = 0; j < 6; j++) { x[j] = 2 * rand() - 1; printf "%.9f,", x[j] }
        printf "%.9f\n", sin(3 * x[0]) + x[1] * x[2]
    }
}' >rows.csv
fit='open rows.csv; split test=10% seed=2; set l=0.7; fit features=64 solver=pcg maxit=20'
fit="$fit plan=regenerate precond=none; predict columns=row,mean,sd out"
sent() { printf '%s\n' "$out" | grep -o '"sent":[0-9]*' | awk -F: '{ s += $2 } END { print s + 0 }'; }
over() { # name, far_ends: a fit with two ranks there
    net_quit
    net_serve "$gpdesk" "$2"
    run_near --accept-unconverged --format json --hosts far:2 --threads 2 -e "$fit=$1.csv"
    is "$1: the fit is made" "$rc" 0
    has "$1: by two processes there" "$out" '"command":"fit".*"processes":2'
    is "$1: without a warning of it" "$(printf '%s\n' "$out" | grep -c '"warning","name":"rank')" 0
    ok "$1: the same bits" cmp one.csv "$1.csv"
}
run_near() { # gpdesk in the near namespace
    # shellcheck disable=SC2086 # words
    GPDESK_SSH=$ssh $near "$gpdesk" "$@" >.out 2>.err </dev/null
    rc=$?
    out=$(cat .out)
}
run --accept-unconverged -e "$fit=one.csv"
is "one process" "$rc" 0
mkdir other none
cp -r cache/. other
# Other numbers at the same places: each file's second half comes first.
other=$(find other -type f -size +100k)
for file in $other; do
    size=$(wc -c <"$file")
    { tail -c $((size / 2)) "$file" && head -c $((size - size / 2)) "$file"; } >mixed
    cat mixed >"$file"
done
ok "the cache has files of columns" test "$(printf '%s\n' "$other" | wc -l)" -ge 7
if ! net_make "$gpdesk"; then
    echo "not ok $((n += 1)) - the namespaces cannot be joined"
    finish
fi
rows=$((54000 * 6 * 8))
over here :
ok "a file that lies there is read there" test "$(sent)" -lt $rows
over other "mount --bind '$dir/other' '$dir/cache'"
ok "other data there: rows are sent" test "$(sent)" -gt $rows
over none "mount --bind '$dir/none' '$dir/cache'"
ok "no data there: rows are sent" test "$(sent)" -gt $rows
net_quit
# Which of the two calls ends first is left to chance.
run_near --accept-unconverged --format json --hosts far:2 --threads 2 -e "$fit=nobody.csv"
has "nobody there: told" "$out" '"type":"warning".*"name":"ranks".*rank [12] of 2 on far'
ok "nobody there: the same bits" cmp one.csv nobody.csv
finish
