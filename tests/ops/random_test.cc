// Random numbers: functions of the seed and the position, with the distributions they are named after.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/call.h"

namespace hone {
namespace {

Attributes seeded(int64_t seed, Shape shape) { return {{"seed", seed}, {"shape", std::move(shape)}}; }

TEST(Random, DependsOnTheSeedAndThePositionOnly) {
  for (const char* op : {"random_uniform", "random_normal"}) {
    const Floats few = call(op, {}, seeded(1, {3})).to_floats(), many = call(op, {}, seeded(1, {2, 4})).to_floats();
    EXPECT_EQ(few, Floats(many.begin(), many.begin() + 3)) << op;
    EXPECT_NE(few, call(op, {}, seeded(2, {3})).to_floats()) << op;
    EXPECT_NE(few[0], few[1]) << op;
    EXPECT_EQ(few, call(op, {i64({1}, {3})}, {{"seed", int64_t{1}}}).to_floats()) << op;  // the shape as an operand
  }
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const Doubles& values) {
  Moments moments;
  for (double x : values) moments.mean += x / static_cast<double>(values.size());
  for (double x : values)
    moments.variance += (x - moments.mean) * (x - moments.mean) / static_cast<double>(values.size());
  return moments;
}

// Of n = 10,000 the mean lies within four standard errors, sigma / 100 each, and the variance within 10 %.
TEST(Random, HasTheMomentsItIsAskedFor) {
  Attributes uniform = seeded(3, {10000});
  uniform.set("low", -1.0), uniform.set("high", 5.0);
  const Doubles even = call("random_uniform", {}, uniform).to_doubles();
  EXPECT_NEAR(moments_of(even).mean, 2, 4 * std::sqrt(3) / 100);
  EXPECT_NEAR(moments_of(even).variance, 3, 0.3);
  for (double x : even) EXPECT_TRUE(x >= -1 && x <= 5) << x;
  Attributes normal = seeded(3, {10000});
  normal.set("mean", 10.0), normal.set("scale", 2.0);
  const Doubles bell = call("random_normal", {}, normal).to_doubles();
  EXPECT_NEAR(moments_of(bell).mean, 10, 4 * 2.0 / 100);
  EXPECT_NEAR(moments_of(bell).variance, 4, 0.4);
}

// Probabilities 3/4 and 1/4; a class of log-probability -infinity never comes.
TEST(Multinomial, DrawsClassesWithTheirProbabilities) {
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor rows = f32({2, 3}, {std::log(3.f), 0, never, never, never, 7});
  const Tensor drawn = call("multinomial", {rows}, {{"seed", int64_t{5}}, {"samples", int64_t{10000}}});
  EXPECT_EQ(drawn.dtype(), DType::i32);
  EXPECT_EQ(drawn.shape(), (Sizes64{2, 10000}));
  const Doubles classes = drawn.to_doubles();
  EXPECT_NEAR(moments_of({classes.begin(), classes.begin() + 10000}).mean, 0.25, 4 * std::sqrt(3) / 4 / 100);
  for (size_t i = 0; i < 10000; ++i) EXPECT_NE(classes[i], 2);
  for (size_t i = 10000; i < 20000; ++i) EXPECT_EQ(classes[i], 2);
  EXPECT_NE(error_of("multinomial", {f32({1, 2}, {never, never})}, {{"seed", int64_t{5}}}).find("all -infinity"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
