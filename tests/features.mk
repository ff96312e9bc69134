# tests of the features group
if HAVE_CHECK
check_PROGRAMS += tests/check_features
TESTS += tests/check_features
endif
tests_check_features_SOURCES = tests/check_features.c
tests_check_features_LDADD = $(compute_tests)
