#!/bin/sh
# tests/scripts/plots.sh -- every plot of the table to every format; and what they show against
# values that come another way: predictions, tunings, closed forms.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

near() { awk -v a="${1:-nan}" -v b="${2:-nan}" -v t="$3" \
    'BEGIN { d = a - b; s = b < 0 ? -b : b; exit !(a == a + 0 && b == b + 0 && (d < 0 ? -d : d) <= t * (s + 1e-12)) }'; }
num() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 | sed -n \
    "s/.*\"$2\":\([-+0-9.eE]*\).*/\1/p"; }
list() { printf '%s\n' "$out" | grep "\"command\":\"$1\"" | tail -n 1 | sed -n \
    "s/.*\"$2\":\[\([^]]*\)\].*/\1/p"; }
series() { # FILE PANEL SERIES: its lines of x,y,y2
    awk -F, -v p="$2" -v s="$3" 'NR > 1 && $1 == p && $2 == s { print $3 "," $4 "," $5 }' "$1"
}

# ---- every plot, every format ----
cat >all.gps <<'EOF'
demo robot n=300 seed=3
split test=30% seed=1
kernel rbf(ard)
tune features=64 evals=6
fit features=128 solver=pcg rank=8
fit features=128 solver=pcg rank=32
score
check
advise features=128 rank=8,16
spectrum
pca dims=4 features=128
cluster k=2..4 features=128
landscape l=0.5..5 noise=0.05..0.5 grid=5 features=64
tradeoff l=0.5..5 grid=5 rows=60
EOF
run -e 'help plots'
plots=$(printf '%s\n' "$out" | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p' | sort -u)
for p in columns pairs residual rate race rank spectrum nmll path landscape tradeoff ard parity \
    calibration sd sderror zscore check slice parts features pca scree silhouette sweep learning \
    cost; do
    case " $(printf '%s' "$plots" | tr '\n' ' ') " in
    *" $p "*) ;;
    *) missing="$missing $p" ;;
    esac
done
is "help plots names every plot" "$missing" ""
for p in $plots; do
    run -e "help $p"
    printf '%s\n' "$out" | grep -q "^plot $p: " && printf '%s\n' "$out" | grep -q '^  axes ' ||
        nopage="$nopage $p"
    test "$(printf '%s\n' "$out" | sed -n '/^plot /,$p' | awk \
        '{ if (length > m) m = length } END { print m + 0 }')" -le 80 || nopage="$nopage $p(wide)"
done
is "each has its page" "$nopage" ""
many='columns pairs residual rate race rank spectrum nmll path landscape tradeoff ard parity calibration sd sderror zscore check slice features pca scree silhouette cost'
cp all.gps script.gps
for p in $many; do
    case $p in slice) obj=joint2 ;; race | rate) obj='r1 r2' ;; *) obj= ;; esac
    for f in csv txt svg; do
        echo "plot $p $obj out=$p.$f" >>script.gps
    done
    echo "describe $p $obj" >>script.gps
done
run -f script.gps
is "all plots of one session" "$rc" 0
for p in $many; do
    head -n 1 $p.csv | grep -q '^panel,series,x,y,y2,class$' && test "$(wc -l <$p.csv)" -gt 1 &&
        head -c 5 $p.svg | grep -q '<?xml' && tail -n 3 $p.svg | grep -q '</svg>' && test \
            "$(grep -c '<path\|<circle\|<use\|<polygon' $p.svg)" -gt 3 &&
        test "$(wc -l <$p.txt)" -gt 10 || bad="$bad $p"
    # Words instead of a picture mean that there was nothing to draw.
    grep -q 'try: ' $p.txt && bad="$bad $p(empty)"
