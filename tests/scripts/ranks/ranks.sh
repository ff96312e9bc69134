#!/bin/sh
# tests/scripts/ranks/ranks.sh -- several processes that share the rows: tunings, fits, predictions
# and analyses have the bits of one; what each did is told and drawn; machines are reached by ssh.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"

# 6000 rows of three inputs, two classes beside the target; 900 of them for testing.
awk 'BEGIN {
    srand(5)
    print "a,b,c,y,kind"
    for (i = 0; i < 6900; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2; c = rand()
        y = sin(2 * a) + b * c + 0.1 * (rand() + rand() - 1)
        printf "%.5f,%.5f,%.5f,%.5f,%s\n", a, b, c, y, (a * b > 0 ? "up" : "down")
    }
}' >rows.csv
cp rows.csv kinds.csv
open='open rows.csv target=y; cols kind role=skip; split test=13% seed=2'
work="tune features=128 rows=6000; fit features=256 solver=pcg rtol=1e-5 plan=regenerate
predict columns=row,mean,sd out=pcg.csv
fit solver=direct features=256; predict columns=row,mean,sd out=direct.csv
fit solver=svrg features=128 maxit=10; predict columns=row,mean out=svrg.csv
score; check; pca; tune nmll=approx features=512 evals=4
open kinds.csv target=kind; cols y role=skip; split test=13% seed=2; likelihood softmax
fit features=128; predict columns=row,class,p out=classes.csv"
# The records without what a second run of one process would change, too.
figures() {
    sed -e 's/"seconds":{[^}]*}//; s/"[a-z_]*seconds[a-z_]*":[-+0-9.e]*//g' \
        -e 's/"\(started\|at\|peak_bytes\|speed\|processes\|per_second\)":[-+0-9.e]*,*//g' "$1" |
        grep '"type":"result"' | grep -o '"\(nmll\|rmse\|mean_z2\|residual\|iterations\|noise\|share\)":[^]}]*'
}

all() { # directory, options: the work in a directory of its own
    mkdir "$1"
    cd "$1" || exit 99
    cp ../rows.csv ../kinds.csv .
    shift
    run --format json "$@" -e "$open" -e "$work"
    cd ..
}
all one --threads 2
cp .out one.json
is "one process" "$(grep -c '"type":"error"' one.json)" 0
for ranks in 2 3 4 8; do # of 3, 2, 1 and 1 threads each
    all r$ranks --threads $((ranks == 2 ? 6 : ranks == 3 ? 6 : ranks)) --ranks $ranks
    cp .out r$ranks.json
    is "$ranks ranks" "$(grep -c '"type":"error"' r$ranks.json)" 0
    for file in pcg direct svrg classes; do
        ok "$ranks ranks: $file has the same bits" cmp one/$file.csv r$ranks/$file.csv
    done
    figures one.json >one.txt
    figures r$ranks.json >r.txt
    ok "$ranks ranks: the same figures" cmp one.txt r.txt
done
has "what each has done is told" "$(cat r2.json)" \
    '"name":"ranks".*"rows":[1-9][0-9]*,"work":[0-9.e-]*,"waiting"'
has "a fit tells its processes" "$(cat r2.json)" '"command":"fit".*"processes":2.*"sums":'
ok "one process tells of none" sh -c '! grep -q "\"processes\":[1-9]" one.json'

run --ranks 2 --threads 2 -e "$open; fit features=128 solver=pcg; about; plot ranks out=ranks.csv" \
    -e 'describe ranks; set ranks=1; fit features=128 solver=pcg; about'
has "about lists them" "$out" '  ranks     1: .*, 1 thread'
has "and that there are none" "$out" '  ranks     one process'
has "a picture has a bar for each" "$(cat ranks.csv)" 'work,1,'
has "beside the model's work" "$(cat ranks.csv)" 'work by the model,1,[0-9.e-]*[1-9]'
has "and sums" "$(cat ranks.csv)" 'sums by the model,1,[0-9.e-]*[1-9]'
has "and words" "$out" '2 processes: the longest worked'

