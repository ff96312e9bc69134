# The configuration file over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_config" "$top_srcdir/tests/fuzz/config" 1
