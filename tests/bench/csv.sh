# Reading tables: generated numbers, then some real files (packed: MB/s of packed bytes).
shared="${GPDESK_SHARED:-$top_srcdir/../shared}/data"
files=
for d in kin40k sgemm mnist10k diamonds; do
    [ -r "$shared/$d/data.csv.gz" ] && files="$files $shared/$d/data.csv.gz"
done
exec "$top_builddir/tests/bench/bench_csv" $files
