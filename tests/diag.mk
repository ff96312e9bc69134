# tests of the diagnosing commands
TESTS += tests/scripts/diagnosis.sh
EXTRA_DIST += tests/scripts/diagnosis.sh tests/bench/advise.sh
