# What gpdesk and gpdesk-molecules say to each other, over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_molecules" "$top_srcdir/tests/fuzz/molecules" 3
