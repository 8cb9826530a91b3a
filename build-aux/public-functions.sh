#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# public-functions.sh - prints the names of the functions that wring.h (argument) declares.
set -eu
# Without comments and preprocessor lines, names before a parenthesis are functions.
sed -e 's,/\*.*\*/,,' -e '/\/\*/,/\*\//d' -e '/^#/d' "$1" |
  grep -oE '(MPIX|WRING)_[A-Za-z0-9_]+[[:space:]]*\(' | tr -d ' (' | LC_ALL=C sort -u
