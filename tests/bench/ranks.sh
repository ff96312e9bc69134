#!/bin/sh
# tests/bench/ranks.sh BUILD [PART...] -- processes that share the rows: share/doc/ranks.md.
#
#   cost     kin40k, 8192 features, made anew in each pass: 2 threads; 2 ranks of 1 thread;
#            1 thread; 4 ranks of 1 thread each (more than this machine may have cores)
#   model    seconds of an iteration by the formula of share/doc/ranks.md, with the seconds of a
#            feature from two threads and the latency of meetings from few features, beside those
#            measured
#   memory   5 million rows of 9 inputs (made under TMPDIR): the peak of one process, and those of
#            the front end and of each of 4 ranks
#   rows     ROWS rows of 9 inputs (5 million): bytes sent to 2 ranks and seconds of a fit of one
#            iteration, with columns in the cache, without a cache, and for a second fit
#   stops    ENDINGS times each (20): milliseconds from Ctrl-C to the end of the program, at moments
#            spread over 2 s: in Gram matrices and passes on 2 ranks, with one of them hung, and
#            while a host does not answer
#   endings  ENDINGS times each (20) of the kinds that KINDS names (all): a rank killed or stopped
#            (SIGSTOP), all killed, ssh ended, the front end killed, alone and while a rank is
#            stopped, Ctrl-C; with MPI a process, the first, mpirun or the front end killed, a
#            process or the first stopped, the front end killed while the first is stopped, Ctrl-C;
#            the network cut off (tests/scripts/ranks/net.sh); at moments that are spread over the
#            time of a fit that is left alone, and once more each where the fit had ended before:
#            hangs, processes that are left 5 s after the program has ended, other bits, and the
#            seconds until nobody was left
#
# Needs the shared data for the first two; about a quarter of an hour on two idle cores.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: tests/bench/ranks.sh BUILD [PART...]}" && pwd)
shift
data=${GPDESK_SHARED:-$(cd "$(dirname "$0")/../../../shared" && pwd)}/data/kin40k/data.csv.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work" || exit 99
echo "load $(cut -d' ' -f1 /proc/loadavg), $(nproc) cores"

# A member of the record of the last fit.
told() { grep '"command":"fit"' out | tail -n 1 | sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"; }
gpdesk() { "$build/gpdesk" --no-config --format json "$@" >out 2>err </dev/null; }
# Seconds on the clock and of processors.
timed() { # options of gpdesk
    /usr/bin/time -o time -f '%e %U %S' "$build/gpdesk" --no-config --format json "$@" >out 2>err \
        </dev/null
    awk 'END { printf "%.2f %.2f\n", $1, $2 + $3 }' time
}

cost() {
    line="open $data; kernel rbf; set l=1; fit features=8192 solver=pcg rtol=1e-3 rank=256"
    line="$line plan=regenerate maxit=150 variance=none"
    for options in '--threads=2' '--threads=2 --ranks=2' '--threads=1' '--threads=1 --ranks=4'; do
        # shellcheck disable=SC2086 # options are words
        echo "cost $options: $(timed $options -e "$line") s on the clock, of processors;" \
            "solve $(told solve) s, sums $(told sums) s"
    done
}

# The least of three times of an iteration without a preconditioner.
iteration() { # features, options
    features=$1
    shift
    for again in 1 2 3; do
        gpdesk "$@" -e "open $data; kernel rbf; set l=1" -e "fit features=$features solver=pcg \
rtol=1e-12 precond=none plan=regenerate maxit=60 variance=none"
        echo "$(told solve) $(told sums) $again"
    done | sort -g | head -n 1 >least
    awk '{ printf "%.6f\n", $1 / 60 }' least
}
model() {
    iteration 64 --threads=2 --ranks=2 >few
    few=$(cut -d' ' -f2 least)
    for m in 1024 4096 8192; do
        one=$(iteration $m --threads=2 --ranks=1)
        two=$(iteration $m --threads=2 --ranks=2)
        awk -v m="$m" -v one="$one" -v two="$two" -v few="$few" -v sums="$(cut -d' ' -f2 least)" '
            BEGIN {
                guess = one + few / 60 + 2 * 2 * 2 * 8 * m / 3e9
                printf "model M=%d: by formula %.2f ms, measured %.2f ms (%.2f of it), sums %.3f\n",
                    m, 1e3 * guess, 1e3 * two, two / guess, 1e3 * sums / 60 }'
    done
}

# The peaks of a process and of those it started, in MB.
peaks() { # options
    "$build/gpdesk" --no-config "$@" >out 2>err </dev/null &
    front=$!
    : >seen
    while kill -0 $front 2>/dev/null; do
        for p in $front $(ps -o pid= --ppid $front); do
            awk -v p="$p" '/^VmHWM/ { print p, $2 }' "/proc/$p/status" >>seen 2>/dev/null
        done
        sleep 0.2
    done
    awk -v front=$front '$2 > most[$1] { most[$1] = $2 }
        END { printf "%.0f", most[front] / 1024
              for (p in most) if (p != front) printf " %.0f", most[p] / 1024 }' seen
}
memory() {
    awk 'BEGIN { srand(1); for (i = 0; i < 5000000; i++) {
        for (j = 0; j < 9; j++) printf "%.4f,", 2 * rand() - 1
        print rand() } }' >rows.csv
    line='open rows.csv header=no; kernel rbf; set l=2; fit features=512 solver=pcg rtol=1e-2'
    line="$line plan=regenerate maxit=4 rank=32 variance=none"
    echo "memory, one process: $(peaks --threads=2 -e "$line") MB"
    echo "memory, front end and 4 ranks: $(peaks --threads=2 --ranks=4 -e "$line") MB"
    rm rows.csv
}

