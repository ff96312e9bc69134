# sdd_figure.sh -- what the scripts sdd_figure1.sh to sdd_figure3.sh share: they set NAME and
# CONTENDERS and read this file. It fits the solution, races the contenders against it and draws
# |a - a*|^2 in the norms of K and K^2 and the RMSE of test rows against the work, in products.
#
# The data are pol with its published hyperparameters where a folder ../shared/data stands beside
# the project (SHARED may name another one), else generated rows. DATA (commands that open, split
# and set the kernel), SEED, FIT (settings of all contenders), ROWS (of training) and TYPE (svg; png
# or pdf) may be set.
out=${OUT:-.}
GPDESK=${GPDESK:-gpdesk}
SEED=${SEED:-7}
FIT=${FIT:-rtol=1e-9}
TYPE=${TYPE:-svg}
SHARED=${SHARED:-$(dirname "$0")/../../../shared/data}
if [ -z "$DATA" ] && [ -f "$SHARED/pol/data.csv.gz" ]; then
    pol="open '$SHARED/pol/data.csv.gz' target=y"
    pol="$pol; split file='$SHARED/pol/splits.csv.gz' column=split0"
    set -- "$(sed -n 's/^pol,0,//p' "$SHARED/sdd_hyperparameters.csv")"
    scales=${1##*,} noise=${1%%,*} amplitude=${1#*,}
    amplitude=${amplitude%%,*}
    DATA="$pol${ROWS:+; split train=$ROWS}; kernel matern(nu=3/2,ard)"
    DATA="$DATA; set amplitude=$amplitude noise=$noise l=$(echo $scales | tr ' ' ,)"
fi
DATA=${DATA:-demo friedman1 n=${ROWS:-4000} seed=2; split test=20% seed=1; kernel matern(nu=3/2);
set l=2 amplitude=1 noise=0.2}
"$GPDESK" --no-config -q -k --accept-unconverged --seed "$SEED" -e "$DATA" \
    -e 'fit solver=exact variance=none' \
    -e "race $CONTENDERS model=exact against=r1 $FIT" \
    -e "plot race of=k by=passes out='$out/${NAME}_k.$TYPE' size=1000x600" \
    -e "plot race of=k2 by=passes out='$out/${NAME}_k2.$TYPE' size=1000x600" \
    -e "plot race of=rmse by=passes out='$out/${NAME}_rmse.$TYPE' size=1000x600" \
    -e "plot race of=k by=passes out='$out/$NAME.csv'" >"$out/$NAME.txt" ||
    { echo "$NAME.sh: the race did not come to its end: $out/$NAME.txt" >&2; exit 1; }
