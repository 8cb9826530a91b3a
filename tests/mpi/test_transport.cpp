// SPDX-License-Identifier: BSD-3-Clause
// test_transport.cpp - what every transport for MPI processes must do, checked between real ranks.
//
// Usage: mpiexec -n P test_transport NAME [mailboxes|wrap]: with either, frames go through shared memory
// where they can; with wrap, its counters begin close below 2^32. Prints a line for each check; exit
// status 0 if all passed, 77 if this build has no such transport.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "transport/shm_group.hpp"
#include "transport/transport.hpp"

namespace {

using wring::Code;
using wring::Status;
using wring::transport::Bootstrap;
using wring::transport::Channel;
using wring::transport::kContextOffset;
using wring::transport::kHeaderBytes;
using wring::transport::Message;
using wring::transport::Sent;
using wring::transport::Sink;
using wring::transport::Transport;

constexpr double kPatience = 10;  // seconds without an expected event, after which a check fails
constexpr int kFrames = 16;       // frames to each peer in the checks of many frames

int g_rank, g_size;
bool g_ok;  // of the running check, on this rank
const Transport* g_transport;
bool g_mailboxes = false;  ///< frames through shared memory

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[gnu::format(printf, 1, 2)]] void complain(const char* format, ...) {
  if (g_ok) {  // the first reason will do
    std::printf("     rank %d: ", g_rank);
    std::va_list args;
    va_start(args, format);
    std::vprintf(format, args);
    va_end(args);
    std::printf("\n");
    std::fflush(stdout);
  }
  g_ok = false;
}

/// Bootstrap over a communicator.
class MpiBootstrap final : public Bootstrap {
 public:
  explicit MpiBootstrap(MPI_Comm comm) : comm_(comm) {
    static std::uint64_t opened = 0;
    context_ = (++opened << 32) + static_cast<std::uint64_t>(getpid());
    MPI_Bcast(&context_, 1, MPI_UINT64_T, 0, comm);
  }
  int rank() const noexcept override { return g_rank; }
  int size() const noexcept override { return g_size; }
  std::uint64_t context() const noexcept override { return context_; }
  Status allgather(const void* in, std::size_t bytes, void* out) noexcept override {
    const int count = static_cast<int>(bytes);
    MPI_Allgather(in, count, MPI_BYTE, out, count, MPI_BYTE, comm_);
    return {};
  }
  Status agree(Status mine) noexcept override {
    int code = static_cast<int>(mine.code());
    MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, comm_);
    if (mine.is_error() || code <= static_cast<int>(Code::again)) return mine;
    return {static_cast<Code>(code), "another rank failed"};
  }
  void* native_comm() noexcept override { return &comm_; }

 private:
  MPI_Comm comm_;
  std::uint64_t context_;
};

/// The test's own header: byte 8 context, then these.
struct Tag {
  std::uint32_t source, bytes, seed, hops;
};
constexpr std::size_t kTagOffset = 16;

std::byte pattern(std::uint32_t seed, std::size_t i) {
  return static_cast<std::byte>((seed * 2654435761u >> 13) + i * 131 + (i >> 8));
}

void fill_header(std::byte* header, std::uint64_t context, const Tag& tag) {
  for (std::size_t i = 0; i < kHeaderBytes; ++i) header[i] = pattern(tag.seed, i + 7);
  std::memcpy(header + kContextOffset, &context, sizeof context);
  std::memcpy(header + kTagOffset, &tag, sizeof tag);
}

/// One rank's end of a channel: posts frames, checks and counts what comes.
class Node final : public Sink {
 public:
  explicit Node(MPI_Comm comm) : boot_(comm), got(static_cast<std::size_t>(g_size)) {
    const Status status = g_mailboxes ? open_with_mailboxes(*g_transport, boot_, *this, channel_)
                                      : g_transport->open(boot_, *this, channel_);
    if (!status.ok()) complain("open: %s", status.what());
  }

