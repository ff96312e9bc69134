#!/bin/sh
# tests/cuda/pack.sh DIR -- run in a build directory: gathers in DIR what runs on a machine that has
# a driver, a C library no older than this one's and CUDA's libraries, but none of what gpdesk is
# built with.
#
#   DIR/bin   gpdesk, its module, check_cuda, bench_cuda, jobs.sh, peers_cuda.py
#   DIR/lib   shared libraries that they need (not the C library, not CUDA's)
#   DIR/env   to be sourced there
# and the same as DIR.tar.gz.  A build with --with-hdf5=no --with-gsl=no needs a third less.
set -e
dir=${1:?usage: pack.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir/bin" "$dir/lib"
for f in gpdesk libgpdesk-cuda.so tests/cuda/check_cuda tests/cuda/bench_cuda; do
    test -f "$f" || { echo "pack.sh: make $f first" >&2; exit 1; }
    cp "$f" "$dir/bin/"
    strip "$dir/bin/${f##*/}" 2>/dev/null || :
done
cp "$here/jobs.sh" "$here/peers_cuda.py" "$dir/bin/"
for f in "$dir"/bin/gpdesk "$dir"/bin/check_cuda "$dir"/bin/bench_cuda; do
    ldd "$f" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | grep -vE \
    '/(libc|libm|libdl|librt|libpthread|ld-linux.*|libcublas.*|libcuda.*|libstdc.*|libgcc_s)\.so' |
    while read -r lib; do cp -L "$lib" "$dir/lib/"; done
cat >"$dir/env" <<'END'
# . DIR/env from DIR's parent or anywhere: paths of the libraries here and of CUDA's
pack=$(cd "$(dirname "${BASH_SOURCE:-$0}")" && pwd)
for d in /usr/local/cuda/lib64 /usr/local/cuda/lib $(python3 -c '
import glob, site, sys
for s in site.getsitepackages() + [site.getusersitepackages()]:
    print(*glob.glob(s + "/nvidia/cu13/lib") + glob.glob(s + "/nvidia/*/lib"))' 2>/dev/null); do
    test -d "$d" && cuda="${cuda:+$cuda:}$d"
done
LD_LIBRARY_PATH=$pack/lib${cuda:+:$cuda}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GPDESK_CUDA_MODULE=$pack/bin/libgpdesk-cuda.so
XDG_CACHE_HOME=${TMPDIR:-/tmp}/gpdesk-cache
export LD_LIBRARY_PATH GPDESK_CUDA_MODULE XDG_CACHE_HOME
END
tar -C "$(dirname "$dir")" -czf "$dir.tar.gz" "$(basename "$dir")"
du -sh "$dir" "$dir.tar.gz"
