if HAVE_CHECK
check_PROGRAMS += tests/check_base
TESTS += tests/check_base
endif
tests_check_base_SOURCES = tests/check_base.c
tests_check_base_LDADD = $(base_tests)
