# tests of the model group
if HAVE_CHECK
check_PROGRAMS += tests/check_scoring
TESTS += tests/check_scoring
endif
tests_check_scoring_SOURCES = tests/check_scoring.c
tests_check_scoring_LDADD = $(app_tests)
TESTS += tests/scripts/kernels.sh tests/scripts/model.sh tests/scripts/sweep.sh \
  tests/scripts/targets.sh
EXTRA_DIST += tests/scripts/kernels.sh tests/scripts/model.sh tests/scripts/sweep.sh \
  tests/scripts/targets.sh
