#!/bin/sh
# tests/scripts/signals.sh -- a batch that is stopped: the best iterate is kept, the status says it.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

# A fit that would take minutes; it is stopped once it iterates.
start() {
    rm -f run.json s.gpd
    "$gpdesk" --format json -s s.gpd -e 'demo friedman1 n=20000; split test=10%' \
        -e 'fit features=4096 solver=cg plan=regenerate rtol=1e-15 maxit=1000000 noise=0.0001 variance=none' -e 'score' \
        >run.json 2>run.err &
    pid=$!
    for i in $(seq 1200); do
        grep -q '"phase":"cg"' run.json && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
}

start
kill -INT $pid
wait $pid
is "SIGINT gives 130" $? 130
ok "every line is a record" "$jsonl" check <run.json
is "the fit ended as cancelled" "$("$jsonl" get fit '$.outcome' <run.json)" cancelled
is "what followed was not run" "$("$jsonl" type result score <run.json)" 0
"$gpdesk" --format json -s s.gpd -e runs >after.json 2>/dev/null
is "the session has the run" "$("$jsonl" get runs '$.runs[0].run' <after.json)" r1

start
kill -TERM $pid
wait $pid
is "SIGTERM gives 143" $? 143
is "and keeps the run" "$("$jsonl" get fit '$.outcome' <run.json)" cancelled

# Restarts: the one that runs keeps its best, those that wait never begin, and the best of all is
# taken.
rm -f run.json
"$gpdesk" --format json -s t.gpd -e \
    'demo friedman1 n=3000 seed=1; kernel rbf; tune features=1024 restarts=4 evals=6; fit' \
    >run.json 2>run.err &
pid=$!
for i in $(seq 1200); do
    grep -q '"type":"tick","run":"t2"' run.json && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
kill -INT $pid
wait $pid
is "SIGINT among restarts gives 130" $? 130
is "the best so far is taken" "$("$jsonl" get restarts '$.best' <run.json)" t1
is "the second was stopped" "$("$jsonl" get restarts '$.runs[1].state' <run.json)" stopped
is "the third has nothing" "$("$jsonl" get restarts '$.runs[2].nmll' <run.json)" null
is "and nothing was fitted" "$("$jsonl" type result fit <run.json)" 0
"$gpdesk" --format json -s t.gpd -e 'runs; set' >after.json 2>/dev/null
is "the session has all four" "$("$jsonl" get runs '$.runs[3].run' <after.json)" t4
is "no time for one that never began" "$("$jsonl" get runs '$.runs[3].seconds' <after.json)" null
is "and what the best found" "$("$jsonl" get set '$.settings[0].by' <after.json)" 'tuned by t1'

# Stopped while it searched on a sample: the value is told as what it is.  Lines of the run before
# would be taken for its own, and a signal before the program begins is lost.
rm -f run.json
"$gpdesk" --format json -e \
    'demo friedman1 n=30000 seed=1; kernel rbf; tune features=4096 nmll=approx' >run.json \
    2>run.err &
pid=$!
for i in $(seq 1200); do
    grep -q '"phase":"tune","evaluations":' run.json && break # the first of some 15 on the sample
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
kill -INT $pid
wait $pid
is "SIGINT in a search gives 130" $? 130
is "its value is of a sample" "$("$jsonl" get tune '$.sampled' <run.json)" 1
is "without an error from probes" "$("$jsonl" get tune '$.nmll_error' <run.json)" null
is "or a rank" "$("$jsonl" get tune '$.rank' <run.json)" null

# A script from a pipe that nobody writes to.
mkfifo fifo
"$gpdesk" -f fifo >fifo.out 2>&1 &
pid=$!
sleep 0.5
kill -TERM $pid
wait $pid
is "TERM while a script is awaited" $? 143

finish
