#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-environment.sh - docs/environment.md has the variables of config.def, with their defaults.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

sed -n 's/^WRING_VAR([a-z_]*, "\([A-Z_0-9]*\)", \([a-z]*\), "\([^"]*\)".*/\1 \2 \3/p' \
  "$srcdir/src/base/config.def" | sed 's/ *$//' > "$dir/table"
sed -n 's/^| `\([A-Z_0-9]*\)` | \([a-z]*\) | *`*\([^`|]*\)`* *|.*/\1 \2 \3/p' \
  "$srcdir/docs/environment.md" | sed 's/ *$//' > "$dir/documented"

[ "$(grep -c '^WRING_VAR(' "$srcdir/src/base/config.def")" = "$(wc -l < "$dir/table")" ] ||
  { echo "a line of config.def is not understood"; exit 1; }
if diff "$dir/table" "$dir/documented"; then
  echo "$(wc -l < "$dir/table") variables"
else
  echo "< in src/base/config.def only   > in docs/environment.md only (or in another order)"
  exit 1
fi
