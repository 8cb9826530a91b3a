# SPDX-License-Identifier: BSD-3-Clause
# wring_mpi.m4 - finds MPI's C compiler wrapper, the flags behind it, its kind and its launcher.

# WRING_PROG_MPICC
# Sets MPICC (a path), and CC to it unless the user chose another.
AC_DEFUN([WRING_PROG_MPICC], [
  AC_ARG_VAR([MPICC], [C compiler wrapper of the MPI to build for (default: mpicc)])
  AS_IF([test -z "$MPICC"], [MPICC=mpicc])
  # A path is taken as it is.
  AS_CASE([$MPICC], [/*], [WRING_MPICC=$MPICC])
  AC_PATH_PROG([WRING_MPICC], [$MPICC])
  AS_IF([test ! -x "$WRING_MPICC"],
    [AC_MSG_ERROR([no $MPICC found; set MPICC to MPI's C compiler wrapper])])
  MPICC=$WRING_MPICC
  AS_VAR_SET_IF([CC], [], [CC=$MPICC])
])

# WRING_CHECK_MPI
# Sets MPI_CPPFLAGS, MPI_LDFLAGS, MPI_LIBS (without MPI's C++ bindings), MPI_FLAVOR, MPI_VERSION and
# MPIEXEC. Nothing is run but the wrapper and the preprocessor.
AC_DEFUN([WRING_CHECK_MPI], [
  AC_MSG_CHECKING([for the flags of $MPICC])
  # Open MPI answers the first; MPICH and its relatives the others, compiler name first.
  wring_words=`$MPICC -showme:compile 2>/dev/null && $MPICC -showme:link 2>/dev/null` ||
    wring_words=`$MPICC -compile-info 2>/dev/null && $MPICC -link-info 2>/dev/null` ||
    wring_words=`$MPICC -show 2>/dev/null` || wring_words=
  MPI_CPPFLAGS="-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX" MPI_LDFLAGS= MPI_LIBS=
  for wring_word in $wring_words; do
    AS_CASE([" $MPI_CPPFLAGS $MPI_LDFLAGS $MPI_LIBS "], [*" $wring_word "*], [continue])
    AS_CASE([$wring_word],
      [-I*|-D*], [MPI_CPPFLAGS="$MPI_CPPFLAGS $wring_word"],
      [-L*|-Wl,-rpath*], [MPI_LDFLAGS="$MPI_LDFLAGS $wring_word"],
      [-l*], [MPI_LIBS="$MPI_LIBS $wring_word"])
  done
  AC_MSG_RESULT([$MPI_CPPFLAGS $MPI_LDFLAGS $MPI_LIBS])

  AC_LANG_PUSH([C++])
  wring_save="CPPFLAGS='$CPPFLAGS' LDFLAGS='$LDFLAGS' LIBS='$LIBS'"
  CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS" LDFLAGS="$LDFLAGS $MPI_LDFLAGS" LIBS="$MPI_LIBS $LIBS"
  AC_MSG_CHECKING([whether C++ programs can use MPI with them])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
      [[MPI_Count n = 0; int flag; MPI_Initialized(&flag); return flag + MPI_VERSION + (int)n;]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$MPICC does not say how to compile with MPI; see config.log])])

  AC_MSG_CHECKING([which MPI this is])
  AC_LANG_CONFTEST([AC_LANG_SOURCE([[#include <mpi.h>
    #if defined OPEN_MPI
    wring_mpi openmpi OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
    #elif defined MPICH_VERSION
    wring_mpi mpich MPICH_VERSION
    #else
    wring_mpi other unknown
    #endif
  ]])])
  wring_line=`$CXX -E $CPPFLAGS conftest.$ac_ext 2>/dev/null | tr '\n' ' ' |
    $SED 's/#@<:@^"@:>@*"@<:@^"@:>@*"@<:@ 0-9@:>@*//g; s/.*wring_mpi//'`
  set dummy $wring_line
  MPI_FLAVOR=$[2]
  shift; shift
  MPI_VERSION=`echo "$[*]" | tr -d ' "'`
  rm -f conftest.$ac_ext
  AC_MSG_RESULT([$MPI_FLAVOR $MPI_VERSION])
  eval "$wring_save"
  AC_LANG_POP([C++])

  WRING_PROG_MPIEXEC
  AC_SUBST([MPI_CPPFLAGS])
  AC_SUBST([MPI_LDFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_SUBST([MPI_FLAVOR])
  AC_SUBST([MPI_VERSION])
  AC_DEFINE_UNQUOTED([WRING_MPI_FLAVOR], ["$MPI_FLAVOR"], [MPI that this build is for])
  AC_DEFINE_UNQUOTED([WRING_MPI_VERSION_STRING], ["$MPI_VERSION"], [Version of that MPI])
])

# WRING_PROG_MPIEXEC
# Sets MPIEXEC to the launcher that belongs to MPICC: beside it, with its suffix (mpicc.mpich,
# mpiexec.mpich) or its kind's name, before any other. Empty if there is none.
AC_DEFUN([WRING_PROG_MPIEXEC], [
  AC_ARG_VAR([MPIEXEC], [launcher for the tests (default: the one beside MPICC)])
  AS_IF([test -z "$MPIEXEC"], [
    wring_dir=${MPICC%/*}
    wring_suffix=`echo "$MPICC" | $SED 's,.*/mpicc,,'`
    wring_names="mpiexec$wring_suffix mpirun$wring_suffix"
    AS_IF([test -z "$wring_suffix"],
      [wring_names="mpiexec.$MPI_FLAVOR mpirun.$MPI_FLAVOR $wring_names"])
    AC_PATH_PROGS([WRING_MPIEXEC_BESIDE], [$wring_names], [], [$wring_dir])
    MPIEXEC=$WRING_MPIEXEC_BESIDE
    AS_IF([test -z "$MPIEXEC"], [
      AC_PATH_PROGS([WRING_MPIEXEC_ANY], [$wring_names])
      MPIEXEC=$WRING_MPIEXEC_ANY
    ])
  ])
])
