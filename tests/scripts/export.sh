#!/bin/sh
# tests/scripts/export.sh -- a run as JSON, CSV, NPY and words: the figures of the program itself,
# read back by others where they are there.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

data='demo friedman1 n=160 seed=3; split test=25% seed=1; kernel rbf(ard); tune features=64 evals=5;
fit features=128 solver=pcg rank=16; score'
"$gpdesk" --format json -q -e "$data" -e 'export out=r1.json; export out=r1.csv; export out=r1.npy;
    export what=trace out=trace.csv; export t1 out=t1.csv; export r1; pca dims=3
    export what=coordinates out=pca.npy; predict out=pred.csv' >run.json
is "exports" $? 0
ok "JSON lines" "$jsonl" check <run.json
ok "the JSON file is a record" "$jsonl" check <r1.json
ok "its keys" "$jsonl" has export program run kind kernel data.checksum data.inputs data.targets \
    settings.seed result.iterations result.hyperparameters.lengthscale scores trace.residual \
    tuned_by <r1.json
is "its rmse is that of score" "$("$jsonl" get export '$.scores[0].raw.rmse' <r1.json)" \
    "$("$jsonl" get score '$.rmse' <run.json)"
is "the tuning is known" "$("$jsonl" get export '$.tuned_by' <r1.json)" t1
is "rows of the CSV: the 40 test rows" "$(awk -F, 'NR > 1 && $2 == 2' r1.csv | wc -l | tr -d ' ')" \
    40
ok "its means are those of predict" awk -F, 'NR == FNR { if (FNR > 1) m[$1] = $2; next }
    FNR > 1 && $2 == 2 { n++; d = m[$1] - $4; if (d * d > 1e-18) bad = 1 } END { exit bad || n != 40 }' \
    pred.csv r1.csv
ok "rmse from the CSV" awk -F, -v want="$("$jsonl" get score '$.rmse' <run.json)" \
    'NR > 1 && $2 == 2 {
    s += ($3 - $4) ^ 2; n++ } END { d = sqrt(s / n) / want - 1; exit d * d > 1e-20 }' r1.csv
is "columns of a tuning" "$(head -n 1 t1.csv | cut -d, -f1-3)" 'evaluation,nmll,lengthscale[1]'
is "its least nmll is the result" "$(awk -F, \
    'NR == 2 || $2 < best { best = $2 } END { printf "%.8g", best }' \
    t1.csv)" "$("$jsonl" get tune '$.nmll' <run.json | awk '{ printf "%.8g", $1 }')"
is "the trace ends at the last iteration" "$(tail -n 1 trace.csv | cut -d, -f1)" \
    "$("$jsonl" get fit '$.iterations' <run.json)"
is "an NPY file: 128 bytes of head, 128 weights" "$(wc -c <r1.npy | tr -d ' ')" $((128 + 8 * 128))
text=$("$jsonl" get export '$.text' <run.json | tail -n 1)
run -q -e "$data; export"
for word in '160 rows' '120 training and 40 test' 'rbf(ard=10)' '128 random features' \
    'preconditioner of rank 16' \
    'Bayesian optimisation' 'coverage\|95 % interval' 'Frangella' 'seed'; do
    has "the paragraph says $word" "$out" "$word"
done
# What was moved after the tuning is not called the minimum of the likelihood, nor unscaled data standardised.
run -q --format json -e "$data; tune features=64 evals=12; fit features=512; export"
tuned=$("$jsonl" get tune '$.hyperparameters.amplitude' <.out | tail -n 1 | awk '{ printf "%.4g", $1 }')
fitted=$("$jsonl" get fit '$.hyperparameters.amplitude' <.out | tail -n 1 | awk '{ printf "%.4g", $1 }')
ok "the fit moved its amplitude" test "$fitted" != "$tuned"
has "and the paragraph says from where" "$("$jsonl" get export '$.text' <.out)" \
    "amplitude $fitted, noise [0-9.]*; the fit moved amplitude $tuned and noise [0-9.]* to these values"
run -q -e "$data; tune features=64 evals=12; fit features=64 rescale=no; export"
ok "rescale=no: nothing was moved" test -z "$(printf '%s\n' "$out" | grep 'the fit moved')"
# Of several targets the ratio of noise to amplitude is moved, or only their amplitudes.
awk 'BEGIN { srand(3); print "a,b,y,z"; for (i = 0; i < 200; i++) { a = rand(); b = rand()
    printf "%.5f,%.5f,%.6f,%.6f\n", a, b, sin(6 * a) + b * b + 0.3 * rand(), cos(4 * b) + 0.3 * rand() } }' \
    > two.csv
