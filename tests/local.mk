# SPDX-License-Identifier: BSD-3-Clause
# local.mk - test programs and checks. To add a test, add its file to the list of its folder.

# tests/unit: one process, hidden symbols. One line a file, headers too.
unit_sources = \
  tests/common/placements.hpp \
  tests/unit/codec_inputs.hpp \
  tests/unit/kernel_inputs.hpp \
  tests/unit/plan_problems.hpp \
  tests/unit/test_cases_half.cpp \
  tests/unit/test_cases_plan.cpp \
  tests/unit/test_cast.cpp \
  tests/unit/test_codec_golden.cpp \
  tests/unit/test_codec_hostile.cpp \
  tests/unit/test_codec_roundtrip.cpp \
  tests/unit/test_codec_spec.cpp \
  tests/unit/test_config.cpp \
  tests/unit/test_device.cpp \
  tests/unit/test_frame.cpp \
  tests/unit/test_kernels_cast16.cpp \
  tests/unit/test_kernels_quant.cpp \
  tests/unit/test_kernels_simd.cpp \
  tests/unit/test_layout.cpp \
  tests/unit/test_plan.cpp \
  tests/unit/test_schedule.cpp \
  tests/unit/test_select.cpp \
  tests/unit/test_shm_group.cpp \
  tests/unit/test_simulate.cpp \
  tests/unit/test_status.cpp \
  tests/unit/test_table.cpp \
  tests/unit/test_trace.cpp

# tests/sim: many ranks in one process, over transport/loop. Headers are listed too.
sim_sources = \
  tests/common/expected.hpp \
  tests/common/placements.hpp \
  tests/common/sim_cases.hpp \
  tests/sim/sim.hpp \
  tests/sim/test_allreduce.cpp \
  tests/sim/test_cases_traffic.cpp \
  tests/sim/test_cases_values.cpp \
  tests/sim/test_exchange.cpp \
  tests/sim/test_lanes.cpp

if HAVE_GTEST
gtest_programs = tests/unit/unit_tests tests/sim/sim_tests
else
gtest_programs =
endif
gtest_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CPPFLAGS)
gtest_ldadd = libwring_core.la $(GTEST_LDFLAGS) $(GTEST_LIBS)
gtest_common = tests/common/main.cpp

tests_unit_unit_tests_SOURCES = $(unit_sources) $(gtest_common)
tests_unit_unit_tests_CPPFLAGS = $(gtest_cppflags)
tests_unit_unit_tests_LDADD = $(gtest_ldadd)
tests_sim_sim_tests_SOURCES = $(sim_sources) $(gtest_common)
tests_sim_sim_tests_CPPFLAGS = $(gtest_cppflags)
tests_sim_sim_tests_LDADD = $(gtest_ldadd)

check_PROGRAMS += $(gtest_programs)
TESTS += $(gtest_programs)

# tests/mpi: programs for mpiexec that use the shared library as users do. For each a file
# test_x.cpp (named here without the ending) and a file test_x.mpitest that says how to run it.
# One in C also says tests_mpi_test_x_SOURCES = tests/mpi/test_x.c, one that needs hidden symbols
# tests_mpi_test_x_LDADD = $(core_ldadd).
mpi_programs = \
  tests/mpi/test_arguments \
  tests/mpi/test_communicators \
  tests/mpi/test_environment \
  tests/mpi/test_hierarchical \
  tests/mpi/test_killed \
  tests/mpi/test_lifetime \
  tests/mpi/test_long_run \
  tests/mpi/test_mismatch \
  tests/mpi/test_operators \
  tests/mpi/test_plan_errors \
  tests/mpi/test_plan_lifetime \
  tests/mpi/test_plans \
  tests/mpi/test_progress \
  tests/mpi/test_requests \
  tests/mpi/test_shm \
  tests/mpi/test_threads \
  tests/mpi/test_timeout \
  tests/mpi/test_traffic \
  tests/mpi/test_transport \
  tests/mpi/test_values
