// The kernel class of cummax and cummin, beyond what holds for every op and class: values of which a maximum may be
// any, rows of every length around a vector's, what people are told.
#include "device/x86/x86_kernel.h"
#include "kernels/cumulative/plan.h"
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

std::string text(const std::string& type, const std::string& op, const std::string& attributes) {
  return fmt::format("graph g {{\n %x : {0} = input \"x\"\n %y = {1} %x {{{2}}}\n return %y as \"y\"\n}}", type, op,
                     attributes);
}

TEST(Cumulative, RunsOfEveryLengthAroundAVector) {
  for (int length : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100})
    for (int reverse : {0, 1}) {
      expect_text_conforms(text(fmt::format("f32[3,{}]", length), "cummax", fmt::format("reverse={}", reverse)), {}, {},
                           "cumulative cummax; ");
      expect_text_conforms(
          text(fmt::format("i16[2,5,{}]", length), "cummin", fmt::format("axis=1, reverse={}", reverse)), {}, {},
          "cumulative cummin; ");
    }
}

// The bits of an element whatever is compared with what first: of equal zeros the first, of NaNs the first.
TEST(Cumulative, ZerosOfBothSignsAndNaNsStayAsTheyAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.push_back(i % 3 ? -0.0f : 0.0f);
  for (int i = 0; i < 40; ++i) values.push_back(i == 21 ? nan : i == 5 ? -inf : static_cast<float>((i * 7) % 11 - 5));
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const char* op : {"cummax", "cummin"})
      for (const char* attributes : {"axis=1", "axis=1, reverse=1", "axis=0", "axis=0, reverse=1"}) {
        const Graph graph = parse(text(fmt::format("{}[2,40]", to_string(dtype)), op, attributes));
        expect_conforms(graph, {{"x", Tensor::from_floats(dtype, {2, 40}, values)}});
      }
}

TEST(Cumulative, BetweenOtherKernelsAndOverItsOperand) {
  expect_text_conforms(R"(graph g {
      %x : f32[4,37] = input "x"
      %e = relu %x
      %m = cummax %e
      %d = sub %m, 1.0
      return %d as "d"
    })",
                       {}, {}, "cumulative cummax; pointwise sub");
}

TEST(Cumulative, SaysHowItRuns) {
  const X86Target target = target_levels().front();
  EXPECT_EQ(describe(CumulativePlan{.dtype = DType::bf16}, target), "largest 8 bf16 at a time, along the axis");
  EXPECT_EQ(describe(CumulativePlan{.largest = false, .along = false}, target),
            "smallest 8 f32 at a time, beside each other");
  EXPECT_EQ(supports(CumulativePlan{.dtype = DType::i4}, target).why, "elements of type i4");
}

}  // namespace
}  // namespace hone::test
