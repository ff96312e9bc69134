# tests of the data group
data_checks = tests/check_import tests/check_dataset tests/check_demo
if HAVE_CHECK
check_PROGRAMS += $(data_checks)
TESTS += $(data_checks)
endif
tests_check_import_SOURCES = tests/check_import.c
tests_check_import_LDADD = $(app_tests)
tests_check_dataset_SOURCES = tests/check_dataset.c
tests_check_dataset_LDADD = $(app_tests)
tests_check_demo_SOURCES = tests/check_demo.c
tests_check_demo_LDADD = $(app_tests)