# Machines: a program in the place of ssh starts the rank of a host here.
cat >ssh <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
echo "\$2 \$3 \$4" >>"$dir/asked"
[ "\$2" = broken ] && exit 255
exec "$gpdesk" --rank
END
chmod +x ssh
GPDESK_SSH=$dir/ssh
export GPDESK_SSH
run --format json --hosts a:2,me@b --threads 3 -e "$open; fit features=256 solver=pcg rtol=1e-5" \
    -e 'about'
is "ranks on other machines" "$(sort asked | tr '\n' ';')" \
    'a gpdesk --rank;a gpdesk --rank;me@b gpdesk --rank;'
has "do the work" "$out" '"command":"fit".*"processes":3'
run -s far.gpd -e "set hosts=a; $open; fit features=256 solver=pcg rtol=1e-5"
before=$(wc -l <asked)
run --format json -s far.gpd -e 'fit features=256 solver=pcg rtol=1e-4'
is "a session asks for no machine" "$(wc -l <asked)" "$before"
ok "and has one process" sh -c '! grep -q "\"processes\":" .out'
printf 'a slots=2 # a large one\n\nme@b\n' >machines
rm asked
run --format json --threads 3 -e "set hosts=./machines; $open; fit features=256 solver=direct" -e 'set'
is "machines of a file" "$(sort asked | tr '\n' ';')" \
    'a gpdesk --rank;a gpdesk --rank;me@b gpdesk --rank;'
run -e 'set hosts=./nowhere'
has "a file that is not there is told" "$out$err" 'hosts=./nowhere: No such file'
run --format json --hosts a,broken -e "$open; fit features=256 solver=pcg rtol=1e-5"
has "a machine that cannot be had is told" "$out" '"type":"warning".*"name":"ranks".*broken'
has "with what to do" "$out" 'ssh broken gpdesk --version'
has "and the work is done here" "$out" '"command":"fit"'
unset GPDESK_SSH
# A table of which the cache has the columns: processes read it there and are sent the numbers of
# its rows; without a cache they are sent the rows, once for a tuning, a fit and its scores.
awk 'BEGIN {
    srand(3)
    print "a,b,c,d,e,f,g,word,y"
    for (i = 0; i < 60000; i++) {
        for (j = 0; j < 7; j++) { x[j] = 2 * rand() - 1; printf "%.7f,", x[j] }
        printf "%s,%.7f\n", substr("redbluegreen", 1 + int(3 * rand()) * 3, 3), sin(3 * x[0]) + x[1]
    }
}' >large.csv
open='open large.csv target=y; split test=10% seed=2'
fit='fit features=64 solver=pcg rtol=1e-3 precond=none; predict columns=row,mean,sd out'
sent() { # bytes of the ranks of the records so far, all together
    printf '%s\n' "$out" | grep -o '"sent":[0-9]*' | awk -F: '{ s += $2 } END { printf "%d", s }'
}
run -e "$open; $fit=here.csv"
for again in parsed cached; do
    run --format json --ranks 3 --threads 3 -e "$open; $fit=$again.csv"
    read=$(sent)
    ok "rows of a $again table are read where they lie" test "$read" -lt 1200000
    ok "with the same bits" cmp here.csv $again.csv
done
run --format json --ranks 3 --threads 3 -e "set cache=0; $open; $fit=sent.csv"
first=$(sent)
ok "without a cache they are sent" test "$first" -gt $((54000 * 9 * 8))
ok "with the same bits" cmp here.csv sent.csv
run --format json --ranks 3 --threads 3 -e "set cache=0; $open; $fit=a.csv; score; $fit=b.csv; $fit=c.csv"
ok "but only once" test "$(sent)" -lt $((first + 54000 * 9 * 8))
ok "with the same bits" cmp here.csv c.csv
for words in '-oProxyCommand=x' 'a:0' 'a,,b' 'a;b' 'a:99'; do
    run --hosts "$words" -e about
    is "hosts=$words is refused" $rc 2
done
run --ranks 65 -e about
is "so are too many ranks" $rc 2
run --rank --rank
is "the word for a rank alone makes one" $rc 2
finish
