#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh - trains the same network with several codecs and compares accuracy, traffic and time.
#
# As root the ranks run on four hosts made of network namespaces (tests/netlab), joined by links of
# 1 Gbit/s, so that accuracy, bytes and times come from one and the same run. Otherwise they share
# one host, and only accuracy is reported.

set -euo pipefail

HERE=$(dirname -- "$(readlink -f -- "$0")")
readonly HERE
readonly NETLAB=${NETLAB:-$HERE/../../tests/netlab}
readonly HOSTS=4 RATE=1gbit
readonly EPOCHS=${DEMO_EPOCHS:-5}
# Seconds for one method; the slowest takes 15 an epoch where nothing else runs.
readonly LIMIT=$((120 * EPOCHS + 60))
read -r -a METHODS <<<"${DEMO_METHODS:-mpi none bf16 int8 int4 int8+plans}"
readonly METHODS
export NETLAB_PREFIX=${NETLAB_PREFIX:-demo} NETLAB_NET=${NETLAB_NET:-10.79.0}

usage() {
    cat <<USAGE
Usage: demo.sh BUILDDIR [OUTDIR]
Trains a network on Fashion-MNIST with $HOSTS ranks, once for each method of averaging gradients,
and prints a table. OUTDIR (default BUILDDIR/demo) gets train_fashion.txt, the table;
train_fashion.png, a plot; and METHOD.json, METHOD.dat and METHOD.log for each method.

Environment:
  MPIEXEC       launcher (default: the one that BUILDDIR was configured for)
  DEMO_METHODS  methods: mpi, codecs, or codecs with "+plans" behind, which average the gradient in
                parts during back-propagation (default "mpi none bf16 int8 int4 int8+plans")
  DEMO_EPOCHS   epochs for each (default 5)
  NETLAB        the tool that makes the hosts (default: tests/netlab of this source tree)
  NETLAB_PREFIX, NETLAB_NET   see netlab
USAGE
}

die() { echo "demo.sh: $*" >&2; exit 1; }

find_launcher() {
    local name
    [[ -z ${MPIEXEC-} ]] || { echo "$MPIEXEC"; return; }
    name=$(sed -n 's/^MPIEXEC = *//p' "$BUILD/Makefile" 2>/dev/null || true)
    echo "${name:-mpirun.openmpi}"
}

# Makes the hosts, or says on standard output why not.
try_hosts() {
    local tool
    ((EUID == 0)) || { echo "that needs root"; return 1; }
    for tool in ip tc unshare; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    [[ -x $NETLAB ]] || { echo "there is no $NETLAB"; return 1; }
    "$NETLAB" up "$HOSTS" "$RATE" >"$OUT/netlab.log" 2>&1 ||
        { echo "netlab failed: $(tail -n 1 "$OUT/netlab.log")"; return 1; }
}

# launch PROGRAM [ARG]...: become the run of it, one rank on each host, or all on this one.
launch() {
    local name
    local -a command
    if ((in_lab)); then
        command=("$NETLAB" run "$HOSTS" --mpiexec "$LAUNCHER")
        for name in $(compgen -e | grep '^WRING_' || true); do command+=(--env "$name"); done
        command+=(--)
        set -- "$@" --net-device eth0
    else
        command=("$LAUNCHER" -n "$HOSTS")
        # Only Open MPI counts cores.
        [[ $("$LAUNCHER" --version 2>&1) != *"Open"* ]] || command+=(--oversubscribe)
    fi
    exec timeout --foreground --kill-after=10 "$LIMIT" "${command[@]}" "$@"
}

# field NAME FILE: that member of the object for the whole run.
field() {
    sed -n '/"kind": "run"/ s/.*"'"$1"'": "\{0,1\}\([^",}]*\).*/\1/p' "$2"
}

train() { # METHOD
    local method=$1 begin=$SECONDS status=0
    local base=$OUT/${1//[^a-z0-9]/_}
    rm -f -- "$base.json" "$base.dat"
    printf '  %-10s ' "$method"
    # In the background, as bash answers signals only between foreground commands.
    launch "$PROGRAM" --method "$method" --epochs "$EPOCHS" --json "$base.json" \
        >"$base.log" 2>&1 &
    child=$!
    wait "$child" || status=$?
    child=''
    if ((status != 0)); then
        echo "failed"
        tail -n 20 "$base.log" >&2
        case $status in
            124 | 137) die "$method took more than $LIMIT s: the machine may be busy; see $base.log" ;;
            *) die "training with $method failed with status $status; all its output: $base.log" ;;
        esac
    fi
    # Epoch, MB sent since the start, test accuracy in percent.
    sed -n '/"kind": "epoch"/ {
        s/.*"epochs": \([0-9]*\).*"test_accuracy": \([0-9.]*\).*"net_bytes": \([0-9a-z]*\).*/\1 \3 \2/p
    }' "$base.json" | awk '{print $1, $2 / 1e6, 100 * $3}' >"$base.dat"
    echo "$((SECONDS - begin)) s"
}

