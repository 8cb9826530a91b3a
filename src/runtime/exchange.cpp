// SPDX-License-Identifier: BSD-3-Clause
// exchange.cpp - which programs are one exchange, and how it runs.
#include "runtime/exchange.hpp"

namespace wring::runtime {

using algorithm::Operand;
using algorithm::Step;

std::unique_ptr<Exchange> Exchange::make(const plan::Plan& plan, transport::Channel& channel, const Arithmetic& arithmetic,
                                         const codec::FrameHeader& header) {
  if (channel.short_way() == nullptr || plan.checksum || plan.geometry.tiles != 1 || plan.program.slices != 1) return nullptr;
  std::unique_ptr<Exchange> made(new Exchange(plan, channel, arithmetic));
  return made->read(header) ? std::move(made) : nullptr;
}

Exchange::Exchange(const plan::Plan& plan, transport::Channel& channel, const Arithmetic& arithmetic)
    : plan_(plan),
      channel_(channel),
      way_(*channel.short_way()),
      arithmetic_(arithmetic),
      form_(arithmetic.wire_form(codec::Content::contribution, false)),
      bytes_(plan.problem.bytes()),
      to_result_(arithmetic.wide() && plan.problem.encodable() && plan.problem.op != Op::avg) {}

// --- reading the program ----------------------------------------------------------------------------

/// Takes the program apart. False if it is anything but: send the own contribution to all, receive that of
/// all, add them to one sum, keep it.
bool Exchange::read(const codec::FrameHeader& common) {
  if (form_ == Form::encoded || bytes_ > way_.most()) return false;
  codec::FrameHeader header = common;
  header.elements = static_cast<std::uint32_t>(plan_.problem.count);
  header.payload_bytes = static_cast<std::uint32_t>(bytes_);
  const auto others = static_cast<std::size_t>(plan_.problem.size - 1);
  std::vector<std::uint32_t> frames(plan_.program.frames);
  std::size_t sends = 0;
  std::uint32_t last_value = 0;
  bool kept = false;
  for (const Step& step : plan_.program.steps) {
    if (kept) return false;
    switch (step.kind) {
      case Step::Kind::encode:
        if (step.a.kind != Operand::Kind::own) return false;
        frames[step.out.index] = 0;
        break;
      case Step::Kind::send:
        if (frames[step.a.index] != 0 || (sends > 0 && step.label != header.label)) return false;
        header.label = step.label;
        ++sends;
        break;
      case Step::Kind::recv: {
        if (step.content != codec::Content::contribution) return false;
        Incoming& in = incoming_.emplace_back();
        in.peer = step.peer;
        codec::FrameHeader theirs = header;
        theirs.source = static_cast<std::uint32_t>(step.peer);
        theirs.label = step.label;
        codec::pack(theirs, false, {}, in.header.bytes);
        frames[step.out.index] = static_cast<std::uint32_t>(incoming_.size());
        break;
      }
      case Step::Kind::combine: {
        Sum& sum = sums_.emplace_back();
        sum.ranks = step.out.ranks;
        if (!find(step.a, frames, last_value, sum.lower) || !find(step.b, frames, last_value, sum.upper)) return false;
        last_value = step.out.index;
        break;
      }
      case Step::Kind::keep:
        kept = step.a.kind == Operand::Kind::value && step.a.index == last_value;
        break;
      case Step::Kind::publish:
      case Step::Kind::store: return false;
    }
  }
  if (!kept || sends != others || incoming_.size() != others || sums_.size() != others) return false;
  codec::pack(header, false, {}, header_.bytes);
  for (auto& buffer : scratch_) buffer.resize((arithmetic_.real_bytes(plan_.problem.count) + sizeof(double) - 1) / sizeof(double));
  return true;
}

bool Exchange::find(const Operand& operand, const std::vector<std::uint32_t>& frames, std::uint32_t last_value, Term& out) {
  switch (operand.kind) {
    case Operand::Kind::own: out = {Term::Kind::own, 0}; return true;
    case Operand::Kind::frame: {
      const std::uint32_t frame = frames[operand.index];
      out = frame == 0 ? Term{Term::Kind::own, 0} : Term{Term::Kind::incoming, frame - 1};
      return true;
    }
    case Operand::Kind::value: out = {Term::Kind::sum, 0}; return operand.index == last_value;
    case Operand::Kind::none: break;
  }
  return false;
}

// --- a start ----------------------------------------------------------------------------------------

bool Exchange::post(const std::byte* send, std::byte* recv, std::uint32_t lane, std::uint32_t start) noexcept {
  codec::set_start(header_.bytes, lane, start);
  if (!way_.send_all(header_.bytes, send, bytes_)) return false;
  for (Incoming& in : incoming_) codec::set_start(in.header.bytes, lane, start);
  send_ = send;
  recv_ = recv;
  came_ = 0;
  return true;
}

bool Exchange::poll(Status& status) noexcept {
  for (; came_ < incoming_.size(); ++came_) {
    Incoming& in = incoming_[came_];
    in.payload = way_.take(in.peer, in.header.bytes, bytes_, in.handle);
    if (in.payload == nullptr) return false;
  }
  status = add_up();
  drop();
  return true;
}

void Exchange::drop() noexcept {
  for (; came_ > 0; --came_) channel_.release(incoming_[came_ - 1].handle);
}

const std::byte* Exchange::data_of(const Term& term, const std::byte* sum) const noexcept {
  switch (term.kind) {
    case Term::Kind::sum: break;
    case Term::Kind::own: return send_;
    case Term::Kind::incoming: return incoming_[term.index].payload;
  }
  return sum;
}

Status Exchange::add_up() noexcept {
  const Arithmetic::Place whole{0, plan_.problem.count};
  std::byte* sum = nullptr;
  int scale = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const Sum& s = sums_[i];
    const std::byte *lower = data_of(s.lower, sum), *upper = data_of(s.upper, sum);
    std::byte* out = i + 1 == sums_.size() && to_result_ ? recv_ : reinterpret_cast<std::byte*>(scratch_[i % 2].data());
    if (to_result_) {
      arithmetic_.add(lower, upper, whole.n, out);
    } else {
      const auto view = [&](const Term& term, const std::byte* data) {
        return term.kind == Term::Kind::sum ? View{data, arithmetic_.real_bytes(whole.n), Form::real, scale} : View{data, bytes_, form_};
      };
      const View a = view(s.lower, lower), b = view(s.upper, upper);
      WRING_TRY(arithmetic_.combine(a, b, s.ranks, whole, out, scale));
    }
    sum = out;
  }
  if (!to_result_) {
    arithmetic_.finish(sum, scale, whole);
    arithmetic_.narrow(sum, whole, recv_);
  }
  return {};
}

}  // namespace wring::runtime
