// SPDX-License-Identifier: BSD-3-Clause
// signature.cpp - says in words how two ranks' ideas of a call differ.
#include <cinttypes>

#include "runtime/session.hpp"

namespace wring::runtime {
namespace {

const char* op_name(Op op) {
  switch (op) {
    case Op::sum: return "sum";
    case Op::avg: return "average";
    case Op::other: break;
  }
  return "other";
}

}  // namespace

Status compare_signatures(const codec::FrameHeader& mine, const codec::FrameHeader& theirs) noexcept {
  const unsigned me = mine.source, them = theirs.source;
  if (mine.count == theirs.count && mine.dtype == theirs.dtype && mine.op == theirs.op &&
      mine.codec == theirs.codec && mine.algorithm == theirs.algorithm && mine.detail == theirs.detail) {
    return {};
  }
  if (mine.count != theirs.count) {
    return fail(Code::mismatch, 0, "mismatched calls: count %" PRIu64 " on rank %u, %" PRIu64 " on rank %u", mine.count, me,
                theirs.count, them);
  }
  if (mine.dtype != theirs.dtype) {
    return fail(Code::mismatch, 0, "mismatched calls: datatype %s on rank %u, %s on rank %u", name_of(mine.dtype), me,
                name_of(theirs.dtype), them);
  }
  if (mine.op != theirs.op) {
    return fail(Code::mismatch, 0, "mismatched calls: operator %s on rank %u, %s on rank %u", op_name(mine.op), me,
                op_name(theirs.op), them);
  }
  const codec::Codec* a = codec::find(mine.codec);
  const codec::Codec* b = codec::find(theirs.codec);
  if (mine.codec != theirs.codec) {
    return fail(Code::mismatch, 0, "mismatched calls: codec %s on rank %u, %s on rank %u", a ? a->name : "?", me,
                b ? b->name : "?", them);
  }
  return fail(Code::mismatch, 0,
              "mismatched calls: the parameters of codec %s, or the datatypes or operators that it does not apply to, differ "
              "between rank %u (%08x) and rank %u (%08x)",
              a ? a->name : "?", me, mine.detail, them, theirs.detail);
}

}  // namespace wring::runtime
