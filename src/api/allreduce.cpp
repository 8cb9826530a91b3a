// SPDX-License-Identifier: BSD-3-Clause
// allreduce.cpp - MPIX_Allreduce_compressed and its large-count twin.
#include "api/entry.hpp"
#include "api/public.hpp"
#include "runtime/runtime.hpp"

using wring::api::mpi_entry;

extern "C" int MPIX_Allreduce_compressed(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                         MPI_Op op, MPIX_Codec codec, MPI_Comm comm) {
  return mpi_entry(comm, "MPIX_Allreduce_compressed", [&] {
    return wring::runtime::allreduce(
        {sendbuf, recvbuf, count, datatype, op, reinterpret_cast<wring::runtime::CodecHandle>(codec), comm});
  });
}

extern "C" int MPIX_Allreduce_compressed_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                                           MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm) {
  return mpi_entry(comm, "MPIX_Allreduce_compressed_c", [&] {
    return wring::runtime::allreduce(
        {sendbuf, recvbuf, count, datatype, op, reinterpret_cast<wring::runtime::CodecHandle>(codec), comm});
  });
}
