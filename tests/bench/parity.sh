#!/bin/bash
# tests/bench/parity.sh OLD NEW [DIRECTORY] -- do two builds say the same?  Runs a set of batch
# jobs, every kind of command on columns, letters and nodes, as text and as JSON lines, with both
# programs, and compares what they print and the files they write; then sessions of OLD are opened
# by both, which have to predict the same numbers.  Times, rates and sizes of files that hold
# times are masked.  What differs is printed as a diff; the exit status is 1 then.
set -u
old=$(readlink -f "$1") new=$(readlink -f "$2") keep=${3-}
work=${keep:-$(mktemp -d "${TMPDIR:-/tmp}/gpdesk-parity.XXXXXX")}
mkdir -p "$work"
[ -n "$keep" ] || trap 'rm -rf "$work"' EXIT
unset GPDESK_SEED GPDESK_THREADS GPDESK_MEM GPDESK_PRECISION GPDESK_VERBOSITY NO_COLOR
export LC_ALL=C OPENBLAS_NUM_THREADS=1

# Times, rates, sizes of processes, dates, paths.
mask() {
    sed -E -f "$work/mask.sed" "$@"
}
cat > "$work/mask.sed" << 'END'
s/"(seconds|left|rate|created|started|ended|elapsed|cpu|time|wall|made|saved)[a-z_]*": ?(-?[0-9.e+-]+|null|"[^"]*")/"\1":T/g
s/"share":(-?[0-9.e+-]+|null)/"share":S/g
s/[0-9.]+([eE][+-]?[0-9]+)? ?(us|ms|s|min|h)( left| each)?([^a-zA-Z0-9_]|$)/T\4/g
s/([0-9]{4}-)?[0-9]{2}-[0-9]{2}[ T][0-9:]+( +[0-9.]+ ?s| +T)?/DATE/g
s/[0-9]{2}:[0-9]{2}(:[0-9]{2})?( +T)?/CLOCK/g
s/"seconds":\{[^}]*\}/"seconds":{}/g
/"type":"tick"/d
/^job [a-z0-9]+ /d
s/\<0\.0[0-9]+\>/0.0T/g
s/^([0-9]+,)[0-9.e-]+,/\1T,/
s/"(at|bytes|processor_seconds)":[0-9.e+T-]+/"\1":N/g
s/\([0-9.]+ (bytes|kB|MB)\)/(SIZE)/g
s/\<[0-9.]+e-0[5-9]\>/0.0T/g
s/DATE +[0-9.]+ +s/DATE/
s/ +$//
s/  +/  /g
END

columns='demo friedman1 n=160 seed=1; split test=25% seed=2; kernel matern(nu=5/2)'
dirty='open table.csv target=y; missing mean; split test=25% seed=2; kernel rbf(ard)'
letters='demo proteins n=90 seed=3; split test=25% seed=2; kernel conv(rbf,width=5)'
nodes='demo molecules n=90 seed=3; split test=25% seed=2; kernel graph(rbf)'
common='summary; cols; scale; missing; set; get theme; tune features=64 evals=8; fit features=128
score; check; fit features=96 solver=pcg precond=srht rank=24 rtol=1e-6
fit features=96 solver=cg; fit features=96 solver=direct; fit features=96 solver=svrg
fit features=96 solver=lbfgs; fit features=96 solver=amsgrad; fit solver=exact
predict out=p.csv; pca; cluster k=3; advise features=64 rank=4,8; spectrum; why
neighbours row:1; explain-row row:2; landscape grid=4; tradeoff
race cg,pcg(rank=4) features=32; sweep features=16,32; runs; compare r1 r2; star r1
note r2 "a remark"; drop r3; undo; redo; history; jobs; plot residual; describe residual
plot parity out=a.svg; describe nmll; plot nmll out=b.csv; plot calibration out=c.txt
explain rmse; explain rank; export r1 out=r1.json; export r1 out=r1.txt
export r2 out=r2.csv; script out=s.gps; expect r2 features 96; time echo x; dry fit
help fit; tune features=48 solver=exact; tune features=48 method=neldermead evals=6
tune objective=loo features=32 evals=5; fit features=64 precision=double
fit features=64 precond=jacobi solver=pcg; explain condition
fit features=64 precond=pchol solver=pcg rank=8; set l=0.7 noise=0.2; fit features=32; runs
show run:r1; show 1..3'

