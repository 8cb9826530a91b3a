# SPDX-License-Identifier: BSD-3-Clause
# local.mk - programs that show the library at work; built with it, never installed.
noinst_PROGRAMS += \
  examples/hello_compressed \
  examples/hello_plan \
  examples/overlap
examples_hello_compressed_SOURCES = %D%/hello_compressed.c
examples_hello_compressed_LDADD = $(LDADD) -lm
examples_hello_plan_SOURCES = %D%/hello_plan.c
examples_overlap_SOURCES = %D%/overlap.c
examples_overlap_LDADD = $(LDADD) -lm

# That they run and, overlap, that the result is right.
examples_tests = \
  examples/hello_compressed.mpitest \
  examples/hello_plan.mpitest \
  examples/overlap.mpitest \
  examples/overlap_calls.mpitest
TESTS += $(examples_tests)
EXTRA_DIST += $(examples_tests)

# The data are gzipped.
if HAVE_ZLIB
noinst_PROGRAMS += examples/train_fashion/train_fashion
endif
examples_train_fashion_train_fashion_SOURCES = \
  %D%/train_fashion/average.cpp \
  %D%/train_fashion/average.hpp \
  %D%/train_fashion/digest.hpp \
  %D%/train_fashion/gemm.cpp \
  %D%/train_fashion/gemm.hpp \
  %D%/train_fashion/idx.cpp \
  %D%/train_fashion/idx.hpp \
  %D%/train_fashion/main.cpp \
  %D%/train_fashion/net_meter.cpp \
  %D%/train_fashion/net_meter.hpp \
  %D%/train_fashion/network.cpp \
  %D%/train_fashion/network.hpp \
  %D%/train_fashion/options.cpp \
  %D%/train_fashion/options.hpp \
  %D%/train_fashion/report.cpp \
  %D%/train_fashion/report.hpp \
  %D%/train_fashion/training.cpp \
  %D%/train_fashion/training.hpp
examples_train_fashion_train_fashion_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CPPFLAGS)
examples_train_fashion_train_fashion_LDADD = $(LDADD) $(ZLIB_LDFLAGS) $(ZLIB_LIBS)

EXTRA_DIST += \
  %D%/README.md \
  %D%/train_fashion/demo.sh
