// SPDX-License-Identifier: BSD-3-Clause
// transport.hpp - interface of the transport room: who moves frames between ranks.
//
// A transport moves a 64-byte header and a payload from one rank of a communicator to another,
// once, whole and unchanged, in any order. It does not look inside, but for the context word that
// tells communicators apart. It never blocks but in wait(), and calls back (Sink) only from inside
// progress(). A channel and the objects behind it are used under one lock held by the caller
// (wait() excepted): a transport needs no locks of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"

namespace wring::transport {

inline constexpr std::size_t kHeaderBytes = 64;
/// Where in a header the 8-byte context stands; senders write it in host (little-endian) order.
inline constexpr std::size_t kContextOffset = 8;

/// A received frame. header and payload are valid until on_message returns, or, if it was kept,
/// until release(handle). payload is aligned to 8 bytes.
struct Message {
  const std::byte* header;
  const std::byte* payload;
  std::size_t payload_bytes;
  void* handle;  ///< names the message for Channel::release
};

/// Receives what happens on a channel. Called from inside progress() only; must not call progress()
/// or wait(), may call send() and release().
class Sink {
 public:
  /// A frame for this channel's context has come. Returns whether the message is kept.
  virtual bool on_message(const Message& message) noexcept = 0;
  /// A pending send has ended: its memory may be reused, and the frame arrives even if progress() is never
  /// called again.
  virtual void on_sent(std::uint64_t token, Status status) noexcept = 0;
  /// The peer can no longer be reached; sends to it have been or will be reported by on_sent.
  virtual void on_peer_failed(int peer, Status status) noexcept = 0;

 protected:
  ~Sink() = default;
};

enum class Sent : std::uint8_t {
  done,     ///< as after on_sent, which will not come
  pending,  ///< memory must stay; on_sent(token) will come
  again,    ///< nothing was taken; try again after progress()
  failed,   ///< nothing was taken; the reason has been logged
};

/// Largest payload that memory shared by ranks takes the short way. Longer ones take so long to copy that the
/// rest does not show.
constexpr std::size_t kShortBytes = 16 * 1024;

/// The short way of small frames, where a sender's next frame is the one that the receiver expects: no sink
/// is called, and nothing is looked up.
class ShortWay {
 public:
  /// Largest payload.
  virtual std::size_t most() const noexcept = 0;
  /// Sends one frame to every other rank; to none, and false, if there is no room for all.
  virtual bool send_all(const std::byte* header, const void* payload, std::size_t bytes) noexcept = 0;
  /// If the next frame of `peer` has come and has this header and size: its payload, aligned to 8 bytes,
  /// kept until Channel::release(handle). Else null, and nothing has changed.
  virtual const std::byte* take(int peer, const std::byte* header, std::size_t bytes, void*& handle) noexcept = 0;

 protected:
  ~ShortWay() = default;
};

/// One communicator's view of a transport.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Sends header and payload to rank `peer` (never this rank). The header is copied before the
  /// call returns; the payload stays in place until the send is done.
  virtual Sent send(int peer, const std::byte* header, const void* payload, std::size_t bytes,
                    std::uint64_t token) noexcept = 0;
  /// Moves things on without blocking; whether anything happened.
  virtual bool progress() noexcept = 0;
  /// Gives a kept message back.
  virtual void release(void* handle) noexcept = 0;
  /// Null where there is none, or not to all ranks.
  virtual ShortWay* short_way() noexcept { return nullptr; }
  /// Blocks until progress() may have something to do, or for at most microseconds. Called without
  /// the caller's lock. sending: own sends are incomplete.
  virtual void wait(int microseconds, bool sending) noexcept = 0;
};

/// What a transport may ask for while it opens a channel. Collective over the communicator.
class Bootstrap {
 public:
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// The same on all ranks, unique among the communicators alive in these processes.
  virtual std::uint64_t context() const noexcept = 0;
  /// All ranks' bytes, in rank order: bytes from each into out[size * bytes].
  virtual Status allgather(const void* in, std::size_t bytes, void* out) noexcept = 0;
  /// All ranks agree on the worst status: any error anywhere is an error everywhere.
  virtual Status agree(Status mine) noexcept = 0;
  /// For the mpi transport: a pointer to an MPI_Comm that is Wring's own. Null elsewhere.
  virtual void* native_comm() noexcept = 0;

 protected:
  ~Bootstrap() = default;
};

struct Caps {
  std::size_t max_payload;      ///< largest payload of one frame
  int in_flight;                ///< frames per peer that keep it busy
  bool calls_mpi = false;       ///< progress() does: only threads that may call MPI can make it
};

/// A transport: one file of this room exports one constant object of this type, listed in
/// transports.def. Ids order preference.
struct Transport {
  const char* name;
  const char* summary;
  Caps (*caps)() noexcept;
  /// Collective over boot's communicator: opens a channel whose frames go to sink. Fails on all
  /// ranks or on none. The sink must outlive the channel.
  Status (*open)(Bootstrap& boot, Sink& sink, std::unique_ptr<Channel>& out) noexcept;
  /// Ends what the transport holds for the process, after the last channel. Not collective.
  void (*shutdown)() noexcept;
  /// A line for wring_info --transports: version and what it found. May be null.
  const char* (*describe)() noexcept;
};

/// Opens a channel of `transport` whose frames to ranks of the same host go through memory that these share
/// (shm.cpp) while that has room, the others through the transport itself. Where no memory can be shared, just
/// the transport's channel. Collective; fails as the transport's open does.
Status open_with_mailboxes(const Transport& transport, Bootstrap& boot, Sink& sink, std::unique_ptr<Channel>& out);
/// Gives back shared memory that was kept for further channels. After the last channel. Not collective.
void close_mailboxes() noexcept;

/// Transports of this build that serve MPI processes, in order of preference (transports.def).
std::span<const Transport* const> all() noexcept;
const Transport* find(const char* name) noexcept;

}  // namespace wring::transport
