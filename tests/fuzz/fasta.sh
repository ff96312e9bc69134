# The FASTA reader over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_fasta" "$top_srcdir/tests/fuzz/fasta" 3