cat > "$work/table.csv" <<'END'
id,colour,size,weight,when,y
END
awk 'BEGIN { srand(5); split("red green blue", c, " ");
    for (i = 1; i <= 140; i++) { s = int(rand() * 1000) / 100; w = int(rand() * 1000) / 10;
        k = c[1 + int(rand() * 3)]; y = s * s / 10 + (k == "red" ? 3 : 0) + w / 50 + rand();
        printf "%d,%s,%s,%s,%d,%.4f\n", i, k, (i % 17 ? s : ""), w, i % 12, y } }' \
    >> "$work/table.csv"

# Everything runs in one place, as paths are part of what is printed.
run_one() { # program directory kind format
    local dir=$work/run to=$work/$2/$3.$4 set=${!3} lines=()
    rm -rf "$dir" "$to"
    mkdir -p "$dir/home" "$work/$2"
    cp "$work/table.csv" "$dir"
    mapfile -t lines < <(printf '%s\n' "$set" "$common" | sed 's/; */\n/g' | sed 's/^/-e\n/')
    (cd "$dir" && XDG_CONFIG_HOME=$dir/home XDG_STATE_HOME=$dir/home XDG_CACHE_HOME=$dir/home \
        "$1" -k --format "$4" --threads=1 -s s.gpd "${lines[@]}" > out 2> err < /dev/null
        echo "status $?" >> out
        mask -i out err
        for f in *.csv *.json *.txt *.gps; do
            [ ! -e "$f" ] || [ "$f" = table.csv ] || mask -i "$f"
        done)
    cp -r "$dir" "$to"
}

bad=0
for kind in columns dirty letters nodes; do
    for format in text json; do
        run_one "$old" old $kind $format
        run_one "$new" new $kind $format
        a=$work/old/$kind.$format b=$work/new/$kind.$format
        for f in out err p.csv a.svg b.csv c.txt r1.json r1.txt r2.csv s.gps; do
            [ -e "$a/$f" ] || [ -e "$b/$f" ] || continue
            if ! diff -u "$a/$f" "$b/$f" > "$work/diff" 2>&1; then
                bad=1
                echo "== $kind, $format: $f differs"
                head -n "${PARITY_LINES:-20}" "$work/diff"
            fi
        done
        lines=$(wc -l < "$a/out")
        echo "$kind, $format: $lines lines compared"
    done
    # A session of the old program, opened by both: the same predictions to the last bit.
    for who in old new; do
        rm -rf "$work/s.$who"
        mkdir -p "$work/s.$who/home"
        cp "$work/old/$kind.text/s.gpd" "$work/table.csv" "$work/s.$who"
        program=$old
        [ $who = old ] || program=$new
        (cd "$work/s.$who" && XDG_CONFIG_HOME=$PWD/home XDG_STATE_HOME=$PWD/home "$program" -k -q \
            --threads=1 -s s.gpd -e 'runs; fit features=32; score' \
            -e 'export r1 out=r1.json; export r5 out=r5.json; runs' > out 2> err < /dev/null
            for r in r1 r2 r4 r7 r8; do
                XDG_CONFIG_HOME=$PWD/home XDG_STATE_HOME=$PWD/home "$program" -k -q --threads=1 \
                    -s s.gpd -e "predict model=$r out=$r.csv" >> out 2>> err < /dev/null
            done
            mask -i out err *.json)
    done
    if ! diff -ru -x home -x s.gpd "$work/s.old" "$work/s.new" > "$work/diff"; then
        bad=1
        echo "== $kind: a session of the old program differs"
        head -n "${PARITY_LINES:-20}" "$work/diff"
    fi
done
exit $bad
