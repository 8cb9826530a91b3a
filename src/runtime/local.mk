# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the runtime room.
libwring_core_la_SOURCES += \
  %D%/arithmetic.cpp \
  %D%/arithmetic.hpp \
  %D%/execution.cpp \
  %D%/execution.hpp \
  %D%/session.cpp \
  %D%/session.hpp \
  %D%/steps.cpp
