# The campaign (tests/campaign/README.md): a sample of each part runs in `make check`, all of it in
# `make campaign`, which takes hours.
tests/campaign/faults.so: tests/campaign/faults.c tests/campaign/faults.h
	$(AM_V_CCLD)$(MKDIR_P) tests/campaign && $(CC) -std=gnu11 -O2 -fPIC -shared -o $@ \
	  `test -f tests/campaign/faults.c || echo '$(srcdir)/'`tests/campaign/faults.c
check_DATA += tests/campaign/faults.so
CLEANFILES += tests/campaign/faults.so
check_PROGRAMS += tests/campaign/drive tests/campaign/cut tests/campaign/terminal
campaign_judge = tests/campaign/judge.c tests/campaign/typed.c tests/campaign/judge.h \
  tests/campaign/scenes.h
tests_campaign_drive_SOURCES = tests/campaign/drive.c $(campaign_judge)
tests_campaign_cut_SOURCES = tests/campaign/cut.c tests/campaign/faults.h $(campaign_judge)
tests_campaign_drive_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_campaign_drive_LDADD = $(SQLITE_LIBS) -lutil
tests_campaign_cut_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
tests_campaign_cut_LDADD = $(SQLITE_LIBS) -lutil
tests_campaign_terminal_SOURCES = tests/campaign/terminal.c
tests_campaign_terminal_LDADD = -lutil
TESTS += tests/campaign/faults.sh tests/campaign/cut.sh tests/campaign/cases.sh \
  tests/campaign/guards.sh tests/campaign/kills.sh
EXTRA_DIST += tests/campaign/README.md tests/campaign/faults.c tests/campaign/faults.sh \
  tests/campaign/cut.sh tests/campaign/cases.sh tests/campaign/guards.sh tests/campaign/kills.sh

.PHONY: campaign
campaign_parts = tests/campaign/faults.sh tests/campaign/cut.sh tests/campaign/cases.sh \
  tests/campaign/guards.sh tests/campaign/kills.sh
campaign: gpdesk$(EXEEXT)
	GPDESK_CAMPAIGN=all $(MAKE) check TESTS='$(campaign_parts)' \
	  check_PROGRAMS='tests/jsonl tests/campaign/drive tests/campaign/cut tests/campaign/terminal'
