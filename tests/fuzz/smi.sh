# Lists of SMILES over their corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_smi" "$top_srcdir/tests/fuzz/smi" 2
