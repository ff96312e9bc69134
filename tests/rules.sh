#!/bin/sh
# The rules of house.sh, layers.sh and circles.sh hold: a copy of the sources in which each is
# broken once fails each of them, and the place is named.  Part of make check-long.  Prints TAP.
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/tree" "$work/built"
(cd "$top" && cp -r src tests share README.md CONTRIBUTING.md quickstart .ci Makefile.am \
    configure.ac "$work/tree")
chmod -R u+w "$work/tree"
cd "$work/tree" || exit 1
repeat() { # COUNT TEXT
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'
}

# What each rule of the house is to find.
mkdir src/base/crowd
for i in $(seq 61); do : > "src/base/crowd/f$i"; done
repeat 1201 'extern int x;' > src/base/lengthy.h
{ printf '/* '; repeat 110 x | tr -d '\n'; echo ' */'; } > src/base/wide.c
{ printf '# '; repeat 110 x | tr -d '\n'; echo; } > tests/wide.sh
# A line of prose is found; 100 characters in 150 bytes, tables, fences and single words are not.
{ repeat 25 'word' | tr '\n' ' '; echo; echo; repeat 50 'é ' | tr -d '\n'; printf '\n\n| '
    repeat 110 x | tr -d '\n'; printf ' |\n\n    '; repeat 110 x | tr -d '\n'; printf '\n\n```\n# '
    repeat 110 x | tr -d '\n'; printf '\n```\n'; } > share/doc/wide.md
{ printf 'int tall(void)\n{\n'; repeat 80 '    x();'; printf '}\n'; } > src/base/tall.c
printf 'int many(int a, int b, int c, int d, int e, int f, int g, int h, int i)\n{\n}\n' \
    > src/base/many.c
echo '/* See nowhere_at_all.c for more. */' > src/base/cites.c
echo '/* ------------ */' > src/base/banner.c
printf '\nSee nowhere_mapped.c.\n' >> share/doc/map.md
mkdir -p "$work/built/src/base"
printf 'int wrong_name(void) { return 0; }\nint stray_for_tests(void) { return 0; }\n' \
    > src/base/stray.c
printf 'int stray_for_tests(void);\nint user_of(void) { return stray_for_tests(); }\n' \
    > src/base/user.c
for f in stray user; do
    ${CC:-cc} -c -o "$work/built/src/base/$f.o" src/base/$f.c || exit 1
done
: > leftover
if command -v git > /dev/null; then
    git init -q . && git add leftover
else
    echo 'not ok - leftover: no place, but there is no git here to tell' > "$work/house"
fi
top_srcdir=$PWD top_builddir=$work/built sh tests/house.sh >> "$work/house" 2>&1
found() { # FILE WHAT NAME: among what failed
    awk '/^ok /{ bad = 0 } /^not ok /{ bad = 1 } bad' "$work/$1" | grep -qF -- "$2"
    verdict "$3" "$([ $? -eq 0 ] || cat "$work/$1")"
}
for row in 'src/base/crowd: 61 files' 'src/base/lengthy.h: 1201 lines' \
    'src/base/wide.c:1: 116 columns' 'tests/wide.sh:1: 112 columns' \
    'share/doc/wide.md:1: 125 columns' 'tall has 8' 'many has 9 parameters' \
    'src/base/stray.c: wrong_name' 'wrong_name is used by no other file' \
    'stray_for_tests is used by other files' \
    'src/base/cites.c:1: nowhere_at_all.c' \
    'share/doc/map.md: file nowhere_mapped.c' 'src/base/banner.c:1:' 'leftover: no place'; do
    found house "$row" "house.sh finds: $row"
done
verdict 'house.sh allows wide tables, fences and words in documents' \
    "$(grep 'share/doc/wide.md:' "$work/house" | grep -v 'wide.md:1:')"
verdict "no rule of house.sh holds" "$(grep '^ok ' "$work/house")"

# A file in each folder that includes what it may not.
wrong() { # FOLDER LINE
    printf '#include %s\n' "$2" >> "src/$1/wrong.c"
}
while read -r folder line; do
    wrong "$folder" "$line"
