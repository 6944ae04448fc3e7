// What ops say of where their elements come from and of the order of axes, against what they compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/evaluate.h"
#include "ops/moves.h"
#include "ops/registry.h"
#include "ops/transposed.h"
#include "tests/support/op_cases.h"

namespace hone {
namespace {

// fn(position in the axis of the result, position in that of the operand; -1: the border)
template <class Fn>
void for_each_position(const Stretches& axis, Fn fn) {
  int64_t at = 0;
  for (const Stretch& s : axis)
    for (int64_t i = 0; i < s.repeats; ++i)
      for (int64_t j = 0; j < s.count; ++j) fn(at++, s.value ? -1 : s.from + i * s.jump + j * s.step);
}

struct Moving {
  const Tensor& from;
  Tensor& to;
  const Tensor* border;
  const Move& move;
};

void move_axis(const Moving& m, size_t axis, int64_t from, int64_t to, bool is_border) {
  const int64_t item = size_bytes(m.to.dtype());
  if (axis == m.move.axes.size()) {
    std::byte* target = m.to.mutable_data() + to * item;
    const std::byte* source =
        is_border ? (m.border ? m.border->data().bytes().data() : nullptr) : m.from.data().bytes().data() + from * item;
    if (source) std::memcpy(target, source, static_cast<size_t>(item));
    return;
  }
  std::vector<int64_t> shape = m.from.shape();
  shape.insert(shape.begin(), m.move.axes.size() - shape.size(), 1);
  for_each_position(m.move.axes[axis], [&](int64_t at, int64_t read) {
    move_axis(m, axis + 1, from * shape[axis] + std::max<int64_t>(read, 0),
              to * m.to.dim(static_cast<int>(axis)) + m.move.start[axis] + at, is_border || read < 0);
  });
}

TEST(OpAxes, MapsOfMovesSayWhichElementsResultsAre) {
  Philox rng(5);
  for (const OpDef* op : ops::all()) {
    if (!op->move_map) continue;
    SCOPED_TRACE(op->name);
    int seen = 0;
    for (const OpCase& one : cases_for(*op, rng)) {
      const std::vector<const Tensor*> operands = one.pointers();
      if (operands[0]->is_packed() || operands[0]->dtype() == DType::string) continue;
      const std::vector<Tensor> want = evaluate_node(*op, operands, one.attributes);
      std::vector<TensorType> types;
      std::vector<std::vector<int64_t>> shapes;
      std::vector<const Tensor*> arguments;
      for (const Tensor& result : want) types.push_back(result.type());
      for (size_t i = 0; i < operands.size(); ++i) {
        shapes.push_back(operands[i] ? operands[i]->shape() : std::vector<int64_t>());
        arguments.push_back(op->operands.of(i).argument ? operands[i] : nullptr);
      }
      if (std::ranges::any_of(want, [](const Tensor& t) { return t.elements() == 0; })) continue;
      const auto moves = op->move_map({{arguments, one.attributes, types}, shapes, true});
      if (!moves) continue;
      std::vector<Tensor> got;
      for (const Tensor& result : want) got.emplace_back(result.dtype(), result.shape());
      const bool has_border = operands.size() > 1 && operands[1] && !op->operands.of(1).argument;
      for (const Move& move : *moves)
        move_axis({*operands[move.operand], got[move.result], has_border ? operands[1] : nullptr, move}, 0, 0, 0,
                  false);
      for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(got[i].same_bits(want[i])) << one.text();
      ++seen;
    }
    EXPECT_GT(seen, 0);
  }
}

Tensor transposed_by(const Tensor& x, const Permutation& perm) {
  return evaluate_node(ops::get("transpose"), std::vector{&x}, {{"perm", perm}})[0];
}

// op(transpose(s)) and transpose(other(s)).
TEST(OpAxes, WhatAnOpIsBeforeATransposeComputesTheSame) {
  Philox rng(6);
  for (const OpDef* op : ops::all()) {
    if (!has_transposed(*op)) continue;
    SCOPED_TRACE(op->name);
    int seen = 0, cases = 0;
    for (const OpCase& one : cases_for(*op, rng)) {
      if (++cases > 40) break;
      std::vector<const Tensor*> operands = one.pointers();
      const size_t rank = operands.empty() || !operands[0] ? 0 : operands[0]->shape().size();
      const size_t count = std::min(transposed_operands(*op, operands.size()), operands.size());
      const bool alike =
          std::all_of(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(count), [&](const Tensor* t) {
            return t && !t->is_packed() && t->dtype() != DType::string && t->shape().size() == rank;
          });
      if (rank < 2 || !alike) continue;
      Permutation perm(rank);
      std::iota(perm.begin(), perm.end(), 0);
      std::rotate(perm.begin(), perm.begin() + 1 + static_cast<ptrdiff_t>(rng.below(rank - 1)), perm.end());
      // The operands of the sample are transpose(s): s is what the inverse makes of them.
      std::vector<Tensor> sources;
      for (size_t i = 0; i < count; ++i) sources.push_back(transposed_by(*operands[i], inverse(perm)));
      std::vector<TensorType> types(operands.size());
      std::vector<const TensorType*> type_pointers(operands.size());
      for (size_t i = 0; i < operands.size(); ++i)
        if (operands[i]) types[i] = operands[i]->type(), type_pointers[i] = &types[i];
      const std::vector<Tensor> want = evaluate_node(*op, operands, one.attributes);
      const auto other = transposed({*op, type_pointers, want[0].type(), one.attributes, perm});
      if (!other || other->result.size() != want[0].shape().size()) continue;
      for (size_t i = 0; i < count; ++i) operands[i] = &sources[i];
      const std::vector<Tensor> got = evaluate_node(*other->op, operands, other->attributes);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(transposed_by(got[i], other->result).same_bits(want[i])) << one.text() << ", result " << i;
      ++seen;
    }
    if (op->transposed) {
      EXPECT_GT(seen, 0);
    }
  }
}

}  // namespace
}  // namespace hone
