// SPDX-License-Identifier: BSD-3-Clause
// machine.hpp - what plans assume about links and processors where nobody has measured them.
#pragma once

#include <cstddef>

namespace wring::plan {

/// A link between two ranks, in the terms of the LogGP model (Alexandrov, Ionescu, Schauser and
/// Scheiman, 1995).
struct Link {
  double latency = 0;    ///< seconds from the end of a send until a frame without bytes is there
  double bandwidth = 0;  ///< bytes per second that can be sent, and received at the same time
  double overhead = 0;   ///< seconds of the processor for each frame sent, and for each received
  bool operator==(const Link&) const = default;
};

/// Frames of up to so many bytes that every rank sends to all others at once, where all share memory
/// (transport::ShortWay): a program that consists of nothing else runs without schedule.
struct ShortWay {
  std::size_t most = 0;  ///< bytes; 0: there is no such way
  Link link{.latency = 0.08e-6, .bandwidth = 8e9, .overhead = 0.06e-6};
  bool operator==(const ShortWay&) const = default;
};

/// Links of a communicator: all between nodes are taken to be alike, and all inside nodes.
struct Network {
  /// Ethernet at 10 Gbit/s, of which tcp leaves 1.2 GB/s. 8 bytes between two hosts took 10.4 us
  /// (docs/performance.md), most of it in the two ends: a system call each and waking up. The ranks
  /// of a node share its link.
  Link between_nodes{.latency = 3.4e-6, .bandwidth = 1.2e9, .overhead = 3.5e-6};
  /// Shared memory through mailboxes and slots: 8 bytes between two ranks of a host took 0.36 us.
  /// Every rank has one for itself.
  Link inside_node{.latency = 0.16e-6, .bandwidth = 8e9, .overhead = 0.1e-6};
  ShortWay short_way;
  bool operator==(const Network&) const = default;
};

/// What a rank computes with. memcpy and addition were measured at 18 GB/s; halved, as other
/// processors are slower. Codecs give their own speeds (codec::CostModel).
struct Processor {
  double copy_rate = 9e9;  ///< bytes per second
  double add_rate = 9e9;   ///< bytes of accumulators per second
  double sharing = 1;      ///< ranks per processor: everything computed takes that much longer
  bool operator==(const Processor&) const = default;
};

}  // namespace wring::plan
