# SPDX-License-Identifier: BSD-3-Clause
# local.mk - the transport room.
libwring_core_la_SOURCES += \
  %D%/mpi.cpp \
  %D%/pool.hpp \
  %D%/registry.cpp \
  %D%/transport.hpp \
  %D%/transports.def
if HAVE_UCX
libwring_core_la_SOURCES += \
  %D%/ucx.cpp \
  %D%/ucx_channel.cpp \
  %D%/ucx_channel.hpp \
  %D%/ucx_receive.cpp \
  %D%/ucx_worker.cpp \
  %D%/ucx_worker.hpp
endif
EXTRA_DIST += %D%/README.md
