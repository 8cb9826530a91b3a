// SPDX-License-Identifier: BSD-3-Clause
// nonblocking.cpp - MPIX_Iallreduce_compressed and its large-count twin.
#include "api/entry.hpp"
#include "api/public.hpp"
#include "runtime/runtime.hpp"

using wring::api::mpi_entry;
using wring::runtime::CodecHandle;

extern "C" int MPIX_Iallreduce_compressed(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                          MPI_Op op, MPIX_Codec codec, MPI_Comm comm, MPI_Request* request) {
  return mpi_entry(comm, "MPIX_Iallreduce_compressed", [&] {
    return wring::runtime::iallreduce(
        {sendbuf, recvbuf, count, datatype, op, reinterpret_cast<CodecHandle>(codec), comm}, request,
        wring::api::make_code);
  });
}

extern "C" int MPIX_Iallreduce_compressed_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                                            MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm,
                                            MPI_Request* request) {
  return mpi_entry(comm, "MPIX_Iallreduce_compressed_c", [&] {
    return wring::runtime::iallreduce(
        {sendbuf, recvbuf, count, datatype, op, reinterpret_cast<CodecHandle>(codec), comm}, request,
        wring::api::make_code);
  });
}
