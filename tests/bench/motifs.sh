#!/bin/sh
# tests/bench/motifs.sh BUILD [DIRECTORY] [SEED...] -- what motifs.md shows of `demo motifs`: the
# bound and the error of a model that keeps 100 of 1,000 strings, by how these are chosen, at the
# amplitude and noise of the model that keeps all of them.  2,000 strings of 100 letters, half of
# them held out; ten seeds.  Each job leaves a file in DIRECTORY (motifs) and is not run again
# where it exists.  dpp, the slowest, has three seeds.  It takes two minutes of processor time.
build=${1:?usage: tests/bench/motifs.sh BUILD [DIRECTORY] [SEED...]}
build=$(cd "$build" && pwd)
mkdir -p "${2:-motifs}" && cd "${2:-motifs}" || exit 1
[ $# -gt 2 ] && shift 2 && seeds=$* || seeds='1 2 3 4 5 6 7 8 9 10'
ways='random greedy(subset=20) greedy anneal(steps=10000) pchol dpp'
skips() { case $1-$2 in dpp-[123]) return 1 ;; dpp-*) return 0 ;; *) return 1 ;; esac; } # WAY SEED

job() { # NAME LINES
    [ -s "$1.txt" ] && return
    { time -p "$build/gpdesk" --no-config --format json --threads 1 -e "$2"; } >"$1.part" 2>&1 &&
        mv "$1.part" "$1.txt" || { grep '"type":"error"' "$1.part"; echo "$1: not finished"; }
}
field() { # JOB COMMAND NAME
    grep "\"command\":\"$2\"" "$1.txt" | grep -o "\"$3\":[-+0-9.e]*" | head -n 1 | cut -d: -f2
}

for s in $seeds; do
    open="demo motifs n=2000 seed=$s; split test=50% seed=$s; kernel spectrum(n=5)"
    job "full-$s" "$open; tune; fit rescale=no; score baseline=no"
    a=$(field "full-$s" tune amplitude) b=$(field "full-$s" tune noise)
    for w in $ways; do
        skips "$w" "$s" && continue
        job "$w-$s" "$open; fit solver=sparse inducing=100 select=$w amplitude=$a noise=$b \
            rescale=no seed=$s; score baseline=no; inducing"
    done
done

# In units of the target: its sd is the ratio of the two errors.
for s in $seeds; do
    for w in full $ways; do
        skips "$w" "$s" && continue
        of=fit key=bound
        [ "$w" = full ] && of=tune key=nmll
        echo "$w $(field "$w-$s" $of $key) $(field "$w-$s" score rmse)" \
            "$(field "$w-$s" score rmse_scaled) $(sed -n 's/^user //p' "$w-$s.txt")" \
            "$(field "$w-$s" inducing inducing_outside)"
    done
done | awk '{ v = $1 == "full" ? -$2 : $2; v -= 1000 * log($3 / $4); e = $3 * $3
        n[$1]++; b[$1] += v; bb[$1] += v * v; m[$1] += e; mm[$1] += e * e; t[$1] += $5; o[$1] += $6
        full = $1 == "full" ? e : full; r[$1] += e / full
        if (!($1 in at)) { at[$1] = ++k; name[k] = $1 } }
    function se(sum, square, n) { return n > 1 ? sqrt((square / n - (sum / n) ^ 2) / (n - 1)) : 0 }
    END { print "| points | seeds | bound, nats | test MSE | MSE / that of all | outside | processor s |"
        print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for (i = 1; i <= k; i++) { w = name[i]
            printf "| %s | %d | %.0f +- %.0f | %.2f +- %.2f | %.3f | %s | %.1f |\n", \
                w == "full" ? "all 1,000" : w, n[w], b[w] / n[w], se(b[w], bb[w], n[w]), m[w] / n[w], \
                se(m[w], mm[w], n[w]), r[w] / n[w], w == "full" ? "" : o[w] / n[w], t[w] / n[w] } }'