done
is "each is a CSV, a text and an SVG with something in it" "$bad" ""
# On numbers and on rows with categories, missing cells, weights and two targets: a sentence of its
# own, words and numbers for each plot, none of them empty.
awk 'BEGIN { srand(4); print "a,b,kind,w,y1,y2"
    for (i = 0; i < 200; i++) { a = rand() * 4; b = rand(); k = substr("uvw", 1 + i % 3, 1)
        printf "%s,%.4f,%s,%.3f,%.4f,%.4f\n", i % 40 == 7 ? "" : sprintf("%.4f", a), b, k, 0.5 + rand(), sin(a) + b + (i % 3) / 4 + 0.1 * rand(), cos(a) + 0.1 * rand() } }' >mixed.csv
{ echo 'open mixed.csv target=y1,y2 weight=w; missing mean'; sed -n '2,$p' all.gps; } >mixed.gps
for data in all mixed; do
    { cat $data.gps; echo 'draw kernel=rbf n=3'
      for p in $many parts kernel draws sweep learning; do
          case $p in slice) obj=$(test $data = all && echo joint2 || echo b) ;; race | rate) \
              obj='r1 r2' ;; *) obj= ;; esac
          case $p in
          parts) echo "kernel rbf + linear; fit features=64" ;;
          sweep) echo "sweep rank=4,8 fit='solver=pcg features=64'" ;;
          learning) echo "sweep rows=40,80,120 fit='features=64'" ;;
          esac
          echo "plot $p $obj out=$p.csv; plot $p $obj; describe $p $obj"
      done; } >words.gps
    run --format json --accept-unconverged -f words.gps
    is "all plots of $data" "$rc" 0
    bad=
    for p in $many parts kernel draws sweep learning; do
        printf '%s\n' "$out" | grep '"command":"plot"' | grep "\"plot\":\"$p\"" | grep -q \
            '"verdict":"[^"]\{12,\}' || bad="$bad $p(verdict)"
        printf '%s\n' "$out" | grep '"command":"describe"' | grep "\"plot\":\"$p\"" | grep -q \
            '"describe":"[^"]\{60,\}' || bad="$bad $p(words)"
        awk -F, 'NR > 1 { n++; if (NF < 6 || $4 == "") bad++ } END { exit !(n > 1 && bad < n) }' \
            $p.csv || bad="$bad $p(csv)"
    done
    is "each of $data has its sentence, words and numbers" "$bad" ""
done
if command -v gnuplot >/dev/null 2>&1; then
    { cat all.gps
      for p in check landscape cost slice; do
          case $p in slice) obj='joint2 joint3' ;; *) obj= ;; esac
          echo "plot $p $obj out=$p.png theme=dark; plot $p $obj out=$p.pdf size=400x300"
      done; } >pictures.gps
    run -f pictures.gps
    bad=
    for p in check landscape cost slice; do
        head -c 4 $p.png | grep -q PNG && head -c 4 $p.pdf | grep -q '%PDF' || bad="$bad $p"
    done
    is "pictures of panels, surfaces, names and slices" "$rc$bad" 0
fi
for p in $many parts sweep learning; do
    run -e "plot $p"
    case $p in slice | parts) text=$err ;; features) text=$err ;; *) text=$out ;; esac
    printf '%s\n' "$text" | tr -d '\n' | tr -s ' ' | grep -q 'try' || silent="$silent $p"
done
is "without data each says what to do" "$silent" ""
# A file would be a picture of that sentence: an error instead, and the earlier file stays.
echo keep >old.svg
{ echo 'plot residual out=old.svg'
  for p in $many parts sweep learning; do
      case $p in kernel | covariance | draws) ;; *) echo "plot $p out=none-$p.png" ;; esac
  done; } >none.gps
run -k -f none.gps
is "and none writes a file" "$rc $(cat old.svg) $(ls none-*.png 2>/dev/null)" "1 keep "
is "each with a sentence and a way out" "$(printf '%s\n' "$err" | grep -c '^error')" \
    "$(printf '%s\n' "$err" | grep -c '^  try ')"
# What a picture needs to be read: the two bands of a slice differ in the key, every bar has its
# name, and a surface has a colour bar whose ends are its least and greatest heights.
{ echo 'open mixed.csv target=y1; missing mean; kernel rbf; fit l=1 noise=0.2; plot slice a out=bands.svg'
  echo 'plot columns kind out=bars.svg; plot columns kind out=bars.txt size=40x12'
  echo 'landscape grid=5 features=64 l=0.5..2 noise=0.1..0.4; plot landscape out=bar.svg; plot landscape out=bar.csv'
  echo 'plot cost out=phases.txt size=80x12; plot cost out=phases.svg size=420x300; plot cost out=narrow.txt size=38x12'; } >read.gps
