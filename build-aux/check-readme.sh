#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-readme.sh - the programs that README.md and docs/plans.md show are those in examples/.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
check() { # PAGE PROGRAM
  awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$srcdir/$1" > "$dir/shown.c"
  diff "$srcdir/$2" "$dir/shown.c"
}
check README.md examples/hello_compressed.c
check docs/plans.md examples/hello_plan.c
