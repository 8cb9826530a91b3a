// SPDX-License-Identifier: BSD-3-Clause
// ucx_channel.cpp - sending through UCX.
//
// A frame is one eager active message. Two forms, told apart by UCX's header length:
//   inline, payload up to kInlineBytes: header, payload and padding lie together in one piece that is
//     sent as data without a UCX header, which is the only form that UCX writes straight into the
//     peer's mailbox ("short"). The last byte of padding holds its length, 1 to 8.
//   else: the frame header is UCX's header, with 0 to 7 bytes of padding behind, and the payload is
//     sent from where it lies.
// The padding makes what UCX's tcp transport writes for a frame (5 bytes, 8 bytes of UCP, the two
// parts) a multiple of 8, so that frames which arrive back to back in one receive buffer all have
// aligned payloads. Elsewhere it costs nothing that can be measured.
#include "transport/ucx_channel.hpp"

#include <cstring>

#include "base/log.hpp"

namespace wring::transport::ucx_impl {
namespace {

/// Bytes that UCX 1.13's tcp transport and UCP put in front of an eager message of one fragment.
constexpr std::size_t kTcpPrefixBytes = 5 + 8;

constexpr std::size_t padding(std::size_t frame_bytes) {
  return (8 - (kTcpPrefixBytes + frame_bytes) % 8) % 8;
}

void unlink(SendOp* op) noexcept {
  if (op->next) op->next->previous = op->previous;
  (op->previous ? op->previous->next : op->peer->pending) = op->next;
}

void link_in(SendOp* op) noexcept {
  op->previous = nullptr;
  op->next = op->peer->pending;
  if (op->next) op->next->previous = op;
  op->peer->pending = op;
}

}  // namespace

UcxChannel::UcxChannel(Worker& worker, Sink& sink, std::uint64_t context,
                       const std::vector<Peer*>& peers)
    : worker_(worker), sink_(sink), context_(context), links_(peers.size()) {
  dirty_.reserve(peers.size());
  for (std::size_t rank = 0; rank < peers.size(); ++rank) links_[rank].peer = peers[rank];
  worker_.add_route(context_, this);
}

UcxChannel::~UcxChannel() {
  worker_.remove_route(context_, this);
  for (Link& link : links_) {
    if (link.peer == nullptr) continue;
    for (SendOp* op = link.peer->pending; op; op = op->next) {
      if (op->channel == this) op->channel = nullptr;
    }
  }
}

Sent UcxChannel::send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
                      std::uint64_t token) noexcept {
  Link& link = links_[static_cast<std::size_t>(peer)];
  if (link.peer->failed) return Sent::failed;
  if (link.peer->endpoint == nullptr && !worker_.connect(*link.peer).ok()) return Sent::failed;
  SendOp* op = worker_.send_ops.get();
  if (op == nullptr) return Sent::again;
  op->channel = this;
  op->peer = link.peer;
  op->token = token;
  std::memcpy(op->frame, header, kHeaderBytes);
  const bool is_inline = bytes <= kInlineBytes;
  if (is_inline && bytes != 0) std::memcpy(op->frame + kHeaderBytes, payload, bytes);
  return start(link, op, payload, bytes, is_inline);
}

Sent UcxChannel::start(Link& link, SendOp* op, const void* payload, std::size_t bytes,
                       bool is_inline) noexcept {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = is_inline || worker_.eager_only() ? UCP_AM_SEND_FLAG_EAGER : 0;
  param.cb.send = on_sent;
  param.user_data = op;
  param.memory_type = UCS_MEMORY_TYPE_HOST;

  ucs_status_ptr_t request;
  std::size_t pad = padding(kHeaderBytes + bytes);
  if (is_inline) {
    if (pad == 0) pad = kMaxPad;
    std::byte* end = op->frame + kHeaderBytes + bytes;
    std::memset(end, static_cast<int>(pad), kMaxPad);
    request = ucp_am_send_nbx(link.peer->endpoint, kFrameId, nullptr, 0, op->frame,
                              kHeaderBytes + bytes + pad, &param);
  } else {
    std::memset(op->frame + kHeaderBytes, 0, kMaxPad);
    request = ucp_am_send_nbx(link.peer->endpoint, kFrameId, op->frame, kHeaderBytes + pad, payload,
                              bytes, &param);
  }

  if (UCS_PTR_IS_ERR(request)) {
    worker_.send_ops.put(op);
    const ucs_status_t status = UCS_PTR_STATUS(request);
    if (status == UCS_ERR_NO_RESOURCE) return Sent::again;
    if (!link.peer->failed) {
      log(LogLevel::error, "ucx: cannot send %zu bytes to rank %td: %s", bytes, &link - &links_[0],
          ucs_status_string(status));
    }
    return Sent::failed;
  }
  link.last = ++link.peer->sent;
  if (!link.dirty) {
    link.dirty = true;
    dirty_.push_back(static_cast<int>(&link - &links_[0]));
  }
  if (request == nullptr) {
    worker_.send_ops.put(op);
    return Sent::done;
  }
  link_in(op);
  if (!is_inline) return Sent::pending;
  op->channel = nullptr;  // the payload was copied: the caller need not hear of this again
  return Sent::done;
}

void UcxChannel::on_sent(void* request, ucs_status_t status, void* arg) noexcept {
  auto* op = static_cast<SendOp*>(arg);
  unlink(op);
  UcxChannel* channel = op->channel;
  const std::uint64_t token = op->token;
  Worker& worker = Worker::instance();
  worker.send_ops.put(op);
  ucp_request_free(request);
  if (channel == nullptr) return;
  channel->sink_.on_sent(token, status == UCS_OK
                                    ? Status{}
                                    : Status{Code::peer_failed, ucs_status_string(status), status});
}

void UcxChannel::peer_failed(const Peer& peer) noexcept {
  const Status status{Code::peer_failed, "the connection to a peer broke"};
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    if (links_[rank].peer != &peer) continue;
    // UCX may complete these much later or never: they are failed here, and stay listed for it.
    for (SendOp* op = peer.pending; op; op = op->next) {
      if (op->channel != this) continue;
      op->channel = nullptr;
      sink_.on_sent(op->token, status);
    }
    sink_.on_peer_failed(static_cast<int>(rank), status);
  }
}

Status UcxChannel::flush() noexcept {
  while (!dirty_.empty()) {
    Link& link = links_[static_cast<std::size_t>(dirty_.back())];
    const Status status = worker_.flush(*link.peer, link.last);
    if (status.again()) {
      // Start the others too, so that they flush at the same time.
      for (int rank : dirty_) {
        Link& other = links_[static_cast<std::size_t>(rank)];
        (void)worker_.flush(*other.peer, other.last);
      }
      return kAgain;
    }
    link.dirty = false;
    dirty_.pop_back();
    if (!status.ok()) return status;
  }
  return {};
}

void UcxChannel::release(void* handle) noexcept {
  put_back(worker_, static_cast<Receipt*>(handle));
}

}  // namespace wring::transport::ucx_impl
