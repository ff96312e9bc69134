#!/bin/sh
# tests/bench/molecules.sh BUILD -- every molecule of the shared sets through gpdesk-molecules: the
# counts of radius 1, folded to 1024 places, equal the shared ones in every row of esol, freesolv,
# photoswitch and hiv (44,075 molecules), the descriptors in every row of qm9smiles (133,247).
# Needs a build with RDKit, the shared data and Check.
build=${1:?usage: tests/bench/molecules.sh BUILD}
[ -x "$build/gpdesk-molecules" ] || {
    echo "no gpdesk-molecules in $build: configure found no RDKit" >&2
    exit 77
}
"$build/gpdesk-molecules" --version
MOLECULES_ALL=1 CK_TIMEOUT_MULTIPLIER=20 CK_RUN_CASE=rdkit top_builddir=$build \
    srcdir=$(dirname "$0")/../.. "$build/tests/molecules/check_molecules"
