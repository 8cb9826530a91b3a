#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check-tsan.sh - builds with ThreadSanitizer and runs what uses several threads, with one of Wring's beside.
#
# MPI and UCX are not instrumented: accesses from within them are not looked at, nor are their locks seen.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: check-tsan.sh BUILDDIR [MPICC]
  BUILDDIR  where to build; configured there if it is not yet     MPICC  default mpicc.openmpi
Needs a configure script (autoreconf -fi). Exit status 1 if a test fails or a data race is found.
USAGE
}

[[ ${1-} && $1 != -* ]] || { usage; exit 2; }
source=$(realpath "$(dirname "$0")/..")
mkdir -p "$1"
cd "$1"
[[ -e config.status ]] ||
  "$source/configure" MPICC="${2:-mpicc.openmpi}" CXXFLAGS="-O1 -g" --enable-sanitizers=thread >configure.log
make -j "${JOBS:-$(nproc)}" tests/mpi/test_threads tests/sim/sim_tests >build.log

export srcdir=$source
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 suppressions=$PWD/tsan.suppressions"
# UCX's hooks into memory calls run in threads that ThreadSanitizer has already ended.
export UCX_MEM_MMAP_HOOK_MODE=none UCX_MEM_MALLOC_HOOKS=no
cat >tsan.suppressions <<'LIST'
# Handed from thread to thread inside MPI and UCX, under locks that are not seen.
called_from_lib:libmpi.so
called_from_lib:libmpich.so
called_from_lib:libopen-pal.so
called_from_lib:libopen-rte.so
called_from_lib:libucp.so
called_from_lib:libuct.so
called_from_lib:libucs.so
LIST
# Address space layout randomisation may put libraries where ThreadSanitizer wants to be.
run=()
! command -v setarch >/dev/null || run=(setarch "$(uname -m)" -R)

failed=0
check() {
  local title=$1
  shift
  printf '%s ... ' "$title"
  if "${run[@]}" "$@" >tsan.log 2>&1; then
    echo ok
  else
    failed=1
    echo FAILED
    grep -A 30 -m 3 -E 'WARNING: ThreadSanitizer|FAILED|FATAL' tsan.log | cut -c1-200 || tail -n 20 tsan.log
  fi
}
check "sim tests of lanes" ./tests/sim/sim_tests --gtest_filter='*Lane*'
# Not test_progress, which looks at results from beside on purpose.
sed "/^env=/d;s/^timeout=.*/timeout=600/" "$source/tests/mpi/test_threads.mpitest" >test_threads.mpitest
for transport in ucx mpi; do
  for progress in thread mpi; do
    export WRING_TEST_NP=2 WRING_TRANSPORT=$transport WRING_PROGRESS=$progress
    check "test_threads, transport $transport, progress $progress" sh tests/run-mpi.sh test_threads.mpitest
  done
done
exit "$failed"
