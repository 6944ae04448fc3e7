// Products of codes with scales of blocks, beside the products of floats that the same weights have: by f32 and by bf16
// activations. Rounding the activations is timed by itself.
#include <fmt/format.h>

#include <memory>

#include "bench/kernel_bench.h"
#include "bench/timing.h"
#include "device/x86/block_gemm/shape.h"
#include "device/x86/gemm/prepack.h"
#include "kernels/quantize/spans.h"

namespace hone {
namespace {

// What a kernel runs on.
struct Call {
  explicit Call(const KernelPlan& plan) : code(std::make_unique<Compiled>(plan)) {}
  void run() { code->run(args, items); }

  std::unique_ptr<Compiled> code;
  KernelArgs args;
  int64_t items = 0;
  std::vector<Tensor> tensors;
  Buffer panels;
};

std::byte* address(const Buffer& buffer) { return const_cast<std::byte*>(buffer.bytes().data()); }

Call float_product(int64_t m, const Tensor& w, DType type) {
  const int64_t n = w.dim(0), k = w.dim(1);
  Call call(linear_plan(n, k, type, to_string(*w.format()), m));
  call.tensors = {random_tensor(type, {m, k}), Tensor(DType::f32, {m, n})};
  call.panels = lay_out(call.code->plan, bench_target(), w, 1);
  call.args = to_args(GemmArgs{.a = bytes_of(call.tensors[0]),
                               .w = address(call.panels),
                               .epilogue = {bytes_of(call.tensors[1])},
                               .m = m,
                               .batches = 1,
                               .a_row = k,
                               .inner_batches = 1});
  call.items = call.code->prepare(call.args).items;
  return call;
}

// Of codes in `format`; i8 by one scale for each row where that has rows.
Tensor rounded(const std::string& format, int64_t m, int64_t k) {
  return pack(parse_format(format), random_tensor(DType::f32, {m, k}));
}
bool has_blocks(const std::string& format) { return parse_format(format).geometry.kind == Geometry::Kind::group; }

Call block_product(int64_t m, const Tensor& w, const std::string& activations) {
  const int64_t n = w.dim(0), k = w.dim(1);
  X86BlockGemmPlan plan;
  plan.n = n, plan.k = k;
  if (has_blocks(activations)) plan.x_format = activations;
  plan.w_format = to_string(*w.format());
  plan.results = {DType::f32};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  Call call(plan);
  call.tensors = {rounded(activations, m, k), Tensor(DType::f32, {m, n})};
  call.panels = lay_out(call.code->plan, bench_target(), w, 1);
  call.args = to_args(BlockGemmArgs{.a = bytes_of(call.tensors[0]),
                                    .w = address(call.panels),
                                    .epilogue = {bytes_of(call.tensors[1]), address(call.tensors[0].scales())},
                                    .m = m});
  call.items = call.code->prepare(call.args).items;
  return call;
}

Call rounding(int64_t m, int64_t k, const std::string& activations) {
  const Tensor x = random_tensor(DType::f32, {m, k});
  Format format = parse_format(activations);
  if (!has_blocks(activations)) format.geometry = {.kind = Geometry::Kind::group, .columns = k};
  Call call(QuantizePlan{
      .task = QuantizePlan::Task::pack, .format = name_of_lines(format), .scale_bytes = format.scale.bits / 8});
  call.tensors = {x, pack(format, x)};
  QuantizeArgs named = pack_args(format, packed_layout(format, x.shape()));
  named.x = bytes_of(x), named.out = bytes_of(call.tensors[1]), named.scales = address(call.tensors[1].scales());
  call.args = to_args(named);
  call.items = call.code->prepare(call.args).items;
  return call;
}

void time_shape(KernelBench& bench, int64_t m, int64_t n, int64_t k, const std::string& activations,
                const std::string& weights) {
  const std::string name = fmt::format("{}x{}x{} {} x {} blocks", m, n, k, activations, weights);
  if (bench.skips(name)) return;
  const Tensor w = random_weights(n, k, DType::f32, weights);
  Call codes = block_product(m, w, activations), rounds = rounding(m, k, activations),
       floats = float_product(m, w, DType::f32), halves = float_product(m, w, DType::bf16);
  const double flop = 2.0 * static_cast<double>(m * n * k);
  const int repeats = static_cast<int>(std::max(1.0, 2e8 / flop));
  const auto repeated = [&](Call& call) {
    return [&call, repeats] {
      for (int i = 0; i < repeats; ++i) call.run();
    };
  };
  std::vector<double> us =
      alternate(bench.rounds, {repeated(codes), repeated(rounds), repeated(floats), repeated(halves)});
  for (double& time : us) time *= 1e6 / repeats;
  const double all = us[0] + us[1];
  bench.measured.push_back({{"name", name},
                            {"gops", flop / us[0] * 1e-3},
                            {"rounding_us", us[1]},
                            {"over_f32", us[2] / all},
                            {"over_bf16", us[3] / all}});
  fmt::print(
      "{:<46} {:9.1f} us {:7.1f} GOP/s, rounding {:6.1f} us; f32 {:9.1f} us ({:.2f}x), bf16 {:9.1f} us ({:.2f}x)\n",
      name, us[0], flop / us[0] * 1e-3, us[1], us[2], us[2] / all, us[3], us[3] / all);
}

}  // namespace

void time_block_products(KernelBench& bench) {
  for (const auto& [activations, weights] : {std::pair("mxint8", "mxint8"),
                                             {"mxint8", "mxint4"},
                                             {"int8.g1x0", "int8.g32"},
                                             {"int8.g1x0", "int4.g32"},
                                             {"int8.g1x0", "int4.g128"}}) {
    for (int64_t m : {1, 4, 8, 16, 128}) time_shape(bench, m, 14336, 4096, activations, weights);
    for (int64_t m : {1, 16, 128}) time_shape(bench, m, 1536, 384, activations, weights);
  }
}

}  // namespace hone
