// SPDX-License-Identifier: BSD-3-Clause
// mpi.cpp - the mpi transport: point-to-point messages on Wring's duplicate of the communicator.
//
// A frame is one message: header and payload are copied into a buffer of a pool and sent with
// MPI_Isend. Frames are received with MPI_Improbe and
// MPI_Imrecv: nothing is posted while no frame is there, so the communicator can be freed any time.
// Only nonblocking calls are made. Works wherever MPI does; costs one copy on each side.
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/log.hpp"
#include "transport/pool.hpp"
#include "transport/transport.hpp"

namespace wring::transport {
namespace {

constexpr std::size_t kMaxPayload = (256 + 8) * 1024;
/// Frames up to this size use the pool of small buffers.
constexpr std::size_t kSmallBytes = 8 * 1024;
/// Sends and receives in flight on one channel, at most: bounds the memory that they hold to 8.5
/// MiB each way, beside what the sink keeps.
constexpr std::size_t kMaxRequests = 32;
constexpr int kTag = 1;

std::uint64_t g_dropped = 0;

/// A message on its way, with the buffer it lies in. bytes: header and payload.
struct Buffer {
  Buffer* next = nullptr;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  bool small = false;
  std::uint64_t token = 0;
};

/// The buffers of all channels. Never destroyed: channels may be closed late.
struct Pools {
  ObjectPool<Buffer> buffers;
  BufferPool small{kSmallBytes};
  BufferPool large{kHeaderBytes + kMaxPayload};

  Buffer* get(std::size_t bytes) noexcept {
    Buffer* buffer = buffers.get();
    if (buffer == nullptr) return nullptr;
    buffer->small = bytes <= kSmallBytes;
    buffer->memory = (buffer->small ? small : large).get();
    buffer->bytes = bytes;
    if (buffer->memory) return buffer;
    buffers.put(buffer);
    return nullptr;
  }

  void put(Buffer* buffer) noexcept {
    (buffer->small ? small : large).put(buffer->memory);
    buffers.put(buffer);
  }
};

Pools& pools() noexcept {
  static Pools* const made = new Pools;
  return *made;
}

Status mpi_failure(const char* call, int code) noexcept {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(Code::mpi_error, code, "%s: %s", call, text);
}

/// Requests and their buffers, side by side as MPI_Testsome wants them.
struct Flights {
  std::vector<MPI_Request> requests;
  std::vector<Buffer*> buffers;
  std::vector<int> done;
  std::vector<MPI_Status> statuses;

  Flights() : done(kMaxRequests), statuses(kMaxRequests) {
    requests.reserve(kMaxRequests);
    buffers.reserve(kMaxRequests);
  }
  bool full() const { return requests.size() == kMaxRequests; }
  bool empty() const { return requests.empty(); }
  void add(MPI_Request request, Buffer* buffer) {
    requests.push_back(request);
    buffers.push_back(buffer);
  }
  /// Closes the gaps that completed requests leave.
  void sweep() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (buffers[i] == nullptr) continue;
      requests[kept] = requests[i];
      buffers[kept++] = buffers[i];
    }
    requests.resize(kept);
    buffers.resize(kept);
  }
};

class MpiChannel final : public Channel {
 public:
  MpiChannel(MPI_Comm comm, Sink& sink, std::uint64_t context, int size)
      : comm_(comm), sink_(sink), context_(context), failed_(static_cast<std::size_t>(size)) {}
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;
  ~MpiChannel() override;

  Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
            std::uint64_t token) noexcept override;
  bool progress() noexcept override;
  void release(void* handle) noexcept override { pools().put(static_cast<Buffer*>(handle)); }
  void wait(int microseconds, bool sending) noexcept override;

 private:
  bool advance(Flights& flights, bool receiving) noexcept;
  bool look_for_frames() noexcept;
  void deliver(Buffer* buffer) noexcept;
  void give_up(int peer, Status status) noexcept;

  MPI_Comm comm_;
  Sink& sink_;
  std::uint64_t context_;
  Flights sends_;
  Flights receives_;
  std::vector<bool> failed_;  ///< peers reported to the sink
  bool broken_ = false;       ///< receiving failed altogether
  std::atomic<int> idle_{0};  ///< waits since something happened
};

