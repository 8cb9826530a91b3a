# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the runtime room.
libwring_core_la_SOURCES += \
  %D%/allreduce.cpp \
  %D%/arithmetic.cpp \
  %D%/arithmetic.hpp \
  %D%/bootstrap.cpp \
  %D%/bootstrap.hpp \
  %D%/codec_handle.cpp \
  %D%/communicator.cpp \
  %D%/communicator.hpp \
  %D%/datatype.cpp \
  %D%/datatype.hpp \
  %D%/execution.cpp \
  %D%/execution.hpp \
  %D%/float16.cpp \
  %D%/float16.hpp \
  %D%/integer.cpp \
  %D%/integer.hpp \
  %D%/process.cpp \
  %D%/process.hpp \
  %D%/runtime.hpp \
  %D%/session.cpp \
  %D%/session.hpp \
  %D%/settings.cpp \
  %D%/steps.cpp \
  %D%/wait.cpp
EXTRA_DIST += %D%/README.md
