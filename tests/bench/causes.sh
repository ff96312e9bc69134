# tests/bench/causes.sh -- data and settings that provoke each cause that `why` knows; sourced by
# why.sh and mend.sh.

# rows SEED N NOISE KIND > CSV: y = sin(2 x1) + x2 x3 / 2 + cos(x4) + noise, and what the kind adds
# (w of the last: what the weight of a row would have to be, which nobody knows at first)
rows() {
    awk -v seed="$1" -v n="$2" -v noise="$3" -v kind="$4" '
        function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
        BEGIN {
            srand(seed); OFS = ","
            print "x1,x2,x3,x4" (kind ~ /column/ ? ",x5" : "") ",y" (kind ~ /scale/ ? ",w" : "")
            for (i = 0; i < n; i++) {
                if (!(kind == "repeats" && i % 5 == 4)) for (j = 1; j <= 4; j++) x[j] = 4 * rand() - 2
                f = sin(2 * x[1]) + x[2] * x[3] / 2 + cos(x[4])
                y = f + noise * normal()
                if (kind == "scale1") y *= exp(1.2 * x[1])
                if (kind == "scale2") y = exp(0.8 * y)
                if (kind == "repeats" && i % 5 == 4) y = f + 0.7 * normal()
                extra = kind == "columns1" ? sprintf(",%.10g", exp(6 * normal())) : \
                        kind == "columns2" ? sprintf(",%.12g", 5000 + 1e-3 * normal()) : ""
                weight = kind == "scale1" ? sprintf(",%.8g", exp(-2.4 * x[1])) : kind == "scale2" ? ",1" : ""
                printf "%.8g,%.8g,%.8g,%.8g%s,%.10g%s\n", x[1], x[2], x[3], x[4], extra, y, weight
            }
        }'
}

# data_of CASE SEED N > CSV
data_of() {
    case $1 in
    noise) rows "$2" "$3" 0.3 plain ;;
    duplicates) rows "$2" "$3" 0.01 repeats ;;
    columns) rows "$2" "$3" 0.1 columns$(($2 % 2 + 1)) ;;
    nonstationary) rows "$2" "$3" 0.3 scale$(($2 % 2 + 1)) ;; \
        # even seeds: of both signs; odd ones: positive
    rank | float32) rows "$2" "$3" 0.01 plain ;;
    *) rows "$2" "$3" 0.1 plain ;;
    esac
}

# lines CASE: what is typed after the data are open
lines() {
    case $1 in
    healthy) echo "tune features=512 evals=15; fit features=1024" ;;
    rank) echo \
        "fit features=1024 l=2 noise=0.01 solver=pcg rank=4 maxit=20 rtol=1e-8 variance=none" ;;
    noise) echo "fit features=1024 l=1.5 noise=0.003" ;;
    duplicates) echo "fit features=1024 l=1.5 noise=0.01" ;;
    columns) echo "tune features=512 evals=15; fit features=1024" ;;
    bound) echo "tune features=512 evals=15 l=0.01..0.1; fit features=1024" ;;
    float32) echo \
        "fit features=512 l=2 noise=0.01 solver=pcg rank=256 rtol=1e-13 maxit=400 precision=float plan=regenerate variance=none" ;;
    starved) echo "tune features=512 evals=15; fit features=1024 solver=pcg variance=16" ;;
    features) echo "tune features=512 evals=15; fit features=24" ;;
    nonstationary) echo "cols w role=skip; tune features=512 evals=15; fit features=1024" ;;
    esac
}
