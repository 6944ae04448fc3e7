// NaN and infinities propagate as IEEE says; on demand the first step that makes one is named.
#include "runtime/check_finite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

class CheckFinite : public testing::TestWithParam<int> {
 protected:
  Session session(std::string_view text) const {
    SessionOptions options;
    options.optimise = GetParam();
    return Session(test::parse(text), options);
  }
  static NamedTensors x(std::vector<float> values) {
    const auto n = static_cast<int64_t>(values.size());
    return {{"x", Tensor::of<float>({1, n}, values)}};
  }
  static std::string error(Session& session, const NamedTensors& inputs) {
    return test::error_of([&] { session.run_checked(inputs); });
  }
};

TEST_P(CheckFinite, GivesWhatARunGivesWhenAllIsFinite) {
  Session s = session("%x : f32[1,N] = input \"x\" %e = exp %x %m = softmax %e return %m");
  EXPECT_TRUE(s.run_checked(x({1, 2, 3}))[0].same_bits(s.run(x({1, 2, 3}))[0]));
}

TEST_P(CheckFinite, NamesTheFirstProducerAndThatItsOperandsWereFinite) {
  Session s = session(R"(graph g {
    %x : f32[1,4] = input "x"
    %m = softmax %x
    %r = log %x
    %y = add %r, %m
    return %y as "y"
  })");
  const std::string fault = error(s, x({1, 2, -1, 3}));
  EXPECT_THAT(fault, AllOf(HasSubstr("log"), HasSubstr("NaN at [0,2]"), HasSubstr("input \"x\" is finite")));
}

TEST_P(CheckFinite, AnInputThatIsNotFiniteIsSaidToBeSo) {
  Session s = session("%x : f32[1,N] = input \"x\" %r = neg %x %m = softmax %r return %m");
  EXPECT_THAT(error(s, x({1, -kInfinity})), AllOf(HasSubstr("neg"), HasSubstr("input \"x\" has -inf at [0,1]")));
  EXPECT_TRUE(std::isnan(s.run(x({1, kNaN}))[0].to_floats()[0])) << "unchecked, NaN propagates";
}

TEST_P(CheckFinite, AWeightThatIsNotFiniteIsNamed) {
  Graph graph = test::parse("%x : f32[1,2] = input \"x\" %w : f32[2,2] = input \"w\" %h = linear %x, %w return %h");
  const ValueId w = graph.inputs()[1];
  graph.replace_all_uses(w, graph.add_constant("dense.weight", Tensor::of<float>({2, 2}, {1, 2, kNaN, 4})));
  graph.erase_input(w);
  SessionOptions options;
  options.optimise = GetParam();
  Session s(std::move(graph), options);
  EXPECT_THAT(error(s, x({1, 1})), AllOf(HasSubstr("linear (\"dense.weight\")"), HasSubstr("NaN at [0,1]"),
                                         HasSubstr("\"dense.weight\" has NaN at [1,0]")));
}

INSTANTIATE_TEST_SUITE_P(Session, CheckFinite, testing::Values(0, 1, 2),
                         [](const auto& info) { return "O" + std::to_string(info.param); });

TEST(CheckFiniteOpen, LooksBehindShapesThatDependOnData) {
  Session s(test::parse("%x : f32[N] = input \"x\" %n = non_zero %x %c = cast %n {dtype=f32} %l = log %c return %l"),
            {});
  const NamedTensors inputs{{"x", Tensor::of<float>({2}, {1, 1})}};
  EXPECT_THROW(s.run_checked(inputs), Error);  // the index 0 has the logarithm -inf
  EXPECT_EQ(s.run(inputs)[0].to_floats()[0], -kInfinity);
}

TEST(FirstNotFinite, KnowsEveryFloatingTypeAndNothingOfIntegers) {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor t = Tensor::from_doubles(dtype, {2, 2}, std::vector<double>{1, 2, -INFINITY, NAN});
    EXPECT_EQ(first_not_finite(t), "-inf at [1,0]") << to_string(dtype);
    EXPECT_EQ(first_not_finite(Tensor::from_doubles(dtype, {2}, std::vector<double>{60000, -0.0})), "");
  }
  EXPECT_EQ(first_not_finite(Tensor::of<int64_t>({1}, {-1})), "");
  EXPECT_EQ(first_not_finite(Tensor(DType::f32, {0})), "");
}

}  // namespace
}  // namespace hone