two='open two.csv target=y,z; split test=20% seed=1; kernel rbf; tune features=4 evals=8'
first() { # VERB MEMBER: of the first target
    "$jsonl" get "$1" "\$.hyperparameters.$2[0]" < .out
}
share() { # VERB: the ratio of noise to amplitude
    awk -v a="$(first "$1" amplitude)" -v s="$(first "$1" noise)" 'BEGIN { printf "%.4g", s / a }'
}
run -q --format json -e "$two; fit features=512; export"
ok "few features of two targets count as noise" test "$(share tune)" != "$(share fit)"
has "the paragraph has both ratios" "$("$jsonl" get export '$.text' < .out)" \
    "moved the ratio of noise to amplitude from $(share tune) to $(share fit) and the amplitude of each target: the ratio by the leave-one-out"
run -q --format json -e "$two; fit solver=exact; export"
is "an exact fit keeps the ratio" "$(share fit)" "$(share tune)"
has "and moves the amplitudes" "$("$jsonl" get export '$.text' < .out)" \
    "kept the ratio of noise to amplitude, $(share tune), and moved the amplitude of each target"
run -q -e "$data; scale x=none y=none; fit features=64; export"
has "y=none" "$out" 'Inputs were used as they are. The target was used as it is'
run -q -e "$data; scale y=none; fit features=64; export"
has "x alone is standardised" "$out" 'Inputs were standardised with .*The target was used as it is'
if python3 -c 'import numpy' 2>/dev/null; then
    ok "numpy reads them" python3 -c "
import json, numpy
w = numpy.load('r1.npy'); p = numpy.load('pca.npy'); j = json.load(open('r1.json'))
assert w.shape == (128, 1) and numpy.isfinite(w).all()
assert p.shape == (120, 4), p.shape
assert len(j['trace']['residual']) == j['result']['iterations'] + 1"
else
    # The format by its definition: magic, version 1.0, a head padded to 64 bytes that names the
    # shape.
    is "magic and version" "$(head -c 8 r1.npy | od -An -tx1 | tr -d ' \n')" 934e554d50590100
    has "its shape" "$(head -c 128 r1.npy | tail -c 118)" \
        "'descr': '<f8', 'fortran_order': False, 'shape': (128, 1), }"
    # The program reads its own files back.
    run -q -e 'open pca.npy; data'
    has "coordinates open as data" "$out" '120 rows'
fi

# -- what cannot be
run -q -e "$data; export out=r1.doc"
has "an ending that is none" "$err" 'error\[format\]'
run -q -e "$data; export t1 out=t1.npy what=weights"
has "a tuning has no weights" "$err" 'error\[no-export\]'
run -q -e "$data; export out=/nonexistent/x.json"
has "a place that is none" "$err" 'error\[write\]'
run -q -e 'export'
has "nothing to export" "$err" 'error\[no-run\]'
printf 'a,"y,1",y2\n1,2,3\n2,3,5\n4,5,1\n5,7,7\n6,6,9\n3,4,2\n' >odd.csv
run -q -e \
    'open odd.csv target="y\x2c1" skip=y2; fit; export what=weights out=w.csv; score on=train; export out=p.csv; export'
is "names with commas" "$rc" 0
ok "in every row as many cells" awk -F, '{ if (n && NF != n) exit 1; n = NF }' p.csv

# Text that a spreadsheet would run: as it is, or guarded on request.
printf 'id,=x,y\n' >sheet.csv
for i in 1 2 3 4 5 6 7 8 9; do printf '"=HYPERLINK(""u"",""%s"")",%s,-%s\n' $i $i $((i * i % 7)); \
    done >>sheet.csv
printf '@a,1,2\n+b,2,3\n-c,3,1\nplain,4,5\n' >>sheet.csv
made='open sheet.csv target=y; cols id role=id; fit'
run -e "$made; predict sheet.csv out=as.csv; predict sheet.csv out=safe.csv quote=formulas"
is "quote=formulas" "$rc" 0
has "what a spreadsheet may run is told" "$err" 'note\[formulas\]: 12 cells begin with'
is "once" "$(printf '%s\n' "$err" | grep -c 'note.formulas')" 1
is "text is written as it is" "$(cut -d, -f2 as.csv | tail -n 4 | tr '\n' ' ')" '@a +b -c plain '
is "quote=formulas puts an apostrophe before formulas" \
    "$(sed -n '11,14s/^[0-9]*,\([^,]*\),.*/\1/p' safe.csv | tr '\n' ' ')" "'@a '+b '-c plain "
has "inside the quotes, where there are any" "$(cat safe.csv)" "^1,\"'=HYPERLINK"
is "numbers stay as they are" "$(awk -F, '{ print $NF, $(NF - 1) }' safe.csv | tail -n 13)" \
    "$(awk -F, '{ print $NF, $(NF - 1) }' as.csv | tail -n 13)"
run -e "$made; predict sheet.csv out=p.npy"
is "predict writes no NPY" "$rc $(ls p.npy 2>/dev/null)" "1 "
has "and says what does" "$err" 'export what=predictions'

finish