mpi_tests = \
  tests/mpi/test_arguments.mpitest \
  tests/mpi/test_communicators.mpitest \
  tests/mpi/test_communicators_mpi.mpitest \
  tests/mpi/test_environment_algorithm.mpitest \
  tests/mpi/test_environment_info.mpitest \
  tests/mpi/test_environment_measure.mpitest \
  tests/mpi/test_environment_rules.mpitest \
  tests/mpi/test_environment_silent.mpitest \
  tests/mpi/test_environment_tune.mpitest \
  tests/mpi/test_hierarchical_growing.mpitest \
  tests/mpi/test_hierarchical_mpi.mpitest \
  tests/mpi/test_hierarchical_pairs.mpitest \
  tests/mpi/test_hierarchical_round_robin.mpitest \
  tests/mpi/test_hierarchical_together.mpitest \
  tests/mpi/test_killed.mpitest \
  tests/mpi/test_killed_nonblocking.mpitest \
  tests/mpi/test_killed_plan.mpitest \
  tests/mpi/test_lifetime.mpitest \
  tests/mpi/test_long_run.mpitest \
  tests/mpi/test_long_run_mpi.mpitest \
  tests/mpi/test_mismatch.mpitest \
  tests/mpi/test_mismatch_finalize.mpitest \
  tests/mpi/test_mismatch_mpi.mpitest \
  tests/mpi/test_operators.mpitest \
  tests/mpi/test_operators_mpi.mpitest \
  tests/mpi/test_plan_errors.mpitest \
  tests/mpi/test_plan_errors_mpi.mpitest \
  tests/mpi/test_plan_lifetime.mpitest \
  tests/mpi/test_plan_lifetime_active.mpitest \
  tests/mpi/test_plan_lifetime_inactive.mpitest \
  tests/mpi/test_plan_lifetime_mpi.mpitest \
  tests/mpi/test_plans.mpitest \
  tests/mpi/test_plans_mpi.mpitest \
  tests/mpi/test_plans_thread.mpitest \
  tests/mpi/test_progress.mpitest \
  tests/mpi/test_progress_thread.mpitest \
  tests/mpi/test_requests.mpitest \
  tests/mpi/test_requests_funneled.mpitest \
  tests/mpi/test_requests_mpi.mpitest \
  tests/mpi/test_requests_multiple.mpitest \
  tests/mpi/test_requests_ob1.mpitest \
  tests/mpi/test_requests_serialized.mpitest \
  tests/mpi/test_requests_thread.mpitest \
  tests/mpi/test_requests_thread_multiple.mpitest \
  tests/mpi/test_requests_ucx.mpitest \
  tests/mpi/test_shm_apart.mpitest \
  tests/mpi/test_shm_loop.mpitest \
  tests/mpi/test_shm_off.mpitest \
  tests/mpi/test_shm_tiny.mpitest \
  tests/mpi/test_threads.mpitest \
  tests/mpi/test_threads_mpi.mpitest \
  tests/mpi/test_threads_progress.mpitest \
  tests/mpi/test_timeout.mpitest \
  tests/mpi/test_traffic.mpitest \
  tests/mpi/test_transport_buffers.mpitest \
  tests/mpi/test_transport_mailboxes.mpitest \
  tests/mpi/test_transport_mpi.mpitest \
  tests/mpi/test_transport_slots.mpitest \
  tests/mpi/test_transport_ucx.mpitest \
  tests/mpi/test_values.mpitest \
  tests/mpi/test_values_mpi.mpitest
core_ldadd = libwring_core.la $(MPI_LDFLAGS) $(MPI_LIBS)
tests_mpi_test_environment_LDADD = $(core_ldadd)
tests_mpi_test_hierarchical_LDADD = $(core_ldadd)
tests_mpi_test_killed_LDFLAGS = $(AM_LDFLAGS) -pthread
tests_mpi_test_long_run_LDADD = $(core_ldadd)
tests_mpi_test_threads_LDFLAGS = $(AM_LDFLAGS) -pthread
tests_mpi_test_traffic_LDADD = $(core_ldadd)
tests_mpi_test_transport_LDADD = $(core_ldadd)
tests_mpi_test_operators_LDADD = $(core_ldadd)
tests_mpi_test_values_LDADD = $(core_ldadd)
if HAVE_VERSION_SCRIPT
# The linker is GNU's or like it: allocations of the library are counted.
tests_mpi_test_traffic_CPPFLAGS = $(AM_CPPFLAGS) -DWRING_TEST_WRAP
tests_mpi_test_traffic_LDFLAGS = $(AM_LDFLAGS) \
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
endif
EXTRA_DIST += \
  tests/common/capture.hpp \
  tests/common/mpi_check.hpp \
  tests/common/plan_check.hpp

check_PROGRAMS += $(mpi_programs)
TESTS += $(mpi_tests)
EXTRA_DIST += $(mpi_tests)

# What holds for the whole tree.
checks = \
  build-aux/check-environment.sh \
  build-aux/check-headers.sh \
  build-aux/check-layers.sh \
  build-aux/check-readme.sh \
  build-aux/check-man.sh \
  build-aux/check-symbols.sh

TESTS += $(checks)
EXTRA_DIST += $(checks) \
  build-aux/layers.txt \
  build-aux/public-functions.sh \
  tests/check-choice.sh \
  tests/check-matrix.sh \
  tests/check-tsan.sh \
  tests/golden \
  tests/netlab

TEST_EXTENSIONS = .mpitest .sh
LOG_COMPILER = $(TEST_LIMIT)
MPITEST_LOG_COMPILER = $(SHELL) $(top_builddir)/tests/run-mpi.sh
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
  srcdir='$(srcdir)'; export srcdir; \
  CC='$(CC)'; export CC; \
  CXX='$(CXX)'; export CXX; \
  MPI_CPPFLAGS='$(MPI_CPPFLAGS)'; export MPI_CPPFLAGS;

# The gtest programs alone, which is what runs under sanitizers.
.PHONY: check-unit unit-programs
unit-programs: $(gtest_programs)
check-unit: unit-programs
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(gtest_programs)' check_PROGRAMS='$(gtest_programs)'
