#!/bin/sh
# share/html/make.sh -- the HTML manual: the pages under share/doc, the commands as the program
# itself writes them, the lessons, and the gallery where it has been made.
#   make.sh SRCDIR GPDESK OUT [GALLERY]
# $MARKDOWN: what turns Markdown with tables on standard input into HTML; else cmark-gfm or pandoc.
set -eu
src=$1 gpdesk=$2 out=$3 gallery=${4:-}

if [ -z "${MARKDOWN:-}" ]; then
    if command -v cmark-gfm >/dev/null; then
        MARKDOWN='cmark-gfm -e table'
    elif command -v pandoc >/dev/null; then
        MARKDOWN='pandoc -f gfm -t html'
    else
        echo "make html: cmark-gfm or pandoc turns the pages into HTML; on Debian:" >&2
        echo "  apt-get install --no-install-recommends cmark-gfm" >&2
        exit 1
    fi
fi
mkdir -p "$out"
docs=$(cd "$src/share/doc" && ls ./*.md | sed 's|^\./||; s|\.md$||' | sort)

# nav PAGE: the list of pages, this one without a link.
nav() {
    for p in index commands $docs course gallery contributing; do
        title=$p
        [ "$p" = index ] && title='gpdesk'
        [ "$p" = course ] && title='all lessons'
        if [ "$p" = "$1" ]; then
            echo "<b>$title</b>"
        else
            echo "<a href=\"$p.html\">$title</a>"
        fi
    done
}
# page NAME TITLE: the body comes on standard input.
page() {
    {
        cat <<END
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>$2</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="style.css"></head><body class="$1">
<nav>
END
        nav "$1"
        echo '</nav><main>'
        # Where a page is named, it is linked.
        script=
        for p in $docs; do
            script="${script}s|<code>share/doc/$p\\.md</code>|<a href=\"$p.html\">$p</a>|g;"
            script="${script}s|share/doc/$p\\.md|<a href=\"$p.html\">$p</a>|g;"
        done
        sed -e "$script" -e 's|href="\([a-z-]*\)\.md"|href="\1.html"|g' -e \
            's|<code>CONTRIBUTING.md</code>|<a href="contributing.html">Contributing</a>|g'
        echo '</main></body></html>'
    } >"$out/$1.html.tmp"
    mv -f "$out/$1.html.tmp" "$out/$1.html"
}
# A lesson as Markdown: its text, its lines as typed, its question with the answer behind it; what
# the student's own figures fill in is left open.
lesson() {
    awk 'function block(kind) { if (kind != last) print ""; last = kind }
        /^summary / { block("s"); print "*" substr($0, 9) "*"; next }
        /^(minutes|needs) / { next }
        /^# / { block("t"); print "#" $0; next }
        /^== / { block("h"); print "##" "# " substr($0, 4); next }
        { gsub(/[{]seed[}]/, "1"); if (!/^>/) gsub(/[{][^}]*[}]/, "…") }
        /^> / { block("c"); print "    " substr($0, 3); next }
        /^\? / { block("q"); print "**Predict.** " substr($0, 3); next }
        /^- / { block("o"); print; next }
        /^[+] / { block("o"); print "- " substr($0, 3) " (right)"; next }
        /^! / { block("a"); print "*" substr($0, 3) "*"; next }
        /^[:@%]/ { next }
        /^= / { next }
        /^$/ { print; last = ""; next }
        { block("p"); gsub(/</, "\\&lt;"); print }' "$1"
}

cp "$src/share/html/style.css" "$out/style.css"
$MARKDOWN <"$src/README.md" | page index gpdesk
$MARKDOWN <"$src/CONTRIBUTING.md" | page contributing 'Contributing to gpdesk'
for p in $docs; do
    title=$(sed -n 's/^# //p' "$src/share/doc/$p.md" | head -n 1)
    $MARKDOWN <"$src/share/doc/$p.md" | page "$p" "${title:-$p}"
done
"$gpdesk" --dump=html | page commands 'Commands of gpdesk'
{
    echo '# Lessons'
    echo
    echo '`lesson N` at the prompt runs them on live commands: read, predict, do, compare; … stands for a figure of yours.'
    echo
    for f in "$src"/share/lessons/*.lesson; do
        lesson "$f"
        echo
    done
} | $MARKDOWN | page course 'Lessons'
if [ -n "$gallery" ] && [ -d "$gallery" ]; then
    mkdir -p "$out/gallery"
    cp -R "$gallery"/. "$out/gallery/"
    {
        echo '<h1>Gallery</h1><p>Every plot, from the program itself; its words are what <code>describe</code> says.</p>'
        for f in "$out"/gallery/*-light.png; do
            [ -f "$f" ] || continue
            b=$(basename "$f" -light.png)
            words=$(sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g' "$out/gallery/$b.txt" \
                2>/dev/null || echo "$b")
            echo "<figure><picture>"
            [ -f "$out/gallery/$b-dark.png" ] &&
                echo "<source srcset=\"gallery/$b-dark.png\" media=\"(prefers-color-scheme: dark)\">"
            echo "<img src=\"gallery/$b-light.png\" alt=\"plot $b\" loading=\"lazy\"></picture>"
            echo "<figcaption><details><summary>$b</summary>$words</details></figcaption></figure>"
        done
    } | page gallery 'Gallery'
else
    echo '<h1>Gallery</h1><p>Not made yet: <code>make gallery</code>, then <code>make html</code>.</p>' |
        page gallery 'Gallery'
fi
echo "$out/index.html"
