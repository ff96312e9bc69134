# tests of the features group
if HAVE_CHECK
features_tests = tests/check_alloc tests/check_conform tests/check_features tests/check_kernels tests/check_threads \
  tests/check_windows
check_PROGRAMS += $(features_tests)
TESTS += $(features_tests)
endif
tests_check_features_SOURCES = tests/check_features.c
tests_check_features_LDADD = $(compute_tests)
tests_check_conform_SOURCES = tests/check_conform.c
tests_check_conform_LDADD = $(compute_tests)
tests_check_kernels_SOURCES = tests/check_kernels.c
tests_check_kernels_LDADD = $(compute_tests)
tests_check_windows_SOURCES = tests/check_windows.c
tests_check_windows_LDADD = $(compute_tests)
# All requests for memory of our own code are counted.
tests_check_alloc_SOURCES = tests/check_alloc.c
tests_check_alloc_LDADD = $(compute_tests)
tests_check_alloc_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign
tests_check_threads_SOURCES = tests/check_threads.c
tests_check_threads_LDADD = $(compute_tests)
# The levels of the processor from the command line.
TESTS += tests/scripts/processors.sh
EXTRA_DIST += tests/scripts/processors.sh
