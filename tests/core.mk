# tests of the core group
if HAVE_CHECK
check_PROGRAMS += tests/check_command tests/check_job
TESTS += tests/check_command tests/check_job
endif
tests_check_command_SOURCES = tests/check_command.c
tests_check_command_LDADD = $(app_tests)
tests_check_job_SOURCES = tests/check_job.c
tests_check_job_LDADD = $(app_tests)
