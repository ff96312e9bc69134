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
finish
