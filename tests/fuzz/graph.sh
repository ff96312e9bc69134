# Tables of nodes, atoms, lists of labels and series over their corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_graph" "$top_srcdir/tests/fuzz/graph" 2
