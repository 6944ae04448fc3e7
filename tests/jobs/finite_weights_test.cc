// What a file brings along may be no number; what is computed for it must not.
#include "jobs/finite_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/packer.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

Graph masked_layer() {
  return parse(R"(graph g {
  %x : f32[N,2] = input "x"
  %w : f32[2,2] = const "w" {1,2,3,4}
  %mask : f32[2] = const "mask" {0,-inf}
  %y = linear %x, %w
  %z = add %y, %mask
  return %z as "z"
})");
}

Graph with(Graph graph, const char* label, const Tensor& value) {
  graph.set_constant(graph.find_constant(label), value);
  return graph;
}

TEST(FiniteWeights, AMaskOfTheFileMayBeInfinite) { require_finite_weights(masked_layer(), masked_layer()); }

TEST(FiniteWeights, AWeightThatWasANumberIsNamed) {
  const Graph spoilt = with(masked_layer(), "w", Tensor::of<float>({2, 2}, {1, 2, 3, kNan}));
  EXPECT_THAT(error_of([&] { require_finite_weights(spoilt, masked_layer()); }), HasSubstr("w has NaN at [1,1]"));
  require_finite_weights(spoilt, spoilt);
}

TEST(FiniteWeights, ANewWeightIsLookedAtAndANewMaskIsNot) {
  Graph renamed = with(masked_layer(), "w", Tensor::of<float>({2, 2}, {1, kInf, 3, 4}));
  renamed.set_label(renamed.find_constant("w"), "w.folded");
  renamed.set_label(renamed.find_constant("mask"), "mask.folded");
  EXPECT_THAT(error_of([&] { require_finite_weights(renamed, masked_layer()); }),
              testing::AllOf(HasSubstr("w.folded has inf at [0,1]"), testing::Not(HasSubstr("mask"))));
}

TEST(FiniteWeights, PackedWeightsAreLookedAtAsTheyDecode) {
  const Tensor packed = Packer().pack(parse_format("fp8_e5m2"), Tensor::of<float>({2, 2}, {1, 2, 3, kNan}));
  EXPECT_THAT(error_of([&] { require_finite_weights(with(masked_layer(), "w", packed), masked_layer()); }),
              HasSubstr("w has codes of fp8_e5m2 for NaN or infinities"));
}

}  // namespace
}  // namespace hone::test
