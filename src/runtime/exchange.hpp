// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - the latency path: starts that are one exchange of short raw contributions.
//
// Where all ranks share memory, and a program has everybody send its contribution to everybody and add
// them up, nothing has to be scheduled: all is sent at once, and once all has come it is added up, step
// by step in the program's order. Which takes a fraction of the time that an Execution takes for the
// same, and gives the same bits: ranks may go either way. Frames are the same, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/frame.hpp"
#include "plan/plan.hpp"
#include "runtime/arithmetic.hpp"
#include "transport/transport.hpp"

namespace wring::runtime {

class Exchange {
 public:
  /// Null if the plan or the channel is of another kind. header: what all frames of the plan carry. All
  /// but it must outlive the exchange.
  static std::unique_ptr<Exchange> make(const plan::Plan& plan, transport::Channel& channel, const Arithmetic& arithmetic,
                                        const codec::FrameHeader& header);

  /// Sends this rank's contribution to all others. False: nothing has been sent, as there is no room.
  bool post(const std::byte* send, std::byte* recv, std::uint32_t lane, std::uint32_t start) noexcept;
  /// Looks for the others' contributions. True once all have come and been added up, or that failed.
  bool poll(Status& status) noexcept;
  /// Gives back what has come.
  void drop() noexcept;
  /// Shows what has come, as if it came now: whoever wants to go on another way.
  template <class Show>  // void(const codec::FrameHeader&, const transport::Message&), which gives it back
  void hand_over(Show&& show) noexcept {
    for (; came_ > 0; --came_) {
      const Incoming& in = incoming_[came_ - 1];
      codec::FrameHeader header;
      (void)codec::unpack(in.header.bytes, false, {in.payload, bytes_}, header);
      show(header, transport::Message{in.header.bytes, in.payload, bytes_, in.handle});
    }
  }

 private:
  struct Header {
    alignas(8) std::byte bytes[codec::kHeaderBytes];
  };
  struct Incoming {
    int peer = 0;
    Header header{};                     ///< that its frame has
    const std::byte* payload = nullptr;  ///< of a frame that has come
    void* handle = nullptr;
  };
  /// Something that is added: the sum so far, this rank's contribution, or that of incoming_[index].
  struct Term {
    enum class Kind : std::uint8_t { sum, own, incoming } kind = Kind::sum;
    std::size_t index = 0;
  };
  struct Sum {
    Term lower, upper;
    std::uint32_t ranks = 0;
  };

  Exchange(const plan::Plan& plan, transport::Channel& channel, const Arithmetic& arithmetic);
  bool read(const codec::FrameHeader& header);
  /// frames: per frame of the program, 0 if it is this rank's, 1 + i if it is that of incoming_[i].
  static bool find(const algorithm::Operand& operand, const std::vector<std::uint32_t>& frames,
                   std::uint32_t last_value, Term& out);
  const std::byte* data_of(const Term& term, const std::byte* sum) const noexcept;
  Status add_up() noexcept;

  const plan::Plan& plan_;
  transport::Channel& channel_;
  transport::ShortWay& way_;
  const Arithmetic& arithmetic_;
  const Form form_;          ///< of contributions
  const std::size_t bytes_;  ///< of each
  const bool to_result_;     ///< plain sums, of which the last is the result: no rounding, no division
  Header header_{};
  std::vector<Incoming> incoming_;
  std::vector<Sum> sums_;
  std::vector<double> scratch_[2];     ///< partial sums, in turns
  std::size_t came_ = 0;               ///< the first so many of incoming_ have
  const std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

}  // namespace wring::runtime
