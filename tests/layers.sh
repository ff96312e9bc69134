#!/bin/sh
# Includes point down, and each foreign library has its one place.  Prints TAP; a breach is named
# with file and line.
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
[ -d src/base ] || { echo "Bail out! no src/base here"; exit 1; }

# layer DIR ALLOWED-PREFIXES: our own headers that DIR includes and may not.
layer() {
    allowed=$2
    bad=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "src/$1" 2> /dev/null |
        grep -E '"(base|compute|data|figure|app|ui|cuda|molecules)/' | grep -vE "\"($allowed)")
    verdict "src/$1 includes $(echo "$allowed" | tr '|' ' ') only" "$bad"
}

# foreign NAME HEADER-PATTERN ALLOWED-FILES (extended regular expressions)
foreign() {
    bad=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" src |
        grep -vE "^($3):")
    verdict "$1 in its one place" "$bad"
}

layer base 'base/'
layer compute 'base/|compute/'
layer data 'base/|compute/(features/source|kernels/(kernel|layers/layer(_map)?)|ctl|rng)\.h|data/|molecules/protocol\.h'
layer figure 'base/|compute/ctl\.h|figure/'
# The folders of app, from the bottom up: each sees those before it.
below='base/|compute/|data/|figure/'
for folder in shell core session runs plots teach commands; do
    below="$below|app/$folder/"
    layer "app/$folder" "$below"
done
bad=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"compute/(linalg/|features/fop\.h)' \
    src/app src/ui)
verdict 'src/app and src/ui leave linear algebra to compute' "$bad"
layer ui 'base/|compute/|data/|figure/|app/|ui/'
layer molecules 'molecules/'
layer mpi 'compute/ranks/crew\.h'
layer hdf5 'data/formats/hdf5_calls\.h'
layer cuda 'base/|compute/(backend|features/featmap)\.h|cuda/'
# Quoted includes name the layer, so that a file cannot reach over by a relative path.
bad=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"\.\.?/' src)
verdict 'no relative include' "$bad"

foreign 'BLAS and LAPACK' '(.*/)?(cblas|lapacke|openblas_config|f77blas)[a-z_]*\.h' \
    'src/compute/linalg/blas\.c'
foreign 'the GNU Scientific Library' 'gsl/' 'src/compute/(kernels/matern|tuners/tune_line)\.c'
foreign 'LIBSVM' '(libsvm/)?svm\.h' 'src/compute/models/classes/csvc\.c'
foreign 'NLopt' 'nlopt' 'src/compute/(tuners/)?[a-z_]*\.c'
# As a format of tables, SQLite reads bytes in memory and touches no file.
foreign 'SQLite' 'sqlite3' 'src/app/session/store[a-z_]*\.[ch]|src/data/formats/import_sqlite\.c'
foreign 'readline' 'readline/' 'src/ui/prompt\.c'
foreign 'curses' '(ncursesw/)?(n?curses|term|panel)\.h' 'src/ui/.*'
foreign 'HDF5' 'hdf5\.h' 'src/hdf5/module\.c'
foreign 'MPI' 'mpi\.h' 'src/mpi/module\.c'
foreign 'RDKit' '(GraphMol|RDGeneral|DataStructs|boost)/' 'src/molecules/main\.cc'
foreign 'Random123' 'Random123/' 'src/compute/rng\.[ch]'
foreign 'zlib and zstd' '(zlib|zstd)' 'src/data/(formats/import[a-z_]*|checksum)\.c'

# A kind of model is its row in the registry: what it can do stands there.  Outside the files that
# make a row nothing names one, asks for one by its name, or compares with the name or with the
# solver of one.  Words that mean something else: the number of features as an axis of a sweep, the
# levels of a target in a session.
kinds=$(grep -rlE '^const struct model_ops [a-z_]+_model = \{' src)
rows=$(sed -nE 's/^const struct model_ops ([a-z_]+_model) = \{.*/\1/p' $kinds | paste -sd '|' -)
words=$(awk '/^const struct model_ops /{ row = 1 } /^};/{ row = 0 }
    row && /^    \.(name|solver) = "/{ split($0, part, "\""); print part[2] }' $kinds |
    sort -u | paste -sd '|' -)
own="$(echo $kinds | tr ' ' '|')|src/compute/models/(model|tuning)\.h"
bad=$({
    grep -rnE "(^|[^a-z_])($rows)([^a-z_]|\$)" src | grep -v 'struct svm_model'
    grep -rnE "(cmp|model_kind_[a-z]+)\([^;]*\"($words)\"" src |
        grep -vE '^src/(app/runs/sweep\.c:.*"features"|data/encoding_json\.c:.*key, "classes")'
} | grep -vE "^($own):")
[ -n "$rows" ] && [ -n "$words" ] || bad='there is no row of a kind of model'
verdict 'kinds of models are told apart by their rows, not by name' "$bad"

bad=$(grep -rlE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<nlopt' src)
[ "$(printf '%s' "$bad" | grep -c .)" -le 1 ] && bad=
verdict 'NLopt in one file' "$bad"

echo "1..$n"
exit $failed
