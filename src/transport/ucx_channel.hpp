// SPDX-License-Identifier: BSD-3-Clause
// ucx_channel.hpp - one communicator's view of the ucx transport.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/transport.hpp"
#include "transport/ucx_worker.hpp"

namespace wring::transport::ucx_impl {

class UcxChannel final : public Channel {
 public:
  /// peers: by rank, null for this rank.
  UcxChannel(Worker& worker, Sink& sink, std::uint64_t context, std::vector<Peer*> peers);
  UcxChannel(const UcxChannel&) = delete;
  UcxChannel& operator=(const UcxChannel&) = delete;
  ~UcxChannel() override;

  Sent send(int rank, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override;
  bool progress() noexcept override { return worker_.progress(); }
  void release(void* handle) noexcept override;
  void wait(int microseconds, bool sending) noexcept override {
    worker_.wait(microseconds, sending);
  }

  Sink& sink() noexcept { return sink_; }
  /// Tells the sink that its sends to that peer ended and that it is gone.
  void peer_failed(const Peer& peer) noexcept;

 private:
  static void on_sent(void* request, ucs_status_t status, void* arg) noexcept;
  Sent started(Peer& peer, SendOp* op, ucs_status_ptr_t request) noexcept;

  Worker& worker_;
  Sink& sink_;
  std::uint64_t context_;
  std::vector<Peer*> peers_;  ///< by rank; null for this rank
};

/// Gives back what a receipt holds, and the receipt.
void put_back(Worker& worker, Receipt* receipt) noexcept;

}  // namespace wring::transport::ucx_impl
