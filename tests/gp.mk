# tests of the gp group
if HAVE_CHECK
check_PROGRAMS += tests/check_nmll
TESTS += tests/check_nmll
endif
tests_check_nmll_SOURCES = tests/check_nmll.c
tests_check_nmll_LDADD = $(compute_tests)
