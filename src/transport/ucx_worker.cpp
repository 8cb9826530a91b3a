// SPDX-License-Identifier: BSD-3-Clause
// ucx_worker.cpp - start and end of UCX in this process, endpoints, routes, waiting.
//
// Start: configuration, context, worker with one active message handler, its address. Endpoints are
// made at the first frame to a peer and serve all communicators. End: flush, close, destroy, each
// with a time limit.
#include "transport/ucx_worker.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "transport/ucx_channel.hpp"
#include "transport/ucx_config.hpp"

namespace wring::transport::ucx_impl {
namespace {

}  // namespace

Worker& Worker::instance() noexcept {
  static Worker* const worker = new Worker;  // never destroyed: UCX may outlive static objects
  return *worker;
}

Status Worker::start() noexcept {
  if (running()) return {};
  // Once is enough: UCX says on stderr why it cannot.
  if (unusable_) return {Code::transport_error, "ucx: could not be started before"};
  Status status = make_context(context_);
  if (status.ok()) status = create_worker();
  if (status.ok()) return {};
  unusable_ = true;
  destroy();
  return status;
}

Status Worker::create_worker() noexcept {
  ucp_worker_params_t params;
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.am_alignment = 8;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return ucx_error("cannot make a worker", status);

  ucp_am_handler_param_t handler;
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kFrameId;
  handler.cb = on_active_message;
  handler.arg = this;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return ucx_error("cannot receive active messages", status);

  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return ucx_error("cannot wait for events", status);

  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return ucx_error("has no address", status);
  const auto* first = reinterpret_cast<const std::byte*>(address);
  address_.assign(first, first + bytes);
  ucp_worker_release_address(worker_, address);
  if (getentropy(&uid_, sizeof uid_) != 0 || uid_ == 0) {
    return {Code::transport_error, "ucx: the system has no random numbers"};
  }
  return {};
}

Peer* Worker::peer(std::uint64_t uid, const std::byte* address, std::size_t bytes) {
  auto place =
      std::lower_bound(peers_.begin(), peers_.end(), uid,
                       [](const auto& peer, std::uint64_t key) { return peer->uid < key; });
  if (place != peers_.end() && (*place)->uid == uid) return place->get();
  auto made = std::make_unique<Peer>();
  made->uid = uid;
  made->address.assign(address, address + bytes);
  return peers_.insert(place, std::move(made))->get();
}

Status Worker::connect(Peer& peer) noexcept {
  ucp_ep_params_t params;
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_endpoint_error;
  params.err_handler.arg = &peer;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &peer.endpoint);
  if (status == UCS_OK) {
    peer.tcp = uses_tcp(peer.endpoint);
    return {};
  }
  peer.endpoint = nullptr;
  peer.failed = true;
  any_failed_ = true;
  log(LogLevel::error, "ucx: cannot connect to a peer: %s", ucs_status_string(status));
  return {Code::peer_failed, "ucx: cannot connect to a peer", status};
}

void Worker::on_endpoint_error(void* arg, ucp_ep_h, ucs_status_t status) noexcept {
  Peer& peer = *static_cast<Peer*>(arg);
  log(LogLevel::debug, "ucx: the connection to a peer broke: %s", ucs_status_string(status));
  peer.failed = true;
  Worker::instance().any_failed_ = true;  // told to the channels at the end of progress()
}

void Worker::report_failures() noexcept {
  any_failed_ = false;
  for (auto& peer : peers_) {
    if (!peer->failed || peer->reported) continue;
    peer->reported = true;
    for (const Route& route : routes_) {
      if (route.channel) route.channel->peer_failed(*peer);
    }
  }
}

void Worker::add_route(std::uint64_t context, UcxChannel* channel) {
  if (routes_.size() < 2 * (route_count_ + 1)) {
    std::vector<Route> old(std::max<std::size_t>(16, 2 * routes_.size()));
    old.swap(routes_);
    route_count_ = 0;
    for (const Route& route : old) {
      if (route.channel) add_route(route.context, route.channel);
    }
  }
  std::size_t slot = context & (routes_.size() - 1);
  while (routes_[slot].channel) slot = (slot + 1) & (routes_.size() - 1);
  routes_[slot] = {context, channel};
  ++route_count_;
}

