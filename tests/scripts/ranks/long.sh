# tests/scripts/ranks/long.sh -- what lost.sh and mpi.sh share: rows, and a fit that lasts.
awk 'BEGIN {
    srand(5)
    print "a,b,c,y"
    for (i = 0; i < 9000; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2; c = rand()
        printf "%.5f,%.5f,%.5f,%.5f\n", a, b, c, sin(2 * a) + b * c + 0.1 * rand()
    }
}' >rows.csv
fit='open rows.csv target=y; split test=10% seed=2; set l=0.5; fit features=2048 solver=pcg'
fit="$fit rtol=1e-9 plan=regenerate precond=none maxit=150; predict columns=row,mean out"
# Waits for a condition, half a minute at most.
await() {
    for i in $(seq 600); do
        if eval "$1"; then return 0; fi
        sleep 0.05
    done
    return 1
}
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*[ZX]' "/proc/$1/status" 2>/dev/null; }
# The processes that a process has started, and the hundredths of a second that one has computed.
children_of() { ps -o pid= --ppid "$1" 2>/dev/null; }
work_of() { awk '{ print $14 }' "/proc/$1/stat" 2>/dev/null || echo 0; }
