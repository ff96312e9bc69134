#!/bin/sh
# tests/screens/analyses.sh -- the analyses of tests/scripts/analyses.sh typed at the keyboard, line
# by line, in one session: from a file to a report in ten lines or fewer.
. "${srcdir:-$(dirname "$0")/../..}/tests/screens/lib.sh"
src=$(cd "${top_srcdir:-.}" && pwd)

report() { # name: types its lines; every one is taken, and the page is written
    lines=0
    while read -r line; do
        type_line "$line"
        lines=$((lines + 1))
    done <<END
$(grep -v '^#' "$work/$1.gps")
END
    waituntil test -s "$work/$1.html"
    verdict $? "$1: $lines lines make a report"
    [ "$lines" -le 10 ]
    verdict $? "$1: these are ten or fewer"
    expect "$1.html (" "$1: the screen says where it is"
    absent "error[" "$1: and no line was refused"
}

cp "$src/share/examples/co2.gps" "$work/"
start 80 24
expect "ready" "the program starts"
if [ -d "$src/../shared/data/dirty_autos" ]; then
    ln -s "$src/../shared/data" "$work/data"
    cp "$src"/tests/scripts/analyses/*.gps "$work/"
    for name in autos dates sequences; do report $name; done
else
    echo "# ../shared/data is not there: only the shipped example is typed"
    report co2
fi
leave 0 "and ends"
done_testing