  bool open() const { return channel_ != nullptr; }
  Channel& channel() { return *channel_; }
  std::uint64_t context() const { return boot_.context(); }

  void post(int peer, std::size_t bytes, std::uint32_t seed, std::uint32_t hops = 0) {
    post_to(boot_.context(), peer, bytes, seed, hops);
  }
  void post_to(std::uint64_t context, int peer, std::size_t bytes, std::uint32_t seed,
               std::uint32_t hops) {
    auto out = std::make_unique<Out>();
    out->peer = peer;
    out->payload.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out->payload[i] = pattern(seed, i);
    fill_header(
        out->header, context,
        {static_cast<std::uint32_t>(g_rank), static_cast<std::uint32_t>(bytes), seed, hops});
    waiting_.push_back(std::move(out));
  }

  /// Sends what is posted, as far as the transport takes it.
  void push() {
    while (!waiting_.empty()) {
      Out& out = *waiting_.front();
      const std::uint64_t token = next_token_;
      const Sent sent =
          channel_->send(out.peer, out.header, out.payload.data(), out.payload.size(), token);
      if (sent == Sent::again) return;
      if (sent == Sent::failed) complain("send to %d failed", out.peer);
      // Whoever still reads memory that may be reused shows up as a wrong payload.
      std::fill_n(out.header, kHeaderBytes, std::byte{0xee});
      if (sent == Sent::pending) {
        ++next_token_;
        flying_.push_back({token, std::move(waiting_.front())});
      } else {
        std::fill(out.payload.begin(), out.payload.end(), std::byte{0xee});
      }
      waiting_.pop_front();
    }
  }

  bool idle() const { return waiting_.empty() && flying_.empty(); }
  bool step() {
    push();
    return channel_->progress();
  }
  template <class Done>
  void until(Done done) {
    for (double last = now(); g_ok && !done();) {
      if (step()) {
        last = now();
      } else if (now() - last > kPatience) {
        complain("nothing more came in %g s: %d frames received, %zu to send, %zu unfinished",
                 kPatience, total, waiting_.size(), flying_.size());
      } else {
        channel_->wait(1000, !idle());
      }
    }
  }
  bool on_message(const Message& m) noexcept override {
    ++total;
    Tag tag;
    std::memcpy(&tag, m.header + kTagOffset, sizeof tag);
    if (!right(m, tag)) return false;
    ++got[tag.source];
    if (tag.hops > 0) {
      // The channel may refuse; then the main loop sends it.
      post((g_rank + 1) % g_size == g_rank ? g_rank : (g_rank + 1) % g_size, tag.bytes, tag.seed,
           tag.hops - 1);
      push();
    }
    if (keep_every == 0 || total % keep_every != 0) return false;
    kept.push_back(m);
    return true;
  }
  void on_sent(std::uint64_t token, Status status) noexcept override {
    if (!status.ok()) complain("on_sent: %s", status.what());
    const auto it = std::find_if(flying_.begin(), flying_.end(),
                                 [&](const Flying& f) { return f.token == token; });
    if (it == flying_.end()) return complain("on_sent for an unknown token");
    std::fill(it->out->payload.begin(), it->out->payload.end(), std::byte{0xee});
    flying_.erase(it);
  }
  void on_peer_failed(int peer, Status status) noexcept override {
    complain("on_peer_failed(%d): %s", peer, status.what());
  }

  bool right(const Message& m, const Tag& tag) {
    std::byte header[kHeaderBytes];
    fill_header(header, context(), tag);
    if (tag.source >= static_cast<std::uint32_t>(g_size) ||
        std::memcmp(header, m.header, sizeof header) != 0) {
      complain("a header arrived changed");
      return false;
    }
    if (tag.bytes != m.payload_bytes) {
      complain("%zu bytes arrived instead of %u", m.payload_bytes, tag.bytes);
      return false;
    }
    if (reinterpret_cast<std::uintptr_t>(m.payload) % 8 != 0) complain("a payload is not aligned");
    for (std::size_t i = 0; i < m.payload_bytes; ++i) {
      if (m.payload[i] == pattern(tag.seed, i)) continue;
      complain("byte %zu of %u from rank %u is wrong", i, tag.bytes, tag.source);
      return false;
    }
    return true;
  }
  void check_kept(const Message& m) {
    Tag tag;
    std::memcpy(&tag, m.header + kTagOffset, sizeof tag);
    (void)right(m, tag);
  }

