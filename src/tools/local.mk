# SPDX-License-Identifier: BSD-3-Clause
# local.mk - the tools, which link the library statically: they look at what it does not export.
tools_cppflags = $(AM_CPPFLAGS) $(CLI11_CPPFLAGS) $(JSON_CPPFLAGS)
tools_ldadd = libwring_core.la $(MPI_LDFLAGS) $(MPI_LIBS)
# Installed programs, which must not have what AM_LDFLAGS says for tests.
tools_ldflags = $(WRING_SAN)

if HAVE_CLI11
bin_PROGRAMS += wring_info
if HAVE_JSON
bin_PROGRAMS += wring_perf
endif
endif

wring_perf_SOURCES = \
  %D%/check.cpp \
  %D%/check.hpp \
  %D%/data.cpp \
  %D%/data.hpp \
  %D%/element.cpp \
  %D%/element.hpp \
  %D%/measure.cpp \
  %D%/measure.hpp \
  %D%/options.cpp \
  %D%/options.hpp \
  %D%/perf.cpp \
  %D%/report.cpp \
  %D%/report.hpp
wring_perf_CPPFLAGS = $(tools_cppflags)
wring_perf_LDFLAGS = $(tools_ldflags)
wring_perf_LDADD = $(tools_ldadd)

wring_info_SOURCES = \
  %D%/info.cpp \
  %D%/info.hpp \
  %D%/info_lists.cpp \
  %D%/info_plan.cpp
wring_info_CPPFLAGS = $(tools_cppflags)
wring_info_LDFLAGS = $(tools_ldflags)
wring_info_LDADD = $(tools_ldadd)

EXTRA_DIST += %D%/README.md
