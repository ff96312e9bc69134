#!/bin/sh
# Which files call which, from the symbols of the objects: no call goes up between layers, and no
# more than 6 files call each other in a circle.  Prints TAP; skipped where nm is missing.
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
source=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
cd "${top_builddir:-.}" || exit 1
command -v nm > /dev/null || { echo '1..0 # SKIP no nm here'; exit 0; }

# From the bottom up; those of one word see what stands before the word, not each other.
layers='base compute data,figure shell core session runs plots teach commands ui'
most=6
# Circles that are larger: LAYER NUMBER, and why it may be.  They only get smaller.
exceptions='
'
# Of sources that are still there, the program's own objects.
objects=$(find src -name '*.o' | grep -vE '/(pic|cuda)/|^src/main' | while read -r o; do
    [ ! -f "$source/${o%.o}.c" ] && [ ! -f "${o%.o}.c" ] || echo "$o"
done)
[ -n "$objects" ] || { echo 'Bail out! no objects here'; exit 1; }

calls=${TMPDIR:-/tmp}/gpdesk-circles.$$
trap 'rm -f "$calls"' EXIT
# FILE CALLED-FILE SYMBOL, a file as LAYER/PATH
nm -A -g $objects 2> /dev/null | awk '
    NF < 3 { next }
    { split($1, at, ":"); file = at[1]; sub(/^src\/(app\/)?/, "", file); sub(/\.o$/, "", file)
      symbol = $NF; kind = $(NF - 1) }
    kind == "U" { from[++used] = file; name[used] = symbol; next }
    { home[symbol] = file }
    END { for (i = 1; i <= used; i++)
              if (name[i] in home && home[name[i]] != from[i])
                  print from[i], home[name[i]], name[i] }' | sort -u > "$calls"
[ -s "$calls" ] || { echo 'Bail out! nm told of no calls'; exit 1; }

bad=$(awk -v layers="$layers" '
    BEGIN { n = split(layers, level, " ")
            for (i = 1; i <= n; i++) {
                m = split(level[i], part, ",")
                for (k = 1; k <= m; k++) rank[part[k]] = i
            } }
    { split($1, a, "/"); split($2, b, "/")
      if (a[1] != b[1] && rank[b[1]] >= rank[a[1]]) print $1 " calls " $3 " of " $2 }' "$calls")
verdict 'no call goes up' "$bad"

# Each circle as LAYER NUMBER FILES: files that reach each other.
circles=$(awk '
    !(($1, $2) in seen) { seen[$1, $2] = 1; to[$1, ++out[$1]] = $2; file[$1]; file[$2] }
    function reach(v,   queue, head, tail, w, i) {
        queue[tail = 1] = v
        for (head = 1; head <= tail; head++)
            for (i = 1; i <= out[queue[head]]; i++) {
                w = to[queue[head], i]
                if (!((v, w) in reached)) { reached[v, w] = 1; queue[++tail] = w }
            }
    }
    END { for (v in file) reach(v)
          for (v in file) {
              if (v in done) continue
              n = 0; list = ""
              for (w in file)
                  if ((v, w) in reached && (w, v) in reached) { done[w] = 1; n++; list = list " " w }
              split(v, at, "/")
              if (n > 1) print at[1], n list
          } }' "$calls" | sort)
for name in $(echo "$layers" | tr ',' ' '); do
    limit=$(echo "$exceptions" | awk -v a="$name" '$1 == a { print $2 }')
    bad=$(echo "$circles" | awk -v a="$name" -v most="${limit:-$most}" '$1 == a && $2 > most')
    verdict "circles of $name have at most ${limit:-$most} files" "$bad"
done

echo "1..$n"
exit $failed
