#!/bin/sh
#SBATCH --job-name=gpdesk
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=02:00:00
# Fits on all machines of a Slurm allocation: one process on each, started over ssh, shares the
# rows with the others; 64 threads are 16 for each of four.  The results have the bits of one
# machine.  Usage: sbatch slurm.sh rows.csv
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -sd, -)
exec gpdesk --hosts="$hosts" --threads=$((SLURM_CPUS_PER_TASK * SLURM_JOB_NUM_NODES)) \
    -s "${1:?usage: sbatch slurm.sh FILE}.gpd" -e "open $1; split test=10%; tune" \
    -e 'fit features=32768 solver=pcg; score'
