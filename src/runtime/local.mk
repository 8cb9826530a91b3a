# SPDX-License-Identifier: BSD-3-Clause
# local.mk - sources of the runtime room.
libwring_core_la_SOURCES += \
  %D%/allreduce.cpp \
  %D%/arguments.cpp \
  %D%/arguments.hpp \
  %D%/arithmetic.cpp \
  %D%/arithmetic.hpp \
  %D%/bootstrap.cpp \
  %D%/bootstrap.hpp \
  %D%/codec_handle.cpp \
  %D%/communicator.cpp \
  %D%/communicator.hpp \
  %D%/datatype.cpp \
  %D%/datatype.hpp \
  %D%/exchange.cpp \
  %D%/exchange.hpp \
  %D%/execution.cpp \
  %D%/execution.hpp \
  %D%/float16.cpp \
  %D%/float16.hpp \
  %D%/integer.cpp \
  %D%/integer.hpp \
  %D%/memo.hpp \
  %D%/mpi_extensions.cpp \
  %D%/mpi_extensions.hpp \
  %D%/nonblocking.cpp \
  %D%/notices.cpp \
  %D%/passed_on.cpp \
  %D%/passed_on.hpp \
  %D%/persistent_plan.cpp \
  %D%/persistent_plan.hpp \
  %D%/plan_handle.cpp \
  %D%/plan_hints.cpp \
  %D%/plan_hints.hpp \
  %D%/probe.cpp \
  %D%/process.cpp \
  %D%/process.hpp \
  %D%/progress.cpp \
  %D%/progress.hpp \
  %D%/requests.cpp \
  %D%/runtime.hpp \
  %D%/sequence.hpp \
  %D%/session.cpp \
  %D%/session.hpp \
  %D%/settings.cpp \
  %D%/signature.cpp \
  %D%/steps.cpp \
  %D%/wait.cpp
EXTRA_DIST += %D%/README.md
