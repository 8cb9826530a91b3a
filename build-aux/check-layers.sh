#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-layers.sh - checks every #include in src/ and bindings/ against layers.txt.
set -eu
cd "${srcdir:-$(dirname "$0")/..}"

find src bindings -type f \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.def' \) \
    -exec grep -EHn '^[[:space:]]*#[[:space:]]*include[[:space:]]' {} + |
LC_ALL=C sort | awk -v table=build-aux/layers.txt '
  # Turns shell patterns into a regular expression.
  function regex(patterns,    n, i, word, out) {
    n = split(patterns, word, " ")
    for (i = 1; i <= n; i++) {
      gsub(/[.+]/, "[&]", word[i])
      gsub(/[*]/, ".*", word[i])
      out = out (i > 1 ? "|" : "") word[i]
    }
    return "^(" out ")$"
  }
  function bad(why) { print where ": " why; failed = 1 }
  BEGIN {
    while ((getline line < table) > 0) {
      if (line ~ /^(#|$)/) continue
      split(line, column, "|")
      split(column[1], word, " ")
      if (word[1] == "room") {
        is_room[word[2]] = 1
        interface[word[2]] = regex(column[2])
        below[word[2]] = " " column[3] " "
      } else if (word[1] == "header") {
        allowed[word[2]] = regex(column[2])
      } else {
        print table ": not understood: " line
        exit failed = 1
      }
    }
  }
  {
    split($0, part, ":")
    file = part[1]
    where = file ":" part[2]
    if (!match($0, /["<][^">]*[">]/)) { bad("include without a name"); next }
    quoted = substr($0, RSTART, 1) == "\""
    target = substr($0, RSTART + 1, RLENGTH - 2)
    seen++

    for (prefix in allowed) {
      if (index(target, prefix) == 1 && file !~ allowed[prefix]) bad("must not include " target)
    }
    if (!quoted || target ~ /^(config|wring|wring_version)[.]h$/) next
    room = ""
    if (file ~ /^src\//) { split(file, path, "/"); room = path[2] }
    if (!(room in is_room)) { bad("room \"" room "\" is not in " table); next }
    if (target ~ /[.][.]/) { bad("\"" target "\" leaves its folder"); next }
    slash = index(target, "/")
    of = substr(target, 1, slash - 1)
    if (!(of in is_room)) bad("\"" target "\" is not of the form \"room/file\"")
    else if (of == room) next
    else if (index(below[room], " " of " ") == 0) bad(room " must not include from " of ": " target)
    else if (substr(target, slash + 1) !~ interface[of]) bad(target " is no interface header")
  }
  END {
    if (!seen) { print "no includes found"; failed = 1 }
    if (!failed) print seen " includes checked"
    exit failed
  }'
