# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the api room.
libwring_core_la_SOURCES += \
  %D%/allreduce.cpp \
  %D%/codec.cpp \
  %D%/entry.cpp \
  %D%/entry.hpp \
  %D%/handles.cpp \
  %D%/nonblocking.cpp \
  %D%/plan.cpp \
  %D%/public.hpp \
  %D%/text.hpp
EXTRA_DIST += %D%/README.md
