#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-man.sh - each public function and environment variable has its place in the manual, and
# mandoc, where it is installed, finds nothing wrong with the pages.
set -eu
cd "$srcdir"
failed=0

for name in $(sh build-aux/public-functions.sh bindings/c/wring.h); do
  [ -e "man/man3/$name.3" ] || grep -q "$name" man/man7/wring.7 ||
    { echo "no man/man3/$name.3, and not a word in man/man7/wring.7"; failed=1; }
done
for name in $(sed -n 's/^WRING_VAR([a-z_]*, "\([A-Z_0-9]*\)".*/\1/p' src/base/config.def); do
  grep -q "$name" man/man7/wring.7 || { echo "man/man7/wring.7 lacks $name"; failed=1; }
done
if command -v mandoc > /dev/null; then
  # Pages that only send to another say so in a line that mandoc finds fragile.
  # shellcheck disable=SC2046
  mandoc -Tlint -Wwarning $(grep -L '^\.so ' man/man[0-9]/*) || failed=1
fi
exit $failed
