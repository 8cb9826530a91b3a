# SPDX-License-Identifier: BSD-3-Clause
# wring_cli11.m4 - CLI11 (headers only), which reads the tools' command lines.
AC_DEFUN([WRING_CHECK_CLI11], [
  WRING_DEPENDENCY([cli11], [CLI11], [CLI11: command lines of the tools], [CLI11 >= 1.9], [],
    [[#include <CLI/CLI.hpp>]], [[CLI::App app; return app.get_name().size();]])
])