for program in own gnuplot; do
    test $program = own || command -v gnuplot >/dev/null 2>&1 || continue
    case $program in own) export GPDESK_GNUPLOT=/nowhere/gnuplot ;; *) unset GPDESK_GNUPLOT ;; esac
    run -f read.gps
    is "the bands of a slice differ ($program)" \
        "$(grep -o "opacity *= *['\"]0*\.[0-9]*" bands.svg | sort -u | grep -c '\.22\|\.39')" 2
    # Rows of the CSV: panel,series,x,y,height,class.
    ends=$(awk -F, '$2 == "NMLL (nats)" { if (!n++ || $5 < a) a = $5; if (n == 1 || $5 > b) b = $5 }
        END { printf "%.3g %.3g", a, b }' bar.csv)
    ok "a surface has a colour bar ($program)" sh -c \
        'for w in "NMLL (nats)" "$@"; do grep -q ">$w<" bar.svg || exit 1; done' - $ends
    bad=
    for w in u v w; do grep -q ">$w<" bars.svg || bad="$bad $w"; done
    for w in features precond solve variance other; do
        grep -q ">$w<" phases.svg || bad="$bad $w"
    done
    is "each bar has its name ($program)" "$bad" ""
done
unset GPDESK_GNUPLOT
is "on a screen of text, too" "$(grep -c '^ *u  *v  *w  *kind$' bars.txt) $(grep -c \
    'fe[a-z]* *pr[a-z]* *so[a-z]* *va[a-z]* *ot[a-z]*' phases.txt)" "1 1"
has "and a blank between those that are cut" "$(cat narrow.txt)" \
    ' fe[a-z]* \+pr[a-z]* \+so[a-z]* \+va[a-z]* \+ot[a-z]*'
GPDESK_GNUPLOT=/nowhere/gnuplot "$gpdesk" -q -f script.gps >/dev/null 2>&1
is "without gnuplot the same files" "$?$(for p in $many; do tail -n 3 $p.svg | grep -q '</svg>' ||
    echo " $p"; done)" 0

printf 'a,y\n1,2\n,3\n3,5\n4,4\n5,7\n6,6\n' >holes.csv
run -k -e 'open holes.csv target=y; tune; plot nmll'
has "where cells are missing the next step is to say what they are" "$out" 'next  *missing mean'
has "a tuning that failed is not asked for again" "$out" \
    't1 failed before its first evaluation. try: why t1'

# A search by a sample of the rows, then by all: the best value begins anew, and is the tuning's.
run --format json -e 'demo robot n=900 seed=2; tune features=128 rows=200; plot nmll out=two.csv'
has "a tick of the first tells that it is by a sample" "$out" '"evaluations":1,.*"subsampled":true'
few=$(series two.csv 1 'evaluation by a sample' | grep -c .)
all=$(series two.csv 1 'evaluation by all rows' | grep -c .)
is "every evaluation is by a sample or by all rows" "$((few + all))" "$(num tune evaluations)"
ok "of both there are some" test "$few" -gt 9 -a "$all" -gt 1
is "those by all rows are the last" "$(series two.csv 1 'evaluation by all rows' |
    awk -F, 'NR == 1 { print $1 }')" $((few + 1))
is "the best of them is the tuning's" "$(series two.csv 1 'best so far' | tail -n 1 |
    cut -d, -f2)" "$(num tune nmll)"
is "and begins with the first of them" "$(series two.csv 1 'best so far' |
    awk -F, -v at=$((few + 1)) '$1 == at && $2 != "" { print $2 }')" \
    "$(series two.csv 1 'evaluation by all rows' | awk -F, 'NR == 1 { print $2 }')"

# One error in ten is ten times as large: check and the plot say the same of it.
awk 'BEGIN { srand(8); print "a,y"; for (i = 0; i < 900; i++) { a = rand() * 6
    printf "%.4f,%.4f\n", a, sin(a) + (i % 10 ? 0.05 : 0.5) * sqrt(-2 * log(rand() + 1e-9)) * cos(6.2832 * rand()) } }' >tails.csv
run -e 'open tails.csv target=y; split test=40% seed=1; tune; fit rescale=ratio; check; plot calibration'
is "heavy tails are told alike by check and the plot" \
    "$(printf '%s\n' "$out" | tr '\n' ' ' | tr -s ' ' | grep -o 'too cautious for most rows' | wc \
    -l)" 2

# ---- landscape and tradeoff: the likelihood of tunings with everything fixed ----
data='demo friedman1 n=200 seed=5; kernel rbf'
run --format json -e \
    "$data; landscape l=1..4 noise=0.1..0.4 grid=3 features=128; tune l=2 noise=0.2 features=128 solver=features"
