#!/bin/sh
# tests/scripts/predicted.sh -- the columns that `predict` writes on request: observed values
# against the file itself, intervals against closed forms from mean and sd, several targets,
# sequences, new files with and without a target, and what is refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

awk 'BEGIN { srand(7); print "id,lab,a,b,y,z"; for (i = 0; i < 240; i++) {
    a = 4 * rand() - 2; b = 4 * rand() - 2; e = rand() + rand() + rand() - 1.5
    printf "p%d,\"l,%d\",%.5f,%.5f,%.6f,%.5f\n", i, i % 5, a, b,
        exp(0.5 * a + 0.2 * b + 0.3 * e), a * b + e } }' >d.csv
hp='kernel rbf; fit features=128 l=1 noise=0.4 seed=2'
one='open d.csv target=y skip=z,lab id=id; split test=25% seed=3; '$hp

# ---- the default is what it was: row, ids, mean and both sds; more on request ----
run --format json -e "$one; predict out=p.csv" \
    -e 'predict columns=id,y,mean,sd_latent,sd,lo95,hi95,error,median,lo90,hi50,row out=q.csv'
is "predict with columns ends with 0" $rc 0
is "the default columns" "$(sed -n 1p p.csv)" 'row,id,mean,sd_latent,sd'
is "the chosen ones in their order" "$(sed -n 1p q.csv)" \
    'id,y,mean,sd_latent,sd,lo95,hi95,error,median,lo90,hi50,row'
has "JSON names them" "$out" '"columns":\["id","y","mean","sd_latent","sd","lo95",.*"observed":60,'
ok "the same mean and sds, row by row" awk -F, 'NR == FNR { m[$2] = $1 "," $3 "," $4 "," $5; next }
    FNR > 1 { n++; if (m[$1] != $12 "," $3 "," $4 "," $5) bad = 1 } END { exit bad || n != 60 }' \
    p.csv q.csv
ok "the observed values are those of the file" awk -F, 'NR == FNR { y[$1] = $6; next }
    FNR > 1 { n++; d = y[$1] - $2; e = $2 - $3 - $8; if (d * d + e * e > 1e-24) bad = 1 }
    END { exit bad || n != 60 }' d.csv q.csv
# A normal forecast: the interval is the mean and 1.95996 sd (the file has 12 columns, lab a comma).
interval() { # awk function bounds(mean, sd, z), then the check of columns 6, 7, 10, 11, 9
    awk -F, "$1"' FNR > 1 { n++
        bad += off($6, q($3, $5, -1.9599639845400542)) + off($7, q($3, $5, 1.9599639845400542))
        bad += off($10, q($3, $5, -1.6448536269514722)) + off($11, q($3, $5, 0.6744897501960818))
        bad += off($9, q($3, $5, 0)) } END { exit bad || n != 60 }
        function off(a, b, d) { d = (a - b) / (1e-3 + (b < 0 ? -b : b)); return d * d > 1e-18 }' q.csv
}
ok "intervals are quantiles of the normal distribution" interval \
    'function q(m, s, z) { return m + z * s }'

# ---- y=log: quantiles of the log-normal distribution with this mean and sd ----
run -e "open d.csv target=y skip=z,lab id=id; scale y=log; split test=25% seed=3; $hp" \
    -e 'predict columns=id,y,mean,sd_latent,sd,lo95,hi95,error,median,lo90,hi50,row out=q.csv'
ok "y=log: exact quantiles of the log-normal distribution" interval \
    'function q(m, s, z, v) { v = log(1 + (s / m) ^ 2); return exp(log(m) - v / 2 + z * sqrt(v)) }'

# ---- several targets: each group of columns target by target ----
run -e "open d.csv target=y,z skip=lab id=id; split test=25% seed=3; $hp" \
    -e 'predict columns=row,y,lo95,id,mean out=q.csv; predict out=p.csv'
is "two targets" "$(sed -n 1p q.csv)" 'row,y_y,lo95_y,y_z,lo95_z,id,mean_y,mean_z'
is "and by default" "$(sed -n 1p p.csv)" \
    'row,id,mean_y,sd_latent_y,sd_y,mean_z,sd_latent_z,sd_z'
