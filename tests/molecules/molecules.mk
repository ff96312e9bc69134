# tests of molecules from SMILES: with a stand-in for gpdesk-molecules, and with RDKit where it is
check_PROGRAMS += tests/molecules/fake_molecules
tests_molecules_fake_molecules_SOURCES = tests/molecules/fake_molecules.c
if HAVE_CHECK
check_PROGRAMS += tests/molecules/check_molecules tests/molecules/check_lingo
check_PROGRAMS += tests/molecules/check_smiles tests/molecules/check_drawing
TESTS += tests/molecules/check_drawing
TESTS += tests/molecules/check_molecules tests/molecules/check_lingo tests/molecules/check_smiles
endif
tests_molecules_check_smiles_SOURCES = tests/molecules/check_smiles.c
tests_molecules_check_smiles_LDADD = $(app_tests)
tests_molecules_check_drawing_SOURCES = tests/molecules/check_drawing.c
tests_molecules_check_drawing_LDADD = $(app_tests)
tests_molecules_check_lingo_SOURCES = tests/molecules/check_lingo.c
tests_molecules_check_lingo_LDADD = $(app_tests)
tests_molecules_check_molecules_SOURCES = tests/molecules/check_molecules.c
tests_molecules_check_molecules_LDADD = $(app_tests)

check_PROGRAMS += tests/fuzz/fuzz_molecules
TESTS += tests/fuzz/molecules.sh
tests_fuzz_fuzz_molecules_SOURCES = tests/fuzz/fuzz_molecules.c tests/fuzz/fuzz_main.c \
  tests/fuzz/fuzz.h
tests_fuzz_fuzz_molecules_LDADD = $(app_archives) libfigure.a libdata.a libcompute.a libbase.a \
  $(APP_LIBS) $(COMPUTE_LIBS)
TESTS += tests/scripts/molecules.sh tests/scripts/smiles.sh \
  tests/scripts/molecules/pictures.sh tests/scripts/molecules/traps.sh
EXTRA_DIST += tests/scripts/molecules.sh tests/scripts/smiles.sh \
  tests/scripts/molecules/pictures.sh tests/scripts/molecules/traps.sh
EXTRA_DIST += tests/fuzz/molecules tests/fuzz/molecules.sh
EXTRA_DIST += tests/bench/molecules.sh tests/bench/molecules.md tests/bench/smiles.sh \
  tests/bench/pick.sh
