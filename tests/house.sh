#!/bin/sh
# The rules of the house: sizes of folders, files, lines and functions, names, citations, comments.
# Prints TAP; what breaks a rule is named.  An exception is a row of `exceptions` with its reason.
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
builddir=$(cd "${top_builddir:-.}" && pwd)
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
source=$(pwd)
[ -d src/base ] || { echo "Bail out! no src/base here"; exit 1; }

# RULE PATTERN -- reason.  The pattern is matched against the lines that a rule prints.
exceptions='
function ^src/compute/linalg/ -- wrappers of BLAS and LAPACK have the parameters of what they wrap
function ^src/cuda/[a-z_]*(_body|_real)\.h|^src/cuda/dense\.c -- bodies of kernels, wrappers of cuSOLVER
function ^src/cuda/[a-z_]*\.cu -- launches pass on the parameters of device kernels
name ^src/[a-z_/]*/(schema_sql|lesson_text|help_text|predictor_text)\.c -- generated
name ^src/base/status\.c: err_ -- status.h is struct err: its codes and its words
name ^src/app/shell/args[a-z_]*\.c: command_ -- the parser of command.h, divided by idea
name ^src/figure/figure_(pane|text)\.c: (layout|frame)_ -- a layout is drawn by several files
alone ^src/app/commands/app\.c: app_owners -- check_resume sees that `new` frees the state of each
alone ^src/compute/solvers/(amsgrad|svrg|batch)\.c: -- a step alone is held to its recurrence
alone ^src/compute/.*: (pchol_factor|metrics_spearman|spectrum_estimate) -- held to dense algebra
alone ^src/compute/models/exact_op\.c: -- products of rows, columns and costs, for solvers to come
alone ^src/compute/kernels/layers/fastconv\.c: -- a layer without its kernel is held to plain sums
alone ^src/data/demo/demo_molecules\.c: -- the energy of two atoms is known
alone ^src/(app|ui|figure)/.*: (scoring_metrics|palette_score|requests_clipboard|figure_gnuplot_quote) -- units
alone ^src/app/teach/.*: (explain_page|lesson_parse|placeholder_(number|text)) -- tests read all pages
alone ^src/app/session/timeline\.c: timeline_snapshot_take -- a portrait for tests of undoing
line ^share/examples/figure2b\.sh|^tests/bench/(advise|jobs|sequences)\.sh -- quoted programs of many lines
line ^tests/screens/pictures\.sh|^tests/scripts/(diagnosis|examples|export|plots)\.sh -- the same
line ^tests/scripts/(kernels|readme|sequences)\.sh -- the same
line ^tests/house\.sh:[1-3][0-9]: -- this table
line ^tests/(bench|cuda)/peers[a-z_]*\.py -- a table of other programs, one a line
'
excepted() { # RULE: drops the lines that a row of that rule allows
    rows=$(echo "$exceptions" | sed -n "s/^$1 \(.*\) -- .*/\1/p")
    if [ -n "$rows" ]; then grep -vE "$(echo "$rows" | paste -sd '|')"; else cat; fi
}

