# tests of the solve group
solve_tests = tests/check_blas tests/check_kpca tests/check_metrics \
  tests/check_precond tests/check_registry tests/check_solver
if HAVE_CHECK
check_PROGRAMS += $(solve_tests)
TESTS += $(solve_tests)
endif
tests_check_blas_SOURCES = tests/check_blas.c
tests_check_blas_LDADD = $(compute_tests)
tests_check_precond_SOURCES = tests/check_precond.c
tests_check_precond_LDADD = $(compute_tests)
tests_check_registry_SOURCES = tests/check_registry.c
tests_check_registry_LDADD = $(compute_tests)
tests_check_solver_SOURCES = tests/check_solver.c
tests_check_solver_LDADD = $(compute_tests)
tests_check_kpca_SOURCES = tests/check_kpca.c
tests_check_kpca_LDADD = $(compute_tests)
tests_check_metrics_SOURCES = tests/check_metrics.c
tests_check_metrics_LDADD = $(compute_tests)

# after all that read golden files
golden_tests = tests/check_base tests/check_features tests/check_kernels tests/check_windows tests/check_nmll \
  tests/check_model tests/check_tune $(solve_tests)
if HAVE_CHECK
TESTS += tests/scripts/golden.sh
tests/scripts/golden.log: $(golden_tests:=.log)
endif
EXTRA_DIST += tests/scripts/golden.sh tests/golden.md
