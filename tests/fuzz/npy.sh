# The NPY reader over its corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_npy" "$top_srcdir/tests/fuzz/npy" 3
