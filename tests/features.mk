# tests of the features group
if HAVE_CHECK
check_PROGRAMS += tests/check_features tests/check_kernels tests/check_windows
TESTS += tests/check_features tests/check_kernels tests/check_windows
endif
tests_check_features_SOURCES = tests/check_features.c
tests_check_features_LDADD = $(compute_tests)
tests_check_kernels_SOURCES = tests/check_kernels.c
tests_check_kernels_LDADD = $(compute_tests)
tests_check_windows_SOURCES = tests/check_windows.c
tests_check_windows_LDADD = $(compute_tests)