middle=$(list landscape nmll | cut -d, -f5)
ok "landscape at its middle is the NMLL of that setting" near "$middle" "$(num tune nmll)" 1e-6
run --format json -e \
    "$data; landscape l=1..4 amplitude=0.5..2 noise=0.3 grid=3 solver=exact; tune l=2 noise=0.3 amplitude=1 solver=exact"
ok "with the exact kernel, over the amplitude, at a fixed noise" near \
    "$(list landscape nmll | cut -d, -f5)" "$(num tune nmll)" 1e-6
run --format json -e \
    "$data; landscape l=1..4 grid=3 solver=exact noise=0.2; tune l=2 noise=0.2 solver=exact"
ok "along one axis" near "$(list landscape nmll | cut -d, -f2)" "$(num tune nmll)" 1e-6
run --format json -e "$data" -e 'kernel rbf + linear' -e \
    "landscape 1.l=1..4 2.weight=0.1..10 grid=3 solver=exact; tune 1.l=2 2.weight=1 solver=exact"
ok "over two hyperparameters of a sum" near "$(list landscape nmll | cut -d, -f5)" \
    "$(num tune nmll)" 1e-4
run --format json -e \
    "$data; tune solver=exact; tradeoff grid=3 rows=200; landscape l=1..4 noise=0.1..0.4 grid=5 solver=exact; plot landscape out=l.csv"
fit=$(list tradeoff fit | cut -d, -f2) comp=$(list tradeoff complexity | cut -d, -f2) \
    sum=$(list tradeoff nmll | cut -d, -f2)
ok "at the tuned setting the fit is half the rows" near "$fit" 100 0.01
ok "and with complexity and the constant it is the NMLL" near \
    "$(awk -v a="$fit" -v b="$comp" 'BEGIN { print a + b + 100 * log(8 * atan2(1, 1)) }')" \
    "$(num tune nmll)" 1e-3
ok "fit and complexity pull in opposite ways" awk -v f="$(list tradeoff fit)" -v \
    c="$(list tradeoff complexity)" \
    'BEGIN { split(f, a, ","); split(c, b, ","); exit !(b[1] > b[2] && b[2] > b[3] && a[3] > a[1]) }'
ok "the path of the tuning lies over it" test "$(series l.csv 1 'evaluations of t1' | wc -l)" -gt 5
run -e "$data; landscape l=1..4 noise=0.1..1 amplitude=1..2"
has "three axes are refused" "$err" 'at most two hyperparameters'
run -e "$data; tradeoff noise=0.1..1"
has "tradeoff over the noise is refused" "$err" 'hyperparameter of the kernel'
run -e "$data; landscape l.min=1"
has "so is half an interval" "$err" 'here say'

# ---- slice: predictions at those places ----
{ echo x,y; awk \
    'BEGIN { srand(3); for (i = 0; i < 60; i++) { x = i / 10 + 0.05 * rand(); print x "," sin(x) + 0.1 * rand() } }'; } >line.csv
for fit in 'fit' 'fit features=256' 'fit features=128 solver=pcg rank=16'; do
    run -e 'open line.csv target=y; kernel rbf; tune' -e "$fit" -e 'plot slice x out=slice.csv'
    { echo x; series slice.csv 1 mean | cut -d, -f1; } >at.csv
    "$gpdesk" -q -e 'open line.csv target=y; kernel rbf; tune' -e "$fit" -e \
        'predict at.csv columns=row,mean,sd_latent,lo95,hi95 out=p.csv' >/dev/null 2>&1
    col() { head -n 1 p.csv | tr , '\n' | grep -n "^$1\$" | cut -d: -f1; }
    m=$(col mean) l=$(col lo95) h=$(col hi95) f=$(col sd_latent)
    tail -n +2 p.csv | cut -d, -f"$m" >m; tail -n +2 p.csv | cut -d, -f"$l" >l; tail -n +2 p.csv |
        cut -d, -f"$f" >f; tail -n +2 p.csv | cut -d, -f"$h" >h
    series slice.csv 1 mean >a; series slice.csv 1 '95 % of new values' >b; series slice.csv 1 \
        '95 % of the function' >c
    ok "slice is predict ($fit): mean and both bands" sh -c "paste -d, a b c m l h f | awk -F, '
        function off(u, v) { d = u - v; return (d < 0 ? -d : d) > 2e-4 }
        { if (off(\$2, \$10) || off(\$5, \$11) || off(\$6, \$12) || off(\$9, \$10 + 1.959964 * \$13)) bad++ }
        END { exit !(NR == 201 && !bad) }'"
