# tests of the diagnosing commands
if HAVE_CHECK
check_PROGRAMS += tests/check_diagnose
TESTS += tests/check_diagnose
endif
tests_check_diagnose_SOURCES = tests/check_diagnose.c
tests_check_diagnose_LDADD = $(compute_tests)
TESTS += tests/scripts/diagnosis.sh tests/scripts/why.sh
EXTRA_DIST += tests/scripts/diagnosis.sh tests/scripts/why.sh tests/bench/advise.sh tests/bench/why.sh \
  tests/bench/causes.sh tests/bench/mend.sh
