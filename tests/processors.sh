#!/bin/sh
# The build for any processor: wide vectors only where they are asked for by name, no -ffast-math,
# and the portable loops (and all that needs no x86) fit for other processors.  Prints TAP.
top=${top_srcdir:-$(dirname "$0")/..}
build=${top_builddir:-$top/build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "${top_srcdir:-$(dirname "$0")/..}/tests/verdict.sh"
skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

# Exact reduction of phases, NaN and infinity are lost under it.
verdict "nothing is compiled with -ffast-math" \
    "$(grep -En 'ffast-math|Ofast|funsafe-math' "$top/configure.ac" "$top/Makefile.am" \
    "$top"/src/*/*.mk \
        "$top"/src/*/*.c "$top"/src/*/*/*.c "$top"/src/*/*.h)"

# Registers of more than 16 bytes are named only in the files that dispatch guards.
name="code for any x86-64 uses no AVX"
if ! command -v objdump >/dev/null || [ "$(uname -m)" != x86_64 ]; then
    skip "$name" "no objdump, or no x86-64"
elif grep -Eq '^(CFLAGS|CC) =.*-m(arch|avx|tune=native|cpu)' "$build/Makefile"; then
    skip "$name" "built for one processor"
else
    seen=0
    bad=
    for o in $(find "$build/src/base" "$build/src/compute" -name '*.o' |
        grep -Ev '/[^/]*(simd_(avx2|avx512|amx)|bits_wide)\.o$'); do
        seen=$((seen + 1))
        objdump -d "$o" | grep -Eq '%[yz]mm[0-9]' && bad="$bad $o"
    done
    [ $seen -gt 40 ] || bad="$bad only $seen objects found"
    verdict "$name" "$bad"
    found=$(find "$build/src/compute" -name '*simd_avx512.o' | head -1)
    verdict "where it is asked for there is some" \
        "$(objdump -d "$found" | grep -Eq '%zmm[0-9]' || echo "$found")"
fi

# Clang makes code for processors that are not here; the headers of this one serve, without their
# list of what is missing.
mkdir -p "$work/gnu"
: >"$work/gnu/stubs-32.h"
: >"$work/config.h"
headers="-isystem $work -isystem /usr/include/$(${CC_NATIVE:-cc} -print-multiarch 2>/dev/null)"
other() { # TARGET FILE ARGUMENT..
    target=$1 file=$2
    shift 2
    # shellcheck disable=SC2086 # words
    clang --target="$target" -std=gnu11 -D_GNU_SOURCE -DPKGLIBDIR='""' \
        '-D__regparm__(n)=__unused__' \
        -Wall -Wextra -I"$work" -I"$top/src" $headers \
        $(pkg-config --cflags openblas lapacke nlopt 2>/dev/null) \
        "$@" "$file" 2>&1 | grep -E 'error|warning'
}
echo 'int main(void) { return 0; }' >"$work/empty.c"
for target in aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu s390x-linux-gnu \
    i686-linux-gnu; do
    name="the portable loops compile for $target"
    if ! clang --target=$target -c -o "$work/empty.o" "$work/empty.c" 2>/dev/null; then
        skip "$name" "clang does not know it"
        continue
    fi
    # uintptr_t is this processor's, in those headers.  Code is made for the first; what depends on
    # the others is what clang says of the types.
    to="-fsyntax-only"
    [ "$target" = aarch64-linux-gnu ] && to="-O0 -c -o $work/portable.o"
    # shellcheck disable=SC2086 # words
    verdict "$name" "$(other $target "$top/src/compute/cpu/simd_portable.c" $to \
        -Wno-pointer-to-int-cast -Wno-int-to-pointer-cast)$(
        [ "$to" = -fsyntax-only ] || [ -s "$work/portable.o" ] || echo 'no object')"
    rm -f "$work/portable.o"
done
# Types of these headers are those of this processor: errors count, warnings do not.
name="what is written for x86 is kept from others"
if ! clang --target=aarch64-linux-gnu -c -o "$work/empty.o" "$work/empty.c" 2>/dev/null; then
    skip "$name" "clang does not know them"
else
    verdict "$name" "$(for f in $(grep -lE 'x86|immintrin|cpuid|builtin_cpu' "$top"/src/*/*.c \
        "$top"/src/*/*/*.c); do
        other aarch64-linux-gnu "$f" -fsyntax-only -w
    done)"
fi
echo "1..$n"
exit $failed
