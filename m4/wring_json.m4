# SPDX-License-Identifier: BSD-3-Clause
# wring_json.m4 - nlohmann/json (headers only), for the tools.
AC_DEFUN([WRING_CHECK_JSON], [
  WRING_DEPENDENCY([nlohmann-json], [JSON], [nlohmann/json: JSON output of the tools],
    [nlohmann_json >= 3.9], [],
    [[#include <nlohmann/json.hpp>]], [[return nlohmann::json::parse("@<:@@:>@").size();]])
])
