# tests of lessons, explanations, draws
if HAVE_CHECK
check_PROGRAMS += tests/check_teach
TESTS += tests/check_teach
endif
tests_check_teach_SOURCES = tests/check_teach.c
tests_check_teach_LDADD = $(app_tests)
TESTS += tests/scripts/explain.sh tests/scripts/lessons.sh tests/screens/lessons.sh
EXTRA_DIST += tests/scripts/explain.sh tests/scripts/lessons.sh tests/screens/lessons.sh
