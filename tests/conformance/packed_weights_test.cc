// Every packed format under every op that reads weights: compiled, from codes, within the bound of the decoded
// reference.
#include "device/x86/gemm/prepack.h"
#include "device/x86/gemm/shape.h"
#include "formats/packed.h"
#include "tests/conformance/conform.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_cases.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

// Rows for a dot product, a few and many; windows over all channels, over those of two groups, and over one each; a
// table. No size is a multiple of anything that kernels like.
Graph graph_of(const std::string& format, const NamedTensors& weights) {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType&) { return weights.at(name); };
  return parse_graph(fmt::format(R"(graph g {{
    %one : f32[1,77] = input "one"
    %few : f32[5,77] = input "few"
    %many : f32[33,77] = input "many"
    %image : f32[1,5,6,12] = input "image"
    %ids : i64[2,3] = input "ids"
    %w : {0}[35,77] = const "linear"
    %dense : {0}[20,108] = const "dense"
    %grouped : {0}[20,54] = const "grouped"
    %depthwise : {0}[12,9] = const "depthwise"
    %table : {0}[11,72] = const "table"
    %a = linear %one, %w
    %b = linear %few, %w
    %c = matmul %many, %w {{transpose_b=1}}
    %d = conv %image, %dense {{channels_last=1, kernel_shape=[3,3], pads=[1,1,1,1]}}
    %e = conv %image, %grouped {{channels_last=1, kernel_shape=[3,3], pads=[1,1,1,1], groups=2}}
    %f = conv %image, %depthwise {{channels_last=1, kernel_shape=[3,3], pads=[1,1,1,1], groups=12}}
    %g = gather %table, %ids {{axis=0}}
    return %a as "one", %b as "few", %c as "many", %d as "dense", %e as "grouped", %f as "depthwise", %g as "rows"
  }})",
                                 format),
                     context);
}

class PackedWeights : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, PackedWeights, testing::ValuesIn(packed_examples()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST_P(PackedWeights, AreReadByCompiledKernelsOnEveryLevel) {
  Philox rng(7);
  const Format format = parse_format(GetParam());
  NamedTensors weights, inputs;
  for (const auto& [name, shape] : {std::pair{"linear", std::vector<int64_t>{35, 77}},
                                    {"dense", {20, 108}},
                                    {"grouped", {20, 54}},
                                    {"depthwise", {12, 9}},
                                    {"table", {11, 72}}})
    weights[name] = pack(format, random_floats(rng, shape, DType::f32, -4, 4));
  for (const auto& [name, shape] :
       {std::pair{"one", std::vector<int64_t>{1, 77}}, {"few", {5, 77}}, {"many", {33, 77}}, {"image", {1, 5, 6, 12}}})
    inputs[name] = random_floats(rng, shape);
  inputs["ids"] = Tensor::of<int64_t>({2, 3}, {0, 10, -1, 3, 3, -11});
  const Graph graph = graph_of(GetParam(), weights);
  for (Compute compute : {Compute::f32, Compute::bf16}) {
    SessionOptions options;
    options.compute = compute;
    expect_conforms(graph, inputs, options);
    for (const StepProfile& step : run_session(graph, inputs, options).profile.steps)
      EXPECT_NE(step.kind, "interpreted") << step.ops << ": " << step.why_interpreted;
  }
}

// What kernels read of a weight is as large as what was stored. Beyond the planes themselves a panel may hold: codes of
// 7 bits in 8; the scales of a tile of several outputs once for each vector of 8 or 16 columns it lies under; the
// number of each column where columns share scales; and each panel ends on 64 bytes.
TEST_P(PackedWeights, HaveNoDecodedCopy) {
  constexpr int64_t kN = 256, kK = 512;
  const Format format = parse_format(GetParam());
  const PlaneBytes planes = plane_bytes(format, std::vector<int64_t>{kN, kK});
  for (const X86Target& target : target_levels())
    for (int64_t rows : {1, 0}) {
      X86GemmPlan plan;
      plan.n = kN, plan.k = kK, plan.w_format = GetParam();
      const GemmShape s = gemm_shape(plan, target, rows);
      const ScaleGrid grid = scale_grid(format);
      const int64_t outputs = grid.rows ? std::min(grid.rows, kN) : kN;
      const double codes = static_cast<double>(planes.codes) * (format.element.bits == 7 ? 8.0 / 7 : 1);
      const int64_t repeated = grid.rows == 1 ? 1 : (outputs + s.lanes - 1) / s.lanes + 1;
      const double scales = static_cast<double>((planes.scales + planes.zero_points) * repeated);
      EXPECT_LE(static_cast<double>(prepacked_bytes(plan, target)),
                codes + scales * 8 / std::max(1, std::min(8, format.scale.bits)) +
                    static_cast<double>(s.panels() * (4 * s.panel_columns() + 4 * s.vectors + 64)))
          << to_string(target);
    }
}

}  // namespace
}  // namespace hone::test
