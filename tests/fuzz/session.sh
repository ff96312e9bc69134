# The reader of session files, over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_session" "$top_srcdir/tests/fuzz/session" 2
