#!/bin/sh
# tests/scripts/explain.sh -- every name that a message can have in brackets has a page; pages
# follow the current numbers, and refuse what nobody has written about.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# The names in the sources: of errors, notes and warnings, of statuses, outcomes and causes.
find "$src/src" -name '*.c' -exec cat {} + | tr '\n' ' ' >all.c
{
    grep -oE 'err_named\([^%;]*' all.c | grep -oE '"[a-z][a-z0-9-]*"'
    grep -oE 'ws_(note|warn|tell)\([^"%;]*"[a-z0-9-]*"' all.c | grep -oE '"[a-z0-9-]*"$'
    grep -oE '(note|warning)\[[a-z][a-z0-9-]*\]' all.c | sed 's/.*\[\(.*\)\]/"\1"/'
    grep -oE '_\([A-Z_]+, "[a-z-]+", "' "$src/src/base/status.h" | grep -oE '"[a-z-]+"'
    sed -n '/outcome_name(enum/,/^}/p' "$src/src/compute/solvers/solver.c" | grep -oE '"[a-z]+"'
    grep -oE 'add\(s, "[a-z]+"' "$src/src/app/runs/why.c" | grep -oE '"[a-z]+"'
    grep -oE 'add\(all, n, "[a-z]+"' "$src/src/app/runs/why_classes.c" | grep -oE '"[a-z]+"'
    # names that reach a message as an argument
    grep -oE 'bad_cell\([^;]*' all.c | grep -oE '"[a-z][a-z-]*"'
} | tr -d '"' | grep -v '^[a-z]$' | sort -u >names
ok "the sources name many messages" test "$(wc -l <names)" -gt 110
sed 's/.*/explain &/' names >ask.gps
run --format json -k -f ask.gps
printf '%s\n' "$out" | grep -o '"type":"error".*' >missing
is "each has a page" "$(sed 's/.*"text":"\([^"]*\)".*/\1/' missing | tr '\n' ' ')" ""
# ... of its own, and not only the help of a command of that name.
printf '%s\n' "$out" | grep -o '"name":"[^"]*","text":"[a-z-]*: [^"]*\\nusage ' >usage
is "that is more than a command's usage" "$(cat usage)" ""

run -e 'explain all'
ok "the names are listed" test "$(printf '%s\n' "$out" | wc -w)" -gt 200
run -e 'explain coverage'
has "without a score it says so" "$out" 'Nothing has been scored'
run -q -e 'demo friedman1 n=300 seed=1; split test=40% seed=1; kernel rbf; tune; fit; score' -e \
    'explain coverage'
has "with one it speaks of it" "$out" 'r1: [0-9.]* % of 120 rows'
run -q --format json -e \
    'demo friedman1 n=300 seed=1; split test=40% seed=1; kernel rbf; tune; fit; score' \
    -e 'explain rmse'
rmse=$(printf '%s\n' "$out" | sed -n 's/.*"command":"score".*"rmse":\([0-9.]*\),.*/\1/p' | head -n \
    1)
ok "by the same numbers" sh -c "printf '%s' '$(printf '%s\n' "$out" | tail -n 1 | tr -d "'")' |
    grep -q 'on 120 rows: $(printf '%.4g' "$rmse") in units of y'"

# Alone it explains the last warning, else the last result, else the plot.
run -q -e 'demo robot n=700; kernel rbf(l=2); fit features=64 noise=0.05' -e 'explain'
has "alone: the warning" "$out" '^starved'
run -q -e 'demo robot n=300; plot columns' -e 'explain'
has "alone: the plot" "$out" '^columns: '
run -q -e 'explain'
has "alone, at the start: the program" "$out" '^gpdesk: '
run -e 'explain parity; explain threads; explain rbf; explain fit'
has "plots explain themselves" "$out" '^parity: '
has "options, with their value" "$out" '^now  *[0-9]'
has "and kernels" "$out" '^rbf'
run -e 'explain covrage'
is "an unknown name fails" "$rc" 1
has "with the nearest one" "$err" 'explain .*coverage'
run -e 'explain nosuchthingatall'
has "or the list" "$err" 'explain all'
finish