done
run -e 'open line.csv target=y; kernel rbf; fit l=1; plot slice nosuch'
has "no such input" "$err" 'nosuch is not an input'
awk 'BEGIN { print "c,x,y"; srand(1); for (i = 0; i < 90; i++) { k = i % 3; x = rand(); print substr("abc", k + 1, 1) "," x "," k + x } }' >cat.csv
run -e 'open cat.csv target=y; kernel rbf; tune; fit; plot slice c out=c.csv; plot slice x out=cx.csv; plot pairs out=cp.csv'
is "slice along a category" "$rc" 0
ok "has a mean a level, a whole step apart" sh -c \
    "awk -F, '\$2 == \"mean\" { y[\$3] = \$4 } END { exit !(y[1] - y[0] > 0.8 && y[1] - y[0] < 1.2 && y[2] - y[1] > 0.8 && y[2] - y[1] < 1.2) }' c.csv"
run -e 'open cat.csv target=y; kernel rbf; fit l=1; plot slice c x'
has "two inputs need numbers" "$err" 'has categories'

# ---- parts: they add up; two equal summands are equal halves ----
parts() { # KERNEL FIT
    run --format json -e 'open line.csv target=y' -e "kernel $1" -e \
        "$2; plot parts out=parts.csv; show run:r1"
    { echo x; series parts.csv 1 mean | cut -d, -f1; } >at.csv
    "$gpdesk" -q -e 'open line.csv target=y' -e "kernel $1" -e "$2; predict at.csv out=p.csv" \
        >/dev/null 2>&1
    mean=$(awk -F, 'NR > 1 { s += $2; n++ } END { print s / n }' line.csv)
    for i in 1 2 3; do series parts.csv $i mean | cut -d, -f2 >m$i; done
    tail -n +2 p.csv | cut -d, -f"$(head -n 1 p.csv | tr , '\n' | grep -n '^mean$' | cut -d: -f1)" \
        >m
    test -s m3 || sed 's/.*/0/' m1 >m3
}
for fit in 'fit 1.l=1 2.l=0.2 noise=0.1' 'fit 1.l=1 2.l=0.2 noise=0.1 features=512' \
    'fit 1.l=1 2.l=0.2 2.weight=0.01 noise=0.1 features=512 solver=pcg rank=16'; do
    parts 'rbf + rbf' "$fit"
    ok "parts add up to the prediction ($fit)" sh -c \
        "paste -d, m1 m2 m3 m | awk -F, -v c=$mean '{ d = \$1 + \$2 + \$3 + c - \$4; if (d * d > 1e-7) bad++ } END { exit !(NR > 400 && !bad) }'"
done
parts 'rbf + linear + rbf' 'fit 1.l=0.5 3.l=2 noise=0.1'
ok "three of them, too" sh -c \
    "paste -d, m1 m2 m3 m | awk -F, -v c=$mean '{ d = \$1 + \$2 + \$3 + c - \$4; if (d * d > 1e-7) bad++ } END { exit !(NR > 400 && !bad) }'"
parts 'rbf + rbf' 'fit 1.l=1 2.l=1 2.weight=1 amplitude=1 noise=0.1 rescale=no'
ok "equal summands share the mean" sh -c \
    "paste -d, m1 m2 | awk -F, '{ d = \$1 - \$2; if (d * d > 1e-10) bad++ } END { exit !(NR > 400 && !bad) }'"
# Of equal summands with prior variance 1 each: var of one = 1/2 + var of both / 4.
sd=$(awk -F, 'NR > 1 { s += $2; q += $2 * $2; n++ } END { print sqrt(q / n - s * s / n / n) }' \
    line.csv)
tail -n +2 p.csv | cut -d, -f"$(head -n 1 p.csv | tr , '\n' | grep -n '^sd_latent$' | cut -d: \
    -f1)" >f
