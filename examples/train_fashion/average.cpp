// SPDX-License-Identifier: BSD-3-Clause
// average.cpp - averages a vector over ranks.
#include "average.hpp"

#include <stdexcept>
#include <string_view>

namespace fashion {
namespace {

constexpr std::string_view kPlans = "+plans";

}  // namespace

BucketAverage::BucketAverage(MPIX_Codec codec, std::span<float> values,
                             std::span<const Bucket> buckets, MPI_Comm comm) {
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  // Back-propagation calls nobody who could move the plans on.
  MPI_Info_set(hints, "wring_progress", "thread");
  for (const Bucket& bucket : buckets) {
    MPIX_Allreduce_compressed_init(MPI_IN_PLACE, values.data() + bucket.first,
                                   static_cast<int>(bucket.size), MPI_FLOAT, WRING_AVG, codec, comm,
                                   hints, &plans_.emplace_back());
  }
  MPI_Info_free(&hints);
}

BucketAverage::~BucketAverage() {
  for (MPIX_Plan& plan : plans_) MPIX_Plan_free(&plan);
}

Average::Average(const std::string& method) {
  if (method == "mpi") return;
  // Errors of calls without a communicator go through the handler of MPI_COMM_SELF, which aborts
  // unless told otherwise. Those of the all-reduce itself may abort.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  plans_ = method.ends_with(kPlans);
  const std::string codec = method.substr(0, method.size() - (plans_ ? kPlans.size() : 0));
  const int code = MPIX_Codec_create(codec.c_str(), &codec_);
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

std::unique_ptr<BucketAverage> Average::by_bucket(std::span<float> values,
                                                  std::span<const Bucket> buckets,
                                                  MPI_Comm comm) const {
  if (!plans_) return nullptr;
  return std::make_unique<BucketAverage>(codec_, values, buckets, comm);
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
