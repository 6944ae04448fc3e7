// The composed functions of ops/trigonometry.cc against the C library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Function {
  const char* op;
  double (*reference)(double);
  std::vector<double> at;  // and at the negatives of these
};

const std::vector<double> kAny = {0,   1e-30, 1e-9, 1e-3, 0.1, 0.4142, 0.5, 0.99, 1,
                                  1.5, 3,     7,    20,   80,  1e4,    1e9, 1e30, kInfinity};
const std::vector<double> kUnit = {0, 1e-30, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1, 1.5, kInfinity};
const Function kFunctions[] = {
    {"tan", std::tan, {0, 1e-30, 1e-9, 0.1, 0.5, 1, 1.5, 1.57, 2, 3}},
    {"asin", std::asin, kUnit},
    {"acos", std::acos, kUnit},
    {"atan", std::atan, kAny},
    {"sinh", std::sinh, kAny},
    {"cosh", std::cosh, kAny},
    {"asinh", std::asinh, kAny},
    {"acosh", std::acosh, {0.5, 1, 1.0000001, 1.001, 1.5, 3, 20, 1e4, 1e9, 1e30, kInfinity}},
    {"atanh", std::atanh, kUnit},
};

std::vector<double> with_negatives(std::vector<double> at) {
  for (size_t i = 0, n = at.size(); i < n; ++i) at.push_back(-at[i]);
  return at;
}

// Relative to the result: a dozen roundings, and the two ulp that exp and the like may be off.
void expect_near(DType dtype, double eps) {
  for (const Function& f : kFunctions) {
    const std::vector<double> at = with_negatives(f.at);
    const Tensor x = Tensor::from_doubles(dtype, {static_cast<int64_t>(at.size())}, at);
    const Doubles rounded = x.to_doubles(), found = call(f.op, {x}).to_doubles();
    for (size_t i = 0; i < at.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}({})", f.op, rounded[i]));
      const double want = Tensor::from_doubles(dtype, {}, Doubles{f.reference(rounded[i])}).to_doubles()[0];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(found[i]));
      } else if (std::isinf(want) || want == 0) {
        EXPECT_EQ(found[i], want);
        EXPECT_EQ(std::signbit(found[i]), std::signbit(want));
      } else {
        EXPECT_NEAR(found[i], want, 12 * eps * std::abs(want));
      }
    }
  }
}

TEST(Trigonometry, DoublesAreAccurateToTheirLastPlaces) { expect_near(DType::f64, 0x1p-53); }
TEST(Trigonometry, FloatsAreAccurateToTheirLastPlaces) { expect_near(DType::f32, 0x1p-24); }

TEST(Trigonometry, TakesFloatsOnly) {
  EXPECT_NE(error_of("atan", {i64({1}, {1})}).find("accepted: f64, f32, bf16, f16"), std::string::npos);
}

}  // namespace
}  // namespace hone
