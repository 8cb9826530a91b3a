# SPDX-License-Identifier: BSD-3-Clause
# local.mk - the transport room.
libwring_core_la_SOURCES += \
  %D%/hook.hpp \
  %D%/hook_corrupt.cpp \
  %D%/hook_delay.cpp \
  %D%/hook_drop.cpp \
  %D%/hook_trace.cpp \
  %D%/hooks.hpp \
  %D%/loop.cpp \
  %D%/loop.hpp \
  %D%/mpi.cpp \
  %D%/pool.hpp \
  %D%/registry.cpp \
  %D%/shm.cpp \
  %D%/shm_group.cpp \
  %D%/shm_group.hpp \
  %D%/shm_join.cpp \
  %D%/shm_window.cpp \
  %D%/shm_window.hpp \
  %D%/transport.hpp \
  %D%/transports.def
if HAVE_UCX
libwring_core_la_SOURCES += \
  %D%/ucx.cpp \
  %D%/ucx_channel.cpp \
  %D%/ucx_channel.hpp \
  %D%/ucx_config.cpp \
  %D%/ucx_config.hpp \
  %D%/ucx_receive.cpp \
  %D%/ucx_worker.cpp \
  %D%/ucx_worker.hpp
endif
EXTRA_DIST += %D%/README.md
