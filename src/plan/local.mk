# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the plan room.
libwring_core_la_SOURCES += \
  %D%/error_bound.cpp \
  %D%/geometry.cpp \
  %D%/plan.cpp \
  %D%/plan.hpp \
  %D%/rules.cpp \
  %D%/select.cpp
EXTRA_DIST += %D%/README.md
