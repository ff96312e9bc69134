#!/bin/sh
# The inner loops beside a baseline and the machine's limit; one table and one JSON file.
"$top_builddir/tests/bench/bench_compute" --json "$top_builddir/tests/bench/compute.json" "$@"
