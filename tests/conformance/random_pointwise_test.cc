// Random graphs of pointwise ops with broadcasts, several readers and several outputs: however they are fused, results
// are the reference's, bit for bit where no transcendental function takes part.
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

constexpr const char* kExact[] = {"add", "sub", "mul", "min", "max", "neg", "abs", "relu", "sign", "floor", "identity"};
constexpr const char* kSmooth[] = {"sigmoid", "tanh", "erf", "sin", "cos", "gelu", "silu"};

const std::vector<std::vector<int64_t>> kShapes{{3, 5, 18}, {5, 18}, {18}, {1}, {3, 1, 18}, {5, 1}, {}};

class RandomDag {
 public:
  RandomDag(uint64_t seed, bool smooth) : rng_(seed), smooth_(smooth) {}

  void build(int nodes) {
    for (size_t i = 0; i < kShapes.size(); ++i) {
      const std::string label = fmt::format("x{}", i);
      inputs[label] = random_floats(rng_, kShapes[i]);
      values_.push_back(graph.add_input(label, inputs[label].type()));
    }
    for (int i = 0; i < nodes; ++i) values_.push_back(node());
    for (size_t i = kShapes.size(); i < values_.size(); ++i)
      if (graph.use_count(values_[i]) == 0 || rng_.below(6) == 0) graph.add_output(values_[i], fmt::format("y{}", i));
  }

  Graph graph;
  NamedTensors inputs;

 private:
  ValueId any() { return values_[rng_.below(static_cast<uint32_t>(values_.size()))]; }
  template <size_t n>
  const OpDef& one_of(const char* const (&names)[n]) {
    return ops::get(names[rng_.below(n)]);
  }

  ValueId node() {
    const OpDef& op = smooth_ && rng_.below(3) == 0 ? one_of(kSmooth) : one_of(kExact);
    if (rng_.below(8) == 0) {
      const ValueId less = graph.emit(ops::get("less"), {any(), any()});
      return graph.emit(ops::get("where"), {less, any(), any()});
    }
    std::vector<ValueId> operands{any()};
    if (op.operands.most() == 2) operands.push_back(any());
    const ValueId y = graph.emit(op, operands);
    // Products and sums of what came before grow without limit, and a sine of something huge means nothing.
    return op.operands.most() == 2 ? graph.emit(ops::get("clip"), {y}, {{"min", -4.0}, {"max", 4.0}}) : y;
  }

  Philox rng_;
  bool smooth_;
  std::vector<ValueId> values_;
};

class RandomPointwise : public testing::TestWithParam<int> {};

TEST_P(RandomPointwise, WithoutTranscendentalFunctionsIsExact) {
  RandomDag dag(static_cast<uint64_t>(GetParam()), false);
  dag.build(20);
  for (const Bounded& output : bounded_outputs(dag.graph, dag.inputs)) EXPECT_TRUE(output.exact());
  expect_conforms(dag.graph, dag.inputs);
}

// Few nodes, because a bound that grows through many says nothing any more.
TEST_P(RandomPointwise, WithTranscendentalFunctionsStaysWithinThePropagatedBound) {
  RandomDag dag(static_cast<uint64_t>(GetParam()) + 1000, true);
  dag.build(12);
  expect_conforms(dag.graph, dag.inputs);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPointwise, testing::Range(0, 8));

}  // namespace
}  // namespace hone::test
