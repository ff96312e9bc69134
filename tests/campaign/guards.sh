#!/bin/bash
# tests/campaign/guards.sh [PART...] -- shows that the campaign sees: in a copy of the sources one
# guard at a time is switched off, and a part of the campaign has to notice.  Prints TAP and, after
# each guard, its row of the table in README.md.  It takes minutes; `make campaign` runs it.
#
# Parts: drive (refused calls), cut (power cuts), cases (named cases), test (a program of
# tests), fuzz (a harness for two seconds).  Each passes with all guards in place, and must fail
# without the one.
. "${srcdir:-$(dirname "$0")/../..}/tests/scripts/lib.sh"

if test "${GPDESK_CAMPAIGN:-}" != all && test $# -eq 0; then
    echo "1..0 # SKIP builds the program once for each guard (GPDESK_CAMPAIGN=all)"
    exit 0
fi
built=$(dirname "$gpdesk")
parts=" $* "
copy=$dir/copy
mkdir -p "$copy/build"
(cd "$src" && tar -cf - --exclude=./build --exclude=./.git --exclude=./autom4te.cache .) |
    tar -xf - -C "$copy"
cp -a "$built/." "$copy/build/"

# part PART ARGUMENTS: runs it with the program of the copy; 0 if nothing was found.
part() {
    case $1 in
    drive | cut)
        # shellcheck disable=SC2086
        top_builddir=$copy/build "$built/tests/campaign/$1" $2
        ;;
    cases)
        GPDESK_CAMPAIGN='' top_builddir=$copy/build top_srcdir=$src srcdir=$src \
            bash "$src/tests/campaign/cases.sh" >"$dir/cases.out" 2>&1
        cat "$dir/cases.out"
        ! grep -q '^not ok' "$dir/cases.out"
        ;;
    fuzz)
        FUZZ_SECONDS=2 "$copy/build/tests/fuzz/fuzz_$2" "$src/tests/fuzz/$2"
        ;;
    test)
        (cd "$copy/build" && top_builddir=. top_srcdir=$copy "tests/$2")
        ;;
    esac
}
# made PART ARGUMENTS: builds in the copy what the part runs.
made() {
    case $1 in
    test) set -- "tests/$2" ;;
    fuzz) set -- "tests/fuzz/fuzz_$2" ;;
    *) set -- gpdesk ;;
    esac
    make -s -C "$copy/build" "$@" >"$dir/make.out" 2>&1
}
# guard NAME FILE CHANGE PART ARGUMENTS: CHANGE, for sed, switches the guard off.
guard() {
    test "$parts" = "  " || case $parts in *" $4 "*) ;; *) return ;; esac
    cp -a "$copy/src/$2" "$dir/guarded"
    made "$4" "$5"
    part "$4" "$5" >"$dir/whole.out" 2>&1
    with=$?
    sed -i "$3" "$copy/src/$2"
    if cmp -s "$dir/guarded" "$copy/src/$2"; then
        result 1 "$1: the guard is where this script looks for it" "$2"
        return
    fi
    made "$4" "$5"
    other=$?
    part "$4" "$5" >"$dir/without.out" 2>&1
    without=$?
    # What cut keeps of a find (README.md) is of no use without the copy.
    sed -n 's|.*--kept=\(/[^ ]*/gpdesk-campaign[^ ]*\).*|\1|p' "$dir/without.out" | sort -u |
        xargs -r rm -rf
    test $with -eq 0 && test $other -eq 0 && test $without -ne 0
    result $? "$1: $4 notices" "with it $with, built $other, without it $without:
$(tail -n 3 "$dir/whole.out" "$dir/without.out" "$dir/make.out" | cut -c1-300)"
    echo "# | $1 | $4 $5 | $(grep -a -m 1 -e FOUND -e '^not ok' -e ':[FE]:' -e '^fuzz: ' \
        "$dir/without.out" | cut -c1-150) |"
    cp -a "$dir/guarded" "$copy/src/$2"
    touch "$copy/src/$2"
}

guard "output that cannot be written" app/shell/rec.c \
    's/^            return false;$/            return true;/' \
    drive "--scene=batch --class=write --error=ENOSPC --step=6"
guard "output that is interrupted" app/shell/rec.c 's/} else if (errno != EINTR) {/} else {/' \
    drive "--scene=batch --class=write --error=EINTR --step=2"
guard "results wait for the session" app/shell/rec.c \
    's/|| r->type == REC_TICK ? 0 :/|| true ? 0 :/' \
    drive "--scene=batch --class=write --error=kill"
guard "a result with a lost part is not printed" app/shell/rec.c \
    's/r->unreported == err_unreported()/true/' test check_command
guard "lost memory is told at the end" main.c 's/err_unreported() > 0 && /false \&\& /' \
    drive "--scene=import --class=alloc --sample=300"
guard "a job that is not made is freed" app/core/job.c \
    '/ops->free(&orphan);/{n;s/free(job);/;/}' \
    drive "--scene=batch --class=alloc --first=5001 --last=7000"
guard "sync of a new session" app/session/store_new.c 's/ || fsync(fd) != 0 ? errno/ ? errno/' \
    cut "--scene=batch --states=150"
guard "sync of changes" app/session/store_db.c 's/synchronous=FULL/synchronous=OFF/' \
    cut "--scene=batch --states=100"
guard "the checksum of a row" app/session/store_db.c \
    's/sqlite3_column_int(q, 3) == 1 &&/sqlite3_column_int(q, 3) >= 0 \&\&/' test check_store
guard "one program at a time" app/session/store_new.c 's/fcntl(fd, F_OFD_SETLK, &lock) == 0/true/' \
    cases ""
guard "an array holds finite numbers" data/formats/import_npy.c \
    's/if (!isfinite(x)) {/if (isnan(x) \&\& to->nan_missing) {/' fuzz npy
guard "numbers of a session are in range" app/session/store_read_field.c \
    's/if (!(x > 0 || (zero \&\& x == 0)))/if (false)/' fuzz rows
guard "how data was made has a name" app/session/store_read_data.c \
    's/    if (!name)$/    if (false)/' fuzz rows
finish