# One line a method; ratio and speed-up are against the first.
table() {
    local method base
    for method in "${METHODS[@]}"; do
        base=$OUT/${method//[^a-z0-9]/_}.json
        echo "$method" "$(field test_accuracy "$base")" "$(field net_bytes_per_step "$base")" \
            "$(field comm_ms "$base")" "$(field step_ms "$base")"
    done | awk -v epochs="$EPOCHS" -v first="${METHODS[0]}" -v hosts="$HOSTS" '
        {
            wide = length($1) > wide ? length($1) : wide
            row[NR] = $0
            lab = lab || $3 != "null"
        }
        END {
            print "Fashion-MNIST, " hosts " ranks; test accuracy after epoch " epochs
            wide = wide < 6 ? 6 : wide
            printf "\n%-*s  %8s  %7s  %5s  %12s  %7s  %8s\n", wide, "method", "accuracy",
                "MB/step", "ratio", "comm ms/step", "ms/step", "speed-up"
            for (i = 1; i <= NR; i++) {
                split(row[i], v)
                if (i == 1) {bytes = v[3]; time = v[5]}
                printf "%-*s  %6.2f %%", wide, v[1], 100 * v[2]
                if (lab)
                    printf "  %7.2f  %5.2f  %12.1f  %7.1f  %8.2f\n",
                        v[3] / 1e6, bytes / v[3], v[4], v[5], time / v[5]
                else
                    printf "  %7s  %5s  %12s  %7s  %8s\n", "-", "-", "-", "-", "-"
            }
            if (lab) {
                print "\nMB/step: what all hosts together put on the network, headers included."
                print "ms/step: median over steps, on 1 Gbit/s; comm: inside the all-reduce,"
                print "or, with plans, waiting after back-propagation, for late ranks too."
                print "ratio, speed-up: of MB/step and of ms/step, against " first "."
            }
        }'
}

plot() {
    local method i=0 lines='' x=2 title='accuracy against traffic, one point an epoch'
    local label='MB sent on the network, all hosts together (log scale)'
    # Told apart without colours too.
    local -a colours=(000000 E69F00 0072B2 009E73 D55E00 CC79A7 56B4E9)
    local -a points=(6 7 5 9 13 11 3)
    local axis='set logscale x; set autoscale xfix; set xtics (10, 20, 50, 100, 200, 500, 1000,
        2000, 5000, 10000, 20000, 50000, 100000)'
    axis=${axis//$'\n'/}
    ((in_lab)) || { x=1; title='accuracy by epoch'; label='epoch'; axis='set xtics 1'; }
    for method in "${METHODS[@]}"; do
        # Same codec, same traffic: the line would lie on the other.
        [[ $method != *+plans || " ${METHODS[*]} " != *" ${method%+plans} "* ]] || continue
        lines+="'$OUT/${method//[^a-z0-9]/_}.dat' using $x:3 with linespoints linewidth 2"
        lines+=" linecolor rgb '#${colours[i % 7]}' pointtype ${points[i % 7]}"
        lines+=" pointsize $((i == 0 ? 2 : 1)) title '$method', "
        i=$((i + 1))
    done
    gnuplot <<PLOT
set terminal pngcairo size 900,560 font 'sans,12' noenhanced
set output '$OUT/train_fashion.png'
set title 'Fashion-MNIST: $title' font 'sans,14'
set xlabel '$label'
set ylabel 'test accuracy, %'
set border 3 linecolor rgb '#606060'
set tics nomirror out
set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 1
set key bottom right Left reverse spacing 1.3
set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05
$axis
plot $lines
PLOT
}

case ${1-} in
    -h | --help) usage; exit ;;
    '' | -*) usage >&2; exit 2 ;;
esac
(($# <= 2)) || { usage >&2; exit 2; }
BUILD=$(readlink -f -- "$1")
readonly BUILD PROGRAM=$BUILD/examples/train_fashion/train_fashion
[[ -x $PROGRAM ]] || die "there is no $PROGRAM: build first (it needs zlib)"
mkdir -p -- "${2:-$BUILD/demo}"
OUT=$(readlink -f -- "${2:-$BUILD/demo}")
LAUNCHER=$(find_launcher)
readonly OUT LAUNCHER
command -v "$LAUNCHER" >/dev/null || die "there is no launcher $LAUNCHER; set MPIEXEC"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# shellcheck disable=SC2317  # called by the trap
clean_up() {
    [[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true
    ((!in_lab)) || "$NETLAB" down
}

in_lab=0 child=''
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
where="$HOSTS ranks on this host"
if reason=$(try_hosts); then
    in_lab=1
    where="$HOSTS hosts (network namespaces) at 1 Gbit/s"
fi
echo "Training on Fashion-MNIST, $where, $EPOCHS epoch(s) a method:"
for method in "${METHODS[@]}"; do train "$method"; done
echo "  all took $SECONDS s"
echo
{
    table
    ((in_lab)) || printf '\nNot measured on a network: %s.\n' "$reason"
} | tee "$OUT/train_fashion.txt"
echo
if ! command -v gnuplot >/dev/null; then
    echo "No plot: gnuplot is not installed."
elif plot 2>"$OUT/gnuplot.log"; then
    echo "Plot: $OUT/train_fashion.png"
else
    echo "No plot: gnuplot failed, see $OUT/gnuplot.log"
fi
