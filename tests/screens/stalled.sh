#!/bin/sh
# A terminal that takes no more bytes, behind a pseudo-terminal: the program waits inside a write, a
# job runs, and TERM ends it all the same; what was done before is in the session.
. "$(dirname "$0")/terminal.sh"
GPDESK_LEARN=off behind stalled "$gpdesk"
