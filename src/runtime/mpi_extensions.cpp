// SPDX-License-Identifier: BSD-3-Clause
// mpi_extensions.cpp - looks up what an MPI offers beyond the standard.
#include "runtime/mpi_extensions.hpp"

#include <dlfcn.h>

namespace wring::runtime {
namespace {

template <class F>
void look_up(F& out, const char* name) noexcept {
  out = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

MpiExtensions find() noexcept {
  MpiExtensions found;
  look_up(found.opal_progress_register, "opal_progress_register");
  look_up(found.opal_progress_unregister, "opal_progress_unregister");
  if (found.opal_progress_unregister == nullptr) found.opal_progress_register = nullptr;
  look_up(found.grequest_start, "MPIX_Grequest_start");
  return found;
}

}  // namespace

const MpiExtensions& mpi_extensions() noexcept {
  static const MpiExtensions found = find();
  return found;
}

}  // namespace wring::runtime