 private:
  struct Out {
    int peer = 0;
    std::byte header[kHeaderBytes]{};
    std::vector<std::byte> payload;
  };
  struct Flying {
    std::uint64_t token;
    std::unique_ptr<Out> out;
  };
  MpiBootstrap boot_;
  std::unique_ptr<Channel> channel_;
  std::deque<std::unique_ptr<Out>> waiting_;
  std::vector<Flying> flying_;
  std::uint64_t next_token_ = 1;

 public:
  int total = 0;
  int keep_every = 0;
  std::vector<int> got;
  std::vector<Message> kept;
};

/// Ends a check's traffic: all that was sent is out, all ranks have got theirs, then close.
void leave(MPI_Comm comm, Node& node) {
  node.until([&] { return node.idle(); });
  MPI_Barrier(comm);
}

void check_sizes(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  const std::size_t largest = g_transport->caps().max_payload;
  std::vector<std::size_t> sizes{0, 1, 8, 4096, 65536, 262144, largest};
  for (std::size_t b = 1020; b < 1040; ++b) sizes.push_back(b);
  for (std::size_t b = 0; b < 3; ++b) sizes.push_back(wring::transport::kSlotPayload - 1 + b);
  for (std::size_t bytes : sizes) {
    const int before = node.total;
    for (int peer = 0; peer < g_size; ++peer) {
      if (peer != g_rank) node.post(peer, bytes, static_cast<std::uint32_t>(g_rank * 100 + peer));
    }
    node.until([&] { return node.idle() && node.total == before + g_size - 1; });
    MPI_Barrier(comm);  // so that the next size does not come early
  }
  leave(comm, node);
}