rows() {
    awk -v n="${ROWS:-5000000}" 'BEGIN { srand(1); for (i = 0; i < n; i++) {
        for (j = 0; j < 9; j++) printf "%.7f,", 2 * rand() - 1
        print rand() } }' >rows.csv
    line='open rows.csv header=no; kernel rbf; set l=2'
    fit='fit features=64 solver=pcg rtol=1e-2 precond=none plan=regenerate maxit=1 variance=none'
    XDG_CACHE_HOME=$work/cache
    export XDG_CACHE_HOME
    gpdesk -e "$line"
    for options in '--ranks=1' '--ranks=2' '--ranks=2 none' again; do
        more=
        [ "$options" = again ] && options='--ranks=2 none' more="; $fit"
        cache=10GB
        case $options in *none) cache=0 ;; esac
        took=$(timed --accept-unconverged --threads=2 ${options%% *} \
            -e "set cache=$cache; $line; $fit$more")
        echo "rows, ${options%% *}, cache $cache${more:+, two fits}: $took s on the clock, of" \
            "processors; sent $(grep -o '"sent":[0-9]*' out | awk -F: '{ s += $2 }
                END { printf "%.1f", s / 1e6 }') MB; last fit $(told total) s"
    done
    rm -r rows.csv cache
    unset XDG_CACHE_HOME
}

