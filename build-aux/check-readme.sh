#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-readme.sh - the program that README.md shows is the one in examples/.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$srcdir/README.md" > "$dir/shown.c"
diff "$srcdir/examples/hello_compressed.c" "$dir/shown.c"
