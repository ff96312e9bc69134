#!/bin/sh
# tests/scripts/ranks/slurm.sh -- the batch script of share/examples has a process on each machine
# of its allocation, which scontrol names: here programs in the place of scontrol and ssh.
. "${srcdir:-$(dirname "$0")/../../..}/tests/scripts/lib.sh"
. "$src/tests/scripts/ranks/long.sh"

mkdir bin
cat >bin/scontrol <<'END'
#!/bin/sh
[ "$*" = 'show hostnames n[1-2],big-3' ] && printf 'n1\nn2\nbig-3\n'
END
cat >bin/ssh <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
echo "\$2" >>"$dir/asked"
exec "$gpdesk" --rank
END
# The program, for less work than an allocation is for.
cat >bin/gpdesk <<END
#!/bin/sh
printf '%s\n' "\$@" >"$dir/arguments"
for word; do
    shift
    word=\$(printf '%s' "\$word" | sed 's/; tune\$/; tune features=64 evals=3 rows=6000/
        s/features=32768/features=256 rtol=1e-4/')
    set -- "\$@" "\$word"
done
exec "$gpdesk" --no-config --format json "\$@"
END
chmod +x bin/*
SLURM_JOB_NODELIST='n[1-2],big-3' SLURM_JOB_NUM_NODES=3 SLURM_CPUS_PER_TASK=1 \
    PATH="$dir/bin:$PATH" sh "$src/share/examples/slurm.sh" rows.csv >said 2>&1 </dev/null
is "the batch script" $? 0
is "asks the machines of its allocation" "$(sort -u asked | tr '\n' ' ')" 'big-3 n1 n2 '
has "names them" "$(cat arguments)" '^--hosts=n1,n2,big-3$'
has "with the threads of all" "$(cat arguments)" '^--threads=3$'
has "which share the rows" "$(cat said)" '"command":"fit".*"processes":3'
ok "the session is there" test -s rows.csv.gpd
SLURM_JOB_NODELIST=x SLURM_JOB_NUM_NODES=1 SLURM_CPUS_PER_TASK=1 PATH="$dir/bin:$PATH" \
    sh "$src/share/examples/slurm.sh" >said 2>&1 </dev/null
has "without a file it says how it is used" "$(cat said)" 'usage: sbatch slurm.sh FILE'
finish
