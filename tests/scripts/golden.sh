#!/bin/sh
# Every golden file of the parts that are done is read by a test: each program notes what it reads
# (run-tap.sh).  `golden.sh --table` prints the table of tests/golden.md.
srcdir=${top_srcdir:-.}
shared=${GPDESK_SHARED:-$srcdir/../shared}
[ -d "$shared/golden" ] || { echo "../shared/golden is absent"; exit 77; }
shared=$(cd "$shared" && pwd) lists=$(pwd)/tests/golden

# methods.md A to E, kernels of sequences and graphs (F), of counts (H), of words, inducing points
# and two classes (I), maps that learn, classes and calibration (J), kernel PCA, clusters and scores
# (K).
part_of() {
    case $1 in
    splitmix_* | kern_* | fht_* | sorf_* | poly_srht_*) echo A ;;
    gp_* | fs_* | big_*) echo B ;;
    nys_* | pchol_*) echo C ;;
    cg_* | slq_*) echo D ;;
    opt_* | svrg_* | psvrg_* | amsgrad_* | adam_*) echo E ;;
    conv_* | graph_* | fastconv_* | onehot_*) echo F ;;
    sdd_* | sgd_* | pathwise_*) echo G ;;
    tan_* | ioffe_* | tdp_* | tsketch_* | gamma_inv_cdf) echo H ;;
    spectrum_* | sparse_* | kdpp_probs | cls_* | ep_* | laplace_*) echo I ;;
    dir_* | cal_* | recal_* | fm_*) echo J ;;
    auprc_* | kpca_* | pca_* | km_* | met_* | spearman_*) echo K ;;
    *) echo later ;;
    esac
}

readers() { # FILE: programs and their groups of tests
    grep -sH "^$1 " "$lists"/check_* | sed 's|^.*/\(check_[a-z_]*\):[^ ]* \(.*\)$|\1 (\2)|' | sort \
        -u |
        paste -sd, | sed 's/,/, /g'
}

table() {
    echo '# Golden files and the tests that read them'
    echo
    echo 'Made by `tests/scripts/golden.sh --table` in the build directory after `make check`; the same'
    echo 'script, as a test, fails where a file of the parts A to K is read by no test. The files are'
    echo 'described in `../shared/golden/README.md`; the parts are those of `../shared/methods.md`.'
    echo
    echo '| part | file | read by |'
    echo '| --- | --- | --- |'
    for f in "$shared"/golden/*.csv; do
        name=$(basename "$f" .csv)
        part=$(part_of "$name")
        [ "$part" = later ] || printf '| %s | %s | %s |\n' "$part" "$name" "$(readers "$name")"
    done | sort -t'|' -k2,2 -s
    for f in "$shared"/golden/*.csv; do
        name=$(basename "$f" .csv)
        [ "$(part_of "$name")" = later ] && printf '%s\n' "$name"
    done >"$lists/later"
    [ -s "$lists/later" ] || return 0
    echo
    echo 'Not here, as what they are about is not in gpdesk:'
    paste -sd' ' "$lists/later" | sed 's/ /, /g; s/$/./' | fold -s -w 101 | sed 's/ $//'
}

if [ "$1" = --table ]; then
    table
    exit
fi

. "$srcdir/tests/scripts/lib.sh"
for part in A B C D E F G H I J K; do
    files=0 missing=
    for f in "$shared"/golden/*.csv; do
        name=$(basename "$f" .csv)
        [ "$(part_of "$name")" = $part ] || continue
        files=$((files + 1))
        [ -n "$(readers "$name")" ] || missing="$missing $name"
    done
    is "each of the $files golden files of part $part is read by a test" "$missing" ""
done
finish
