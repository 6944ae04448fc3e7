// Sizes that are open until a run: every op on its sample calls, with each size above 1 a symbol. Code for any sizes
// and code for these sizes alone must give the same bits, on the lowest level of CPUs too.
#include <fmt/ranges.h>

#include "base/error.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

Shape symbols_for(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (int64_t size : sizes) shape.push_back(size > 1 ? Dim::symbol(fmt::format("N{}", size)) : Dim(size));
  return shape;
}

struct OpenCalls {
  Graph graph;
  NamedTensors inputs;
  Bindings bindings;
  int taken = 0;
};

// Adds the call to the graph; Error where the op's shape rule wants numbers.
void add_call(OpenCalls& calls, const OpDef& op, const OpCase& one, int number) {
  std::vector<ValueId> operands;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    const std::string label = fmt::format("{}.{}", number, i);
    const std::optional<Tensor>& tensor = one.operands[i];
    if (!tensor) {
      operands.push_back(kNone);
    } else if (tensor->is_packed() || tensor->container() != Container::none || i > 0) {
      operands.push_back(calls.graph.add_constant(label, *tensor));
    } else {
      TensorType type = tensor->type();
      type.shape = symbols_for(tensor->shape());
      operands.push_back(calls.graph.add_input(label, type));
      calls.inputs[label] = *tensor;
      for (int64_t size : tensor->shape())
        if (size > 1) calls.bindings[fmt::format("N{}", size)] = size;
    }
  }
  const NodeId node = calls.graph.add_node(op, operands, one.attributes);
  for (size_t r = 0; r < calls.graph.node(node).results.size(); ++r)
    calls.graph.add_output(calls.graph.result(node, static_cast<int>(r)), fmt::format("{} result {}", number, r));
  ++calls.taken;
}

// target: none: the chosen device, or this CPU.
void expect_bits_of_these_sizes(const OpenCalls& calls, const std::optional<X86Target>& target) {
  SessionOptions options;
  options.cache_folder = std::nullopt;
  options.device = target ? x86_device(*target) : chosen_device();
  Session any(calls.graph, options), these(calls.graph, options);
  const std::vector<Tensor> got = any.run(calls.inputs);
  Bindings bindings;
  for (const std::string& symbol : these.graph().symbols()) bindings[symbol] = calls.bindings.at(symbol);
  these.prepare(bindings);
  const std::vector<Tensor> want = these.run(calls.inputs);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i].same_bits(want[i]))
        << any.output_names()[i] << (target ? " on " + to_string(*target) : "") << ": "
        << fmt::format("{} {}", to_string(got[i].type()), fmt::join(got[i].to_floats(), " ")) << " want "
        << fmt::format("{} {}", to_string(want[i].type()), fmt::join(want[i].to_floats(), " "));
}

class OpenSizes : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpenSizes, CodeForAnySizesGivesTheBitsOfCodeForThese) {
  const OpDef& op = *GetParam();
  Philox rng(1);
  OpenCalls calls;
  int number = 0;
  for (const OpCase& one : cases_for(op, rng)) {
    ++number;
    OpenCalls trial;
    try {
      add_call(trial, op, one, number);
    } catch (const Error&) {
      continue;
    }
    add_call(calls, op, one, number);
  }
  if (calls.taken == 0) GTEST_SKIP() << "no call with open sizes";
  expect_bits_of_these_sizes(calls, std::nullopt);
  if (const std::vector<X86Target> levels = target_levels(); !chosen_device() && levels.size() > 1)
    expect_bits_of_these_sizes(calls, levels.front());
}

INSTANTIATE_TEST_SUITE_P(Registry, OpenSizes, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone::test
