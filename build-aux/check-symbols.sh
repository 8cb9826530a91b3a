#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-symbols.sh - libwring.so exports the functions that wring.h declares, and nothing else.
set -eu
library=.libs/libwring.so
[ -e "$library" ] || { echo "skipped: no $library"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

sh "$srcdir/build-aux/public-functions.sh" "$srcdir/bindings/c/wring.h" > "$dir/declared"
# A is the version's own name.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  LC_ALL=C sort -u > "$dir/exported"

[ -s "$dir/declared" ] || { echo "no functions found in wring.h"; exit 1; }
if diff "$dir/declared" "$dir/exported"; then
  echo "$(wc -l < "$dir/declared") functions"
else
  echo "< declared in wring.h only   > exported by $library only"
  exit 1
fi
