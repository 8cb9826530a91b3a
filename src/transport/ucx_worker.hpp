// SPDX-License-Identifier: BSD-3-Clause
// ucx_worker.hpp - what the ucx transport holds once per process: context, worker, peers, routes.
//
// Everything but wait() is called under the lock that transport.hpp asks of the caller.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "transport/pool.hpp"
#include "transport/transport.hpp"

namespace wring::transport::ucx_impl {

class UcxChannel;
struct Peer;

/// 256 KiB of data, and room for a codec that makes a frame somewhat larger.
inline constexpr std::size_t kMaxPayload = (256 + 8) * 1024;
/// UCT segment: one fragment holds the largest frame with UCX's and our headers.
inline constexpr std::size_t kSegmentBytes = kMaxPayload + 8 * 1024;
/// A header with so many bytes behind it belongs to an empty payload.
inline constexpr std::size_t kEmptyMark = 8;

/// A send that UCX has not completed. It owns the copy of the header, so it lives until UCX is done
/// with it even if the channel is told earlier that the send failed.
struct SendOp {
  SendOp* next = nullptr;
  SendOp* previous = nullptr;
  UcxChannel* channel =
      nullptr;  ///< whose it is; null: its channel was closed or told of a failure
  Peer* peer = nullptr;
  std::uint64_t token = 0;
  ucp_dt_iov_t piece{};
  alignas(64) std::byte header[kHeaderBytes + kEmptyMark]{};
};

/// A received frame while its sink has it.
struct Receipt {
  enum class Data : std::uint8_t { borrowed, ucx, small_buffer, large_buffer };
  Receipt* next = nullptr;
  UcxChannel* channel = nullptr;  ///< for rendezvous: to whom it goes
  void* data = nullptr;           ///< what is to be given back
  std::size_t bytes = 0;
  Data kind = Data::borrowed;
  alignas(64) std::byte header[kHeaderBytes]{};
};

/// A process that shares a communicator with this one. Lives until the worker is shut down.
struct Peer {
  std::uint64_t uid = 0;
  std::vector<std::byte> address;
  ucp_ep_h endpoint = nullptr;
  bool tcp = true;    ///< frames go over tcp: ucx_channel.cpp says what that changes
  bool used = false;  ///< a frame has been sent
  bool failed = false;
  bool reported = false;      ///< the channels have been told so
  SendOp* pending = nullptr;  ///< list of incomplete sends
};

/// The process's UCP worker. One object, made at first use.
class Worker {
 public:
  static Worker& instance() noexcept;

  /// Starts UCX if it does not run. Not collective.
  Status start() noexcept;
  bool running() const noexcept { return worker_ != nullptr; }
  /// Closes all endpoints and ends UCX. Takes a few seconds at most, whatever the peers do.
  void stop() noexcept;

  std::uint64_t uid() const noexcept { return uid_; }
  const std::vector<std::byte>& address() const noexcept { return address_; }
  ucp_worker_h handle() const noexcept { return worker_; }

  /// The peer of that uid, made if it is new.
  Peer* peer(std::uint64_t uid, const std::byte* address, std::size_t bytes);
  /// Makes the endpoint.
  Status connect(Peer& peer) noexcept;

  void add_route(std::uint64_t context, UcxChannel* channel);
  void remove_route(std::uint64_t context, UcxChannel* channel) noexcept;
  /// Null if no channel has that context.
  UcxChannel* route(std::uint64_t context) noexcept;
  /// A frame that belongs to no channel, or is too short, was thrown away.
  void count_dropped(std::uint64_t context, std::size_t bytes) noexcept;
  std::uint64_t dropped() const noexcept { return dropped_; }

  bool progress() noexcept;
  /// See Channel::wait. Sleeps only if an earlier progress() has armed the worker, and otherwise
  /// asks the next one that finds nothing to do so: arming must happen under the lock, sleeping
  /// must not.
  void wait(int microseconds, bool sending) noexcept;

  ObjectPool<SendOp> send_ops;
  ObjectPool<Receipt> receipts;
  BufferPool small_buffers{8 * 1024};
  BufferPool large_buffers{kSegmentBytes};

 private:
  Worker() = default;

  Status create_worker() noexcept;
  void destroy() noexcept;
  void finish_sends(double seconds) noexcept;
  void close_all(double seconds) noexcept;
  void report_failures() noexcept;
  void arm() noexcept;

  static void on_endpoint_error(void* arg, ucp_ep_h endpoint, ucs_status_t status) noexcept;

  struct Route {
    std::uint64_t context;
    UcxChannel* channel;
  };

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::uint64_t uid_ = 0;
  bool unusable_ = false;    ///< it could not be started
  bool any_failed_ = false;  ///< of the peers, and not yet reported
  std::atomic<bool> want_arm_{false};
  std::atomic<bool> armed_{false};
  std::uint64_t dropped_ = 0;
  std::vector<std::byte> address_;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< ordered by uid
  std::vector<Route> routes_;                 ///< open addressing, a power of two of slots
  std::size_t route_count_ = 0;
};

/// UCX's callback for a received active message (ucx_receive.cpp).
ucs_status_t on_active_message(void* arg, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param) noexcept;

/// The one active message id: UCX ids are per worker, so no other user can clash.
inline constexpr unsigned kFrameId = 0;

}  // namespace wring::transport::ucx_impl
