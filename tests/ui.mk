# tests of the ui group
if HAVE_CHECK
check_PROGRAMS += tests/check_input tests/check_screen
TESTS += tests/check_input tests/check_screen
endif
tests_check_input_SOURCES = tests/check_input.c
tests_check_input_LDADD = tests/libsupport.a libui.a libbase.a $(CHECK_LIBS)

tests_check_screen_SOURCES = tests/check_screen.c
tests_check_screen_LDADD = $(ui_tests)

tests_fuzz_fuzz_input_SOURCES = tests/fuzz/fuzz_input.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_input_LDADD = libui.a libbase.a -lm

# The workbench itself, in tmux (skipped, with the word, where there is none).
TESTS += \
  tests/screens/kinds.sh \
  tests/screens/prompt.sh tests/screens/search.sh \
  tests/screens/keys.sh \
  tests/screens/classes.sh \
  tests/screens/live.sh \
  tests/screens/restarts.sh \
  tests/screens/look.sh \
  tests/screens/shown.sh \
  tests/screens/proposals.sh tests/screens/plots.sh \
  tests/screens/sizes.sh \
  tests/screens/terms.sh \
  tests/screens/signals.sh \
  tests/screens/hostile.sh \
  tests/screens/desk.sh \
  tests/screens/matrix.sh \
  tests/screens/picture.sh \
  tests/screens/stalled.sh \
  tests/screens/ends.sh \
  tests/screens/allkeys.sh \
  tests/screens/monkey.sh
EXTRA_DIST += \
  tests/screens/kinds.sh \
  tests/screens/lib.sh \
  tests/screens/pictures.sh \
  tests/screens/record.md \
  tests/screens/record.sh \
  tests/screens/terminal.sh \
  tests/screens/prompt.sh tests/screens/search.sh \
  tests/screens/keys.sh \
  tests/screens/classes.sh \
  tests/screens/live.sh \
  tests/screens/restarts.sh \
  tests/screens/look.sh \
  tests/screens/shown.sh \
  tests/screens/proposals.sh tests/screens/plots.sh \
  tests/screens/sizes.sh \
  tests/screens/terms.sh \
  tests/screens/signals.sh \
  tests/screens/hostile.sh \
  tests/screens/desk.sh \
  tests/screens/matrix.sh \
  tests/screens/picture.sh \
  tests/screens/stalled.sh \
  tests/screens/ends.sh \
  tests/screens/allkeys.sh \
  tests/screens/monkey.sh

# gpdesk behind a pseudo-terminal: random keys, and what the screen costs.
check_PROGRAMS += tests/screens/ptydrive
tests_screens_ptydrive_SOURCES = tests/screens/ptydrive.c