void Worker::remove_route(std::uint64_t context, UcxChannel* channel) noexcept {
  const std::size_t mask = routes_.size() - 1;
  std::size_t hole = context & mask;
  while (routes_[hole].channel != channel) hole = (hole + 1) & mask;
  routes_[hole].channel = nullptr;
  --route_count_;
  // Move back what was pushed behind the hole.
  for (std::size_t slot = (hole + 1) & mask; routes_[slot].channel; slot = (slot + 1) & mask) {
    const std::size_t home = routes_[slot].context & mask;
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    routes_[hole] = routes_[slot];
    routes_[slot].channel = nullptr;
    hole = slot;
  }
}

UcxChannel* Worker::route(std::uint64_t context) noexcept {
  if (routes_.empty()) return nullptr;
  const std::size_t mask = routes_.size() - 1;
  for (std::size_t slot = context & mask; routes_[slot].channel; slot = (slot + 1) & mask) {
    if (routes_[slot].context == context) return routes_[slot].channel;
  }
  return nullptr;
}

void Worker::count_dropped(std::uint64_t context, std::size_t bytes) noexcept {
  ++dropped_;
  log(LogLevel::debug, "ucx: dropped a frame of %zu bytes for context %016llx", bytes,
      static_cast<unsigned long long>(context));
}

bool Worker::progress() noexcept {
  const bool moved = ucp_worker_progress(worker_) != 0;
  if (any_failed_) report_failures();
  if (moved) {
    armed_.store(false, std::memory_order_relaxed);
  } else if (want_arm_.load(std::memory_order_relaxed)) {
    arm();
  }
  return moved;
}

void Worker::arm() noexcept {
  // Busy: something came meanwhile; the next progress() finds it or arms.
  if (ucp_worker_arm(worker_) != UCS_OK) return;
  want_arm_.store(false, std::memory_order_relaxed);
  armed_.store(true, std::memory_order_release);
}

void Worker::wait(int microseconds, bool sending) noexcept {
  if (!armed_.load(std::memory_order_acquire)) {
    want_arm_.store(true, std::memory_order_relaxed);
    return;
  }
  // A wake-up for own sends was seen to be lost with small socket buffers.
  if (sending) microseconds = std::min(microseconds, 1000);
  pollfd fd{event_fd_, POLLIN, 0};
  const timespec limit{microseconds / 1000000, microseconds % 1000000 * 1000L};
  if (ppoll(&fd, 1, &limit, nullptr) > 0) armed_.store(false, std::memory_order_relaxed);
}

void Worker::finish_sends(double seconds) noexcept {
  const auto busy = [](const auto& peer) { return peer->pending != nullptr && !peer->failed; };
  for (const double deadline = now() + seconds; now() < deadline;) {
    if (std::none_of(peers_.begin(), peers_.end(), busy)) return;
    ucp_worker_progress(worker_);
  }
}

void Worker::close_all(double seconds) noexcept {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  std::vector<ucs_status_ptr_t> closing;
  closing.reserve(peers_.size());
  for (auto& peer : peers_) {
    if (peer->endpoint == nullptr) continue;
    ucs_status_ptr_t request = ucp_ep_close_nbx(peer->endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    peer->endpoint = nullptr;
  }
  for (const double deadline = now() + seconds; !closing.empty() && now() < deadline;) {
    ucp_worker_progress(worker_);
    std::erase_if(closing, [](ucs_status_ptr_t request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
  }
}

void Worker::stop() noexcept {
  if (!running()) return;
  finish_sends(2.0);
  close_all(1.0);
  destroy();
}

void Worker::destroy() noexcept {
  if (worker_) ucp_worker_destroy(worker_);
  if (context_) ucp_cleanup(context_);
  worker_ = nullptr;
  context_ = nullptr;
  event_fd_ = -1;
  armed_ = false;
  want_arm_ = false;
  peers_.clear();
  address_.clear();
  send_ops.clear();
  receipts.clear();
  small_buffers.clear();
  large_buffers.clear();
}

}  // namespace wring::transport::ucx_impl
