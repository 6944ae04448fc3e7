#include "jobs/bench_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/philox.h"
#include "formats/packed.h"
#include "jobs/explain_op.h"
#include "ops/calls/linear.h"

namespace hone {
namespace {

constexpr int64_t kReadBytes = 128 << 20;  // more than last-level caches hold
constexpr int64_t kMostMatrices = 64;

Tensor normal_values(std::vector<int64_t> shape, Philox& rng) {
  Tensor values(DType::f32, std::move(shape));
  for (float& x : values.mutable_as<float>()) x = rng.normal();
  return values;
}

std::string title_of(const char* op, const std::array<int64_t, 2>& shape, const Format& format) {
  return fmt::format("{} {}x{} {}", op, shape[0], shape[1], to_string(format));
}

Buffer copy_of(const Buffer& bytes) { return Buffer::copy_of(bytes.bytes()); }

// In memory of its own.
Tensor copy_of(const Tensor& matrix) {
  if (!matrix.is_packed()) return Tensor(matrix.dtype(), matrix.shape(), copy_of(matrix.data()));
  return Tensor::packed(*matrix.format(), matrix.shape(), copy_of(matrix.data()), copy_of(matrix.scales()),
                        copy_of(matrix.zero_points()), copy_of(matrix.global()));
}

// y0, y1, ... of one x and as many matrices, each in memory of its own.
Graph linear_graph(const char* name, int64_t rows, const Tensor& matrix, int64_t matrices) {
  Graph g;
  g.name = name;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = Shape{rows, matrix.shape()[1]}, .format = {}});
  for (int64_t i = 0; i < matrices; ++i) {
    const ValueId w = g.add_constant(fmt::format("w{}", i), copy_of(matrix));
    g.add_output(ops::linear(g, {.x = x, .w = w}), fmt::format("y{}", i));
  }
  return g;
}

}  // namespace

MatrixResult bench_linear(const LinearBenchOptions& options, const OpMeasuring& measuring, const TaskContext& context) {
  refuse_without_codes("weight-format", options.format);
  const int64_t bytes = plane_bytes(options.format, options.shape).total(),
                matrices = std::clamp<int64_t>((kReadBytes + bytes - 1) / bytes, 1, kMostMatrices),
                elements = checked_mul(options.shape[0], options.shape[1]);
  require_memory(checked_mul(checked_mul(elements, 9), matrices),
                 fmt::format("--shape {}", fmt::join(options.shape, ",")));
  require_memory(checked_mul(checked_mul(checked_add(options.shape[0], options.shape[1]), options.rows), 8),
                 fmt::format("--rows {}", options.rows));
  Philox rng(measuring.seed);
  const Tensor packed = pack(options.format, normal_values({options.shape[0], options.shape[1]}, rng));
  const NamedTensors inputs{{"x", normal_values({options.rows, options.shape[1]}, rng)}};
  std::vector<OpForm> forms;
  forms.push_back({"plain", linear_graph("plain", options.rows, unpack(packed), matrices), inputs});
  forms.push_back({"packed", linear_graph("packed", options.rows, packed, matrices), inputs});
  open_sessions(forms, measuring.session);
  const double apart =
      largest_difference(forms[0].session->run(forms[0].inputs)[0], forms[1].session->run(forms[1].inputs)[0]);
  // Sums of f32, or of operands that were rounded.
  const bool is_rounded = forms[1].session->compute() != Compute::f32;
  CHECK(apart <= (is_rounded ? 0.05 : 1e-4), "plain and packed products differ by {}", apart);
  return {.title = fmt::format("{}, {} {}", title_of("Linear", options.shape, options.format), options.rows,
                               options.rows == 1 ? "row" : "rows"),
          .matrices = matrices,
          .ops = time_forms(forms, measuring, context),
          .measuring = measuring,
          .environment = environment()};
}

MatrixResult bench_dequantize(const DequantizeOptions& options, const OpMeasuring& measuring,
                              const TaskContext& context) {
  Graph graph = dequantize_model(options).graph;
  require_memory(checked_mul(checked_mul(options.shape[0], options.shape[1]), 9),
                 fmt::format("--shape {}", fmt::join(options.shape, ",")));
  Philox rng(measuring.seed);
  const Tensor packed = pack(options.format, normal_values({options.shape[0], options.shape[1]}, rng));
  std::vector<OpForm> forms;
  forms.push_back({"dequantize", std::move(graph), {{"codes", packed}}});
  open_sessions(forms, measuring.session);
  return {
      .title = fmt::format("{} to {}", title_of("Dequantize", options.shape, options.format), to_string(options.type)),
      .ops = time_forms(forms, measuring, context),
      .measuring = measuring,
      .environment = environment()};
}

}  // namespace hone
