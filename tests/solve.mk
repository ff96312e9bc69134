# tests of the solve group
if HAVE_CHECK
check_PROGRAMS += tests/check_blas
TESTS += tests/check_blas
endif
tests_check_blas_SOURCES = tests/check_blas.c
tests_check_blas_LDADD = $(compute_tests)