done << 'END'
base "compute/rng.h"
compute "data/dataset.h"
data "figure/figure.h"
figure "data/dataset.h"
app/shell "app/core/workspace.h"
app/core "app/session/store.h"
app/session "app/runs/fitting.h"
app/runs "app/plots/draws.h"
app/plots "app/teach/lesson.h"
app/teach "app/commands/app.h"
app/commands "ui/desk.h"
app/commands "compute/linalg/blas.h"
ui "cuda/dense.h"
cuda "app/core/workspace.h"
molecules "base/mem.h"
base "../compute/rng.h"
base <cblas.h>
base <gsl/gsl_math.h>
base <libsvm/svm.h>
base <nlopt.h>
base <sqlite3.h>
base <readline/readline.h>
base <curses.h>
base <Random123/philox.h>
base <zlib.h>
base <GraphMol/GraphMol.h>
END
for line in 'int a = kind == &sparse_model;' 'int b = strcmp(m->kind->name, "exact") == 0;' \
    'int c = kind == model_kind_named("svm");' \
    'int d = solver && !strncmp(solver, "nn", 2);'; do
    echo "$line" >> src/app/runs/switch.c
done
top_srcdir=$PWD sh tests/layers.sh > "$work/layers" 2>&1
for i in 1 2 3 4; do
    found layers "src/app/runs/switch.c:$i:" "layers.sh finds switch $i on a kind of model"
done
for folder in base compute data figure app/shell app/core app/session app/runs app/plots app/teach \
    app/commands ui cuda molecules; do
    found layers "src/$folder/wrong.c:1:" "layers.sh finds what src/$folder includes"
done
for header in compute/linalg/blas.h ../compute/rng.h cblas.h gsl/ libsvm/ nlopt.h sqlite3.h \
    readline/ curses.h Random123/ zlib.h GraphMol/; do
    found layers "$header" "layers.sh finds $header where it does not belong"
done
verdict "no rule of layers.sh holds" "$(grep '^ok ' "$work/layers")"
# In each folder of the order from the bottom up a ring of seven files, and a call to the next one
# (of data and figure, which stand side by side, to each other).
ring() { # FOLDER CALLED-FOLDER
    layer=${1##*/} next=${2##*/}
    mkdir -p "src/$1" "$work/rings/src/$1"
    for i in 0 1 2 3 4 5 6; do
        j=$(((i + 1) % 7))
        printf 'void ring_%s%d(void);\nvoid ring_%s%d(void) { ring_%s%d(); }\n' \
            "$layer" $j "$layer" $i "$layer" $j > "src/$1/ring$i.c"
    done
    [ -z "$next" ] ||
        printf 'void ring_%s0(void);\nvoid up_%s(void);\nvoid up_%s(void) { ring_%s0(); }\n' \
            "$next" "$layer" "$layer" "$next" > "src/$1/up.c"
    from=$PWD/src/$1
    (cd "$work/rings/src/$1" && ${CC:-cc} -c "$from"/ring?.c ${next:+"$from/up.c"}) || exit 1
}
order='base compute data figure data app/shell app/core app/session app/runs app/plots app/teach
app/commands ui'
set -- $order
while [ $# -gt 0 ]; do
    case $1 in
        data) [ "$2" = figure ] && ring data figure ;;
        figure) ring figure data ;;
        *) ring "$1" "${2-}" ;;
    esac
    shift
done
top_srcdir=$PWD top_builddir=$work/rings sh tests/circles.sh > "$work/circles" 2>&1
set -- $order
while [ $# -gt 1 ]; do
    [ "$1 $2" = 'data app/shell' ] ||
        found circles "${1#app/}/up calls ring_${2##*/}0 of ${2#app/}/ring0" \
            "circles.sh finds the call from $1 up to $2"
    shift
done
for folder in $(echo "$order" | tr ' ' '\n' | sort -u); do
    found circles "${folder##*/} 7 ${folder#app/}/ring" "circles.sh finds seven files of $folder"
done
verdict "no rule of circles.sh holds" "$(grep '^ok ' "$work/circles")"
echo "1..$n"
exit $failed
