#!/bin/sh
# tests/bench/labels.sh BUILD [DIRECTORY] [JOB...] -- what labels.md shows, from the shared data
# sets: several classes (likelihood dirichlet) on split0, before and after a calibration by 1,000
# training rows that a new fit leaves out (iris and graph_enzymes: a fifth of them, banknote: 200),
# and prediction sets at 90 % by the same rows.  Each job leaves a file of output in DIRECTORY
# (labels) and is not run again where it exists.  Letters take minutes.
# Then the three likelihoods of several classes side by side, in DIRECTORY/three: one tuning with
# 256 features, and a fit and its score under each; of two classes bernoulli beside them, with a
# tuning of its own.  skin takes minutes under each, and letter under softmax.
# Last, in DIRECTORY/exact, two classes with the exact kernel: expectation propagation and Laplace's
# method, with and without weights of classes, before and after a temperature; of data with more
# than 5,000 training rows 4,000 of them, tuned on 1,000.
# THREADS: 1 by default; seconds are those of the processor.
build=${1:?usage: tests/bench/labels.sh BUILD [DIRECTORY] [JOB...]}
build=$(cd "$build" && pwd) src=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "${GPDESK_SHARED:-$src/../shared}/data" && pwd) || exit 77
mkdir -p "${2:-labels}" && cd "${2:-labels}" || exit 1
[ $# -gt 2 ] && shift 2 && only=" $* " || only=
top=$PWD

# Messages as in classes.sh: without the second header line, in 57 letters, at least three each.
gzip -dc "$data/smsspam/data.csv.gz" | sed 2d | LC_ALL=C awk 'NR == 1 { print "text,y"; next }
    { y = t = $0; sub(/.*,/, "", y); sub(/,[a-z]*\r?$/, "", t); t = tolower(t)
      if (t ~ /^".*"$/) t = substr(t, 2, length(t) - 2)
      gsub(/[^a-z0-9.!?&*\/:;+#$%()@=<>\x27-]/, "_", t); while (length(t) < 3) t = t "_"
      print t "," y }' >sms.csv
gzip -dc "$data/smsspam/splits.csv.gz" | sed 2d >sms_splits.csv

start() { # JOB LIKELIHOOD...: sets $begin, its rows, split and kernel
    set=${1%%-*}
    open="$data/$set/data.csv.gz target=y" kernel=rbf
    split="split file=$data/$set/splits.csv.gz column=split0"
    case $set in
    covbin10k) split='split column=split' ;;
    eeg | htru2) kernel='matern(nu=3/2)' ;;
    graph_enzymes) kernel='graph(rbf)' ;;
    hiv)
        open="$data/hiv/data.csv.gz beside=$data/hiv/fingerprints.csv.gz target=y"
        kernel=tanimoto
        ;;
    smsspam)
        open="$top/sms.csv types=text=sequence target=y" kernel='spectrum(n=3,norm=cosine)'
        split="split file=$top/sms_splits.csv column=split0"
        ;;
    splice)
        open="$open; cols sequence type=sequence; cols name role=skip
            cols splice_site role=skip"
        kernel='wd(n=6)'
        ;;
    esac
    shift
    begin="open $open; likelihood $*; $split; kernel $kernel"
}
one() { # NAME LINES: runs them once
    case ${only:-" $1 "} in *" $1 "*) ;; *) return ;; esac
    [ -s "$1.txt" ] && return
    { time -p "$build/gpdesk" --no-config --format json --threads "${THREADS:-1}" --seed 7 \
        --accept-unconverged -e "$2"; } >"$1.part" 2>&1 &&
        mv "$1.part" "$1.txt" || { grep '"type":"error"' "$1.part"; echo "$1: not finished"; }
}
job() { # NAME FEATURES ROWS [LINES]
    start "$1" dirichlet
    one "$1" "$begin; ${4:-}
        tune features=512; fit features=$2; score
        calibrate $3; score; calibrate method=conformal level=0.9; score"
}
job iris 256 share=0.2
job banknote 512 rows=200
job htru2 1024 rows=1000
job eeg 2048 rows=1000
job mnist10k 2048 rows=1000
job mnist10k-standard 2048 rows=1000 'scale x=standard'
job letter 2048 rows=1000
job covbin10k 1024 rows=1000
job graph_enzymes 512 share=0.2
job hiv 2048 rows=1000
job skin 256 rows=1000
job smsspam 512 rows=1000
job splice 1024 rows=1000

score() { # JOB NTH NAME [DIGITS]
    grep '"type":"result"' "$1.txt" | grep '"command":"score"' | sed -n "$2p" |
        grep -o "\"$3\":[-+0-9.e]*" | head -n 1 | cut -d: -f2 |
        awk -v d="${4:-3}" '{ printf "%.*f", d, $1 }'
}
echo '| job | features | error | auroc | log loss | ece | temperature | error | log loss | ece |' \
    'coverage of 90 % sets | classes in a set | processor s |'
echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
    [ -e "$f" ] || continue
    j=${f%.txt}
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$j" \
        "$(grep '"command":"fit"' "$f" | grep -o '"features":[0-9]*' | head -n 1 |
            cut -d: -f2)" \
        "$(score "$j" 1 accuracy 6 | awk '{ printf "%.4f", 1 - $1 }')" "$(score "$j" 1 auroc 4)" \
        "$(score "$j" 1 log_loss)" "$(score "$j" 1 ece)" "$(score "$j" 2 temperature)" \
        "$(score "$j" 2 accuracy 6 | awk '{ printf "%.4f", 1 - $1 }')" \
        "$(score "$j" 2 log_loss)" "$(score "$j" 2 ece)" "$(score "$j" 3 set_coverage)" \
        "$(score "$j" 3 set_size 2)" "$(sed -n 's/^user //p' "$f")"
done

# Three likelihoods.
mkdir -p three && cd three || exit 1
three() { # NAME FEATURES [WORDS]
    start "$1" dirichlet
    for l in dirichlet softmax discriminant; do
        one "$1-$l" "$begin; tune features=256 evals=12
            likelihood $l ${3:-}; fit features=$2; score"
    done
}
two() { # NAME POINTS [ROWS [WORDS]]: two classes, expectation propagation at inducing points
    start "$1" bernoulli "${4:-}"
    one "$1-bernoulli" "$begin
        tune solver=sparse inducing=100 ${3:+rows=$3 polish=no} evals=12
        fit solver=sparse inducing=$2; score"
}
three iris 256
three banknote 512
three graph_enzymes 512
three splice 1024
three covbin10k 1024
three htru2 512
three htru2-balanced 512 classweights=balanced
three skin 256
three smsspam 512
three hiv 512
three hiv-balanced 512 classweights=balanced
three letter 2048
two banknote 300
two covbin10k 300
two htru2 300
two smsspam 500 1000
two skin 100 5000
two hiv 300 5000
two htru2-balanced 300 '' classweights=balanced
two hiv-balanced 300 5000 classweights=balanced

of() { # FILE NAME DIGITS [NTH]: of the last score, or of that with this number
    grep '"type":"result"' "$1" | grep '"command":"score"' | sed -n "${4:-\$}p" |
        grep -o "\"$2\":[-+0-9.e]*" | head -n 1 | cut -d: -f2 |
        awk -v d="$3" '{ printf "%.*f", d, $1 }'
}
echo
echo '| job | likelihood | accuracy | mean over classes | log loss | ece | auroc | processor s |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
    [ -e "$f" ] || continue
    j=${f%.txt}
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "${j%-*}" "${j##*-}" \
        "$(of "$f" accuracy 4)" "$(of "$f" balanced_accuracy 4)" "$(of "$f" log_loss 4)" \
        "$(of "$f" ece 3)" "$(of "$f" auroc 4)" "$(sed -n 's/^user //p' "$f")"
done

# The exact kernel.
cd .. && mkdir -p exact && cd exact || exit 1
exact() { # NAME ROWS CALIBRATION [WORDS]: ROWS is 0 where all train
    start "$1" bernoulli "${4:-}"
    [ "$2" = 0 ] || begin="$begin; split train=$2"
    one "$1" "$begin; tune rows=1000; fit; score; calibrate $3; score"
}
exact banknote-logit 0 rows=200 link=logit
exact covbin10k-logit 0 rows=1000 link=logit
exact smsspam-logit 0 rows=1000 link=logit
exact skin-logit 4000 rows=1000 link=logit
for s in htru2 hiv; do
    exact $s-probit 4000 rows=1000
    exact $s-probit_balanced 4000 rows=1000 classweights=balanced
    exact $s-logit 4000 rows=1000 link=logit
    exact $s-logit_balanced 4000 rows=1000 'link=logit classweights=balanced'
done

cell() { # FILE NAME: of the rows of the rare class, found and others taken for it
    grep '"type":"result"' "$1" | grep '"command":"score"' | sed -n 1p |
        grep -o '"confusion":{[^}]*}' | sed 's/"[^"]*"://g' | tr -c 0-9 ' ' |
        awk '{ print $4 " (" $2 ")" }'
}
echo
echo '| job | link | training rows | accuracy | found (others) | log loss | ece | auroc |' \
    'temperature | log loss | ece | processor s |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
    [ -e "$f" ] || continue
    j=${f%.txt} link=${f##*-}
    link=${link%.txt}
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "${j%-*}" \
        "$(echo "$link" | tr _ ' ')" "$(grep '"command":"fit"' "$f" |
            grep -o '"rows":[0-9]*' | head -n 1 | cut -d: -f2)" \
        "$(of "$f" accuracy 4 1)" "$(cell "$f")" "$(of "$f" log_loss 4 1)" "$(of "$f" ece 3 1)" \
        "$(of "$f" auroc 4 1)" "$(of "$f" temperature 3 2)" "$(of "$f" log_loss 4 2)" \
        "$(of "$f" ece 3 2)" "$(sed -n 's/^user //p' "$f")"
done