ok "lo95 of the second target" awk -F, 'NR == FNR { m[$1] = $6; s[$1] = $8; next }
    FNR > 1 { d = m[$1] - 1.9599639845400542 * s[$1] - $5; if (d * d > 1e-18) bad = 1 }
    END { exit bad }' p.csv q.csv

# ---- new files: ids named by the user, a target that is there, or partly, or not at all ----
printf 'who,a,b,y\n"x,1",0.5,1,2\nx2,-1,0.25,\n' >new.csv
printf 'who,a,b\nx1,0.5,1\nx2,-1,0.25\n' >bare.csv
printf 'who,a,b,y\nx1,0.5,1,low\nx2,-1,0.25,high\n' >words.csv
run --format json -e "$one" -e 'predict new.csv id=who columns=y,mean out=n.csv' \
    -e 'predict bare.csv id=who columns=id,y,mean out=b.csv; predict bare.csv id=who out=i.csv' \
    -e 'predict words.csv id=who columns=mean,error out=w.csv; predict bare.csv columns=y'
is "new files are predicted" $rc 0
is "an observed value that is there" "$(cut -d, -f1-3 n.csv | sed -n 2p)" '"x,1",2'
is "and one that is missing" "$(sed -n 3p n.csv | cut -d, -f1-2)" 'x2,'
has "are counted" "$out" '"out":"n.csv".*"observed":1,'
is "no target: empty cells" "$(sed -n 2p b.csv | cut -d, -f1-2)" 'x1,'
has "and a note" "$out" '"name":"unobserved".*observed values of y: the cells'
has "a target of words is none" "$out" 'y (it holds no numbers here)'
is "id= with the default columns" "$(sed -n 1p i.csv)" 'row,who,mean,sd_latent,sd'
is "id= comes first where columns= has no id" "$(sed -n 1p w.csv)" 'who,mean,error'
run -e "$one" -e 'predict id=id,lab columns=id'
has "two columns identify a row" "$out" '^  p[0-9]*,"l,[0-4]"'

# ---- what is refused ----
refused() { # name columns exit pattern
    run -q -e "$one" -e "predict $2 out=none.csv"
    is "$1: exit" "$rc $(ls none.csv 2>/dev/null)" "$3 "
    has "$1" "$err" "$4"
}
refused "an unknown column" columns=mean,lo59 1 "no column 'lo59'"
has "and near ones" "$err" 'near: .*lo95'
refused "a column twice" columns=mean,mean 1 'mean is there twice'
refused "an empty name" columns=mean, 1 "no column ''"
refused "an id that the file lacks" id=whom 1 'whom'
run --format json -e "$one variance=none" -e 'predict columns=mean,sd out=none.csv'
is "sd without variances" "$rc $(ls none.csv 2>/dev/null)" '1 '
has "and the way out" "$out" '"name":"no-variance",.*fit variance=auto'
run -q -e "$one variance=none" -e 'predict out=p.csv; predict columns=row,y,mean,median out=q.csv'
is "by default they are left out" "$(sed -n 1p p.csv)" 'row,id,mean'
is "mean and median without variances" "$rc $(sed -n 1p q.csv)" '0 row,y,mean,median'

# ---- sequences and the session: the same file from a resumed run ----
awk 'BEGIN { srand(5); split("A C D E F", L, " "); print "name,seq,y"; for (i = 0; i < 80; i++) {
    s = ""; v = 0; for (j = 0; j < 12; j++) { k = 1 + int(5 * rand()); s = s L[k]; v += k * (j % 3) }
    printf "s%d,%s,%.3f\n", i, s, v + rand() } }' >s.csv
run -s s.gpd -e 'open s.csv types=seq=sequence target=y id=name; split test=25% seed=1' \
    -e 'kernel conv(rbf,width=4); fit features=64 l=2 noise=0.3' \
    -e 'predict columns=id,y,mean,lo95,hi95 out=s1.csv; script out=s.gps'
is "sequences" "$rc $(wc -l <s1.csv | tr -d ' ')" '0 21'
run -s s.gpd -e 'predict columns=id,y,mean,lo95,hi95 out=s2.csv'
ok "a resumed run writes the same" cmp s1.csv s2.csv
run -e 'help predict'
has "help lists the columns" "$out" \
    'columns=.*row, id, y, error, mean, median, unlike, p, class, set, mean_latent, sd_latent, sd, lo95'

finish
