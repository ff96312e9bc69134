#!/bin/sh
# gallery.sh -- every plot of gpdesk on one sheet: on light and dark ground, in colour and in grey.
#
#   ./gallery.sh [DIRECTORY]      writes NAME-light.png, NAME-dark.png, their numbers NAME.csv,
#                                 their words NAME.txt, index.html, and with gnuplot sheet.png and
#                                 sheet-grey.png
#
# DATA may be set: commands that open a table of your own and split it.
set -e
out=${1:-gallery}
GPDESK=${GPDESK:-gpdesk}
DATA=${DATA:-demo robot n=2000 seed=7; split test=20% seed=7}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

all=
# draw NAME OBJECTS...: the lines that write one plot four times.
draw() {
    name=$1
    shift
    all="$all $name"
    for theme in light dark; do
        echo "plot $name $* theme=$theme out='$out/$name-$theme.png'"
    done
    echo "plot $name $* out='$out/$name.csv'"
    echo "describe $name $*"
}

{
    echo "$DATA"
    draw columns
    draw pairs
    echo 'kernel matern(nu=5/2,ard)'
    echo 'tune features=512'
    draw ard
    draw path
    echo 'kernel matern(nu=5/2); tune features=512'
    draw nmll
    echo 'landscape features=512'
    draw landscape
    echo 'tradeoff'
    draw tradeoff
    echo 'advise features=1024 rank=16..256*2'
    echo 'fit solver=pcg features=1024 rank=32'
    echo 'fit solver=pcg features=1024 rank=128'
    draw rank
    draw residual r1 r2
    draw rate r1 r2
    draw race r1 r2 by=passes
    draw cost r2
    echo 'spectrum'
    draw spectrum
    echo 'score; check'
    for plot in parity calibration zscore sd sderror check; do draw $plot; done
    draw features
    echo 'pca dims=20'
    draw scree
    echo 'cluster k=2..10'
    draw silhouette
    draw pca
    echo "sweep rank=16,32,64,128 features=512,1024 show=iterations fit='solver=pcg'"
    draw sweep
    echo 'sweep rows=100,200,400,800'
    draw learning
    echo 'fit; effects'
    draw effects
    echo 'importance pairs=yes'
    draw importance
    echo 'demo robot n=2000 seed=7 as=reach; let third = (distance > 0.54) + (distance > 0.69)'
    echo 'cols third role=target; cols distance role=skip; split test=20% stratify=yes seed=7'
    echo 'likelihood dirichlet; kernel matern(nu=5/2); fit features=512; score'
    draw confusion
    draw reliability
    draw roc
    draw pr
    draw boundary joint2 joint3
    echo 'demo friedman1 n=1200 seed=1 as=maps; split test=20% valid=10% seed=7'
    echo 'kernel mlp(width=64,out=16); tune steps=120; fit'
    draw training
    draw features-learned x4
    draw features-learned x1 x2
    echo 'demo co2; split ordered test=20%'
    echo 'kernel poly + rbf(l=3) * periodic(period=0.0701) + rbf(l=0.3); tune 3.period=0.0701; fit'
    draw slice
    draw parts
    echo 'draw kernel=matern(nu=3/2,l=0.5) n=5'
    draw draws
    draw kernel
    echo 'demo proteins n=1500 seed=1; split column=few_vs_many'
    echo 'kernel conv(rbf,width=5); tune features=512; fit features=1024; score'
    draw mutations
    echo 'explain-row row:3'
    draw row
} >"$work/gallery.gps"
"$GPDESK" --no-config --format json -k --accept-unconverged -f "$work/gallery.gps" >"$work/out" \
    2>"$work/err" || {
    grep '"type":"error"' "$work/out" >&2
    cat "$work/err" >&2
}

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
{
    cat <<'EOF'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>gpdesk: gallery of plots</title><style>
body { font-family: sans-serif; margin: 1em 2em; color: #222; background: #f4f4f4 }
section { border-top: 1px solid #bbb; margin-top: 1.5em }
.sheet { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.6em; align-items: start }
.sheet img { width: 100%; border: 1px solid #ccc }
.grey { filter: grayscale(1) }
pre { white-space: pre-wrap; font-size: 85% }
</style></head><body><h1>gpdesk: gallery of plots</h1>
<p>Each on light and on dark ground, in colour and in grey; below it in words.</p>
EOF
    for name in $all; do
        test -s "$out/$name-light.png" || continue
        title=$("$GPDESK" -e "help $name" 2>/dev/null | sed -n "s/^plot $name: //p" | escape)
        grep '"command":"describe"' "$work/out" | grep "\"plot\":\"$name\"" | tail -n 1 |
            sed 's/.*"describe":"//; s/"}*$//; s/\\n/\
/g; s/\\"/"/g; s/\\\\/\\/g' >"$out/$name.txt"
        printf '<section id="%s"><h2>%s: %s</h2><div class="sheet">\n' "$name" "$name" "$title"
        for class in plain grey; do
            for theme in light dark; do
                printf '<img class="%s" src="%s-%s.png" alt="%s">\n' $class "$name" $theme "$name"
            done
        done
        printf '</div><details><summary>in words, and as <a href="%s.csv">numbers</a></summary><pre>\n' "$name"
        escape <"$out/$name.txt"
        echo '</pre></details></section>'
    done
    echo '</body></html>'
} >"$out/index.html"

# The sheet as one picture, by gnuplot, which reads PNG files.
sheet() { # FILE EXPRESSION
    count=$(ls "$out"/*-light.png "$out"/*-dark.png | wc -l)
    rows=$(((count + 5) / 6))
    {
        echo "set term pngcairo size 2880,$((rows * 340)); set output '$1'; set multiplot layout $rows,6"
        echo 'unset key; unset tics; unset border; set margins 0.3,0.3,0.3,0.3; set size ratio -1; set autoscale fix'
        for name in $all; do
            for theme in light dark; do
                test -s "$out/$name-$theme.png" && echo \
                    "plot '$out/$name-$theme.png' binary filetype=png $2 with rgbimage"
            done
        done
    } | gnuplot
}
if command -v gnuplot >/dev/null 2>&1; then
    sheet "$out/sheet.png" ''
    sheet "$out/sheet-grey.png" \
        'using (0.299*$1+0.587*$2+0.114*$3):(0.299*$1+0.587*$2+0.114*$3):(0.299*$1+0.587*$2+0.114*$3)'
fi
missing=
for name in $all; do
    test -s "$out/$name-light.png" -a -s "$out/$name-dark.png" -a -s "$out/$name.csv" ||
        missing="$missing $name"
done
if test -n "$missing"; then
    echo "gallery.sh: not drawn:$missing" >&2
    exit 1
fi
echo "$out/index.html: $(echo $all | wc -w) plots"
