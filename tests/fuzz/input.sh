# The demultiplexer of what a terminal sends, over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_input" "$top_srcdir/tests/fuzz/input" 1
