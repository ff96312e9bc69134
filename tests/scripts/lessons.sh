#!/bin/sh
# tests/scripts/lessons.sh -- every bundled lesson runs through, with its claims, for two seeds;
# answers are judged; a lecturer's own files; broken ones are refused with their line.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"
XDG_DATA_HOME=$dir/data
export XDG_DATA_HOME

run --format json -e 'lesson'
printf '%s\n' "$out" | grep -o '"lesson":"[^"]*"' | sed 's/.*:"\(.*\)"/\1/' >ids
files=$(ls "$src/share/lessons" | sed -n 's/^0*\([1-9][0-9]*\)-.*\.lesson$/\1/p' | tr '\n' ' ')
is "the lessons" "$(tr '\n' ' ' <ids)" "${files}tour "
before() { # lesson 14 is about the student's own data
    test "$1" = 14 && echo 'demo friedman1 n=120 seed=3'
}
for id in $(cat ids); do
    for seed in 1 5; do
        case $id$seed in 55|75|95|105|145|tour5) continue ;; esac # the long ones once
        run --format json -e "$(before "$id")" -e "lesson $id all seed=$seed"
        # 3: a solver of the race has not come to its end, which is the point of it
        ok "lesson $id runs through with seed $seed" test "$rc" -eq 0 -o "$id $rc" = "10 3"
        is "to its end" "$(printf '%s\n' "$out" | grep -c '"command":"lesson".*"state":"ended"')" 1
        is "without an error" "$(printf '%s\n' "$out" | grep '"type":"error"')" ""
        ok "each line is JSON" sh -c "'$jsonl' check <'$dir/.out'"
        test "$id" = tour ||
            ok "with questions that have answers" test "$(printf '%s\n' "$out" |
                grep -c '"command":"answer".*"answer":"[^"]')" -ge 3
    done
done

# Step by step, as a student does it; the right answer is the one that the run above told.
answers() { # lesson: its right answers in order
    run --format json -e "$(before "$1")" -e "lesson $1 all seed=2"
    printf '%s\n' "$out" | sed -n 's/.*"command":"answer".*"answer":"\([^")]*\).*/\1/p'
}
answers 3 >right
n3=$(wc -l <right)
{ # read, run, answer rightly
    echo 'lesson 3 seed=2'
    i=0
    while test "$i" -lt 30; do
        i=$((i + 1))
        echo 'lesson next'
    done
} >walk.gps
run --format json -k -f walk.gps
ok "going on comes to the end" test "$(printf '%s\n' "$out" | grep -c '"state":"ended"')" -ge 1
has "and counts nothing as right" "$out" '"state":"ended","right":0,"wrong":0'

run --format json -e 'lesson 1 quiz' -e 'answer 0.47'
has "a quiz about figures not made yet says so" "$out" 'earlier steps compute.*"try":"lesson 1"'
{ # all steps of lesson 1 run, its questions answered as they should be
    echo 'lesson 1 seed=2'
    for i in 1 2 3 4 5 6; do echo 'lesson next'; done
    echo 'answer b'
    for i in 1 2 3 4 5 6 7 8 9; do echo 'lesson next'; done
    echo 'answer 0.47; answer 3.92; answer 2'
} >walk1.gps
run --format json -k -f walk1.gps
is "numbers are judged by the student's own figures" "$(printf '%s\n' "$out" | grep -c '"right":true')" 3
has "a choice is no number" "$out" 'is not one of the answers a to c'
run --format json -e 'lesson 1 step=4' -e 'answer a'
has "a wrong answer is told so" "$out" '"right":false,"answer":"b) rough'
run --format json -e 'lesson 1 step=4' -e 'answer b'
has "a right one too" "$out" '"right":true'
run --format json -e 'lesson 1 step=4' -e 'answer x'
is "one that is none is refused" "$rc" 1
run --format json -e 'lesson 1 step=4' -e 'answer b' -e 'answer b'
has "and one too many" "$out" '"name":"no-question"'
run -e 'answer b'
has "without a lesson nothing is asked" "$err" 'error\[no-lesson\]'
run -e 'lesson next'
has "nor goes on" "$err" 'error\[no-lesson\]'
run -e 'lesson 99'
has "an unknown lesson lists the known ones" "$err" 'there are 1, 2, 3'
run -e 'lesson 1 step=77'
has "a step too far" "$err" 'has [0-9]* steps'

# A lecturer's own file, checked, run from its place, and found in the data directory.
cat >my.lesson <<'END'
# 3 My own
summary Mine.
minutes 1
== Read
Text with {noise} in it.
> demo toy n=30 seed={seed}
: rows_kept = rows
@ rows_kept = 30
== Quiz
? How many rows?
= rows +- 1%
! As many as were asked for.
? Is that many?
- yes
+ no
END
run -e 'lesson check ./my.lesson'
has "a file is checked" "$out" '2 steps, 1 commands, 2 questions; well formed'
run --format json -e 'lesson ./my.lesson seed=4' -e 'lesson next' -e 'lesson next' -e 'answer 30' \
    -e 'answer b' \
    -e 'lesson next'
is "and run from where it is" "$rc" 0
has "with the student's seed" "$out" '"line":"demo toy n=30 seed=4"'
has "two right answers" "$out" '"state":"ended","right":2,"wrong":0,"told":0'
mkdir -p "$XDG_DATA_HOME/gpdesk/lessons"
cp my.lesson "$XDG_DATA_HOME/gpdesk/lessons/"
printf '# 8 Broken\n== S\n> nosuch\n' >"$XDG_DATA_HOME/gpdesk/lessons/broken.lesson"
run -e 'lesson'
has "in the directory it takes the bundled one's place" "$out" \
    'lesson 3 *My own (1 min)   from your directory'
has "a broken one is left out with its line" "$err" 'line 3 of .*broken.lesson'
run -e 'lesson 8 all seed=1'
is "and the bundled one is still there" "$rc" 0
printf '# 1 T\n== S\nText.\n\n> fit rank=x\n' >bad.lesson
run -e 'lesson check ./bad.lesson'
is "a mistake is an input's fault" "$rc" 4
has "with its line" "$err" 'line 5 of ./bad.lesson'
printf '# 1 T\n== S\n> demo toy n=30\n@ rows = 31\n' >claim.lesson
run -e 'lesson ./claim.lesson all'
is "a claim that does not come out fails when run through" "$rc" 1
has "with its line" "$err" "line 4 of ./claim.lesson: 'rows = 31' does not hold"
run -e 'lesson ./claim.lesson; lesson next'
is "a student is only told" "$rc" 0
has "in a note" "$err" 'note\[lesson\]'
run -e 'lesson ./nothere.lesson'
is "no such file" "$rc" 4
head -c 3000 "$gpdesk" >binary.lesson
run -e 'lesson ./binary.lesson'
ok "a binary is refused" test "$rc" -ne 0
# Commands of a lesson are lines like any others: they are in the script that repeats them.
run -q -e 'lesson ./my.lesson all seed=6' -e script
has "the script has the lesson's lines" "$out" '^demo toy n=30 seed=6'
finish
