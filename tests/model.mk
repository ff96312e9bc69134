# tests of the model group
if HAVE_CHECK
check_PROGRAMS += tests/check_scoring
TESTS += tests/check_scoring
endif
tests_check_scoring_SOURCES = tests/check_scoring.c
tests_check_scoring_LDADD = $(app_tests)
if HAVE_CHECK
check_PROGRAMS += tests/check_splits
TESTS += tests/check_splits
endif
tests_check_splits_SOURCES = tests/check_splits.c
tests_check_splits_LDADD = $(app_tests)
TESTS += tests/scripts/splits.sh
EXTRA_DIST += tests/scripts/splits.sh
TESTS += tests/scripts/kernels.sh tests/scripts/effects.sh tests/scripts/model.sh \
  tests/scripts/sweep.sh \
  tests/scripts/targets.sh
EXTRA_DIST += tests/scripts/kernels.sh tests/scripts/effects.sh tests/scripts/model.sh \
  tests/scripts/sweep.sh \
  tests/scripts/targets.sh