await() { # seconds, condition
    end=$(($(date +%s) + $1))
    until eval "$2"; do
        [ "$(date +%s)" -lt $end ] || return 1
        sleep 0.02
    done
}
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*[ZX]' "/proc/$1/status" 2>/dev/null; }
small_rows() {
    awk 'BEGIN { srand(5); print "a,b,c,y"; for (i = 0; i < 9000; i++) {
        a = 4 * rand() - 2; b = 4 * rand() - 2; c = rand()
        printf "%.5f,%.5f,%.5f,%.5f\n", a, b, c, sin(2 * a) + b * c + 0.1 * rand() } }' >rows.csv
}
stops() {
    small_rows
    printf '#!/bin/sh\nexec sleep 100\n' >silent
    chmod +x silent
    line='open rows.csv target=y; split test=10% seed=2; set l=0.5; fit rtol=1e-12 precond=none'
    line="$line plan=regenerate maxit=100000 precision=float"
    for what in 'features=2048 solver=pcg' 'features=8192 solver=pcg' \
        'features=8192 solver=direct' 'features=2048 solver=pcg hung' 'features=2048 silent'; do
        i=0
        fit=$(echo "$line $what" | sed 's/ hung$//; s/ silent$//')
        case $what in
        *silent) options='--hosts=a:1' ;;
        *) options='--ranks=2' ;;
        esac
        case $what in
        *direct) fit=$(echo "$fit" | sed 's/plan=regenerate//; s/precond=none//') ;;
        esac
        : >times
        while [ $i -lt "${ENDINGS:-20}" ]; do
            i=$((i + 1))
            GPDESK_SSH=$work/silent "$build/gpdesk" --no-config --threads=2 $options -e "$fit" \
                >out 2>&1 </dev/null &
            front=$!
            await 10 "[ \$(ps -o pid= --ppid $front | wc -l) -ge 1 ]"
            # shellcheck disable=SC2046 # a word for each
            set -- $(ps -o pid= --ppid $front)
            sleep "$(awk -v i=$i 'BEGIN { printf "%.2f", 0.4 + 0.1 * i }')"
            case $what in *hung) kill -STOP "$1" && sleep 0.2 ;; esac
            begun=$(date +%s%N)
            kill -INT $front
            wait $front
            echo $((($(date +%s%N) - begun) / 1000000)) >>times
        done
        sort -n times | awk -v what="$what" '{ t[NR] = $1; over += $1 > 100 }
            END { printf "stops %s: %d times, median %d ms, longest %d ms, %d over 100 ms\n", what,
                  NR, t[int((NR + 1) / 2)], t[NR], over }'
    done
}

