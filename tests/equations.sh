#!/bin/sh
# Equations that comments cite as "share/doc/methods.md 6.4" stand there, and each number names one.
# Prints TAP.
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
page=share/doc/methods.md
[ -f $page ] || { echo "Bail out! no $page here"; exit 1; }

# An equation ends an indented line with its number; a group is a heading.
equations=$(grep -oE '^    .*\([0-9]+\.[0-9]+\)$' $page | sed 's/.*(\(.*\))$/\1/')
groups=$(sed -n 's/^## \([0-9]*\)\. .*/\1/p' $page)
bad=$(echo "$equations" | sort | uniq -d)
verdict "each number of $page names one equation" "$bad"

# Citations with the numbers after them, across the ends of lines of a comment.
known=$(echo "$equations" "$groups" | tr '\n' ' ')
bad=$(find src tests share \( -name '*.[ch]' -o -name '*.cu' -o -name '*.md' \) | sort |
    xargs awk -v page="$page" -v known="$known" '
    function check(   rest, cite, i, m, part) {
        while (match(text, page " [0-9]+(\\.[0-9]+)?((, | to | and )[0-9]+(\\.[0-9]+)?)*")) {
            cite = substr(text, RSTART + length(page), RLENGTH - length(page))
            text = substr(text, RSTART + RLENGTH)
            gsub(/,| to | and /, " ", cite)
            m = split(cite, part, " ")
            for (i = 1; i <= m; i++)
                if (!(part[i] in there)) print file ": " part[i]
        }
        text = ""
    }
    BEGIN { n = split(known, k, " "); for (j = 1; j <= n; j++) there[k[j]] }
    FNR == 1 { check(); file = FILENAME; near = 0 }
    index($0, page) { near = 3 } # a citation ends within the next lines
    near { sub(/^[ \t]*\*?[ \t]*/, ""); text = text " " $0; gsub(/ +/, " ", text); near-- }
    END { check() }' | sort -u)
verdict "equations that are cited stand in $page" "$bad"
echo "1..$n"
exit $failed
