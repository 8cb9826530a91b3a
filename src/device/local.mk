# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the device room.
libwring_core_la_SOURCES += \
  %D%/device.hpp \
  %D%/devices.def \
  %D%/host.cpp \
  %D%/pool.cpp \
  %D%/registry.cpp
EXTRA_DIST += %D%/README.md
