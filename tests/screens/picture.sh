#!/bin/sh
# plot to=picture on three terminals behind a pseudo-terminal: one that shows sixel graphics, one
# that does not, one that never says.  Skipped where gnuplot has no such terminal.
. "$(dirname "$0")/terminal.sh"
echo 'set terminal sixelgd' | gnuplot > /dev/null 2>&1 || { echo \
    "1..0 # SKIP no gnuplot with sixelgd"; exit 77; }
GPDESK_LEARN=off behind picture "$gpdesk"
