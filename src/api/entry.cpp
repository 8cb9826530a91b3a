// SPDX-License-Identifier: BSD-3-Clause
// entry.cpp - from Status to MPI error classes, codes and texts.
#include "api/entry.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "base/log.hpp"
#include "runtime/runtime.hpp"

namespace wring::api {
namespace {

/// Codes of one class that are handed out in turn, so that texts of recent errors stay while a program
/// that fails for ever does not use up MPI's table.
constexpr int kCodesPerClass = 16;

struct Ring {
  int codes[kCodesPerClass];
  int made = 0, next = 0;
};

struct Classes {
  std::mutex mutex;
  int mismatch = MPI_ERR_OTHER, corrupt = MPI_ERR_OTHER, device = MPI_ERR_OTHER;
  bool added = false;
  std::map<int, Ring> rings;
};

Classes& classes() {
  static auto* all = new Classes;  // errors may come as late as MPI_Finalize
  return *all;
}

int class_of_argument(int detail) noexcept {
  switch (static_cast<Arg>(detail)) {
    case Arg::comm: return MPI_ERR_COMM;
    case Arg::count: return MPI_ERR_COUNT;
    case Arg::type: return MPI_ERR_TYPE;
    case Arg::op: return MPI_ERR_OP;
    case Arg::buffer: return MPI_ERR_BUFFER;
    case Arg::info: return MPI_ERR_INFO_VALUE;
    case Arg::request: return MPI_ERR_REQUEST;
    case Arg::other: break;
  }
  return MPI_ERR_ARG;
}

int class_of(const Classes& c, Status status) noexcept {
  switch (status.code()) {
    case Code::invalid_arg: return class_of_argument(status.detail());
    case Code::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::no_memory: return MPI_ERR_NO_MEM;
    case Code::mismatch: return c.mismatch;
    case Code::corrupt_frame: return c.corrupt;
    case Code::device_error: return c.device;
    case Code::internal: return MPI_ERR_INTERN;
    default: return MPI_ERR_OTHER;
  }
}

/// Classes of Wring's own, made with the first error.
void add_classes(Classes& c) noexcept {
  if (c.added) return;
  c.added = true;
  const auto add = [](int& out, const char* text) {
    int made = 0;
    if (MPI_Add_error_class(&made) != MPI_SUCCESS) return;
    MPI_Add_error_string(made, text);
    out = made;
  };
  add(c.mismatch, "wring: mismatched calls: ranks disagree on count, datatype, operator or codec");
  add(c.corrupt, "wring: corrupt frame: bytes from another rank that no rank sends");
  add(c.device, "wring: device error");
}

/// MPICH cannot give codes of its predefined classes texts by MPI_Add_error_string: it takes them for
/// codes of its own (4.0). It has a function that does, which it exports. Null elsewhere.
using CreateCode = int (*)(int last, int fatal, const char* function, int line, int error_class,
                           const char* generic, const char* format, ...);
CreateCode mpich_create_code() noexcept {
  static const auto found = reinterpret_cast<CreateCode>(dlsym(RTLD_DEFAULT, "MPIR_Err_create_code"));
  return found;
}

/// An error code of that class whose text is "function: what"; the class itself, with the text in the
/// log, if MPI gives no such code.
int code_with_text(Classes& c, int error_class, const char* function, const char* what) {
  int code = 0;
  if (error_class <= MPI_ERR_LASTCODE && mpich_create_code() != nullptr) {
    code = mpich_create_code()(MPI_SUCCESS, 0, function, 0, error_class, "**other", "%s", what);
  } else {
    Ring& ring = c.rings[error_class];
    if (ring.made < kCodesPerClass && MPI_Add_error_code(error_class, &code) == MPI_SUCCESS) ring.codes[ring.made++] = code;
    if (ring.made > 0) code = ring.codes[ring.next++ % ring.made];
    ring.next %= kCodesPerClass;
    char text[MPI_MAX_ERROR_STRING];
    constexpr auto kRoom = static_cast<int>(sizeof text) - 64;
    std::snprintf(text, sizeof text, "%.60s: %.*s", function, kRoom, what);
    MPI_Add_error_string(code, text);
  }
  char got[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, got, &length) == MPI_SUCCESS && std::strstr(got, function) != nullptr) return code;
  log(LogLevel::error, "%s: %s", function, what);
  return error_class;
}

}  // namespace

int make_code(const char* function, Status status) noexcept {
  if (status.code() == Code::mpi_error) return status.detail();
  Classes& c = classes();
  try {
    std::lock_guard lock(c.mutex);
    add_classes(c);
    return code_with_text(c, class_of(c, status), function, status.what());
  } catch (...) {
    return class_of(c, status);
  }
}

int report(MPI_Comm comm, const char* function, Status status) noexcept {
  if (status.code() == Code::mpi_error) return status.detail();  // MPI has called the handler
  if (status.code() == Code::not_initialized || runtime::check_mpi().is_error()) return class_of(classes(), status);
  const int code = make_code(function, status);
  MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, code);
  return code;
}

}  // namespace wring::api
