#!/bin/sh
# tests/scripts/html.sh -- the HTML manual: every page, every command, and no link without its
# place.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

if ! command -v cmark-gfm >/dev/null && ! command -v pandoc >/dev/null; then
    # Without a converter it says what to install; the rest is tested with the text as it is.
    sh "$src/share/html/make.sh" "$src" "$gpdesk" out 2>err
    is "without a converter it fails" $? 1
    has "and says what to install" "$(cat err)" 'apt-get install .*cmark-gfm'
    MARKDOWN='sed s/&/\&amp;/g;s/</\&lt;/g'
    export MARKDOWN
fi
mkdir pictures
echo picture >pictures/one-light.png
echo picture >pictures/one-dark.png
echo 'one & more "words"' >pictures/one.txt
sh "$src/share/html/make.sh" "$src" "$gpdesk" out pictures >made 2>err
is "it is made" "$?$(cat err)" 0
missing=
for f in "$src"/share/doc/*.md; do
    p=$(basename "$f" .md)
    test -s "out/$p.html" || missing="$missing $p"
done
is "every page is there" "$missing" ""
missing=
for verb in $("$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    grep -q "id=\"$verb\"" out/commands.html || missing="$missing $verb"
done
is "every command has its place" "$missing" ""
missing=
for f in "$src"/share/lessons/*.lesson; do
    t=$(sed -n 's/^# //p' "$f" | head -n 1)
    grep -q "$t" out/course.html || missing="$missing $t"
done
is "every lesson is there" "$missing" ""
is "marks of a lesson's file are no text" "$(grep -c '^<p>[%=] ' out/course.html)" 0
has "how to write one, too" "$(cat out/lessons.html)" 'Your own'
has "the gallery has its pictures" "$(cat out/gallery.html)" 'src="gallery/one-light.png"'
has "for dark pages, too" "$(cat out/gallery.html)" 'srcset="gallery/one-dark.png"'
has "and their words" "$(cat out/gallery.html)" 'one &amp; more &quot;words&quot;'

# check FILE: each local link or picture has its file, each #place its id.
check() {
    grep -o '\(href\|src\)="[^"]*"' "$1" | sed 's/^[a-z]*="//; s/"$//' | sort -u | while read -r \
        to; do
        case $to in
        http:*|https:*|mailto:*) continue ;;
        esac
        file=${to%%#*} place=
        case $to in *#*) place=${to#*#} ;; esac
        target=${file:+out/$file}
        target=${target:-$1}
        test -f "$target" || { echo "$1: $to"; continue; }
        test -z "$place" || grep -q "id=\"$place\"" "$target" || echo "$1: $to"
    done
}
bad=
for f in out/*.html; do
    bad="$bad$(check "$f")"
done
is "no link leads nowhere" "$bad" ""
ok "there are links" test "$(cat out/*.html | grep -o 'href="' | wc -l)" -gt 100
sed 's/href="commands.html"/href="nowhere.html"/' out/index.html >out/broken.html
has "a broken one would be found" "$(check out/broken.html)" 'nowhere.html'

finish
