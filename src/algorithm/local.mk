# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the algorithm room.
libwring_core_la_SOURCES += \
  %D%/algorithm.hpp \
  %D%/algorithms.def \
  %D%/direct.cpp \
  %D%/fold.hpp \
  %D%/hierarchical.cpp \
  %D%/layout.cpp \
  %D%/layout.hpp \
  %D%/one_shot.cpp \
  %D%/rabenseifner.cpp \
  %D%/recursive_doubling.cpp \
  %D%/registry.cpp \
  %D%/ring.cpp \
  %D%/schedule.cpp \
  %D%/schedule.hpp \
  %D%/tree.cpp
EXTRA_DIST += %D%/README.md
