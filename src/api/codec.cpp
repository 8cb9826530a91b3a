// SPDX-License-Identifier: BSD-3-Clause
// codec.cpp - MPIX_Codec_*.
#include "api/entry.hpp"
#include "api/public.hpp"
#include "api/text.hpp"
#include "runtime/runtime.hpp"

using wring::Arg;
using wring::Code;
using wring::Status;
using wring::api::mpi_entry;
using wring::api::null_argument;
using wring::runtime::CodecHandle;

extern "C" int MPIX_Codec_create(const char* spec, MPIX_Codec* codec) {
  return mpi_entry(MPI_COMM_NULL, "MPIX_Codec_create", [&]() -> Status {
    if (spec == nullptr || codec == nullptr) return null_argument();
    CodecHandle handle = 0;
    WRING_TRY(wring::runtime::create_codec(spec, handle));
    *codec = reinterpret_cast<MPIX_Codec>(handle);
    return {};
  });
}

extern "C" int MPIX_Codec_free(MPIX_Codec* codec) {
  return mpi_entry(MPI_COMM_NULL, "MPIX_Codec_free", [&]() -> Status {
    if (codec == nullptr) return null_argument();
    WRING_TRY(wring::runtime::free_codec(reinterpret_cast<CodecHandle>(*codec)));
    *codec = MPIX_CODEC_NULL;
    return {};
  });
}

extern "C" int MPIX_Codec_to_string(MPIX_Codec codec, char* buf, int* len) {
  return mpi_entry(MPI_COMM_NULL, "MPIX_Codec_to_string", [&]() -> Status {
    WRING_TRY(wring::api::check_out(buf, len));
    const wring::codec::Spec* spec = wring::runtime::find_codec(reinterpret_cast<CodecHandle>(codec));
    if (spec == nullptr) {
      return {Code::invalid_arg, "the codec is MPIX_CODEC_NULL, or was freed", static_cast<int>(Arg::other)};
    }
    wring::api::copy_out(wring::codec::to_string(*spec), buf, len);
    return {};
  });
}
