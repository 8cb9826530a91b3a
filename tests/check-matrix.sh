#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check-matrix.sh - wring_perf --check over ranks, sizes, codecs, algorithms, types and transports.
#
# Longer than `make check` can be. On 2 cores the small sizes took a minute with Open MPI and a quarter of an
# hour with MPICH, whose waiting ranks keep the processors; 64 MiB (WARMUP=0 STOCHASTIC=) half an hour with each.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: check-matrix.sh BUILDDIR [SIZES] [RANKS] [TYPES]
Environment: WARMUP=N calls before the one that is checked (default 1); STOCHASTIC=SPEC another
codec than stochastic int8, or none if empty; LIMIT=SECONDS for each run (default 1800);
ALGORITHMS="NAME ..." (default: all).
  SIZES  default 0,4,12,4k,1m+4      RANKS  default 1,2,3,4,5,7,8      TYPES  default float,double,fp16,bf16
For each number of ranks and transport prints how many rows there were, and those that are not right.
USAGE
}

[[ ${1-} && $1 != -* ]] || { usage; exit 2; }
build=$1
sizes=${2:-0,4,12,4k,1m+4}
ranks=${3:-1,2,3,4,5,7,8}
types=${4:-float,double,fp16,bf16}
limit=${LIMIT:-1800}

mpiexec=$(sed -n 's/^MPIEXEC = *//p' "$build/Makefile")
launch=("$mpiexec")
if [[ $("$mpiexec" --version 2>&1) == *"Open"* ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  launch+=(--oversubscribe --bind-to none)
fi
options=()
for codec in none fp16 bf16 int8 int4 ${STOCHASTIC-int8:rounding=stochastic,seed=7}; do options+=(--codec "$codec"); done
# auto is one of the others.
for algorithm in ${ALGORITHMS:-$("$build/wring_info" --algorithms | awk '/^[a-z]/ && $1 != "name" {print $1}')}; do options+=(--algorithm "$algorithm"); done
for type in ${types//,/ }; do options+=(--type "$type"); done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for transport in ucx mpi; do
  export WRING_TRANSPORT=$transport
  for n in ${ranks//,/ }; do
    start=$SECONDS
    status=0
    timeout "$limit" "${launch[@]}" -n "$n" "$build/wring_perf" --check --sizes "$sizes" --iters 1 --warmup "${WARMUP:-1}" \
      "${options[@]}" >"$log" 2>&1 </dev/null || status=$?
    printf '%-4s %2d ranks: %s (%d s)\n' "$transport" "$n" "$(tail -n 1 "$log")" $((SECONDS - start))
    if ((status != 0)); then
      failed=1
      echo "  exit status $status"
      awk '/^#/ {next} $11 == "no" || $12 > 0 || $8 > $9' "$log" | head -n 20
    fi
  done
done
exit "$failed"
