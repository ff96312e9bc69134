#!/bin/sh
# tests/bench/labels.sh BUILD [DIRECTORY] [JOB...] -- what labels.md shows, from the shared data
# sets: several classes (likelihood dirichlet) on split0, before and after a calibration by 1,000
# training rows that a new fit leaves out (iris: a fifth of them, banknote: 200), and prediction
# sets at 90 % by the same rows.  Each job leaves a file of output in DIRECTORY (labels) and is not
# run again where it exists.  Letters take minutes.
# Then the three likelihoods of several classes side by side, in DIRECTORY/three: one tuning with
# 256 features, and a fit and its score under each; of two classes bernoulli beside them, with a
# tuning of its own.  skin takes minutes under each, and letter under softmax.
build=${1:?usage: tests/bench/labels.sh BUILD [DIRECTORY] [JOB...]}
build=$(cd "$build" && pwd) src=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "${GPDESK_SHARED:-$src/../shared}/data" && pwd) || exit 77
mkdir -p "${2:-labels}" && cd "${2:-labels}" || exit 1
[ $# -gt 2 ] && shift 2 && only=" $* " || only=

job() { # NAME KERNEL FEATURES ROWS [LINES]
    case ${only:-" $1 "} in *" $1 "*) ;; *) return ;; esac
    [ -s "$1.txt" ] && return
    set=${1%%-*}
    { time -p "$build/gpdesk" --no-config --format json --threads 1 --seed 7 -e "
        open $data/$set/data.csv.gz target=y; likelihood dirichlet; ${5:-}
        split file=$data/$set/splits.csv.gz column=split0; kernel $2
        tune features=512; fit features=$3; score
        calibrate $4; score; calibrate method=conformal level=0.9; score"
    } >"$1.part" 2>&1 &&
        mv "$1.part" "$1.txt" || { grep '"type":"error"' "$1.part"; echo "$1: not finished"; }
}
job iris rbf 256 share=0.2
job banknote rbf 512 rows=200
job htru2 'matern(nu=3/2)' 1024 rows=1000
job eeg 'matern(nu=3/2)' 2048 rows=1000
job mnist10k rbf 2048 rows=1000
job mnist10k-standard rbf 2048 rows=1000 'scale x=standard'
job letter rbf 2048 rows=1000

score() { # JOB NTH NAME [DIGITS]
    grep '"type":"result"' "$1.txt" | grep '"command":"score"' | sed -n "$2p" |
        grep -o "\"$3\":[-+0-9.e]*" | head -n 1 | cut -d: -f2 |
        awk -v d="${4:-3}" '{ printf "%.*f", d, $1 }'
}
echo '| job | features | error | auroc | log loss | ece | temperature | error | log loss | ece |' \
    'coverage of 90 % sets | classes in a set | processor s |'
echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
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
one() { # NAME LINES
    case ${only:-" $1 "} in *" $1 "*) ;; *) return ;; esac
    [ -s "$1.txt" ] && return
    { time -p "$build/gpdesk" --no-config --format json --threads 1 --seed 7 \
        --accept-unconverged -e "$2"; } >"$1.part" 2>&1 &&
        mv "$1.part" "$1.txt" || { grep '"type":"error"' "$1.part"; echo "$1: not finished"; }
}
three() { # NAME OPEN KERNEL FEATURES [WORDS]
    set=${1%%-*}
    split="split file=$data/$set/splits.csv.gz column=split0"
    [ -e "$data/$set/splits.csv.gz" ] || split='split column=split'
    [ "$set" = smsspam ] && split='split file=sms_splits.csv column=split0'
    start="open $2; likelihood dirichlet; $split; kernel $3; tune features=256 evals=12"
    for l in dirichlet softmax discriminant; do
        one "$1-$l" "$start; likelihood $l ${5:-}; fit features=$4; score"
    done
}
two() { # NAME OPEN KERNEL POINTS [ROWS]: two classes, expectation propagation at inducing points
    set=${1%%-*}
    split="split file=$data/$set/splits.csv.gz column=split0"
    [ -e "$data/$set/splits.csv.gz" ] || split='split column=split'
    [ "$set" = smsspam ] && split='split file=sms_splits.csv column=split0'
    one "$1-bernoulli" "open $2; likelihood bernoulli; $split; kernel $3
        tune solver=sparse inducing=100 ${5:+rows=$5 polish=no} evals=12
        fit solver=sparse inducing=$4; score"
}
three iris "$data/iris/data.csv.gz target=y" rbf 256
three banknote "$data/banknote/data.csv.gz target=y" rbf 512
three graph_enzymes "$data/graph_enzymes/data.csv.gz target=y" 'graph(rbf)' 512
three splice "$data/splice/data.csv.gz target=y; cols sequence type=sequence
    cols name role=skip; cols splice_site role=skip" 'wd(n=6)' 1024
three covbin10k "$data/covbin10k/data.csv.gz target=y" rbf 1024
three htru2 "$data/htru2/data.csv.gz target=y" 'matern(nu=3/2)' 512
three htru2-balanced "$data/htru2/data.csv.gz target=y" 'matern(nu=3/2)' 512 \
    classweights=balanced
three skin "$data/skin/data.csv.gz target=y" rbf 256
# Messages as in classes.sh: without the second header line, in 57 letters, at least three each.
gzip -dc "$data/smsspam/data.csv.gz" | sed 2d | LC_ALL=C awk 'NR == 1 { print "text,y"; next }
    { y = t = $0; sub(/.*,/, "", y); sub(/,[a-z]*\r?$/, "", t); t = tolower(t)
      if (t ~ /^".*"$/) t = substr(t, 2, length(t) - 2)
      gsub(/[^a-z0-9.!?&*\/:;+#$%()@=<>\x27-]/, "_", t); while (length(t) < 3) t = t "_"
      print t "," y }' >sms.csv
gzip -dc "$data/smsspam/splits.csv.gz" | sed 2d >sms_splits.csv
three smsspam 'sms.csv types=text=sequence target=y' 'spectrum(n=3,norm=cosine)' 512
hiv="$data/hiv/data.csv.gz beside=$data/hiv/fingerprints.csv.gz target=y"
three hiv "$hiv" tanimoto 512
three hiv-balanced "$hiv" tanimoto 512 classweights=balanced
three letter "$data/letter/data.csv.gz target=y" rbf 2048
two banknote "$data/banknote/data.csv.gz target=y" rbf 300
two covbin10k "$data/covbin10k/data.csv.gz target=y" rbf 300
two htru2 "$data/htru2/data.csv.gz target=y" 'matern(nu=3/2)' 300
two smsspam 'sms.csv types=text=sequence target=y' 'spectrum(n=3,norm=cosine)' 500 1000
two skin "$data/skin/data.csv.gz target=y" rbf 100 5000
two hiv "$hiv" tanimoto 300 5000

of() { # FILE NAME DIGITS
    grep '"type":"result"' "$1" | grep '"command":"score"' | tail -n 1 |
        grep -o "\"$2\":[-+0-9.e]*" | head -n 1 | cut -d: -f2 |
        awk -v d="$3" '{ printf "%.*f", d, $1 }'
}
echo
echo '| job | likelihood | accuracy | mean over classes | log loss | ece | auroc | processor s |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
for f in *.txt; do
    j=${f%.txt}
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "${j%-*}" "${j##*-}" \
        "$(of "$f" accuracy 4)" "$(of "$f" balanced_accuracy 4)" "$(of "$f" log_loss 4)" \
        "$(of "$f" ece 3)" "$(of "$f" auroc 4)" "$(sed -n 's/^user //p' "$f")"
done
