# tests of the data group
if HAVE_CHECK
check_PROGRAMS += tests/check_import
TESTS += tests/check_import
endif
tests_check_import_SOURCES = tests/check_import.c
tests_check_import_LDADD = $(app_tests)
