// SPDX-License-Identifier: BSD-3-Clause
// ucx.cpp - the ucx transport: UCP active messages over whatever fabric UCX finds.
//
// open(): all ranks start UCX or none goes on; then they exchange their uids and worker addresses.
// Frames go as eager active messages of one fragment (ucx_channel.cpp), are shown to the sink from
// inside UCX's progress (ucx_receive.cpp), and share one worker per process (ucx_worker.cpp).
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "transport/transport.hpp"
#include "transport/ucx_channel.hpp"
#include "transport/ucx_worker.hpp"

namespace wring::transport {
namespace {

using ucx_impl::Peer;
using ucx_impl::UcxChannel;
using ucx_impl::Worker;

Caps caps() noexcept { return {.max_payload = ucx_impl::kMaxPayload, .in_flight = 4}; }

/// What ranks tell each other first: addresses differ in length.
struct Card {
  std::uint64_t uid;
  std::uint64_t address_bytes;
};

Status open(Bootstrap& boot, Sink& sink, std::unique_ptr<Channel>& out) noexcept {
  Worker& worker = Worker::instance();
  WRING_TRY(boot.agree(worker.start()));

  const auto ranks = static_cast<std::size_t>(boot.size());
  const Card mine{worker.uid(), worker.address().size()};
  std::vector<Card> cards(ranks);
  WRING_TRY(boot.allgather(&mine, sizeof mine, cards.data()));
  std::size_t longest = 0;
  for (const Card& card : cards) longest = std::max<std::size_t>(longest, card.address_bytes);
  std::vector<std::byte> own(longest), addresses(longest * ranks);
  std::copy(worker.address().begin(), worker.address().end(), own.begin());
  WRING_TRY(boot.allgather(own.data(), longest, addresses.data()));

  std::vector<Peer*> peers(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank == static_cast<std::size_t>(boot.rank())) continue;
    peers[rank] =
        worker.peer(cards[rank].uid, &addresses[rank * longest], cards[rank].address_bytes);
  }
  auto channel = std::make_unique<UcxChannel>(worker, sink, boot.context(), std::move(peers));
  // Nobody sends before everybody's context is known: another thread may be receiving already.
  WRING_TRY(boot.agree({}));
  out = std::move(channel);
  return {};
}

void shutdown() noexcept { Worker::instance().stop(); }

const char* describe() noexcept {
  static char text[160];
  const Worker& worker = Worker::instance();
  std::snprintf(text, sizeof text, "UCX %s%s, %llu frames dropped", ucp_get_version_string(),
                worker.running() ? ", running" : "",
                static_cast<unsigned long long>(worker.dropped()));
  return text;
}

}  // namespace

extern const Transport ucx;
const Transport ucx{
    .name = "ucx",
    .summary = "UCP active messages: TCP, InfiniBand, RoCE, shared memory",
    .caps = caps,
    .open = open,
    .shutdown = shutdown,
    .describe = describe,
};

}  // namespace wring::transport