series parts.csv 2 '95 %' >b
ok "and each variance is a half and a quarter of theirs" sh -c \
    "paste -d, b f | awk -F, -v sd=$sd '{ v = (\$3 - \$2) / (2 * 1.959964 * sd); d = v * v - 0.5 - \$4 * \$4 / sd / sd / 4; if (d * d > 1e-4) bad++ } END { exit !(NR > 400 && !bad) }'"
run -e 'open line.csv target=y; kernel rbf; fit l=1; plot parts'
has "one product has no parts" "$err" 'it has no parts'

# ---- others, each against another way to the same number ----
run --format json -e \
    'demo friedman1 n=200 seed=5; kernel rbf(ard); tune features=64 evals=4; plot ard out=ard.csv; fit features=128 solver=pcg rank=16 noise=0.1 rescale=no; plot cost out=cost.csv; pca dims=3; plot scree out=scree.csv; cluster k=2..4; plot silhouette out=sil.csv; plot features out=features.csv; plot rate out=rate.csv; plot residual out=res.csv'
ls=$(printf '%s\n' "$out" | grep '"command":"tune"' | tail -n 1 | grep -o \
    '"lengthscale":\[[^]]*\]' | head -n 1 | sed 's/.*\[//; s/\]//' | tr , '\n' | awk \
    '{ print 1 / $1 }' | sort -gr | head -n 3 | awk '{ printf "%.5g ", $1 }')
is "ard is 1 / l, largest first" "$(series ard.csv 1 '' | cut -d, -f2 | head -n 3 | awk \
    '{ printf "%.5g ", $1 }')" "$ls"
ok "cost: seconds of the solve" near "$(awk -F, '$1 == 1 && $3 == 2 { print $4 }' cost.csv)" \
    "$(printf '%s\n' "$out" | grep '"command":"fit"' | grep -o '"solve":[0-9.e-]*' | head -n 1 |
    cut -d: -f2)" 1e-3
is "scree: pca's shares" "$(series scree.csv 1 each | cut -d, -f2 | awk '{ printf "%.6g ", $1 }')" \
    "$(list pca share | tr , '\n' | awk '{ printf "%.6g ", $1 }')"
is "silhouette: cluster's" "$(series sil.csv 1 '' | cut -d, -f2 | awk '{ printf "%.6g ", $1 }')" \
    "$(list cluster silhouettes | tr , '\n' | awk '{ printf "%.6g ", $1 }')"
ok "features: the error falls like one over the root" sh -c \
    "awk -F, '\$2 == \"mean\" { e[\$3] = \$4 } END { r = e[64] / e[16384]; exit !(r > 8 && r < 32) }' features.csv"
ok "rate: the product of factors is the fall" sh -c \
    "paste -d, /dev/null res.csv >/dev/null; awk -F, 'NR == FNR { if (\$2 ~ /recursive/) r[\$3] = \$4; next } \$2 == \"r1\" && \$3 == 5 { f = \$4 } END { d = f - (r[5] / r[0]) ^ 0.2; exit !(f > 0 && d * d < 1e-8) }' res.csv rate.csv"
awk 'BEGIN { srand(8); print "a,b,y"; for (i = 0; i < 100; i++) { a = rand(); b = rand(); print a "," b "," a - 0.3 * b } }' >ab.csv
run -e 'open ab.csv target=y; split test=50% seed=1; kernel rbf; fit l=1 noise=0.1; score; plot pairs out=pairs.svg; describe pairs; plot zscore out=z.csv; describe zscore; predict out=p.csv'
r=$(awk -F, \
    'NR > 1 { n++; x += $1; y += $3; xx += $1 * $1; yy += $3 * $3; xy += $1 * $3 } END { printf "%.2f", (xy - x * y / n) / sqrt((xx - x * x / n) * (yy - y * y / n)) }' ab.csv)
has "pairs: the correlation" "$out" "correlation $r"
is "zscore: sorted, against quantiles that are symmetric" \
    "$(awk -F, \
    '$2 == "rows" { if (n++ && $4 < last) bad++; last = $4; s += $3 } END { print n, bad + 0, (s < 1e-9 && s > -1e-9) }' z.csv)" "50 0 1"

# ---- coordinates and labels of old and new rows ----
awk 'BEGIN { srand(2); print "a,b,y"; for (i = 0; i < 200; i++) { k = i % 2; print k * 4 + rand() "," k * 4 + rand() "," k } }' >two.csv
head -n 6 two.csv | cut -d, -f1,2 >new.csv
run --format json -e \
    'open two.csv target=y; kernel rbf; cluster new.csv k=2..4 dims=3 out=c.csv; plot silhouette out=s.csv; plot pca out=pca.csv; pca new.csv dims=2 out=p.csv'
