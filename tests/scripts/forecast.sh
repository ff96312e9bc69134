#!/bin/sh
# tests/scripts/forecast.sh -- ill-conditioned systems: the iterations that a fit takes lie inside
# the range that advise gave before it; where there is no upper end it says "more than", and
# never draws the cap as an expectation.  The grid of sixty cases is tests/bench/forecast.sh.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

row() { # KEY of the row of advice for rank $2
    printf '%s\n' "$out" | grep '"command":"advise"' | tail -n 1 | sed "s/.*\"rows\":\[//" | tr \
        '{' '\n' | grep "\"rank\":$2," | sed -n "s/.*\"$1\":\([-+0-9.eEa-z]*\).*/\1/p"
}
num() { printf '%s\n' "$out" | grep "\"command\":\"fit\"" | tail -n 1 | sed -n \
    "s/.*\"$1\":\([-+0-9.eE]*\).*/\1/p"; }

# More rows than a sample has, fewer features: the spectrum of Z'Z itself.
while read -r data kernel l noise rank; do
    with="features=192 l=$l noise=$noise amplitude=1 rescale=no maxit=4000"
    solver="pcg rank=$rank"
    test "$rank" = null && solver=cg
    asked=$rank
    test "$rank" = null && asked=0
    run --format json --seed 7 -e "demo $data n=2200 seed=3; kernel $kernel" \
        -e "advise $with rank=$asked law=plain; fit solver=$solver $with variance=none"
    is "$data $kernel l=$l noise=$noise rank=$rank: all rows are the sample" "$(printf '%s\n' \
        "$out" | grep -c '"sample":2200')" 1
    took=$(num iterations) low=$(row iterations_low "$rank") high=$(row iterations_high "$rank")
    ok "it took $took, expected $low to $high" test "$took" -ge "$low" -a "$took" -le "$high"
done <<'END'
robot rbf 3 1e-4 64
robot rbf 1 1e-2 null
friedman1 matern(nu=5/2) 3 1e-3 32
friedman1 rbf 5 1e-3 16
END

# Beyond the cap, four times maxit, nothing is expected: the least that it takes is said.
hard='demo robot n=600 seed=3; kernel rbf; advise features=192 l=4 noise=1e-5 amplitude=1 rescale=no
maxit=10 rank=16 law=plain'
hard=$(echo $hard)
run --format json -e "$hard; plot rank out=rank.csv"
is "beyond the cap there is no upper end" "$(row iterations_high 16)" null
is "a key says so" "$(row iterations_more 16)" true
is "the old key keeps its number" "$(row iterations 16)" 40
ok "the least is drawn" grep -q 'more than' rank.csv
ok "and no expectation" sh -c '! grep -q "expected\|range" rank.csv'
run -e "$hard; plot rank out=rank.txt"
has "and said in the table" "$out" 'more than 40'
has "and in the plot" "$(cat rank.txt)" 'more than 40 iterations'

# What costs more than a fifth of the fit that it is about says so first; what does not, does not.
run --format json -e 'demo robot n=600 seed=3' -e 'advise features=1024 l=2 noise=0.001 amplitude=1'
has "advice that costs more than its fit says so first" "$out" '"name":"cost".*stop ends it'
run --format json -e 'demo robot n=600 seed=3; advise features=1024 rank=16,32 l=2 noise=0.1 rescale=no'
is "nor one with two ranks and few iterations" \
    "$(printf '%s\n' "$out" | grep -c '"name":"cost"')" 0
run --format json -e 'demo robot n=30 seed=1; advise features=16 rank=4 l=2 noise=0.1 rescale=no' \
    -e 'fit features=16; why'
is "one that nobody would notice does not" "$(printf '%s\n' "$out" | grep -c '"name":"cost"')" 0

# The coefficients of a run give a lower bound of the condition number, the spectrum an estimate;
# each is named, in the fit and in the spectrum alike.
run -e 'demo robot n=400 seed=1; kernel rbf' \
    -e 'fit solver=pcg features=128 rank=16 l=2 noise=0.1 plan=store; spectrum' \
    -e 'plot residual out=r.txt; plot spectrum out=s.txt; explain condition'
has "the fit's is a lower bound" "$out" 'condition number at least .* (seen by the iteration)'
has "without the preconditioner an upper bound" "$out" \
    'without the preconditioner at most [0-9]'
has "the spectrum's is an estimate" "$out" \
    'condition number without a preconditioner: about .* (by the spectrum)'
has "the plots say so, too" "$(cat r.txt s.txt | tr '\n' ' ')" 'at least .*about'
has "and the explanation" "$out" 'at least'

# Features beyond the rows, and variances that cost as much as a factor.
run --format json -e 'demo robot n=300 seed=1; fit features=512'
has "more features than rows: exact is suggested" "$out" \
    '"name":"exact".*features=512 are more than the 300 training rows: fit solver=exact'
run --format json -e 'demo robot n=300 seed=1; fit features=256'
is "with fewer it is not" "$(printf '%s\n' "$out" | grep -c '"name":"exact"')" 0
run -n --format json -e 'demo robot n=4000 seed=1; split test=20%; fit features=4096 l=2 noise=0.1'
has "variances of all features need the factor: so the solve takes it" "$out" '"plan":"direct"'
run -n --format json -e 'demo robot n=4000 seed=1; split test=20%' \
    -e 'fit features=4096 l=2 noise=0.1 rescale=no variance=none maxit=20'
has "without them it may iterate" "$out" '"plan":"store"\|"plan":"regenerate"'
finish
