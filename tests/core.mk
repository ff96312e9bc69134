# tests of the core group
if HAVE_CHECK
check_PROGRAMS += tests/check_command tests/check_job tests/check_measures
TESTS += tests/check_command tests/check_job tests/check_measures
endif
tests_check_measures_SOURCES = tests/check_measures.c tests/store_support.c tests/store_support.h
tests_check_measures_LDADD = $(app_tests)
tests_check_command_SOURCES = tests/check_command.c
tests_check_command_LDADD = $(app_tests)
tests_check_job_SOURCES = tests/check_job.c
tests_check_job_LDADD = $(app_tests)

tests_fuzz_fuzz_script_SOURCES = tests/fuzz/fuzz_script.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_script_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)

# Scripts drive the program; jsonl judges what it writes.
check_PROGRAMS += tests/jsonl
tests_jsonl_SOURCES = tests/jsonl.c
tests_jsonl_LDADD = $(APP_LIBS)
TESTS += tests/scripts/batch.sh tests/scripts/signals.sh tests/scripts/examples.sh \
  tests/scripts/hints.sh tests/scripts/tries.sh
EXTRA_DIST += tests/scripts/lib.sh tests/scripts/batch.sh tests/scripts/signals.sh \
  tests/scripts/examples.sh tests/scripts/hints.sh tests/scripts/tries.sh