void check_many(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  const std::size_t largest = g_transport->caps().max_payload;
  const std::size_t sizes[] = {100, 200000, 0, 5000, largest, 1111, 33333, 64};
  for (int round = 0; round < 3; ++round) {
    node.keep_every = round == 1 ? 1 : 3;
    const int goal = node.total + kFrames * (g_size - 1);
    for (int i = 0; i < kFrames; ++i) {
      for (int peer = 0; peer < g_size; ++peer) {
        if (peer == g_rank) continue;
        node.post(peer, sizes[(i + peer) % 8], static_cast<std::uint32_t>(i * 1000 + g_rank));
      }
    }
    node.until([&] { return node.idle() && node.total == goal; });
    MPI_Barrier(comm);
    // Kept messages must be whole after all that traffic, and may be given back in any order.
    std::uint32_t random = 12345;
    while (!node.kept.empty()) {
      random = random * 1103515245 + 12345;
      const std::size_t pick = (random >> 8) % node.kept.size();
      node.check_kept(node.kept[pick]);
      node.channel().release(node.kept[pick].handle);
      node.kept.erase(node.kept.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }
  for (int peer = 0; peer < g_size; ++peer) {
    const int wanted = peer == g_rank ? 0 : 3 * kFrames;
    const int had = node.got[static_cast<std::size_t>(peer)];
    if (had != wanted) complain("%d frames from rank %d instead of %d", had, peer, wanted);
  }
  leave(comm, node);
}

void check_two_channels(MPI_Comm comm) {
  MPI_Comm other;
  MPI_Comm_dup(comm, &other);
  {
    Node a(comm), b(other);
    if (!a.open() || !b.open()) return;
    for (int i = 0; i < kFrames; ++i) {
      for (int peer = 0; peer < g_size; ++peer) {
        if (peer == g_rank) continue;
        a.post(peer, 3000, static_cast<std::uint32_t>(i));
        if (i % 2) b.post(peer, 70000, static_cast<std::uint32_t>(i + 50));
      }
    }
    a.push();
    b.push();
    const int goal = kFrames * (g_size - 1);
    // Frames of b may be moved by progress on a, and the other way round.
    a.until([&] {
      b.step();
      return a.idle() && b.idle() && a.total == goal && b.total == goal / 2;
    });
    leave(comm, a);
    leave(comm, b);
  }
  MPI_Comm_free(&other);
}

long dropped() {
  const char* text = g_transport->describe();
  const char* end = std::strstr(text, " frames dropped");
  if (end == nullptr) return -1;
  while (end > text && end[-1] >= '0' && end[-1] <= '9') --end;
  return std::atol(end);
}

void check_unknown_context(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  const long before = dropped();
  const int counted = g_mailboxes ? 0 : 2;  // shared memory drops them, and tells nobody
  for (int peer = 0; peer < g_size; ++peer) {
    if (peer == g_rank) continue;
    node.post_to(~node.context(), peer, 10, 1, 0);
    node.post_to(node.context() + 1, peer, 100000, 2, 0);
    node.post(peer, 20, 3);
  }
  node.until([&] {
    return node.idle() && node.total == g_size - 1 && dropped() == before + counted * (g_size - 1);
  });
  leave(comm, node);
}

/// More frames than there are mailbox slots and slots, all kept until the last has come; then, with
/// everything given back, once more.
void check_full(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  const int frames = g_size <= 4 ? 100 : 30;
  node.keep_every = 1;
  for (int round = 0; round < 3; ++round) {
    const int goal = node.total + 2 * frames * (g_size - 1);
    for (int i = 0; i < frames; ++i) {
      for (int peer = 0; peer < g_size; ++peer) {
        if (peer == g_rank) continue;
        node.post(peer, 1025 + static_cast<std::size_t>(i) * 1000, static_cast<std::uint32_t>(i));
        node.post(peer, static_cast<std::size_t>(i), static_cast<std::uint32_t>(i + 1000));
      }
    }
    node.until([&] { return node.idle() && node.total == goal; });
    for (const Message& m : node.kept) {
      node.check_kept(m);
      node.channel().release(m.handle);
    }
    node.kept.clear();
    MPI_Barrier(comm);
  }
  leave(comm, node);
}

/// Even ranks send n frames to a rank that does not look until then, and make no more progress when their
/// sends have ended. For
/// some n the last frame fits only in part into the socket or mailbox: the rest must not stay
/// behind.
void check_ended(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  const std::size_t largest = g_transport->caps().max_payload;
  const int peer = g_rank ^ 1;
  int expected = 0;
  for (int n = 1; n <= 40; ++n) {
    if (g_rank % 2 == 0 && peer < g_size) {
      for (int i = 0; i < n; ++i)
        node.post(peer, i % 8 == 6 ? 500 : largest, static_cast<std::uint32_t>(i));
      node.push();
      MPI_Send(nullptr, 0, MPI_BYTE, peer, 0, comm);
      node.until([&] { return node.idle(); });
    } else if (peer < g_size) {
      MPI_Recv(nullptr, 0, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
      expected += n;
      node.until([&] { return node.total == expected; });
    }
    MPI_Barrier(comm);
  }
  leave(comm, node);
}

/// Memory of this process's own: UCX's shared memory is in use bit by bit, and does not count.
long own_kib() {
  long kib = 0;
  if (std::FILE* f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f)) (void)std::sscanf(line, "RssAnon: %ld", &kib);
    std::fclose(f);
  }
  return kib;
}

void check_open_close(MPI_Comm comm) {
  // MPICH's collectives take long where ranks outnumber the cores.
  const int channels = g_size <= 4 ? 200 : 80;
  long early = 0;
  for (int i = 0; i < channels && g_ok; ++i) {
    if (i == 50) early = own_kib();
    Node node(comm);
    if (!node.open()) return;
    for (int peer = 0; peer < g_size; ++peer) {
      if (peer != g_rank) node.post(peer, i % 2 ? 8 : 20000, static_cast<std::uint32_t>(i));
    }
    node.until([&] { return node.idle() && node.total == g_size - 1; });
    leave(comm, node);
  }
  [[maybe_unused]] const long grown = own_kib() - early;
#ifndef __SANITIZE_ADDRESS__  // it keeps what is freed
  if (grown > 2048) complain("memory grew by %ld KiB after the 50th channel", grown);
#endif
}

void check_send_from_callback(MPI_Comm comm) {
  if (g_size == 1) return;
  Node node(comm);
  if (!node.open()) return;
  constexpr std::uint32_t kHops = 200;
  const int next = (g_rank + 1) % g_size;
  node.post(next, 8, 1, kHops);
  node.post(next, 50000, 2, kHops);
  // Each frame visits kHops + 1 ranks in ring order; every rank starts two.
  node.until([&] { return node.idle() && node.total == 2 * (static_cast<int>(kHops) + 1); });
  leave(comm, node);
}

void check_wait(MPI_Comm comm) {
  Node node(comm);
  if (!node.open()) return;
  for (int i = 0; i < 10; ++i) {
    MPI_Barrier(comm);
    const double begin = now();
    for (int peer = 0; peer < g_size; ++peer) {
      if (g_rank != 0 || peer == 0) continue;
      if (peer == 1) usleep(20000);
      node.post(peer, i % 2 ? 8 : 100000, static_cast<std::uint32_t>(i));
    }
    node.push();
    while (g_rank != 0 && node.total <= i) {
      if (!node.channel().progress()) node.channel().wait(5000000, false);
    }
    node.until([&] { return node.idle(); });
    if (now() - begin > 3) complain("wait() slept although a frame had come");
  }
  leave(comm, node);
  const double begin = now();
  for (int i = 0; i < 3; ++i) {
    node.channel().progress();
    node.channel().wait(10000, false);
  }
  if (now() - begin > 2) complain("wait() overslept");
}

int run(const char* name, void (*check)(MPI_Comm), MPI_Comm comm) {
  g_ok = true;
  const double begin = now();
  check(comm);
  int ok = g_ok;
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, comm);
  if (g_rank == 0) std::printf("%s %s (%.2f s)\n", ok ? "OK  " : "FAIL", name, now() - begin);
  std::fflush(stdout);
  return ok ? 0 : 1;
}

