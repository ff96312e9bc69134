# The campaign (tests/campaign/README.md): a sample of each part runs in `make check`, all of it in
# `make campaign`.
tests/campaign/faults.so: tests/campaign/faults.c tests/campaign/faults.h
	$(AM_V_CCLD)$(MKDIR_P) tests/campaign && $(CC) -std=gnu11 -O2 -fPIC -shared -o $@ \
	  `test -f tests/campaign/faults.c || echo '$(srcdir)/'`tests/campaign/faults.c
check_DATA += tests/campaign/faults.so
CLEANFILES += tests/campaign/faults.so
check_PROGRAMS += tests/campaign/drive
tests_campaign_drive_SOURCES = tests/campaign/drive.c tests/campaign/scenes.h
TESTS += tests/campaign/faults.sh
EXTRA_DIST += tests/campaign/README.md tests/campaign/faults.c tests/campaign/faults.h \
  tests/campaign/faults.sh
