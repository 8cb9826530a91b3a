# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the plan room.
libwring_core_la_SOURCES += \
  %D%/cast.cpp \
  %D%/cast.hpp \
  %D%/cost.cpp \
  %D%/cost.hpp \
  %D%/error_bound.cpp \
  %D%/geometry.cpp \
  %D%/machine.hpp \
  %D%/network.cpp \
  %D%/plan.cpp \
  %D%/plan.hpp \
  %D%/rules.cpp \
  %D%/select.cpp \
  %D%/select.hpp \
  %D%/simulate.cpp \
  %D%/simulate.hpp \
  %D%/staging.cpp \
  %D%/staging.hpp \
  %D%/table.cpp \
  %D%/table.hpp \
  %D%/table_json.cpp
EXTRA_DIST += %D%/README.md
