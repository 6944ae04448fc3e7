// Weights that are no constants: inputs, parameters, views of these, and computed ones. Whatever class reads them gives
// what it does of constants.
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_case.h"

namespace hone::test {
namespace {

enum class Given : uint8_t { constant, input, parameter, view, moved, computed };

struct Reader {
  const OpDef* op;
  Sizes64 x, w;
  Attributes attributes = {};
};

using Integers = std::vector<int64_t>;

std::vector<Reader> readers() {
  std::vector<Reader> all{{&linear_def, {5, 7}, {9, 7}},
                          {&linear_def, {2, 3, 16}, {33, 16}},
                          {&matmul_def, {5, 7}, {7, 9}},
                          {&matmul_def, {2, 5, 7}, {2, 9, 7}, {{"transpose_b", int64_t{1}}}}};
  const auto windows = [&](const OpDef& op, const Sizes64& x, const Sizes64& w, const Attributes& attributes) {
    const size_t dims = x.size() - 2;
    all.push_back({&op, x, w, attributes});
    for (const auto& [name, list] :
         {std::pair("pads", Integers(2 * dims, 1)), std::pair("dilations", Integers(dims, 2)),
          std::pair("strides", Integers(dims, 2))}) {
      all.push_back({&op, x, w, attributes});
      all.back().attributes.set(name, list);
    }
  };
  const Sizes64 plane{5, 6, 7}, kernel{3, 2, 3};
  for (size_t dims = 1; dims <= 3; ++dims)
    for (const auto& [channels, outputs, groups] : {std::tuple(3, 5, 1), {4, 6, 2}, {4, 4, 4}, {4, 8, 4}, {1, 3, 1}})
      for (bool one_tap : {false, true}) {
        const auto joined = [&](Sizes64 sizes, const Sizes64& spatial) {
          sizes.insert(sizes.end(), spatial.begin(), spatial.begin() + static_cast<ptrdiff_t>(dims));
          return sizes;
        };
        const Attributes attributes{{"groups", int64_t{groups}}};
        const Sizes64 taps = one_tap ? Sizes64{1, 1, 1} : kernel, x = joined({2, channels}, plane);
        windows(conv_def, x, joined({outputs, channels / groups}, taps), attributes);
        windows(conv_transpose_def, x, joined({channels, outputs / groups}, taps), attributes);
      }
  return all;
}

struct Built {
  Graph graph;
  NamedTensors given, all;  // what callers give, and parameters too
};

Built built(const Reader& reader, Given how) {
  Philox rng(3);
  Built b;
  const auto input = [&](const char* label, const Tensor& value) {
    b.given[label] = value;
    return b.graph.add_input(label, value.type());
  };
  const ValueId x = input("x", random_floats(rng, reader.x));
  const auto weight = [&]() -> ValueId {
    const Tensor w = random_floats(rng, reader.w);
    switch (how) {
      case Given::constant:
        return b.graph.add_constant("w", w);
      case Given::input:
        return input("w", w);
      case Given::parameter:
        b.all["w"] = w;
        return b.graph.add_parameter("w", w);
      case Given::view:
        return ops::reshape(b.graph, {.x = input("w", w.reshaped({w.elements()})), .shape = to_shape(reader.w)});
      case Given::moved: {
        const ValueId turned = input("w", random_floats(rng, {reader.w.rbegin(), reader.w.rend()}));
        return ops::transpose(b.graph, {turned});
      }
      case Given::computed:
        return ops::mul(b.graph, {input("w", w), b.graph.add_scalar(0.5f)});
    }
    CHECK(false);
  };
  b.graph.add_output(b.graph.emit(*reader.op, {x, weight()}, reader.attributes), "y");
  b.all.insert(b.given.begin(), b.given.end());
  return b;
}

std::string text_of(const Reader& reader) {
  return fmt::format("{} {}, {}", reader.op->name, to_string(to_shape(reader.x)), to_string(to_shape(reader.w)));
}

class GivenWeights : public testing::TestWithParam<Given> {};

TEST_P(GivenWeights, AreReadAsConstantsAre) {
  for (const Reader& reader : readers()) {
    const Built b = built(reader, GetParam());
    SCOPED_TRACE(text_of(reader));
    expect_outputs(run_session(b.graph, b.given, {}), bounded_outputs(b.graph, b.all), "");
  }
}

std::string name_of(const testing::TestParamInfo<Given>& info) {
  constexpr const char* kNames[] = {"constant", "input", "parameter", "view", "moved", "computed"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, GivenWeights,
                         testing::Values(Given::constant, Given::input, Given::parameter, Given::view, Given::moved,
                                         Given::computed),
                         name_of);

}  // namespace
}  // namespace hone::test
