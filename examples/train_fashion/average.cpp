// SPDX-License-Identifier: BSD-3-Clause
// average.cpp - averages a vector over ranks.
#include "average.hpp"

#include <stdexcept>

namespace fashion {

Average::Average(const std::string& method) {
  if (method == "mpi") return;
  // Errors of calls without a communicator go through the handler of MPI_COMM_SELF, which aborts
  // unless told otherwise. Those of the all-reduce itself may abort.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int code = MPIX_Codec_create(method.c_str(), &codec_);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::invalid_argument("--method: " + std::string(text, static_cast<std::size_t>(length)));
  }
}

Average::~Average() {
  if (codec_ != MPIX_CODEC_NULL) MPIX_Codec_free(&codec_);
}

void Average::operator()(std::span<float> values, MPI_Comm comm) const {
  const int count = static_cast<int>(values.size());
  if (codec_ != MPIX_CODEC_NULL) {
    MPIX_Allreduce_compressed(MPI_IN_PLACE, values.data(), count, MPI_FLOAT, WRING_AVG, codec_,
                              comm);
    return;
  }
  MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_FLOAT, MPI_SUM, comm);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  for (float& value : values) value /= static_cast<float>(ranks);
}

std::string Average::name() const {
  if (codec_ == MPIX_CODEC_NULL) return "mpi";
  int size = 0;
  MPIX_Codec_to_string(codec_, nullptr, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPIX_Codec_to_string(codec_, text.data(), &size);
  text.pop_back();  // the terminating null
  return text;
}

}  // namespace fashion