is "cluster with new rows" "$rc" 0
is "has a line a row" "$(head -n 1 c.csv) $(grep -c '^train,' c.csv) $(grep -c '^new,' c.csv)" \
    "set,row,pc1,pc2,pc3,cluster,y 200 5"
ok "new rows that equal old ones stand where they do" awk -F, \
    '{ k = $2; v = $3 "," $4 "," $5 "," $6 } /^train/ { old[k] = v } /^new/ && old[k] != v { bad++ } END { exit bad }' c.csv
ok "the colour is the target" awk -F, \
    '/^train/ { if ($7 != 1 - $2 % 2) bad++ } END { exit bad > 0 }' c.csv
ok "clusters are the halves" awk -F, \
    '/^train/ { if ($2 % 2 == 1 && first == "") first = $6; if (($2 % 2 == 1) != ($6 == first)) bad++ } END { exit bad > 0 }' c.csv
has "JSON says how many" "$out" '"command":"cluster".*"new_rows":5,"out":"c.csv"'
is "pca writes them without clusters" "$(head -n 1 p.csv)" "set,row,pc1,pc2,y"
ok "the picture has the new rows" grep -q '^1,new rows,' pca.csv
run -e 'open two.csv target=y; kernel rbf; pca nosuch.csv out=q.csv'
ok "a file that is not there: exit 4, nothing written" test "$rc" = 4 -a ! -e q.csv
echo keep >q.csv
run -e 'open two.csv target=y; kernel rbf; fit l=1; pca r1 dims=2 out=q.csv; pca dims=2 out=/nowhere/q.csv'
is "a run in place of a file; a directory that is not there" "$rc $(head -n 1 q.csv)" \
    "1 set,row,pc1,pc2,y"
has "says so" "$err" 'cannot write /nowhere/q.csv'

# ---- sweeps ----
run -e 'demo friedman1 n=200 seed=5; split test=25%; sweep features=64,128 show=iterations l=2; plot sweep'
has "a sweep of direct fits says why there is nothing to draw" \
    "$(printf '%s' "$out" | tr -d '\n' | tr -s ' ')" 'solved directly'
run -e 'demo friedman1 n=200 seed=5; split test=25%; sweep kernel=rbf,linear; plot sweep out=sw.txt; plot sweep out=sw.csv'
ok "kernels have their names along the axis" grep -q 'rbf.*linear' sw.txt

# ---- stopping one in the middle ----
cat >slow.gps <<'EOF'
demo friedman1 n=1400 seed=5
kernel rbf
landscape solver=exact grid=60
EOF
"$gpdesk" --accept-unconverged -f slow.gps >slow.out 2>slow.err </dev/null &
pid=$!
sleep 1
kill -INT $pid
wait $pid
is "Ctrl-C stops a landscape" $? 130

# A full disk: what was there stays, and the exit status says it.  A file system of 64 kB in a name
# space of our own; where that is not allowed, check_gnuplot's files that may not grow have to do.
mkdir full
cat >full.sh <<'EOF'
mount -t tmpfs -o size=64k tmpfs full || exit 99
for f in svg png pdf csv; do
    for fill in 40000 65536; do
        rm -f full/*
        echo good >full/x.$f
        head -c $fill /dev/zero >full/fill 2>/dev/null
        "$0" -e "demo robot n=2000; split test=90%; fit features=32; score; plot parity out=full/x.$f" \
            >/dev/null 2>full.err
        echo "$f $fill $? $(grep -c '^error.disk' full.err) $(cat full/x.$f) $(ls -A full | tr '\n' ' ')"
    done
done
EOF
if unshare -rm sh -c 'mount -t tmpfs -o size=64k tmpfs full' 2>/dev/null && command -v gnuplot \
    >/dev/null; then
    got=$(unshare -rm sh -c "$(cat full.sh)" "$gpdesk")
    want=$(for f in svg png pdf csv; do for fill in 40000 65536; do echo \
        "$f $fill 5 1 good fill x.$f "; done; done)
else
    got= want=
fi
is "a full disk keeps the old picture and ends with 5" "$got" "$want"
finish
