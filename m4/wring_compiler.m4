# SPDX-License-Identifier: BSD-3-Clause
# wring_compiler.m4 - language standard, warnings, sanitizers and the linker's version script.

# WRING_CXX_STD(YEAR)
# Adds the option for C++YEAR to CXX.
AC_DEFUN([WRING_CXX_STD], [
  AC_LANG_PUSH([C++])
  wring_save_CXX=$CXX
  wring_std=no
  AC_MSG_CHECKING([for the option that makes $CXX take C++$1])
  for wring_option in -std=c++$1 -std=c++2a; do
    CXX="$wring_save_CXX $wring_option"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
        #include <concepts>
        #include <span>
        template <std::integral T> struct Pair { T a{}, b{}; bool operator==(const Pair&) const = default; };
        static_assert(Pair<int>{.a = 1, .b = 2} == Pair<int>{1, 2});
        int last(std::span<const int> s) { return s.back(); }
      ]])], [wring_std=$wring_option; break])
  done
  AC_MSG_RESULT([$wring_std])
  AS_IF([test $wring_std = no], [AC_MSG_ERROR([a compiler for C++$1 is needed, such as g++ 10])])
  AC_LANG_POP([C++])
])

# WRING_WARNINGS
# --enable-werror. Sets WRING_WARN.
AC_DEFUN([WRING_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make compiler warnings errors (for developers)])],
    [], [enable_werror=no])
  WRING_WARN="-Wall -Wextra"
  AS_IF([test "x$enable_werror" = xyes], [WRING_WARN="$WRING_WARN -Werror"])
  AC_SUBST([WRING_WARN])
])

# WRING_SANITIZERS
# --enable-sanitizers=LIST. Sets WRING_SAN.
AC_DEFUN([WRING_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [compile with -fsanitize=LIST, such as address,undefined or thread])],
    [], [enable_sanitizers=no])
  WRING_SAN=
  AS_CASE([$enable_sanitizers],
    [no], [],
    [yes], [AC_MSG_ERROR([--enable-sanitizers needs a list, such as address,undefined])],
    [WRING_SAN="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"])
  AC_SUBST([WRING_SAN])
])

# WRING_VERSION_SCRIPT
# Sets VERSION_SCRIPT to the linker's option, up to the file's name; conditional HAVE_VERSION_SCRIPT.
AC_DEFUN([WRING_VERSION_SCRIPT], [
  AC_MSG_CHECKING([whether the linker takes a version script])
  wring_save_LDFLAGS=$LDFLAGS
  echo 'WRING_TEST { local: *; };' > conftest.map
  LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script,conftest.map"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[int wring_test(void) { return 0; }]])],
    [wring_map=yes], [wring_map=no])
  LDFLAGS=$wring_save_LDFLAGS
  rm -f conftest.map
  AC_MSG_RESULT([$wring_map])
  AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $wring_map = yes])
])
