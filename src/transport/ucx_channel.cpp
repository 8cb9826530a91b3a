// SPDX-License-Identifier: BSD-3-Clause
// ucx_channel.cpp - sending through UCX.
//
// A frame is one eager active message: the frame header is UCX's header, and the payload is sent
// from where it lies. An empty payload is sent as 8 bytes of nothing, and the header is made
// kEmptyMark bytes longer to say so.
//
// When has a frame left the process, so that it arrives without another call of progress()?
// ucp_ep_flush_nbx does not answer that: over tcp it waits for the peer's answer, hence for a peer
// that may sit in MPI meanwhile (seen with UCX 1.13). Completion does, if it is honest. In shared
// memory it is. Over tcp, UCX's "short" and "bcopy" sends complete although a full socket left part
// of them in UCX's buffer; zero-copy sends complete when the socket has taken all. Data given as a
// list of pieces (UCP_DATATYPE_IOV) never go "short", and by UCX's own thresholds always as zero
// copy, so that is how payloads are given to tcp.
//
// UCX_RNDV_THRESH does not count: a rendezvous completes before its last message has left.
//
// The first frame to any peer goes that way too: an endpoint that has only sent "short" is left out
// of UCX's keepalive, and in shared memory nothing else notices a dead peer (seen with UCX 1.13).
#include "transport/ucx_channel.hpp"

#include <cstring>
#include <utility>

#include "base/log.hpp"

namespace wring::transport::ucx_impl {
namespace {

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

UcxChannel::UcxChannel(Worker& worker, Sink& sink, std::uint64_t context, std::vector<Peer*> peers)
    : worker_(worker), sink_(sink), context_(context), peers_(std::move(peers)) {
  worker_.add_route(context_, this);
}

UcxChannel::~UcxChannel() {
  worker_.remove_route(context_, this);
  for (Peer* peer : peers_) {
    if (peer == nullptr) continue;
    for (SendOp* op = peer->pending; op; op = op->next) {
      if (op->channel == this) op->channel = nullptr;
    }
  }
}

Sent UcxChannel::send(int rank, const std::byte* header, const void* payload, std::size_t bytes,
                      std::uint64_t token) noexcept {
  static constexpr std::byte kNothing[8] = {};
  Peer& peer = *peers_[static_cast<std::size_t>(rank)];
  if (peer.failed) return Sent::failed;
  if (peer.endpoint == nullptr && !worker_.connect(peer).ok()) return Sent::failed;
  SendOp* op = worker_.send_ops.get();
  if (op == nullptr) return Sent::again;
  op->channel = this;
  op->peer = &peer;
  op->token = token;
  std::size_t header_bytes = kHeaderBytes;
  if (bytes == 0) {
    payload = kNothing;
    bytes = sizeof kNothing;
    header_bytes += kEmptyMark;
  }
  std::memcpy(op->header, header, kHeaderBytes);  // what follows is and stays zero

  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = on_sent;
  param.user_data = op;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  ucs_status_ptr_t request;
  if (peer.tcp || !peer.used) {
    peer.used = true;
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = UCP_DATATYPE_IOV;
    op->piece = {const_cast<void*>(payload), bytes};
    request =
        ucp_am_send_nbx(peer.endpoint, kFrameId, op->header, header_bytes, &op->piece, 1, &param);
  } else {
    request =
        ucp_am_send_nbx(peer.endpoint, kFrameId, op->header, header_bytes, payload, bytes, &param);
  }
  return started(peer, op, request);
}

Sent UcxChannel::started(Peer& peer, SendOp* op, ucs_status_ptr_t request) noexcept {
  if (request == nullptr) {
    worker_.send_ops.put(op);
    return Sent::done;
  }
  if (UCS_PTR_IS_ERR(request)) {
    worker_.send_ops.put(op);
    const ucs_status_t status = UCS_PTR_STATUS(request);
    if (status == UCS_ERR_NO_RESOURCE) return Sent::again;
    if (!peer.failed) log(LogLevel::error, "ucx: a send failed: %s", ucs_status_string(status));
    return Sent::failed;
  }
  link_in(op);
  return Sent::pending;
}

void UcxChannel::on_sent(void* request, ucs_status_t status, void* arg) noexcept {
  auto* op = static_cast<SendOp*>(arg);
  unlink(op);
  UcxChannel* channel = op->channel;
  const std::uint64_t token = op->token;
  Worker::instance().send_ops.put(op);
  ucp_request_free(request);
  if (channel == nullptr) return;
  channel->sink_.on_sent(token, status == UCS_OK
                                    ? Status{}
                                    : Status{Code::peer_failed, ucs_status_string(status), status});
}

void UcxChannel::peer_failed(const Peer& peer) noexcept {
  const Status status{Code::peer_failed, "the connection to a peer broke"};
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank] != &peer) continue;
    // UCX may complete these much later or never: they are failed here, and stay listed for it.
    for (SendOp* op = peer.pending; op; op = op->next) {
      if (op->channel != this) continue;
      op->channel = nullptr;
      sink_.on_sent(op->token, status);
    }
    sink_.on_peer_failed(static_cast<int>(rank), status);
  }
}

void UcxChannel::release(void* handle) noexcept {
  put_back(worker_, static_cast<Receipt*>(handle));
}

}  // namespace wring::transport::ucx_impl
