// Strings as elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

std::vector<std::string> texts(const Tensor& x) { return call("format_numbers", {x}).string_values(); }
Tensor numbers(std::vector<std::string> values, DType dtype) {
  const auto count = static_cast<int64_t>(values.size());
  return call("parse_numbers", {Tensor::strings({count}, std::move(values))}, {{"dtype", dtype}});
}
using Texts = std::vector<std::string>;

TEST(FormatNumbers, AreTheShortestThatReadBack) {
  EXPECT_EQ(texts(f32({3}, {0.1f, 1, -2.5f})), (Texts{"0.1", "1", "-2.5"}));
  EXPECT_EQ(texts(Tensor::of<double>({1}, {0.1})), (Texts{"0.1"}));
  EXPECT_EQ(texts(Tensor::of<uint64_t>({1}, {~uint64_t{0}})), (Texts{"18446744073709551615"}));
  EXPECT_EQ(texts(Tensor::of<bool>({2}, {true, false})), (Texts{"1", "0"}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(texts(f32({3}, {kInfinity, -kInfinity, std::nanf("")})), (Texts{"INF", "-INF", "NaN"}));
}

TEST(ParseNumbers, ReadsDecimalsAndNamesOfSpecialValues) {
  EXPECT_EQ(numbers({"3.5", "1e-2", "+4", "1E8"}, DType::f64).to_doubles(), (Doubles{3.5, 0.01, 4, 1e8}));
  const Doubles special = numbers({"+INF", "-inf", "NaN"}, DType::f32).to_doubles();
  EXPECT_EQ(special[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(special[1], -special[0]);
  EXPECT_TRUE(std::isnan(special[2]));
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(numbers({std::to_string(big), "100.5"}, DType::i64).to_integers(), (Ints{big, 100}));
  EXPECT_NE(error_of("parse_numbers", {Tensor::strings({2}, {"1", "1x"})}, {{"dtype", DType::f32}})
                .find("element 1 is \"1x\""),
            std::string::npos);
}

TEST(Strings, CompareAndChooseElementByElement) {
  const Tensor a = Tensor::strings({2, 1}, {"x", "y"}), b = Tensor::strings({2}, {"y", "x"});
  EXPECT_EQ(call("equal_strings", {a, b}).to_integers(), (Ints{0, 1, 1, 0}));
  const Tensor condition = Tensor::of<bool>({2}, {true, false});
  EXPECT_EQ(call("where_strings", {condition, a, b}).string_values(), (Texts{"x", "x", "y", "x"}));
  EXPECT_NE(error_of("equal_strings", {a, f32({1}, {1})}).find("operand 1 is f32[1]"), std::string::npos);
}

}  // namespace
}  // namespace hone
