# Cells of counts over their corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_counts" "$top_srcdir/tests/fuzz/counts" 2
