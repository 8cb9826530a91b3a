#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-headers.sh - wring.h compiles alone, as C99 and as C++17, without a warning.
set -eu
flags="-fsyntax-only -Wall -Wextra -Wpedantic -Werror -I$srcdir/bindings/c -Ibindings/c"
# MPI's own headers may warn.
for word in $MPI_CPPFLAGS; do
  case $word in -I*) flags="$flags -isystem ${word#-I}" ;; esac
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
echo '#include <wring.h>' > "$dir/alone.c"
cp "$dir/alone.c" "$dir/alone.cpp"
set -x
# CC, CXX and flags are lists of words.
# shellcheck disable=SC2086
$CC -std=c99 $flags "$dir/alone.c"
# shellcheck disable=SC2086
$CXX -std=c++17 $flags "$dir/alone.cpp"