int shut_down(MPI_Comm, int, void*, void*) {
  g_transport->shutdown();
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  const char* name = argc > 1 ? argv[1] : "mpi";
  g_mailboxes = argc > 2;
  // Two rounds of its longest ring before a counter wraps around.
  if (g_mailboxes && std::strcmp(argv[2], "wrap") == 0) wring::transport::set_first_number(0u - 2 * wring::transport::kMostSlots);
  g_transport = wring::transport::find(name);
  if (g_transport == nullptr) {
    if (g_rank == 0) std::printf("SKIP this build has no transport \"%s\"\n", name);
    MPI_Finalize();
    return 77;
  }
  alarm(300);  // a hang ends here
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, shut_down, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int failures = 0;
  failures += run("frames of all sizes between all pairs", check_sizes, comm);
  failures += run("many frames in flight, kept and released out of order", check_many, comm);
  failures += run("more frames than there is room for", check_full, comm);
  failures += run("two channels at once", check_two_channels, comm);
  failures +=
      run("frames of an unknown context are dropped and counted", check_unknown_context, comm);
  failures += run("frames whose sends have ended arrive without progress", check_ended, comm);
  failures += run("channels opened and closed without growth", check_open_close, comm);
  failures += run("sends from within on_message", check_send_from_callback, comm);
  failures += run("wait() wakes up", check_wait, comm);
  if (g_rank == 0) std::printf("%s\n", g_transport->describe());
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return failures ? 1 : 0;
}
