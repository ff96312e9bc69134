# Expressions and steps over their corpus and mutations of it.
exec "$top_builddir/tests/fuzz/fuzz_expr" "$top_srcdir/tests/fuzz/expr" 2
