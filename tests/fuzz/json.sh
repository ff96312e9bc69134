# JSON of encodings over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_json" "$top_srcdir/tests/fuzz/json" 1
