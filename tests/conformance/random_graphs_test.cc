// Random graphs: interpreted, compiled with and without fusion, and on every level of instructions they give what the
// reference does. Integers and moves in bits, floats within their bounds. HONE_TEST_FULL runs thousands of them.
#include <cstdlib>
#include <set>

#include "ir/text.h"
#include "tests/conformance/conform.h"
#include "tests/conformance/random_element_steps.h"
#include "tests/conformance/random_move_steps.h"
#include "tests/conformance/random_product_steps.h"
#include "tests/conformance/random_row_steps.h"
#include "tests/conformance/random_window_steps.h"

namespace hone::test {
namespace {

constexpr std::array<std::span<const RandomStep>, 5> kClasses{kRowSteps, kElementSteps, kProductSteps, kWindowSteps,
                                                              kMoveSteps};

// Steps of all classes, or mostly of two, which then meet in groups.
RandomGraph random_graph(uint64_t seed, bool open) {
  RandomGraph g(seed, open);
  const std::array mostly{kClasses[static_cast<size_t>(g.below(5))], kClasses[static_cast<size_t>(g.below(5))]};
  const int64_t steps = 3 + g.below(8);
  for (int64_t i = 0; i < steps; ++i) {
    const auto& steps_of = g.one_in(3) ? kClasses[static_cast<size_t>(g.below(5))] : mostly[static_cast<size_t>(i % 2)];
    try {
      steps_of[static_cast<size_t>(g.below(std::ssize(steps_of)))].add(g);
    } catch (const Error&) {  // what was drawn is refused; what it was to be made of stays
    }
  }
  g.add_outputs();
  return g;
}

int seeds() { return std::getenv("HONE_TEST_FULL") ? 6000 : 300; }

// Each pair of seeds is one graph, with fixed sizes and with open ones.
class RandomGraphs : public testing::TestWithParam<int> {
 protected:
  RandomGraphs() : g_(random_graph(static_cast<uint64_t>(GetParam() / 2), GetParam() % 2 != 0)) {}

  void expect_reference(const std::string& what, SessionOptions options) {
    const Ran ran = run_session(g_.graph, g_.inputs, std::move(options));
    for (size_t i = 0; i < ran.outputs.size(); ++i) {
      const Bounded& want = g_.known(g_.graph.outputs()[i].value);
      EXPECT_EQ(element_fault_of(ran.outputs[i], want), "") << what << ", output " << ran.names[i];
    }
    expect_honest_profile(ran.profile);
    for (const StepProfile& step : ran.profile.steps) kinds_.insert(step.kind);
  }

  static void TearDownTestSuite() {
    if (testing::UnitTest::GetInstance()->test_to_run_count() < seeds()) return;
    for (const char* kind : {"attention", "columns", "conv", "gather", "gemm", "pointwise", "quantize", "resize", "row",
                             "running", "top_k", "transpose", "window"})
      EXPECT_TRUE(kinds_.contains(kind)) << kind;
  }

  RandomGraph g_;
  inline static std::set<std::string> kinds_;
};

TEST_P(RandomGraphs, GiveWhatTheReferenceDoes) {
  SCOPED_TRACE(print(g_.graph));
  expect_reference("-O0", {.optimise = 0});
  expect_reference("-O2", {});
  expect_reference("without fusion", {.fuse = false});
  const std::vector<X86Target> levels = target_levels();
  for (size_t i = 0; i + 1 < levels.size(); ++i)
    expect_reference(std::string(to_string(levels[i])), {.device = x86_device(levels[i])});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, seeds()));

}  // namespace
}  // namespace hone::test
