#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check-choice.sh - whether what a plan chooses is as fast as the best candidate, measured in netlab.
#
# Candidates and the choice are timed in turn, in several rounds, so that all see the same machine; a
# candidate's time is the median over rounds. The choice is judged by the time of the candidate that it is.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: check-choice.sh BUILDDIR [HOSTS] [RATE] [SIZES] [CODECS]
  HOSTS  default 2,4,8   RATE  default 1gbit   CODECS  default none
  SIZES  default 8,64,512,4k,16k,64k,256k,1m,4m,16m,64m
Environment: ROUNDS (default 5), ITERS calls in each (default: by size), MPIEXEC (default: of the build).
Prints a line for each number of hosts, size and codec: the choice, the best candidate, times, ratio and what
the plan predicted;
exit status 1 if a ratio is above 1.10.
USAGE
}

[[ ${1-} && $1 != -* ]] || { usage; exit 2; }
build=$(realpath "$1")
hosts=${2:-2,4,8}
rate=${3:-1gbit}
sizes=${4:-8,64,512,4k,16k,64k,256k,1m,4m,16m,64m}
codecs=${5:-none}
rounds=${ROUNDS:-5}
netlab=$(dirname "$(realpath "$0")")/netlab
mpiexec=${MPIEXEC:-$(sed -n 's/^MPIEXEC = *//p' "$build/Makefile")}
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4294967296

rows=$(mktemp -d)
trap '"$netlab" down; rm -rf "$rows"' EXIT
mapfile -t algorithms < <("$build/wring_info" --algorithms | awk '/^[a-z]/ && $1 != "name" {print $1}')
options=()
for codec in ${codecs//,/ }; do options+=(--codec "$codec"); done
for algorithm in auto "${algorithms[@]}"; do options+=(--algorithm "$algorithm"); done
[[ -z ${ITERS-} ]] || options+=(--iters "$ITERS")

for n in ${hosts//,/ }; do
  "$netlab" up "$n" "$rate"
  for ((round = 0; round < rounds; ++round)); do
    timeout 1800 "$netlab" run "$n" --mpiexec "$mpiexec" --env MALLOC_MMAP_MAX_ --env MALLOC_TRIM_THRESHOLD_ -- \
      "$build/wring_perf" --sizes "$sizes" "${options[@]}" --json "$rows/$n.$round.json" >/dev/null
  done
done

python3 - "$rows" "${algorithms[*]}" <<'PYTHON'
import glob, json, os, statistics, sys

folder, algorithms = sys.argv[1], sys.argv[2].split()
times, chosen, predicted = {}, {}, {}
for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
    hosts = int(os.path.basename(path).split(".")[0])
    seen = {}
    for line in open(path):
        row = json.loads(line)
        case = (hosts, row["codec"], row["bytes"])
        # Rows of a codec come algorithm by algorithm, auto first.
        turn = seen[case] = seen.get(case, -1) + 1
        name = "auto" if turn == 0 else algorithms[turn - 1]
        if turn == 0:
            raw = (row["wire_ratio"] or 1) < 1.2  # whatever the codec, latency goes first
            chosen[case] = (row["algorithm"], raw == (row["codec"] == "none"))
        times.setdefault(case, {}).setdefault(name, []).append(row["time_us"])
        if turn == 0:
            predicted.setdefault(case, []).append(row["predicted_us"] or 0)
print("hosts codec   bytes      choice               us           best                 us           ratio predicted")
worst = 0.0
for case in sorted(times):
    median = {name: statistics.median(t) for name, t in times[case].items()}
    algorithm, as_asked = chosen[case]
    # Two rows are of the choice, unless auto leaves the codec asked for.
    own = statistics.median(times[case]["auto"] + (times[case][algorithm] if as_asked else []))
    best = min((m, name) for name, m in median.items() if name != "auto")
    ratio = own / best[0]
    worst = max(worst, ratio)
    print(f"{case[0]:5} {case[1]:7} {case[2]:<10} {algorithm:20} {own:<12.1f} {best[1]:20} {best[0]:<12.1f} {ratio:.2f}  {statistics.median(predicted[case]):.1f}")
print(f"worst ratio {worst:.2f}")
sys.exit(worst > 1.10)
PYTHON
