# tests of undo, looking back, scripts that check themselves
if HAVE_CHECK
check_PROGRAMS += tests/check_timeline
TESTS += tests/check_timeline
endif
tests_check_timeline_SOURCES = tests/check_timeline.c tests/store_support.c tests/store_support.h
tests_check_timeline_LDADD = $(app_tests)
TESTS += tests/scripts/time.sh tests/scripts/undo.sh
EXTRA_DIST += tests/scripts/time.sh tests/scripts/undo.sh
TESTS += tests/scripts/export.sh tests/scripts/predicted.sh tests/scripts/suggest.sh
EXTRA_DIST += tests/scripts/export.sh tests/scripts/predicted.sh tests/scripts/suggest.sh
TESTS += tests/scripts/intervals.sh tests/scripts/calibrate.sh tests/scripts/learned.sh \
  tests/scripts/programs.sh tests/scripts/report.sh tests/scripts/maps/cnn.sh \
  tests/scripts/maps/places.sh tests/scripts/maps/rare.sh tests/screens/maps.sh \
  tests/scripts/maps/classes.sh tests/scripts/maps/inputs.sh tests/scripts/maps/aside.sh \
  tests/scripts/ranks/lost.sh tests/scripts/ranks/mpi.sh tests/scripts/ranks/ranks.sh
TESTS += tests/scripts/ranks/slurm.sh tests/scripts/ranks/device.sh tests/scripts/ranks/hosts.sh
EXTRA_DIST += tests/scripts/ranks/slurm.sh tests/scripts/ranks/hosts.sh \
  tests/scripts/ranks/cut.sh tests/scripts/ranks/net.sh
TESTS += tests/scripts/analyses.sh tests/screens/analyses.sh
EXTRA_DIST += tests/scripts/analyses.sh tests/screens/analyses.sh \
  tests/scripts/analyses/autos.gps tests/scripts/analyses/dates.gps \
  tests/scripts/analyses/sequences.gps
EXTRA_DIST += tests/scripts/ranks/long.sh
EXTRA_DIST += tests/scripts/intervals.sh tests/scripts/calibrate.sh tests/scripts/learned.sh \
  tests/scripts/programs.sh tests/scripts/report.sh tests/scripts/maps/cnn.sh \
  tests/scripts/maps/places.sh tests/scripts/maps/rare.sh tests/screens/maps.sh \
  tests/scripts/maps/classes.sh tests/scripts/maps/inputs.sh tests/scripts/maps/aside.sh \
  tests/scripts/ranks/lost.sh tests/scripts/ranks/mpi.sh tests/scripts/ranks/ranks.sh \
  tests/scripts/ranks/device.sh
TESTS += tests/scripts/manual.sh tests/scripts/readme.sh
EXTRA_DIST += tests/scripts/manual.sh tests/scripts/readme.sh
TESTS += tests/scripts/lines.sh
EXTRA_DIST += tests/scripts/lines.sh
TESTS += tests/scripts/pack.sh
EXTRA_DIST += tests/scripts/pack.sh
TESTS += tests/scripts/html.sh
EXTRA_DIST += tests/scripts/html.sh
TESTS += tests/scripts/messages.sh
EXTRA_DIST += tests/scripts/messages.sh
