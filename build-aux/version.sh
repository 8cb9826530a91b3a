#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# version.sh - prints a field of VERSION (version, so-version, major, minor or patch).
set -eu
file=$(dirname "$0")/../VERSION
field() { sed -n "s/^$1 //p" "$file"; }
case ${1-} in
  version|so-version) field "$1" ;;
  major) field version | cut -d. -f1 ;;
  minor) field version | cut -d. -f2 ;;
  patch) field version | cut -d. -f3 ;;
  *) echo "usage: version.sh version|so-version|major|minor|patch" >&2; exit 2 ;;
esac
