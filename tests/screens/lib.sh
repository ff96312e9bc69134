# tests/screens/lib.sh -- driving gpdesk in tmux; sourced by the screen tests, which print TAP.
#
# Every test has a tmux server, a home and a state directory of its own.  It waits by polling for
# text on the screen, never by a blind sleep; the word "ready" in the status line is the idle mark.
# A wait ends after minutes only, as the machine may be busy, and a wait in vain is a failure.
# Behind Esc a test waits for what it does: a key right after it would be taken as one with Alt.
# GPDESK names another program to test.
set -u
here=$(cd "$(dirname "$0")" && pwd)
GPDESK=${GPDESK:-$(cd "${top_builddir:-.}" && pwd)/gpdesk}
# Each start has a server of its own name: one that ends takes its socket along.
starts=0
SOCKET=probe
LIMIT=${LIMIT:-900}                     # polls of 0.1 s
LIMIT_AFTER=150                         # once something has failed
n=0
failed=0

if ! command -v tmux > /dev/null 2>&1; then
    echo "tmux is not installed"
    exit 77
fi
if ! command -v pgrep > /dev/null 2>&1; then
    echo "pgrep is not installed"
    exit 77
fi
# A short name: sockets have no room for a long one, and paths stand in messages on the screen.
work=$(mktemp -d /tmp/gpdesk.XXXXXX) || exit 1
TMUX_TMPDIR=$work                       # its sockets go with the directory
TMPDIR=$work
export TMUX_TMPDIR TMPDIR
unset TMUX
printf '%s\n' 'set -g default-terminal tmux-256color' 'set -g status off' \
    'set -g remain-on-exit on' 'set -sg escape-time 0' 'set -g history-limit 2000' > "$work/conf"

t() { tmux -L "$SOCKET" -f "$work/conf" "$@"; }

# Nobody may be there to take the status of a program whose parent has gone: a zombie has ended.
ended() { ! kill -0 "$1" 2> /dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }
finish() {
    tmux -L "$SOCKET" kill-server > /dev/null 2>&1
    LIMIT=100
    [ ! -s "$work/pid" ] || waituntil ended "$(pid_of)"  # it may still write its session
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
# Some containers have no pseudo-terminals: then every wait below would be in vain.
if ! t new-session -d -s probe true > "$work/probe" 2>&1; then
    echo "tmux cannot start here: $(head -n 1 "$work/probe")"
    exit 77
fi

# start COLS ROWS [NAME=VALUE ...] [-- ARGS]: gpdesk in a shell that reports its exit status.
start() {
    cols=$1 rows=$2
    shift 2
    vars=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        vars="$vars $1"
        shift
    done
    [ $# -gt 0 ] && shift
    tmux -L "$SOCKET" kill-server > /dev/null 2>&1
    starts=$((starts + 1))
    SOCKET=gpdesk-$starts
    if [ -s "$work/pid" ]; then
        waituntil ended "$(pid_of)" || in_vain "for the end of the last program"
        rm -f "$work/pid"
    fi
    state=${STATE:-$work/state}
    cat > "$work/run.sh" << END
cd "$work"
trap : INT                     # Ctrl-C in line mode is for gpdesk
sh -c 'echo \$\$ > pid; exec env -u LINES -u COLUMNS -u NO_COLOR HOME="$work" \\
    XDG_STATE_HOME="$state" XDG_RUNTIME_DIR="$work" XDG_CONFIG_HOME="$work/.config" \\
    XDG_CACHE_HOME="$work/.cache" XDG_DATA_HOME="$work/.data" GPDESK_LEARN=off LANG=C.UTF-8 OPENBLAS_NUM_THREADS=1 $vars "$GPDESK" $*'
echo "EXIT=\$?"
END
    # A Ctrl-C that comes when curses has ended already is to end neither the shell of the pane nor
    # cat, and not to drop what was written and not yet read, as a terminal does without noflsh.
    t new-session -d -s a -x "$cols" -y "$rows" \
        "stty noflsh; trap : INT; sh $work/run.sh; trap '' INT; exec cat" \
        > "$work/said" 2>&1 ||
        in_vain "for tmux: $(head -n 1 "$work/said")"
    waituntil test -s "$work/pid" || in_vain "for the start"
}

screen() { t capture-pane -p -t a 2> /dev/null; }
keys() { t send-keys -t a "$@"; }
type_line() { t send-keys -t a -l "$1"; t send-keys -t a Enter; }
resize() { t resize-window -t a -x "$1" -y "$2"; }

# waituntil COMMAND...: until it succeeds; what comes of it is for the caller to judge.
waituntil() {
    polls=0
    while [ $polls -lt "$LIMIT" ]; do
        "$@" > /dev/null 2>&1 && return 0
        polls=$((polls + 1)); sleep 0.1
    done
    return 1
}
seen() { screen | grep -qF -- "$1"; }
unseen() { ! seen "$1"; }
in_vain() { # WHAT: a step that no line of TAP stands for has failed
    verdict 1 "waited $1"
    return 1
}
# waitfor TEXT: until it is on the screen.  waitgone TEXT: until it is not.
waitfor() { waituntil seen "$1" || in_vain "for '$1'"; }
waitgone() { waituntil unseen "$1" || in_vain "for '$1' to go"; }

# Esc means the view after a moment without another key.
to_view() { keys Escape; waitfor "[view]"; }

# verdict STATUS NAME: one TAP line; a failure shows the screen.
verdict() {
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        screen | sed 's/^/#   |/'
        failed=1
        LIMIT=$LIMIT_AFTER
    fi
}
# expect TEXT NAME: waits for it, then says so.
expect() { waituntil seen "$1"; verdict $? "$2"; }
expect_gone() { waituntil unseen "$1"; verdict $? "$2"; }
# absent TEXT NAME: it is not on the screen now.
absent() { ! screen | grep -qF -- "$1"; verdict $? "$2"; }
# leave STATUS NAME: quits and checks the exit status.
leave() {
    keys C-c
    type_line quit
    expect "EXIT=$1" "$2"
}
done_testing() {
    echo "1..$n"
    exit "$failed"
}
# The gpdesk in the pane, and its gnuplot child.
pid_of() { cat "$work/pid"; }
gnuplot_of() {
    for d in /proc/[0-9]*; do
        if [ "$(cat "$d/comm" 2> /dev/null)" = gnuplot ] &&
            grep -q "^PPid:[[:space:]]*$(pid_of)\$" "$d/status" 2> /dev/null; then
            echo "${d#/proc/}"
            return 0
        fi
    done
    return 1
}
