#!/bin/sh
# tests/scripts/molecules/traps.sh -- what goes wrong with molecules in practice: the same molecule
# with different targets, packed lists that unfold without end, salts alone.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
built=${gpdesk%/gpdesk}
GPDESK_MOLECULES=$dir/nowhere
export GPDESK_MOLECULES

# Each molecule twice, 1 above and 1 below a linear function of its counts: the noise has an sd of
# 1 to sqrt(2), and tuning must find it, also where the kernel can follow every row.
awk 'BEGIN { srand(5); print "fp,y"
    for (i = 0; i < 40; i++) { s = ""; m = 0
        for (p = 0; p < 12; p++) if (rand() < 0.5) { v = 1 + int(rand() * 3)
            s = s (s == "" ? "" : " ") p ":" v; m += v * (p % 3 - 1) }
        if (s == "") s = "0:1"
        print s "," m + 1; print s "," m - 1 } }' >twice.csv
sd=$(awk -F, 'NR > 1 { n++; m += $2; q += $2 * $2 } END { print sqrt(q / n - (m / n) ^ 2) }' \
    twice.csv)
for kernel in tanimoto 'tanimotodp(power=1/2)'; do
    run --format json -e "open twice.csv types=fp=counts target=y; kernel $kernel; tune; fit"
    noise=$(printf '%s\n' "$out" | grep '"command":"tune"' | sed 's/.*"noise":\([0-9.e-]*\).*/\1/')
    ok "$kernel: the noise of repeated molecules stays" awk -v s="$noise" -v sd="$sd" \
        'BEGIN { exit !(s * sd > 0.9 && s * sd < 1.6) }'
done

# Packed lists: lines without end, and blank ones.
head -c 40000000 /dev/zero | gzip >line.smi.gz
run --format json -e 'open line.smi.gz'
has "a line without end is refused" "$out$err" '"name":"limit".*line 1 is longer'
{ echo 'CCO a'; head -c 300000000 /dev/zero | tr '\0' '\n'; } | gzip -9 >blank.smi.gz
run --format json -e 'open blank.smi.gz'
has "blank lines that unfold a thousand times, too" "$out$err" '"name":"bomb"'

# A long list of few texts: every text is read once, also where all rows but one are equal, and what
# is found belongs to each of its rows.
{ echo smiles,y; yes 'CCO,1' | head -n 150000; echo 'C(C,2'; echo 'CCN,3'; echo 'C(C,2'
    yes 'CCO,1' | head -n 50000; } | gzip -9 >equal.csv.gz
run --format json -e 'open equal.csv.gz; missing drop; kernel'
has "a packed list of equal lines is read" "$out" '"rows":200003'
has "the kernel follows the molecules" "$out" '"name":"default-kernel".*tanimoto'
has "texts that cannot be read are counted in all their rows" "$out" \
    '2 molecules of smiles cannot.* row 150001 (.*; row 150003 ('
has "equal molecules, too" "$out" '1 molecule of .smiles. occurs more than once, in 200000 rows'
cat >$dir/count.sh <<'END'
#!/bin/sh
# What is asked is in the file before it is answered: tee serves its own output first.
{ tee /dev/fd/3 >>"$GPDESK_COUNT"; } 3>&1 | "$GPDESK_FAKE" "$@"
END
chmod +x $dir/count.sh
yes C7CC7 | head -n 5000 | gzip >same.smi.gz
{ echo smiles,y; yes 'C7CC7,1' | head -n 5000; echo C8CC8,2; } >same.csv
GPDESK_COUNT=$dir/asked GPDESK_FAKE=$built/tests/molecules/fake_molecules
export GPDESK_COUNT GPDESK_FAKE
GPDESK_MOLECULES=$dir/count.sh
run --format json -e 'open same.csv; missing drop; fit features=64 noise=0.3' \
    -e 'predict same.smi.gz out=same.txt'
is "and predicted" "$(sort -u same.txt | grep -c '^[0-9]')" 5000
is "the program was asked about a text once for each list" "$(grep -ao C7CC7 asked | wc -l)" 2
GPDESK_MOLECULES=$dir/nowhere

# The same limit of a packed file holds for tables and lists.
long=$(printf '%020000d' 0 | tr 0 C)
for name in lines.smi lines.csv; do
    { test $name = lines.smi || echo smiles; yes "$long" | head -n 14000; } | gzip -9 >$name.gz
    run --format json -e "open $name.gz"
    has "$name.gz unfolds too far" "$out$err" '"name":"bomb".*over 500 times its stored size'
done

# Only salt: it is a molecule, kept or the larger of its parts.
if test -x "$built/gpdesk-molecules"; then
    GPDESK_MOLECULES=$built/gpdesk-molecules
    printf 'smiles,y\n[Na+].[Cl-],1\nCCO,2\n[K+].CC(=O)[O-],3\nCCC,4\n' >salt.csv
    for salts in keep largest; do
        run --format json -e "open salt.csv; cols smiles encoding=morgan(salts=$salts)" \
            -e "kernel tanimoto; fit noise=0.3; predict salt.csv out=$salts.csv"
        is "salts=$salts: all four are fitted and predicted" "$(wc -l <$salts.csv)" 5
    done
else
    echo "ok $((n = n + 1)) - salts # SKIP without RDKit"
fi
# A stop while molecules are read: the list is not loaded, and no reader of molecules is left.
cp "$built/tests/molecules/fake_molecules" $dir/fake_stopped
{ echo smiles,y; for i in $(seq 200); do echo "C$i,$i"; done; echo sleep,3; } >slow.csv
GPDESK_MOLECULES=$dir/fake_stopped "$gpdesk" --format json -s stopped.gpd \
    -e 'set molecule-seconds=3600; open slow.csv types=smiles=smiles' -e 'kernel' >stopped.json 2>&1 </dev/null &
pid=$!
for i in $(seq 600); do
    pgrep -f "$dir/fake_stopped" >/dev/null && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.05
done
sleep 0.3
kill -INT $pid
wait $pid
is "SIGINT in a list of molecules gives 130" $? 130
has "which is told" "$(cat stopped.json)" '"name":"stopped".*slow.csv was not loaded'
for i in $(seq 100); do pgrep -f "$dir/fake_stopped" >/dev/null || break; sleep 0.05; done
is "and no reader of molecules is left" "$(pgrep -f "$dir/fake_stopped" | wc -l | tr -d ' ')" 0
run -s stopped.gpd --format json -e 'data'
is "the session opens" $rc 0
finish
