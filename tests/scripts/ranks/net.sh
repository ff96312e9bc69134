# tests/scripts/ranks/net.sh -- another machine without one: two network namespaces, near and far,
# joined by a virtual Ethernet device, and programs in the place of ssh and sshd between them, which
# carry the bytes over TCP.  Needs root, ip and perl.  $near is to be put before a command that runs
# there, $ssh is for GPDESK_SSH.
net_why() { # says what is missing, or succeeds
    test "$(id -u)" -eq 0 || { echo "network namespaces need root" && return 1; }
    for word in ip perl unshare; do
        command -v $word >/dev/null || { echo "there is no $word" && return 1; }
    done
    ip netns add "gp$$t" 2>/dev/null || { echo "there are no network namespaces" && return 1; }
    ip netns del "gp$$t"
}
# far_ends: shell commands that run there first, with mounts of their own, such as other data.
net_make() { # program, far_ends
    near_name=gp$$n far_name=gp$$f
    ip netns add $near_name && ip netns add $far_name || return 1
    ip link add v$$n netns $near_name type veth peer name v$$f netns $far_name || return 1
    ip -n $near_name addr add 10.77.0.1/24 dev v$$n
    ip -n $far_name addr add 10.77.0.2/24 dev v$$f
    net_up
    near="ip netns exec $near_name" far="ip netns exec $far_name"
    cat >sshd.pl <<'END'
use IO::Socket::INET; use IO::Handle;
my $at = IO::Socket::INET->new(LocalAddr => "10.77.0.2:7707", Listen => 9, ReuseAddr => 1) or die;
$SIG{CHLD} = "IGNORE";
open(my $said, ">", "sshd.is") and close($said);
while (my $one = $at->accept) {
    next if fork;
    open(STDIN, "<&", $one); open(STDOUT, ">&", $one);
    exec @ARGV;
}
END
    cat >ssh.pl <<'END'
use IO::Socket::INET;
my $far = IO::Socket::INET->new(PeerAddr => "10.77.0.2:7707", Timeout => 20) or exit 255;
sub carry { my ($from, $to) = @_; my $x;
    while (sysread($from, $x, 1 << 16)) { my $at = 0;
        while ($at < length $x) { my $n = syswrite($to, $x, length($x) - $at, $at);
            return unless defined $n; $at += $n; } } }
my $parent = $$;
defined(my $child = fork) or exit 255;
if ($child) { carry(*STDIN, $far); kill "KILL", $child; } else { carry($far, *STDOUT);
    kill "KILL", $parent; }
END
    printf '#!/bin/sh\nexec perl %s/ssh.pl\n' "$PWD" >net-ssh
    chmod +x net-ssh
    ssh=$PWD/net-ssh
    net_serve "$1" "${2:-:}"
}
net_serve() { # program, far_ends
    rm -f sshd.is
    # shellcheck disable=SC2086 # words
    $far unshare -m sh -c "$2"'
exec perl sshd.pl "$0" --rank' "$1" </dev/null >/dev/null 2>sshd.err &
    sshd=$!
    for try in $(seq 50); do
        if test -e sshd.is; then return 0; fi
        sleep "0.$((try % 2 + 1))"
    done
    return 1
}
net_ranks() { ps -o pid= --ppid $sshd; }
net_down() { ip -n $far_name link set v$$f down; }
net_up() {
    ip -n $near_name link set v$$n up
    ip -n $far_name link set v$$f up
}
net_quit() { # the server and the ranks that it has started
    # shellcheck disable=SC2046
    kill -9 $sshd $(net_ranks) 2>/dev/null
    wait $sshd 2>/dev/null
}
net_end() {
    net_quit
    ip netns del $near_name
    ip netns del $far_name
}
