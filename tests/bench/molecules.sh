#!/bin/sh
# tests/bench/molecules.sh BUILD [DIRECTORY] -- what molecules.md shows, from the shared data sets:
# a file of output for each job in DIRECTORY (molecules), which is not run again where it exists.
#
#   rdkit     every molecule of the shared sets through gpdesk-molecules: the counts of radius 1,
#             folded to 1024 places, equal the shared ones in every row of esol, freesolv,
#             photoswitch and hiv (44,075 molecules), the descriptors in every row of qm9smiles
#             (133,247).  Needs a build with RDKit, and Check.
#   speed     bench_products: pairs a second, features, passes and Gram matrices of bits
#   hiv0, 1   regression on the class by 5000 features, two splits
#   scaffold  the same, whole scaffolds tested (needs RDKit)
#   tpsa, logp, bits   qm9smiles by 8192 features (needs RDKit); the last with its passes over bits
build=${1:?usage: tests/bench/molecules.sh BUILD [DIRECTORY]}
build=$(cd "$build" && pwd) src=$(cd "$(dirname "$0")/../.." && pwd)
data=${GPDESK_SHARED:-$src/../shared}/data
mkdir -p "${2:-molecules}" && cd "${2:-molecules}" || exit 1

job() { # NAME COMMAND...
    name=$1 && shift
    [ -s "$name.txt" ] && return
    echo "== $name"
    "$@" >"$name.part" 2>&1 && mv "$name.part" "$name.txt"
}
gpdesk() { # LINES
    time -p "$build/gpdesk" --no-config --threads 2 -e "$1"
}
hiv() { # SPLIT
    gpdesk "open $data/hiv/data.csv.gz beside=$data/hiv/fingerprints.csv.gz target=y
        split file=$data/hiv/splits.csv.gz column=$1; kernel tanimoto
        tune features=5000; fit features=5000; score"
}
qm9() { # TARGET OTHER LINES
    gpdesk "open $data/qm9smiles/data.csv.gz fingerprint=morgan(radius=1) target=$1
        cols $2 role=skip; split file=$data/qm9smiles/splits.csv.gz column=split0
        kernel tanimoto; $3; score"
}

[ -x "$build/tests/bench/bench_products" ] && job speed time -p "$build/tests/bench/bench_products"
job hiv0 hiv split0
job hiv1 hiv split1
[ -x "$build/gpdesk-molecules" ] || {
    echo "no gpdesk-molecules in $build: configure found no RDKit" >&2
    exit 77
}
job scaffold gpdesk "open $data/hiv/data.csv.gz beside=$data/hiv/fingerprints.csv.gz target=y
    cols smiles scaffold=yes; split group=smiles.scaffold; kernel tanimoto
    tune features=5000; fit features=5000; score"
tuned='tune features=2048; fit features=8192 solver=pcg'
job tpsa qm9 tpsa crippen_logp "$tuned"
job logp qm9 crippen_logp tpsa "$tuned"
job bits qm9 tpsa crippen_logp \
    "fit features=8192 solver=pcg plan=store store=bits variance=4096 amplitude=0.138 noise=0.128"
if [ -x "$build/tests/molecules/check_molecules" ]; then
    MOLECULES_ALL=1 CK_TIMEOUT_MULTIPLIER=20 CK_RUN_CASE=rdkit top_builddir=$build srcdir=$src \
        job rdkit time -p "$build/tests/molecules/check_molecules"
fi
grep -H -E 'RMSE|AUROC|^user|peak|places|bits' ./*.txt
