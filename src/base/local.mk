# SPDX-License-Identifier: BSD-3-Clause
# local.mk - files of the base room.
libwring_core_la_SOURCES += \
  %D%/clock.hpp \
  %D%/config.cpp \
  %D%/config.def \
  %D%/config.hpp \
  %D%/dtype.hpp \
  %D%/handle_table.hpp \
  %D%/log.cpp \
  %D%/log.hpp \
  %D%/status.cpp \
  %D%/status.hpp \
  %D%/trace.cpp \
  %D%/trace.hpp
EXTRA_DIST += %D%/README.md
