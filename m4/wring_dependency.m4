# SPDX-License-Identifier: BSD-3-Clause
# wring_dependency.m4 - the one contract of all optional dependencies.

# WRING_DEPENDENCY(OPTION, VAR, PURPOSE, PKG-CONFIG MODULE, LIBS WITHOUT PKG-CONFIG, PROLOGUE, BODY)
# --with-OPTION[=PREFIX|yes|no|auto]: auto (the default) never fails, yes and PREFIX never degrade.
# Sets VAR_CPPFLAGS, VAR_LDFLAGS, VAR_LIBS, the conditional HAVE_VAR, and HAVE_VAR to 0 or 1 in
# config.h. The test compiles and links PROLOGUE and BODY as C++, and runs nothing.
AC_DEFUN([WRING_DEPENDENCY], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=PREFIX@:>@], [$3 @<:@auto@:>@])],
    [], [with_[]m4_translit([$1], [-], [_])=auto])
  wring_with=$with_[]m4_translit([$1], [-], [_])
  $2_CPPFLAGS= $2_LDFLAGS= $2_LIBS=
  wring_have=0
  AS_IF([test "x$wring_with" != xno], [
    AS_CASE([$wring_with],
      [yes|auto], [
        AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists "$4"], [
          $2_CPPFLAGS=`$PKG_CONFIG --cflags "$4"`
          $2_LIBS=`$PKG_CONFIG --libs "$4"`
        ], [$2_LIBS="$5"])
      ], [
        $2_CPPFLAGS="-I$wring_with/include"
        AS_IF([test -d "$wring_with/lib"], [$2_LDFLAGS="-L$wring_with/lib"],
          [test -d "$wring_with/lib64"], [$2_LDFLAGS="-L$wring_with/lib64"])
        $2_LIBS="$5"
      ])
    AC_MSG_CHECKING([for $1])
    AC_LANG_PUSH([C++])
    wring_save_CPPFLAGS=$CPPFLAGS wring_save_LDFLAGS=$LDFLAGS wring_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $$2_CPPFLAGS" LDFLAGS="$LDFLAGS $$2_LDFLAGS" LIBS="$$2_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([$6], [$7])], [wring_have=1])
    CPPFLAGS=$wring_save_CPPFLAGS LDFLAGS=$wring_save_LDFLAGS LIBS=$wring_save_LIBS
    AC_LANG_POP([C++])
    AS_IF([test $wring_have = 1], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      AS_IF([test "x$wring_with" != xauto],
        [AC_MSG_ERROR([--with-$1=$wring_with was asked for, but $1 cannot be used; see config.log])])
      $2_CPPFLAGS= $2_LDFLAGS= $2_LIBS=
    ])
  ])
  HAVE_$2=$wring_have
  AC_SUBST([$2_CPPFLAGS])
  AC_SUBST([$2_LDFLAGS])
  AC_SUBST([$2_LIBS])
  AM_CONDITIONAL([HAVE_$2], [test $HAVE_$2 = 1])
  AC_DEFINE_UNQUOTED([HAVE_$2], [$HAVE_$2], [Whether $1 can be used: 0 or 1])
])
