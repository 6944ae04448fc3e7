#include "ir/pointwise.h"

#include <gtest/gtest.h>

#include "tests/ir/test_ops.h"

namespace hone {
namespace {

Tensor run(const OpDef& op, std::vector<const Tensor*> operands, const Attributes& attributes = {}) {
  std::vector<TensorType> types;
  for (const Tensor* t : operands) types.push_back(t ? t->type() : TensorType());
  std::vector<const TensorType*> pointers;
  for (size_t i = 0; i < types.size(); ++i) pointers.push_back(operands[i] ? &types[i] : nullptr);
  const std::vector<TensorType> results = infer_results(op, pointers, operands, attributes);
  return eval_pointwise(op, {operands, attributes, results})[0];
}

TEST(EvalPointwise, BroadcastsEveryAxis) {
  const Tensor column = Tensor::of<float>({2, 1}, {10, 20}), row = Tensor::of<float>({3}, {1, 2, 3});
  const Tensor sum = run(test::add_def, {&column, &row});
  EXPECT_EQ(sum.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(sum.to_floats(), (std::vector<float>{11, 12, 13, 21, 22, 23}));
}

// Against plain index arithmetic, over all ways in which two operands of rank 4 can broadcast.
TEST(EvalPointwise, AgreesWithIndexArithmetic) {
  const int64_t full[4] = {2, 3, 1, 4};
  for (int mask = 0; mask < 256; ++mask) {
    std::vector<int64_t> a, b, out;
    for (int i = 0; i < 4; ++i) {
      a.push_back(mask >> i & 1 ? full[i] : 1);
      b.push_back(mask >> (4 + i) & 1 ? full[i] : 1);
      out.push_back(std::max(a.back(), b.back()));
    }
    auto ramp = [](const std::vector<int64_t>& shape, float step) {
      std::vector<float> values(static_cast<size_t>(element_count(shape)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i + 1);
      return Tensor::of<float>(shape, values);
    };
    const Tensor ta = ramp(a, 1), tb = ramp(b, 100);
    const std::vector<float> found = run(test::add_def, {&ta, &tb}).to_floats();
    const auto va = ta.as<float>(), vb = tb.as<float>();
    int64_t n = 0;
    for (int64_t i = 0; i < out[0]; ++i)
      for (int64_t j = 0; j < out[1]; ++j)
        for (int64_t k = 0; k < out[2]; ++k)
          for (int64_t l = 0; l < out[3]; ++l, ++n) {
            auto at = [&](const std::vector<int64_t>& s) {
              return static_cast<size_t>(((i % s[0] * s[1] + j % s[1]) * s[2] + k % s[2]) * s[3] + l % s[3]);
            };
            ASSERT_EQ(found[static_cast<size_t>(n)], va[at(a)] + vb[at(b)]) << mask;
          }
  }
}

TEST(EvalPointwise, SkipsAbsentOperands) {
  const Tensor x = Tensor::of<float>({3}, {-9, 3, 9}), six = Tensor::scalar(6.f);
  EXPECT_EQ(run(test::clip_def, {&x, nullptr, &six}).to_floats(), (std::vector<float>{-9, 3, 6}));
  EXPECT_EQ(run(test::clip_def, {&x}).to_floats(), x.to_floats());
}

TEST(EvalPointwise, KeepsTheDtypeAndRoundsOnce) {
  const std::vector<float> values{1.f, 0.00390625f};  // the sum needs 9 significant bits
  const Tensor one = Tensor::from_floats(DType::bf16, {1}, {values.data(), 1});
  const Tensor tiny = Tensor::from_floats(DType::bf16, {1}, {values.data() + 1, 1});
  const Tensor sum = run(test::add_def, {&one, &tiny});
  EXPECT_EQ(sum.dtype(), DType::bf16);
  EXPECT_EQ(sum.to_floats()[0], 1.f);
  const Tensor big = Tensor::of<int8_t>({1}, {100});
  EXPECT_EQ(run(test::add_def, {&big, &big}).to_integers()[0], -56);  // 200 wraps
}

TEST(EvalPointwise, ReadsPackedOperands) {
  const Tensor x = Tensor::of<float>({1, 2}, {1, -0.5f}), packed = pack(parse_format("mxint8"), x);
  EXPECT_EQ(run(test::add_def, {&packed, &x}).to_floats(), (std::vector<float>{2, -1}));
}

TEST(EvalPointwise, HandlesEmptyTensors) {
  const Tensor none(DType::f32, {0, 3}), row(DType::f32, {3});
  EXPECT_EQ(run(test::add_def, {&none, &row}).elements(), 0);
}

}  // namespace
}  // namespace hone