MpiChannel::~MpiChannel() {
  // Of what has not ended MPI may still read or write the buffers, so they are lost.
  for (Flights* flights : {&sends_, &receives_}) {
    for (MPI_Request& request : flights->requests) MPI_Request_free(&request);
  }
}

void MpiChannel::give_up(int peer, Status status) noexcept {
  const auto slot = static_cast<std::size_t>(peer);
  if (failed_[slot]) return;
  failed_[slot] = true;
  log(LogLevel::error, "mpi: rank %d cannot be reached: %s", peer, status.what());
  sink_.on_peer_failed(peer, status);
}

Sent MpiChannel::send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
                      std::uint64_t token) noexcept {
  if (failed_[static_cast<std::size_t>(peer)]) return Sent::failed;
  if (sends_.full()) return Sent::again;
  Buffer* buffer = pools().get(kHeaderBytes + bytes);
  if (buffer == nullptr) return Sent::again;
  buffer->peer = peer;
  buffer->token = token;
  std::memcpy(buffer->memory, header, kHeaderBytes);
  if (bytes) std::memcpy(buffer->memory + kHeaderBytes, payload, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(buffer->memory, static_cast<int>(buffer->bytes), MPI_BYTE, peer, kTag,
                             comm_, &request);
  if (code != MPI_SUCCESS) {
    pools().put(buffer);
    const Status status = mpi_failure("MPI_Isend", code);
    log(LogLevel::error, "mpi: cannot send %zu bytes to rank %d: %s", bytes, peer, status.what());
    return Sent::failed;
  }
  // MPI delivers a message whose send is complete, whether or not this process calls MPI again.
  int ended = 0;
  if (MPI_Test(&request, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS && ended) {
    pools().put(buffer);
    return Sent::done;
  }
  sends_.add(request, buffer);
  return Sent::pending;
}

bool MpiChannel::progress() noexcept {
  bool moved = advance(sends_, false);
  moved |= look_for_frames();
  moved |= advance(receives_, true);
  if (moved) idle_.store(0, std::memory_order_relaxed);
  return moved;
}

/// Tests the requests; what was received goes to the sink.
bool MpiChannel::advance(Flights& flights, bool receiving) noexcept {
  if (flights.empty()) return false;
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(flights.requests.size()), flights.requests.data(),
                                &count, flights.done.data(), flights.statuses.data());
  if (count == MPI_UNDEFINED || count <= 0) return false;
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(flights.done[static_cast<std::size_t>(i)]);
    Buffer* buffer = flights.buffers[slot];
    flights.buffers[slot] = nullptr;
    const int error =
        code == MPI_ERR_IN_STATUS ? flights.statuses[static_cast<std::size_t>(i)].MPI_ERROR : code;
    Status status;
    if (error != MPI_SUCCESS) {
      status = mpi_failure(receiving ? "MPI_Imrecv" : "MPI_Isend", error);
      give_up(buffer->peer, status);
    }
    if (receiving && status.ok()) {
      deliver(buffer);
    } else {
      const std::uint64_t token = buffer->token;
      pools().put(buffer);
      if (!receiving) sink_.on_sent(token, status);
    }
  }
  flights.sweep();
  return true;
}

