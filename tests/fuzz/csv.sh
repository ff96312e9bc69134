# The CSV reader over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_csv" "$top_srcdir/tests/fuzz/csv" 2
