# The parser of scripts and commands, over its corpus and changed examples of all commands.
exec "$top_builddir/tests/fuzz/fuzz_script" "$top_srcdir/tests/fuzz/script" 3
