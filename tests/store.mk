# tests of the store group
store_tests = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a $(APP_LIBS) \
  $(COMPUTE_LIBS)
if HAVE_CHECK
check_PROGRAMS += tests/check_guard tests/check_kill tests/check_kinds tests/check_resume \
    tests/check_salvage tests/fuzz/check_points tests/check_store
TESTS += tests/check_guard tests/check_kill tests/check_kinds tests/check_resume \
    tests/check_salvage tests/fuzz/check_points tests/check_store
endif
tests_check_salvage_SOURCES = tests/check_salvage.c tests/store_support.c tests/store_support.h
tests_check_salvage_LDADD = $(app_tests)
tests_check_guard_SOURCES = tests/check_guard.c tests/store_support.c tests/store_support.h
tests_check_guard_LDADD = $(app_tests)
tests_check_kill_SOURCES = tests/check_kill.c tests/store_support.c tests/store_support.h
tests_check_kill_LDADD = $(app_tests)
tests_check_kinds_SOURCES = tests/check_kinds.c tests/store_support.c tests/store_support.h
tests_check_kinds_LDADD = $(app_tests)
tests_check_resume_SOURCES = tests/check_resume.c tests/store_support.c tests/store_support.h
tests_check_resume_LDADD = $(app_tests)
tests_fuzz_check_points_SOURCES = tests/fuzz/check_points.c tests/store_support.c \
  tests/store_support.h
tests_fuzz_check_points_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_check_points_LDADD = $(app_tests)
tests_check_store_SOURCES = tests/check_store.c tests/store_support.c tests/store_support.h
tests_check_store_LDADD = $(app_tests)

tests_fuzz_fuzz_session_SOURCES = tests/fuzz/fuzz_session.c tests/fuzz/fuzz_main.c \
  tests/fuzz/fuzz.h tests/fuzz/rows.c tests/fuzz/rows.h \
  tests/store_support.c tests/store_support.h
tests_fuzz_fuzz_session_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_fuzz_session_LDADD = $(store_tests)

check_PROGRAMS += tests/fuzz/fuzz_rows
TESTS += tests/fuzz/rows.sh
EXTRA_DIST += tests/fuzz/rows.sh tests/fuzz/rows
tests_fuzz_fuzz_rows_SOURCES = tests/fuzz/fuzz_rows.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h \
  tests/fuzz/rows.c tests/fuzz/rows.h tests/store_support.c tests/store_support.h
tests_fuzz_fuzz_rows_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_fuzz_fuzz_rows_LDADD = $(store_tests)

TESTS += tests/screens/resume.sh tests/screens/unsaved.sh
EXTRA_DIST += tests/screens/resume.sh tests/screens/unsaved.sh

# Failed requests for memory (tests/scripts/faults.sh).
tests/fail_alloc.so: tests/fail_alloc.c
	$(AM_V_CCLD)$(MKDIR_P) tests && $(CC) -O2 -fPIC -shared -o $@ \
	  `test -f tests/fail_alloc.c || echo '$(srcdir)/'`tests/fail_alloc.c
tests/slow_disk.so: tests/slow_disk.c
	$(AM_V_GEN)$(CC) -shared -fPIC -O2 -o $@ \
	  `test -f tests/slow_disk.c || echo '$(srcdir)/'`tests/slow_disk.c
check_DATA += tests/fail_alloc.so tests/slow_disk.so
CLEANFILES += tests/fail_alloc.so tests/slow_disk.so
TESTS += tests/scripts/faults.sh
EXTRA_DIST += tests/scripts/faults.sh tests/fail_alloc.c tests/slow_disk.c