# A program in the place of ssh which, like ssh, is not the rank itself.
ssh_script() {
    printf '#!/bin/sh\ncat | "%s" --rank | cat\n' "$build/gpdesk" >ssh-end
    chmod +x ssh-end
}
of() { ps -o pid= --ppid "$1" | tr '\n' ' '; }
# The processes of a fit that has begun: those that are to end, the first of them what is ended.
processes() { # kind, front end
    case $1 in
    mpi-*)
        await 30 "[ \$(ps -o pid= --ppid $2 | wc -l) -eq 1 ]"
        mpirun=$(of "$2")
        await 30 "[ \$(ps -o pid= --ppid $mpirun | wc -l) -eq 3 ]"
        echo "$mpirun $(of $mpirun)"
        ;;
    ssh-ended)
        await 30 "[ \$(ps -o pid= --ppid $2 | wc -l) -eq 1 ]"
        ssh=$(of "$2")
        await 30 "[ \$(ps -o pid= --ppid $ssh | wc -l) -eq 3 ]"
        echo "$ssh $(of $ssh)"
        ;;
    network-cut)
        await 30 '[ "$(net_ranks | wc -l)" -eq 2 ]'
        net_ranks | tr '\n' ' '
        ;;
    *)
        await 30 "[ \$(ps -o pid= --ppid $2 | wc -l) -eq 3 ]"
        of "$2"
        ;;
    esac
}
# Of MPI: mpirun, the first, and two others.  Of ssh: it, two of its own and the rank.
provoke() { # kind, front end, processes
    kind=$1
    case $kind in
    rank-killed) kill -9 "$4" ;;
    rank-stopped) kill -STOP "$4" ;;
    all-killed) shift 2 && kill -9 "$@" ;;
    ssh-ended)
        rank=$(pgrep -P "$3" -f -- --rank)
        for p in "$3" "$4" "$5" "$6"; do [ "$p" = "$rank" ] || kill -9 "$p"; done
        ;;
    mpi-killed) kill -9 "$5" ;;
    mpi-first-killed) kill -9 "$4" ;;
    mpi-stopped) kill -STOP "$5" ;;
    mpi-first-stopped) kill -STOP "$4" ;;
    mpi-mpirun-killed) kill -9 "$3" ;;
    network-cut) net_down ;;
    *stopped-front-killed) kill -STOP "$4" && kill -9 "$2" ;;
    *front-killed) kill -9 "$2" ;;
    *ctrl-c) kill -INT "$2" ;;
    esac 2>/dev/null
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# Starts the fit of a kind: front is its front end, all are its processes.
begin() { # kind
    near='' options='--ranks=3'
    case $1 in
    mpi-*) options='--hosts=mpi:3' ;;
    ssh-ended) options='--hosts=a:1' GPDESK_SSH=$work/ssh-end && export GPDESK_SSH ;;
    network-cut)
        net_make "$build/gpdesk" || return 1
        options='--hosts=far:2' GPDESK_SSH=$ssh && export GPDESK_SSH
        ;;
    esac
    rm -f got.csv
    # shellcheck disable=SC2086 # words
    $near "$build/gpdesk" --no-config --accept-unconverged --threads 3 $options \
        -e "$line=got.csv" >out 2>&1 </dev/null &
    front=$!
    all=$(processes "$1" $front)
}
# Milliseconds from the moment when its processes are there to the end of a fit that is left alone.
span_of() { # kind
    begin "$1"
    from=$(milliseconds)
    wait $front
    span=$(($(milliseconds) - from))
    [ "$1" = network-cut ] && net_end
    unset GPDESK_SSH
}
ending() { # kind, moment
    begin "$1"
    sleep "$2"
    gone $front && late=$((late + 1))
    from=$(milliseconds)
    # shellcheck disable=SC2086 # a word for each
    provoke "$1" $front $all
    await 90 "gone $front" || { hangs=$((hangs + 1)) && kill -9 $front; }
    wait $front 2>/dev/null
    [ "$1" = network-cut ] && net_up
    after=$(milliseconds)
    for p in $all; do
        await 5 "gone $p" || { left=$((left + 1)) && kill -9 "$p"; }
    done
    echo $(($(milliseconds) - from)) $(($(milliseconds) - after)) >>times
    [ "$1" = network-cut ] && net_end
    unset GPDESK_SSH
    case $1 in *front-killed | *ctrl-c) return ;; esac
    cmp -s one.csv got.csv || other=$((other + 1))
}
endings() {
    small_rows
    ssh_script
    . "$here/../scripts/ranks/net.sh"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
    line='open rows.csv target=y; split test=10% seed=2; set l=0.5; fit features=512 solver=pcg'
    line="$line rtol=1e-9 plan=regenerate precond=none maxit=150; predict columns=row,mean,sd out"
    "$build/gpdesk" --no-config --accept-unconverged -e "$line=one.csv" >out 2>&1 </dev/null
    for kind in ${KINDS:-rank-killed rank-stopped all-killed ssh-ended front-killed \
        rank-stopped-front-killed ctrl-c mpi-killed mpi-first-killed mpi-mpirun-killed \
        mpi-front-killed mpi-stopped mpi-first-stopped mpi-first-stopped-front-killed mpi-ctrl-c \
        network-cut}; do
        case $kind in
        mpi-*) mpirun --version >/dev/null 2>&1 || { echo "$kind: there is no MPI" && continue; } ;;
        network-cut) why=$(net_why) || { echo "$kind: $why" && continue; } ;;
        esac
        hangs=0 left=0 other=0 late=0 i=0
        span_of "$kind"
        : >times
        while [ $((i - late)) -lt "${ENDINGS:-20}" ] && [ $i -lt $((2 * ${ENDINGS:-20})) ]; do
            i=$((i + 1))
            ending "$kind" "$(awk -v i=$i -v of="${ENDINGS:-20}" -v span="$span" \
                'BEGIN { printf "%.3f", 0.9 * span / 1e3 * ((i - 1) % of + 0.5) / of }')"
        done
        awk -v what="$kind: $i times, $hangs hangs, $left processes left, $other other bits" \
            -v late=$late -v span="$span" '{ if ($1 > most) most = $1; if ($2 > rest) rest = $2 }
            END { printf "endings %s; %d of them after the end of a fit of %.1f s; at most %.1f s " \
                  "until nobody was left, %.1f s of them after the front end\n",
                  what, late, span / 1e3, most / 1e3, rest / 1e3 }' \
            times
    done
}
[ $# -gt 0 ] || set -- cost model memory rows stops endings
for part; do
    case $part in
    cost | model | memory | rows | stops | endings) $part ;;
    *) echo "there is no part $part" >&2 && exit 2 ;;
    esac
done
