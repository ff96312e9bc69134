#!/bin/sh
# tests/scripts/manual.sh -- what the program writes of itself: manual page and completions name
# every command and option, are clean for their readers, and answer as a shell would ask.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

"$gpdesk" -q -e 'help' | sed -n 's/^  \([a-z]*\) .*/\1/p' >verbs
"$gpdesk" --help | grep -o -e '--[a-z-]*' | sort -u >options
ok "there are verbs" test "$(wc -l <verbs)" -gt 30
ok "there are options" test "$(wc -l <options)" -gt 12
for kind in man bash zsh fish html; do
    "$gpdesk" --dump=$kind >$kind
    is "$kind is written" $? 0
    missing=
    while read -r verb; do
        grep -q -w -e "$verb" $kind || missing="$missing $verb"
    done <verbs
    is "$kind has every command" "$missing" ""
    missing=
    while read -r option; do
        sed 's/\\-/-/g; s/ -l / --/' $kind | grep -q -e "$option" || missing="$missing $option"
    done <options
    is "$kind has every option" "$missing" ""
done
run --dump=nothing
is "another kind is usage" "$rc" 2
"$gpdesk" --dump=man >again
ok "it is the same each time" cmp -s man again

if command -v man >/dev/null && command -v groff >/dev/null; then
    warnings=$(MANWIDTH=80 man --warnings -l ./man 2>&1 >page | head -n 5)
    is "the manual page is clean" "$warnings" ""
    for part in NAME OPTIONS COMMANDS SETTINGS ENVIRONMENT 'EXIT STATUS' EXAMPLES; do
        has "it has $part" "$(cat page)" "^$part"
    done
    has "a usage with its signs" "$(cat page)" 'usage  *fit .*features=N'
    has "quotes and hyphens as they are typed" "$(cat page)" \
        "gpdesk --format json -e 'open data.csv"
fi

if command -v bash >/dev/null; then
    # answers WORD...: what the completion offers for the last word
    answers() {
        PATH="$(dirname "$gpdesk"):$PATH" bash -c \
            '. ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            COMPREPLY=(); _gpdesk; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
    }
    is "bash: an option" "$(answers gpdesk --for)" --format
    is "bash: its values" "$(answers gpdesk --format '' | tr '\n' ' ')" 'text json '
    is "bash: behind =" "$(answers gpdesk --format = j)" json
    is "bash: a command" "$(answers gpdesk -e "'hist")" history
    is "bash: a key inside a line" "$(answers gpdesk -e "'tune fea")" 'tune features='
    is "bash: a value inside a line" "$(answers gpdesk -e "'fit precision=d")" \
        'fit precision=double'
    : >some.gps
    is "bash: a file" "$(answers gpdesk -f so)" some.gps
    has "bash: it is asked for gpdesk" "$(bash -c '. ./bash; complete -p gpdesk')" '_gpdesk gpdesk'
fi
if command -v zsh >/dev/null; then
    ok "zsh reads it" zsh -n ./zsh
    # An interactive shell of its own, behind a pseudo-terminal: what it has made of the line after
    # Tab.
    mkdir -p zfunctions
    cp zsh zfunctions/_gpdesk
    cat >ask.zsh <<'END'
zmodload zsh/zpty || exit 77
zpty shell zsh -f -i
zpty -w shell "PS1='> '; PATH=$1:\$PATH; fpath=($2/zfunctions \$fpath); autoload -U compinit; compinit -u -D; echo RE''ADY"
zpty -r -m shell out '*READY*'
zpty -w -n shell "$3"$'\t'
zpty -r -m shell out "*$4*" && print -r -- "$4"
END
    zsh_answers() { timeout 30 zsh -f ask.zsh "$(dirname "$gpdesk")" "$dir" "$1" "$2"; }
    is "zsh: a command" "$(zsh_answers "gpdesk -e 'hist" history)" history
    is "zsh: a key inside a line" "$(zsh_answers "gpdesk -e 'tune fea" 'tune features=')" \
        'tune features='
    is "zsh: a value inside a line" "$(zsh_answers "gpdesk -e 'fit precision=d" \
        'fit precision=double')" 'fit precision=double'
    is "zsh: an option" "$(zsh_answers "gpdesk --for" mat)" mat
fi
if command -v fish >/dev/null; then
    ok "fish reads it" fish -n ./fish
    fish_answers() { PATH="$(dirname "$gpdesk"):$PATH" HOME=$dir fish -c \
        'source ./fish; complete -C "$argv[1]"' -- "$1"; }
    has "fish: an option" "$(fish_answers 'gpdesk --for')" '^--format'
    has "fish: a command" "$(fish_answers "gpdesk -e 'hist")" '^history'
    is "fish: a key inside a line" "$(fish_answers "gpdesk -e 'tune fea")" 'tune features='
    is "fish: a value inside a line" "$(fish_answers "gpdesk -e 'fit precision=d")" \
        'fit precision=double'
    is "fish: nothing of a line for other words" \
        "$(fish_answers 'gpdesk --seed 7 --precision d' | cut -f1)" 'double'
fi

finish