sources() { find src tests \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cc' \) | sort; }
bad=$(find src tests share -type f | sed 's,/[^/]*$,,' | grep -vE \
    '/(data|corpus|golden)(/|$)|/fuzz/' |
    sort | uniq -c | awk '$1 > 60 { print $2 ": " $1 " files" }' | excepted folder)
verdict 'no folder holds more than 60 files' "$bad"

# In a checkout, where what was built can be told from what belongs to the project.
if git rev-parse --git-dir > /dev/null 2>&1; then
    bad=$(git ls-files | sed 's,/.*,/,' | sort -u | grep -vxE \
        '(\.ci|src|share|tests)/|\.(gitignore|editorconfig|clang-format)|COPYING(\.exception)?|(README|CONTRIBUTING)\.md|configure\.ac|Makefile\.am|quickstart' |
        sed 's/$/: no place at the top level/' | excepted top)
    verdict 'the top level holds what has a place there, and nothing else' "$bad"
fi

bad=$(sources | xargs wc -l | awk '$1 > 1200 && $2 != "total" { print $2 ": " $1 " lines" }' |
    excepted file)
verdict 'no file has more than 1,200 lines' "$bad"

# Characters, not bytes.
bad=$(sources | LC_ALL=C.UTF-8 xargs awk \
    'length > 100 { print FILENAME ":" FNR ": " length " columns" }' |
    excepted line)
verdict 'no line of C has more than 100 columns' "$bad"
# Of scripts and makefiles, too; what stands in quotes may be longer, as a break would change it.
bad=$( { find src tests share \( -name '*.sh' -o -name '*.mk' -o -name '*.py' -o -name '*.awk' \)
    echo .ci/run quickstart Makefile.am configure.ac | tr ' ' '\n'; } | sort |
    LC_ALL=C.UTF-8 xargs awk 'length > 100 {
        bare = $0
        if (FILENAME !~ /[.]py$/) {
            gsub(/\047[^\047]*\047|"[^"]*"/, "", bare)
            sub(/[\047"].*/, "", bare)
        }
        if (length(bare) > 100) print FILENAME ":" FNR ": " length " columns"
    }' | excepted line)
verdict 'no line of a script or makefile has more than 100 columns' "$bad"
# Of documents, too, but for rows of tables, blocks in fences and lines that have no blank to break
# at.  Bytes after the first of a character are not counted, as not every awk knows characters.
bad=$( { find src tests share -name '*.md'; ls -- *.md; } | sort | LC_ALL=C xargs awk '
    FNR == 1 { fenced = 0 }
    /^ *```/ { fenced = !fenced }
    fenced || /^ *[|]/ || !/[^ ] +[^ ]/ { next }
    { bare = $0
      gsub(/[\200-\277]/, "", bare)
      if (length(bare) > 100) print FILENAME ":" FNR ": " length(bare) " columns" }' |
    excepted line)
verdict 'no line of prose in a document has more than 100 columns' "$bad"

functions=$(find src \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cc' \) | sort |
    xargs awk -f tests/functions.awk)
bad=$(echo "$functions" | awk '$4 > 80 { print $1 ":" $2 ": " $3 " has " $4 " lines" }' |
    excepted function)
verdict 'no function has more than 80 lines' "$bad"
bad=$(echo "$functions" | awk '$5 > 8 { print $1 ":" $2 ": " $3 " has " $5 " parameters" }' |
    excepted function)
verdict 'no function has more than 8 parameters' "$bad"

# A file's external names begin with its name or a part of it (store_json.c is of the group store,
# import_csv.c has csv_sniff); one more s or less does not count, and ws is the workspace.  A row
# of a registry is called after registry and file (kernel_rbf in rbf.c), the helpers of a registry's
# folder after the registry, the body of a command after the command (cmd_draw).
names() {
    (cd "$builddir" && find src -name '*.o' ! -path '*/pic/*' ! -name '*check_cuda_host*' | sort |
        while read -r object; do
            nm -g --defined-only "$object" 2> /dev/null | awk -v o="${object%.o}.c" '
                BEGIN { stem = o; sub(/.*\//, "", stem); sub(/\.c$/, "", stem)
                        group = o; sub(/\/[^\/]*$/, "", group); sub(/.*\//, "", group)
                        sub(/s$/, "", group)
                        parts = split(stem, part, "_")
                        short = stem ~ /^workspace/ ? "ws" : stem }
                $2 ~ /[TDBRC]/ {
                    found = $3 ~ ("^[a-z]+_" stem "$") || $3 ~ ("^" short "_") ||
                        $3 ~ ("^" group "_") || $3 ~ /^cmd_|_(row|rows|owner|solver|model)$/
                    for (i = 1; i <= parts && !found; i++) {
                        base = part[i]; sub(/s$/, "", base)
                        found = $3 ~ ("^" base "s?(_|$)")
                    }
                    if (!found) print o ": " $3
                }'
        done)
}
if command -v nm > /dev/null; then
    bad=$(names | excepted name)
    verdict "external names begin with their file's name" "$bad"
fi

# What no other file of src uses is static, or its name says that it is there for tests; and what is
# there for tests is used by nothing else.  The device's files are a module of their own.
alone() {
    (cd "$builddir" && find src -name '*.o' ! -path '*/pic/*' | while read -r object; do
        [ -f "${object%.o}.c" ] || [ -f "$source/${object%.o}.c" ] || continue
        echo "$object"
    done | xargs nm -A -g 2> /dev/null | awk '
        NF < 3 { next }
        { split($1, at, ":"); file = at[1]; sub(/\.o$/, ".c", file); kind = $(NF - 1) }
        kind == "U" { used[$NF]; next }
        kind ~ /[TDBRC]/ && file !~ /^src\/(cuda\/|main\.c)/ { home[$NF] = file }
        END { for (name in home)
                  if (name ~ /_for_tests$/ ? name in used : !(name in used))
                      print home[name] ": " name " is used by " \
                          (name in used ? "other files" : "no other file of src") }' | sort)
}
if command -v nm > /dev/null; then
    bad=$(alone | excepted alone)
    verdict 'what no other file uses is static, or named for tests' "$bad"
fi

# Files of ours that a comment or a document names are there.  Names in capitals and those that a
# user chooses (mine.gps) are no files of ours.
tree=$(find . \( -path ./.git -o -path './build*/fuzz' \) -prune -o -type f -print |
    sed 's,.*/,,' | sort -u)
bad=$( { sources; find share -name '*.md' -o -name '*.txt' -o -name '*.lesson'; echo README.md
    echo CONTRIBUTING.md; } | xargs awk -v tree="$tree" '
    BEGIN { n = split(tree, file, "\n"); for (i = 1; i <= n; i++) there[file[i]] }
    { rest = $0 }
    FILENAME ~ /\.(c|h|cu|cc)$/ { # comments only
        if (match(rest, /\/\*/)) rest = substr(rest, RSTART)
        else if (rest !~ /^[ \t]*(\*([ \/]|$)|\/\/)/) next
    }
    {
      while (match(rest, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.(md|c|h|cu|awk|mk)/)) {
          cited = substr(rest, RSTART, RLENGTH)
          after = substr(rest, RSTART + RLENGTH, 2)
          sub(/^\.($|[^A-Za-z0-9])/, "", after) # the end of a sentence
          rest = substr(rest, RSTART + RLENGTH)
          base = cited; sub(/.*\//, "", base)
          if (after !~ /^[A-Za-z0-9_.(]/ && cited !~ /shared\// && base !~ /[A-Z][A-Z]/ &&
              !(base in there))
              print FILENAME ":" FNR ": " cited
      } }' | excepted citation)
verdict 'no citation of a file that is not here' "$bad"

# What the map of the source names is there, and where the map says that it is.
paths=$(find src share tests -type f; ls -d ./*)
named() { # KIND PATH NAME: the line back if it is wrong
    set -- "$1" "${2#src/}" "$3"
    case $1 in
    folder) [ -d "src/$2" ] || [ -d "$2" ] || find src -type d -path "*/${2%/}" | grep -q . ;;
    name) grep -rqwE "$2" src ;;
    *)  at=$(echo "$paths" | awk -v p="/$2" '{ s = "/" $0; sub(/^\/src\//, "/", s) }
            s == p || substr(s, length(s) - length(p) + 1) == p')
        if [ -d "src/$2" ]; then at=src/$2; fi
        [ -n "$at" ] && { [ "$1" = file ] || grep -rqwE "$3" $at; } ;;
    esac || echo "share/doc/map.md: $*"
}
bad=$(awk -f tests/names.awk share/doc/map.md | sort -u | while read -r kind path name; do
    named "$kind" "$path" "$name"
done | excepted map)
verdict 'files and functions that the map names are there' "$bad"

bad=$(sources | xargs grep -nE '/\* ?[-=*]{3,}|[-=*]{4,} ?\*/|^ ?// ?[-=]{3,}' | excepted banner)
verdict 'no banner comments' "$bad"

echo "1..$n"
exit $failed