/// Matches the frames that have come, and starts to receive them.
bool MpiChannel::look_for_frames() noexcept {
  bool moved = false;
  while (!receives_.full() && !broken_) {
    int found = 0;
    MPI_Message message;
    MPI_Status status;
    int code = MPI_Improbe(MPI_ANY_SOURCE, kTag, comm_, &found, &message, &status);
    if (code != MPI_SUCCESS) {
      broken_ = true;
      const Status why = mpi_failure("MPI_Improbe", code);
      for (std::size_t peer = 0; peer < failed_.size(); ++peer)
        give_up(static_cast<int>(peer), why);
      break;
    }
    if (!found) break;
    moved = true;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    // On this communicator only Wring sends, and no more than this.
    const std::size_t room = std::max<std::size_t>(static_cast<std::size_t>(bytes), kHeaderBytes);
    Buffer* buffer = pools().get(std::min(room, kHeaderBytes + kMaxPayload));
    if (buffer == nullptr) {
      log(LogLevel::error, "mpi: out of memory: cannot receive a frame of %d bytes", bytes);
      broken_ = true;
      break;
    }
    buffer->bytes = static_cast<std::size_t>(bytes);
    buffer->peer = status.MPI_SOURCE;
    MPI_Request request = MPI_REQUEST_NULL;
    code = MPI_Imrecv(buffer->memory, bytes, MPI_BYTE, &message, &request);
    if (code != MPI_SUCCESS) {
      give_up(buffer->peer, mpi_failure("MPI_Imrecv", code));
      pools().put(buffer);
      continue;
    }
    receives_.add(request, buffer);
  }
  return moved;
}

void MpiChannel::deliver(Buffer* buffer) noexcept {
  std::uint64_t context = 0;
  if (buffer->bytes >= kHeaderBytes) {
    std::memcpy(&context, buffer->memory + kContextOffset, sizeof context);
  }
  if (buffer->bytes < kHeaderBytes || context != context_) {
    ++g_dropped;
    log(LogLevel::debug, "mpi: dropped a frame of %zu bytes for context %016llx", buffer->bytes,
        static_cast<unsigned long long>(context));
    pools().put(buffer);
    return;
  }
  const Message message{buffer->memory, buffer->memory + kHeaderBytes, buffer->bytes - kHeaderBytes,
                        buffer};
  if (!sink_.on_message(message)) pools().put(buffer);
}

void MpiChannel::wait(int microseconds, bool) noexcept {
  // MPI cannot be waited for. First give way, then sleep twice as long each time, up to 100 us.
  constexpr int kYields = 16;
  const int idle = idle_.fetch_add(1, std::memory_order_relaxed);
  if (idle < kYields) {
    sched_yield();
    return;
  }
  const int limit = std::min(microseconds, 100);
  const timespec pause{0, std::min(limit, 1 << std::min(idle - kYields, 7)) * 1000L};
  nanosleep(&pause, nullptr);
}

Caps caps() noexcept { return {.max_payload = kMaxPayload, .in_flight = 4, .calls_mpi = true}; }

Status open(Bootstrap& boot, Sink& sink, std::unique_ptr<Channel>& out) noexcept {
  void* native = boot.native_comm();
  const Status mine =
      native ? Status{} : Status{Code::unsupported, "mpi: there is no MPI communicator"};
  WRING_TRY(boot.agree(mine));
  out = std::make_unique<MpiChannel>(*static_cast<MPI_Comm*>(native), sink, boot.context(),
                                     boot.size());
  return {};
}

void shutdown() noexcept {
  pools().buffers.clear();
  pools().small.clear();
  pools().large.clear();
}

const char* describe() noexcept {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING + 64];
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[std::strcspn(version, "\n,")] = '\0';  // first clause; MPICH's goes on for many lines
  std::snprintf(text, sizeof text, "%s, %llu frames dropped", version,
                static_cast<unsigned long long>(g_dropped));
  return text;
}

}  // namespace

extern const Transport mpi;
const Transport mpi{
    .name = "mpi",
    .summary = "MPI point-to-point: works wherever MPI does",
    .caps = caps,
    .open = open,
    .shutdown = shutdown,
    .describe = describe,
};

}  // namespace wring::transport
