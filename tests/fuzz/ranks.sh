# What ranks are sent over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_ranks" "$top_srcdir/tests/fuzz/ranks" 2
