#!/bin/sh
# tests/scripts/hints.sh -- what a message says to try exists: in every hint of the source that
# starts like a command line, and in every "try: ..." inside a message, the verb is in the table.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort -u >verbs
ok "there are verbs" test "$(wc -l <verbs)" -gt 30

# Words that start a hint without being a command: plain advice, programs, options of a command.
cat >prose <<'END'
a
apt-get
ard
average
choose
conv
copy
correct
degree
each
fastconv
fill
give
gpdesk
graph
iconv
inside
install
is
its
keep
look
make
mend
mpirun
name
near
numpy.save
one
out
precond
raise
rename
solver
ssh
the
twice
types
unknown
unmatched
unpack
unset
without
write
END

hints() { # the string that follows err_hint(x, on the same or the next line
    find "$src/src" -name '*.c' -exec cat {} + | tr '\n' ' ' |
        grep -oE 'err_hint\([^"%;]*"[^"]+|ws_tell\([^"]*("[^"]*"|[A-Z_a-z0-9, ]+)*"[^"]+' | grep \
            -oE 'err_hint\([^"]*".*' |
        sed 's/^err_hint([^"]*"//'
}
hints >all
ok "there are hints" test "$(wc -l <all)" -gt 60
sed -n 's/^\([a-z][a-z.-]*\).*/\1/p' all | sort -u >first
{ cat verbs prose; } | sort -u >known
is "every hint starts with a command or is plain advice" "$(comm -23 first known | tr '\n' ' ')" ""

# "try: fit, then score" in a message, not in a comment: the first word.
find "$src/src" -name '*.c' -exec cat {} + | grep -vE '^ *(/?\*|//)' |
    grep -oE '[^a-z]try: [a-z]+' | sed 's/.*try: //' |
    sort -u >tried
ok "messages say what to try" test -s tried
printf 'another\nmore\n' | sort - verbs >known
is "every 'try:' names a command" "$(comm -23 tried known | tr '\n' ' ')" ""

for run in "t1=tune starts" "r1=fit continue=r1 continues" "other=sessions"; do
    ok "resume ${run%%=*} says what to do" sh -c '"$1" --no-config -q -e "demo toy" -e "tune features=32 evals=2" \
        -e "fit features=32" -e "resume $2" 2>&1 | grep -F "try  $3"' sh "$gpdesk" "${run%%=*}" "${run#*=}"
done
finish
