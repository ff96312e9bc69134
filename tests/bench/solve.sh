# tests/bench/solve.sh -- dense algebra against bare LAPACK, and a Nystrom preconditioner with its
# solve at the size of kin40k: one JSON object per line.
set -e
export OPENBLAS_NUM_THREADS=1
bench=$top_builddir/tests/bench/bench_solve
"$bench" dense 1024 2048 4096
"$bench" nystrom 36000 8192 512
"$bench" nystrom 36000 8192 1024
