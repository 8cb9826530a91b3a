// SPDX-License-Identifier: BSD-3-Clause
// ucx_receive.cpp - frames that arrive through UCX, and their memory.
//
// UCX calls on_active_message from ucp_worker_progress with the data in one of three states:
// - lasting (shared memory, several fragments): stays until ucp_am_data_release. The sink gets
//   UCX's own memory, whether it keeps the frame or not.
// - passing (tcp): ends with the callback. The sink may keep what it is shown, so it is shown a
//   copy. At 5 Gbit/s that makes no difference to the time or the processor's load.
// - announced (rendezvous, which our senders do not ask for): fetched into a buffer of ours.
// A lasting payload that is not aligned to 8 bytes is copied too.
// The frame header always moves to the receipt: UCX promises it only during the callback.
#include <cstring>

#include "base/log.hpp"
#include "transport/ucx_channel.hpp"
#include "transport/ucx_worker.hpp"

namespace wring::transport::ucx_impl {
namespace {

std::uint64_t context_of(const std::byte* header) noexcept {
  std::uint64_t context;
  std::memcpy(&context, header + kContextOffset, sizeof context);
  return context;
}

bool aligned(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) % 8 == 0;
}

/// Takes a buffer for `bytes` into the receipt; null if memory is exhausted.
std::byte* take_buffer(Worker& worker, Receipt* receipt, std::size_t bytes) noexcept {
  const bool small = bytes <= worker.small_buffers.buffer_bytes();
  std::byte* buffer = small ? worker.small_buffers.get() : worker.large_buffers.get();
  receipt->data = buffer;
  receipt->kind = small ? Receipt::Data::small_buffer : Receipt::Data::large_buffer;
  return buffer;
}

/// Shows the frame to its channel's sink; gives the receipt back unless it is kept.
bool deliver(Worker& worker, UcxChannel* channel, Receipt* receipt,
             const std::byte* payload) noexcept {
  const Message message{receipt->header, payload, receipt->bytes, receipt};
  if (channel->sink().on_message(message)) return true;
  put_back(worker, receipt);
  return false;
}

void on_fetched(void* request, ucs_status_t status, std::size_t, void* arg) noexcept {
  Worker& worker = Worker::instance();
  auto* receipt = static_cast<Receipt*>(arg);
  if (request != nullptr) ucp_request_free(request);
  // The channel may have been closed while the data came.
  UcxChannel* channel = worker.route(context_of(receipt->header));
  if (status != UCS_OK || channel == nullptr) {
    worker.count_dropped(context_of(receipt->header), receipt->bytes);
    put_back(worker, receipt);
    return;
  }
  (void)deliver(worker, channel, receipt, static_cast<const std::byte*>(receipt->data));
}

/// Starts to fetch an announced frame. Its sender waits meanwhile.
ucs_status_t fetch(Worker& worker, Receipt* receipt, void* descriptor) noexcept {
  std::byte* buffer = take_buffer(worker, receipt, receipt->bytes);
  if (buffer == nullptr) {
    receipt->kind = Receipt::Data::borrowed;
    put_back(worker, receipt);
    return UCS_ERR_NO_MEMORY;
  }
  ucp_request_param_t param;
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.recv_am = on_fetched;
  param.user_data = receipt;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker.handle(), descriptor, buffer, receipt->bytes, &param);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    on_fetched(nullptr, UCS_PTR_STATUS(request), receipt->bytes, receipt);
  }
  return UCS_INPROGRESS;
}

}  // namespace

ucs_status_t on_active_message(void* arg, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param) noexcept {
  Worker& worker = *static_cast<Worker*>(arg);
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const bool lasting = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  if (header_bytes >= kHeaderBytes + kEmptyMark) bytes = 0;
  if (header_bytes < kHeaderBytes || bytes > kMaxPayload) {
    worker.count_dropped(0, bytes);
    return UCS_OK;
  }
  const std::uint64_t context = context_of(static_cast<const std::byte*>(header));
  UcxChannel* channel = worker.route(context);
  if (channel == nullptr) {
    worker.count_dropped(context, bytes);
    return UCS_OK;
  }
  Receipt* receipt = worker.receipts.get();
  if (receipt == nullptr) {
    log(LogLevel::error, "ucx: out of memory: a frame of %zu bytes is lost", bytes);
    return UCS_OK;
  }
  std::memcpy(receipt->header, header, kHeaderBytes);
  receipt->bytes = bytes;
  receipt->kind = Receipt::Data::borrowed;
  if (announced) return fetch(worker, receipt, data);

  if (lasting && aligned(data)) {
    const Message message{receipt->header, static_cast<std::byte*>(data), bytes, receipt};
    receipt->data = data;
    receipt->kind = Receipt::Data::ucx;
    if (channel->sink().on_message(message)) return UCS_INPROGRESS;
    worker.receipts.put(receipt);  // returning UCS_OK gives UCX its memory back
    return UCS_OK;
  }
  std::byte* copy = take_buffer(worker, receipt, bytes);
  if (copy == nullptr) {
    log(LogLevel::error, "ucx: out of memory: a frame of %zu bytes is lost", bytes);
    worker.receipts.put(receipt);
    return UCS_OK;
  }
  std::memcpy(copy, data, bytes);
  (void)deliver(worker, channel, receipt, copy);
  return UCS_OK;
}

void put_back(Worker& worker, Receipt* receipt) noexcept {
  auto* buffer = static_cast<std::byte*>(receipt->data);
  switch (receipt->kind) {
    case Receipt::Data::ucx:
      ucp_am_data_release(worker.handle(), receipt->data);
      break;
    case Receipt::Data::small_buffer:
      worker.small_buffers.put(buffer);
      break;
    case Receipt::Data::large_buffer:
      worker.large_buffers.put(buffer);
      break;
    case Receipt::Data::borrowed:
      break;
  }
  worker.receipts.put(receipt);
}

}  // namespace wring::transport::ucx_impl
