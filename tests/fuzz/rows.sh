# What a session believes, in memory, over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_rows" "$top_srcdir/tests/fuzz/rows" 1
