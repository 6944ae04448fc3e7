// bench_kernels [--only substring]... [--rounds n] [--isa level] [--cold] [--every-format] [--json file]: single-thread
// speed of generated kernels as a fraction of what the machine reaches in the same run. Each round times the peak loop
// and the kernel one after the other, so that both see the same clock and neighbours; the figures are the best of all
// rounds of each.
#include <fmt/format.h>

#include <cmath>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "bench/kernel_bench.h"
#include "bench/timing.h"
#include "device/x86/attention/shape.h"
#include "device/x86/conv/prepack.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/peak_loops.h"
#include "device/x86/reduce_window/prepack.h"
#include "kernels/add_rows/plan.h"
#include "kernels/attention_gradient/plan.h"
#include "kernels/columns/plan.h"
#include "kernels/conv_weight_gradient/plan.h"

namespace hone {
namespace {

void against_peak(KernelBench& bench, const std::string& name, double flop, DType type, const Compiled& code,
                  const std::function<void()>& run) {
  ArithmeticLoop loop = type == DType::i8     ? int8_loop(cpu_features())
                        : type == DType::bf16 ? bf16_loop(cpu_features())
                                              : f32_loop(cpu_features());
  if (!loop.run) loop = f32_loop(cpu_features());
  constexpr int64_t kSteps = 20000;
  const std::vector<double> times = alternate(bench.rounds, {[&] { loop.run(kSteps); }, run});
  const double peak = times[0], time = times[1];
  const double peak_gflops = loop.flop_per_step * kSteps / peak * 1e-9, gflops = flop / time * 1e-9;
  bench.measured.push_back({{"name", name}, {"gflops", gflops}, {"share", gflops / peak_gflops}});
  fmt::print("{:<34} {:8.1f} GFLOP/s  {:5.1f} % of {:.1f}   compile {:.1f} ms{}\n", name, gflops,
             100 * gflops / peak_gflops, peak_gflops, code.milliseconds, code.spilled ? " (smaller tile)" : "");
}

void time_gemm(KernelBench& bench, const std::string& shape, int64_t m, int64_t n, int64_t k, DType type,
               const std::string& format = "") {
  const std::string name =
      fmt::format("{} {}{} {}", shape, to_string(type), format.empty() ? "" : " x " + format, "gemm");
  if (bench.skips(name)) return;
  const X86GemmPlan plan = linear_plan(n, k, type, format, m);
  const Tensor w = random_weights(n, k, type, format);
  const Tensor a = random_tensor(type, {m, k}), scales = random_tensor(DType::f32, {n}), out(DType::f32, {m, n});
  const Buffer packed = lay_out(plan, bench_target(), w, 1);
  Compiled code(plan);
  GemmArgs named{.a = bytes_of(a), .m = m, .batches = 1, .a_row = k, .inner_batches = 1};
  named.epilogue[0] = bytes_of(plan.operands.empty() ? out : scales);
  named.epilogue[plan.operands.size()] = bytes_of(out);
  KernelArgs args = to_args(named);
  const int64_t items = code.prepare(args).items;
  const int repeats = static_cast<int>(std::max(1.0, 2e8 / (2.0 * static_cast<double>(m * n * k))));
  const LaidOut weights(packed, bench.cold);
  against_peak(bench, name, 2.0 * static_cast<double>(m * n * k) * repeats, type, code, [&] {
    for (int i = 0; i < repeats; ++i) {
      args.pointers[place_of<&GemmArgs::w>] = weights.next();
      code.run(args, items);
    }
  });
}

// A product of two values that are no constants: a layer with weights that learn ([n,k]), its gradient by the input
// (weights as [k,n]), and by the weights (A by columns).
void time_activations(KernelBench& bench, const std::string& shape, int64_t m, int64_t n, int64_t k, DType type,
                      X86GemmPlan::Weights weights, bool by_columns) {
  const bool nk = weights == X86GemmPlan::Weights::activation_nk;
  const std::string name = fmt::format("{} {} {} gemm", shape, to_string(type),
                                       by_columns ? "dW"
                                       : nk       ? "forward"
                                                  : "dX");
  if (bench.skips(name)) return;
  X86GemmPlan plan = linear_plan(n, k, type, "", m);
  plan.weights = weights, plan.a_by_columns = by_columns, plan.w = type;
  plan.a_row_stride = by_columns ? 0 : k;
  if (by_columns) plan.k = 0;  // as many as there are tokens
  const Tensor a = random_tensor(type, {m, k}), w = random_tensor(type, {n, k}), out(DType::f32, {m, n});
  Compiled code(plan);
  KernelArgs args = to_args(GemmArgs{.a = bytes_of(a),
                                     .w = bytes_of(w),
                                     .epilogue = {bytes_of(out)},
                                     .m = m,
                                     .batches = 1,
                                     .a_row = by_columns ? m : k,
                                     .w_row = nk ? k : n,
                                     .inner_batches = 1,
                                     .n = n,
                                     .k = k});
  const int64_t items = code.prepare(args).items;
  const int repeats = static_cast<int>(std::max(1.0, 2e8 / (2.0 * static_cast<double>(m * n * k))));
  against_peak(bench, name, 2.0 * static_cast<double>(m * n * k) * repeats, type, code, [&] {
    for (int i = 0; i < repeats; ++i) code.run(args, items);
  });
}

// A square window on a square plane, half the window as padding.
PlaneWindow square_window(int64_t extent, int64_t kernel, int64_t stride) {
  const int64_t pad = kernel / 2, places = (extent + 2 * pad - kernel) / stride + 1;
  return {.height = extent,
          .width = extent,
          .out_height = places,
          .out_width = places,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride_y = stride,
          .stride_x = stride,
          .pad_top = pad,
          .pad_left = pad};
}

// Squared: the taps of all windows that lie in the plane.
int64_t rows_inside(const PlaneWindow& w) {
  int64_t inside = 0;
  for (int64_t place = 0; place < w.out_height; ++place)
    for (int64_t tap = 0; tap < w.kernel_height; ++tap) {
      const int64_t at = place * w.stride_y - w.pad_top + tap;
      inside += at >= 0 && at < w.height;
    }
  return inside;
}

// A 3x3, 1x1 or 7x7 convolution, by code for this plane or for any. Products with the padding don't count.
void time_conv(KernelBench& bench, int64_t extent, int64_t channels, int64_t outputs, int64_t kernel, int64_t stride,
               DType type, X86ConvPlan::Method method, bool any_plane = false) {
  const std::string name = fmt::format(
      "{0}x{0}x{1} -> {2} {3}x{3}/{4} {5} {6}{7}", extent, channels, outputs, kernel, stride, to_string(type),
      to_string(method) == "direct" ? "conv" : to_string(method), any_plane ? " any plane" : "");
  if (bench.skips(name)) return;
  X86ConvPlan plan;
  plan.method = method;
  plan.channels = channels;
  plan.window = square_window(extent, kernel, stride);
  const int64_t places = plan.window.out_height;
  const double flop =
      2.0 * std::pow(static_cast<double>(rows_inside(plan.window)), 2) * static_cast<double>(channels * outputs);
  plan.product.n = outputs, plan.product.k = kernel * kernel * channels, plan.product.a = plan.product.w = type;
  plan.product.results = {type};
  plan.product.operands = {{DType::f32, X86GemmPlan::Access::column}};
  plan.product.program = flatten(max(Expr::arg(0, Scalar::f32) + Expr::arg(1, Scalar::f32), 0.0f));
  const Tensor w = random_tensor(type, {outputs, plan.product.k}), bias = random_tensor(DType::f32, {outputs});
  const Tensor x = random_tensor(type, {extent, extent, channels}), out(type, {places, places, outputs});
  ConvArgs named{.x = bytes_of(x), .epilogue = {bytes_of(bias), bytes_of(out)}, .rows = places * places, .images = 1};
  if (any_plane) for_any_plane(plan, named.window);
  const Buffer packed = lay_out(plan, bench_target(), w, 1);
  Compiled code(plan);
  KernelArgs args = to_args(named);
  const int64_t items = code.prepare(args).items;
  const LaidOut weights(packed, bench.cold);
  against_peak(bench, name, flop, type, code, [&] {
    args.pointers[place_of<&ConvArgs::w>] = weights.next();
    code.run(args, items);
  });
}

// A depthwise convolution, by code for this plane or for any.
void time_depthwise(KernelBench& bench, int64_t extent, int64_t channels, int64_t kernel, int64_t stride,
                    bool any_plane) {
  const std::string name = fmt::format("{0}x{0}x{1} {2}x{2}/{3} depthwise{4}", extent, channels, kernel, stride,
                                       any_plane ? " any plane" : "");
  if (bench.skips(name)) return;
  ReduceWindowPlan plan;
  plan.plane = square_window(extent, kernel, stride);
  plan.channels = channels, plan.reduction = ReduceWindowPlan::Reduction::products;
  plan.results = {DType::f32};
  plan.program = flatten(max(Expr::arg(0, Scalar::f32), 0.0f));
  const int64_t places = plan.plane.out_height;
  const double flop = 2.0 * std::pow(static_cast<double>(rows_inside(plan.plane)), 2) * static_cast<double>(channels);
  const Tensor w = random_tensor(DType::f32, {channels, kernel * kernel}),
               x = random_tensor(DType::f32, {extent, extent, channels}), out(DType::f32, {places, places, channels});
  ReduceWindowArgs named{.x = bytes_of(x), .epilogue = {bytes_of(out)}, .images = 1};
  if (any_plane) for_any_plane(plan, named);
  const Buffer packed = lay_out(plan, bench_target(), w, 1);
  Compiled code(plan);
  named.w = const_cast<std::byte*>(packed.bytes().data());
  KernelArgs args = to_args(named);
  const int64_t items = code.prepare(args).items;
  against_peak(bench, name, flop, DType::f32, code, [&] { code.run(args, items); });
}

// Of the weights of a convolution, over a batch: one item after the other. Products with the padding don't count.
void time_weight_gradient(KernelBench& bench, int64_t images, int64_t extent, int64_t channels, int64_t outputs,
                          int64_t kernel, int64_t stride, int64_t groups = 1) {
  const std::string name =
      fmt::format("{0}x{1}x{1}x{2} -> {3} {4}x{4}/{5}{6} conv weight gradient", images, extent, channels, outputs,
                  kernel, stride, groups > 1 ? fmt::format(" in {} groups", groups) : "");
  if (bench.skips(name)) return;
  ConvWeightGradientArgs named{.images = images};
  const PlaneWindow window = square_window(extent, kernel, stride);
  X86ConvWeightGradientPlan plan{{.window = on_any_plane(window, named.window),
                                  .only_places = kernel == 1,
                                  .groups = groups,
                                  .channels = channels / groups,
                                  .outputs = outputs / groups}};
  const int64_t places = window.out_height;
  const double flop = 2.0 * std::pow(static_cast<double>(rows_inside(window)), 2) *
                      static_cast<double>(images * plan.channels * outputs);
  const Tensor d = random_tensor(DType::f32, {images, places, places, outputs}),
               x = random_tensor(DType::f32, {images, extent, extent, channels}), w(DType::f32, {plan.elements()}),
               parts(DType::f32, {16, plan.elements()});
  named.d = bytes_of(d), named.x = bytes_of(x), named.parts = bytes_of(parts), named.dw = bytes_of(w);
  KernelArgs args = to_args(named);
  Compiled code(plan);
  const int64_t items = code.prepare(args).items;
  int64_t item = 0;
  against_peak(bench, name, flop / static_cast<double>(items), DType::f32, code, [&] {
    code.kernel(&args, item, item + 1, code.scratch.mutable_bytes().data());
    item = (item + 1) % items;
  });
}

struct AttentionSize {
  int64_t batches = 1;
  int heads = 12;
  int64_t length = 128;
  int head_dim = 64;
};

// `masked`: with a mask of the keys alone. Products with keys that `causal` hides don't count.
void time_attention(KernelBench& bench, const AttentionSize& size, DType type, bool masked, bool causal = false) {
  const std::string name =
      fmt::format("{}x{}x{}x{} {} attention{}{}", size.batches, size.heads, size.length, size.head_dim, to_string(type),
                  masked ? " masked" : "", causal ? " causal" : "");
  if (bench.skips(name)) return;
  X86AttentionPlan plan{{.heads = size.heads,
                         .kv_heads = size.heads,
                         .head_dim = size.head_dim,
                         .value_dim = size.head_dim,
                         .dtype = type,
                         .result = type,
                         .mask = masked ? AttentionPlan::Mask::added : AttentionPlan::Mask::none,
                         .limited = causal,
                         .scale = 0.125f}};
  const int64_t width = int64_t{size.heads} * size.head_dim, length = size.length;
  const Tensor q = random_tensor(type, {size.batches, length, width}),
               k = random_tensor(type, {size.batches, length, width}),
               v = random_tensor(type, {size.batches, length, width}), mask(DType::f32, {length}),
               out(type, {size.batches, length, width});
  Compiled code(plan);
  KernelArgs args = to_args(AttentionArgs{.q = bytes_of(q),
                                          .k = bytes_of(k),
                                          .v = bytes_of(v),
                                          .mask = bytes_of(mask),
                                          .out = bytes_of(out),
                                          .batches = size.batches,
                                          .queries = length,
                                          .keys = length,
                                          .q_row = width,
                                          .k_row = width,
                                          .v_row = width,
                                          .out_row = width,
                                          .before = kSeesAll});
  const int64_t items = code.prepare(args).items;
  const double pairs = static_cast<double>(length) * static_cast<double>(causal ? length + 1 : 2 * length) / 2;
  against_peak(bench, name, 4.0 * pairs * static_cast<double>(size.batches * width), type, code,
               [&] { code.run(args, items); });
}

void time_attention_gradient(KernelBench& bench, int64_t batches, int64_t length, int heads, int head_dim) {
  const std::string name = fmt::format("{}x{}x{}x{} attention_gradient", batches, length, heads, head_dim);
  if (bench.skips(name)) return;
  X86AttentionGradientPlan plan{{{.heads = heads,
                                  .kv_heads = heads,
                                  .head_dim = head_dim,
                                  .value_dim = head_dim,
                                  .mask = AttentionPlan::Mask::added,
                                  .scale = 0.125f}},
                                length};
  const int64_t width = int64_t{heads} * head_dim;
  const Tensor q = random_tensor(DType::f32, {batches, length, width}),
               d = random_tensor(DType::f32, {batches, length, width}), mask(DType::f32, {length});
  const Tensor out(DType::f32, {3, batches, length, width});
  const int64_t bytes = batches * length * width * 4;
  Compiled code(plan);
  KernelArgs args = to_args(AttentionGradientArgs{.q = bytes_of(q),
                                                  .k = bytes_of(q),
                                                  .v = bytes_of(q),
                                                  .d = bytes_of(d),
                                                  .mask = bytes_of(mask),
                                                  .dq = bytes_of(out),
                                                  .dk = bytes_of(out) + bytes,
                                                  .dv = bytes_of(out) + 2 * bytes,
                                                  .batches = batches,
                                                  .queries = length,
                                                  .keys = length,
                                                  .row_strides = {width, width, width, width}});
  const int64_t items = code.prepare(args).items;
  const double flop = 10.0 * static_cast<double>(batches * length * length * width);
  against_peak(bench, name, flop, DType::f32, code, [&] { code.run(args, items); });
}

// Beside a loop that reads as many bytes as the kernel's operands and results have.
void against_reading(KernelBench& bench, const std::string& name, size_t bytes, const Compiled& code,
                     const std::function<void()>& run) {
  const size_t rounded = (bytes + 511) / 512 * 512;
  const Buffer data(rounded + 64);
  const auto address = reinterpret_cast<uintptr_t>(data.bytes().data());
  const std::byte* const start = data.bytes().data() + (64 - address % 64) % 64;
  const std::vector<double> times = alternate(bench.rounds, {[&] { read_loop(cpu_features())(start, rounded); }, run});
  const double read = static_cast<double>(bytes) / times[0] * 1e-9,
               moved = static_cast<double>(bytes) / times[1] * 1e-9;
  bench.measured.push_back({{"name", name}, {"gbytes_per_second", moved}, {"share", moved / read}});
  fmt::print("{:<34} {:8.1f} GB/s     {:5.1f} % of {:.1f}   compile {:.1f} ms\n", name, moved, 100 * moved / read, read,
             code.milliseconds);
}

// Sums of columns in parts; `products`: of d, and of d times a tanh, in one pass.
void time_columns(KernelBench& bench, int64_t rows, int64_t columns, bool products) {
  const std::string name = fmt::format("{}x{} columns{}", rows, columns, products ? " of two" : "");
  if (bench.skips(name)) return;
  const Expr d = Expr::arg(0, Scalar::f32), x = Expr::arg(1, Scalar::f32);
  ColumnsPlan plan;
  plan.task = ColumnsPlan::Task::part;
  plan.operands = {{DType::f32, Epilogue::Access::full}};
  plan.reductions = {{0, flatten(d)}};
  if (products) plan.operands.push_back(plan.operands[0]), plan.reductions.push_back({0, flatten(d * x)});
  const Tensor a = random_tensor(DType::f32, {rows, columns}), b = random_tensor(DType::f32, {rows, columns});
  const Tensor parts(DType::f32, {parts_bytes(columns, 2) / 4});
  Compiled code(plan);
  KernelArgs args = to_args(ColumnsArgs{.values = {bytes_of(a), bytes_of(products ? b : parts), bytes_of(parts)},
                                        .rows = rows,
                                        .columns = columns,
                                        .matrices = 1,
                                        .operands = {columns, products ? columns : 0}});
  const int64_t items = code.prepare(args).items;
  against_reading(bench, name, static_cast<size_t>(rows * columns * (products ? 8 : 4)), code,
                  [&] { code.run(args, items); });
}

// Rows added up at their numbers, most of them at different ones, with a step of AdamW behind or without.
void time_add_rows(KernelBench& bench, int64_t vocabulary, int64_t columns, int64_t count, bool steps) {
  const std::string name = fmt::format("{} of {}x{} add_rows{}", count, vocabulary, columns, steps ? " adam" : "");
  if (bench.skips(name)) return;
  AddRowsPlan plan;
  plan.product.n = columns;
  plan.product.results = {DType::f32};
  const Expr sum = Expr::arg(0, Scalar::f32);
  std::vector<Tensor> tables(1, Tensor(DType::f32, {vocabulary, columns}));
  const Tensor d = random_tensor(DType::f32, {count, columns});
  std::vector<int64_t> ids;
  Philox rng(1);
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int64_t>(rng.uniform(0, static_cast<float>(vocabulary))));
  AddRowsArgs named{.d = bytes_of(d),
                    .ids = ids.data(),
                    .epilogue = {bytes_of(tables[0])},
                    .rows = vocabulary,
                    .tables = 1,
                    .id_count = count};
  plan.product.program = flatten(sum);
  if (steps) {
    const Expr w = Expr::arg(1, Scalar::f32), m = Expr::arg(2, Scalar::f32), v = Expr::arg(3, Scalar::f32);
    const Expr m2 = m * 0.9f + sum * 0.1f, v2 = v * 0.999f + sum * sum * 0.001f;
    const Expr results[] = {w - m2 / (sqrt(v2) + 1e-8f), m2, v2};
    plan.product.operands.assign(3, {DType::f32, Epilogue::Access::full});
    plan.product.results.assign(3, DType::f32);
    plan.product.program = flatten(results);
    tables.resize(3, tables[0]);
    for (size_t i = 0; i < 3; ++i) {
      tables[i] = random_tensor(DType::f32, {vocabulary, columns});
      named.epilogue[i] = named.epilogue[3 + i] = bytes_of(tables[i]);
    }
  }
  Compiled code(plan);
  KernelArgs args = to_args(named);
  const int64_t items = code.prepare(args).items;
  const auto bytes = static_cast<size_t>((vocabulary * (steps ? 6 : 1) + count) * columns * 4);
  against_reading(bench, name, bytes, code, [&] { code.run(args, items); });
}

void time_training(KernelBench& bench) {
  time_attention_gradient(bench, 8, 128, 2, 64);
  time_attention_gradient(bench, 4, 64, 12, 32);
  time_attention_gradient(bench, 1, 512, 12, 64);
  for (const bool two : {false, true}) {
    time_columns(bench, 4096, 128, two);
    time_columns(bench, 4096, 512, two);
    time_columns(bench, 512, 30522, two);
  }
  for (const bool steps : {false, true}) time_add_rows(bench, 30522, 128, 4096, steps);
}

void time_prepacking(KernelBench& bench, DType type, const std::string& format) {
  const std::string name = fmt::format("prepack {}", format.empty() ? to_string(type) : format);
  if (bench.skips(name)) return;
  const X86GemmPlan plan = linear_plan(3072, 1024, type, format);
  const Tensor w = random_weights(plan.n, plan.k, type, format);
  double best = 1e300;
  for (int i = 0; i < 10; ++i) {
    PanelPool pool;  // as sessions take their memory
    best = std::min(best, seconds_of([&] {
                      lay_out(plan, bench_target(), w, 1, pool.take(prepacked_bytes(plan, bench_target())));
                    }));
  }
  const double gbytes = static_cast<double>(w.bytes()) / best * 1e-9;
  bench.measured.push_back({{"name", name}, {"gbytes_per_second", gbytes}});
  fmt::print("{:<34} {:8.2f} GB/s of source\n", name, gbytes);
}

// The convolutions of ResNet-18 at 224 x 224, each shape once.
void time_resnet18(KernelBench& bench, DType type) {
  const auto direct = X86ConvPlan::Method::direct, piece2 = X86ConvPlan::Method::winograd2,
             piece4 = X86ConvPlan::Method::winograd4;
  for (bool any : {false, true}) time_conv(bench, 224, 3, 64, 7, 2, type, direct, any);
  for (int64_t extent = 56, channels = 64; channels <= 512; extent /= 2, channels *= 2) {
    for (bool any : {false, true}) {
      time_conv(bench, extent, channels, channels, 3, 1, type, direct, any);
      time_conv(bench, extent, channels, channels, 3, 1, type, piece2, any);
      if (type == DType::f32) time_conv(bench, extent, channels, channels, 3, 1, type, piece4, any);
      if (channels == 512) continue;
      time_conv(bench, extent, channels, 2 * channels, 3, 2, type, direct, any);
      time_conv(bench, extent, channels, 2 * channels, 1, 2, type, direct, any);
    }
  }
}

// Some of MobileNet's at 224 x 224.
void time_mobilenet(KernelBench& bench) {
  for (bool any : {false, true}) {
    time_depthwise(bench, 112, 32, 3, 1, any);
    time_depthwise(bench, 56, 144, 3, 2, any);
    time_depthwise(bench, 28, 192, 5, 1, any);
    time_depthwise(bench, 14, 384, 3, 1, any);
    time_depthwise(bench, 7, 960, 3, 1, any);
    time_depthwise(bench, 7, 576, 5, 1, any);
    time_depthwise(bench, 14, 240, 5, 1, any);
  }
}

// What training takes besides: ResNet-18 with a 3x3 stem at 28 x 28, and depthwise windows.
void time_weight_gradients(KernelBench& bench) {
  time_weight_gradient(bench, 64, 28, 1, 64, 3, 1);
  for (const auto& [extent, channels] : {std::pair(28, 64), std::pair(14, 128), std::pair(7, 256), std::pair(4, 512)}) {
    time_weight_gradient(bench, 64, extent, channels, channels, 3, 1);
    if (channels == 512) continue;
    time_weight_gradient(bench, 64, extent, channels, 2 * channels, 3, 2);
    time_weight_gradient(bench, 64, extent, channels, 2 * channels, 1, 2);
  }
  time_weight_gradient(bench, 8, 56, 144, 144, 3, 1, 144);
  time_weight_gradient(bench, 8, 28, 192, 192, 5, 1, 192);
}

void time_all(KernelBench& bench) {
  time_mobilenet(bench);
  time_training(bench);
  for (const auto& [m, n, k] : {std::array{16, 3072, 768},
                                {16, 768, 3072},
                                {128, 384, 384},
                                {128, 768, 768},
                                {128, 3072, 768},
                                {128, 768, 3072},
                                {1024, 1024, 1024}})
    time_gemm(bench, fmt::format("{}x{}x{}", m, n, k), m, n, k, DType::i8);
  for (DType type : {DType::f32, DType::bf16}) {
    time_gemm(bench, "128x3072x768", 128, 3072, 768, type);
    time_gemm(bench, "128x768x3072", 128, 768, 3072, type);
    time_gemm(bench, "128x768x768", 128, 768, 768, type);
    time_gemm(bench, "49x512x4608", 49, 512, 4608, type);
    time_gemm(bench, "128x384x384", 128, 384, 384, type);
    time_gemm(bench, "128x1536x384", 128, 1536, 384, type);
    time_gemm(bench, "128x384x1536", 128, 384, 1536, type);
    time_gemm(bench, "16x3072x768", 16, 3072, 768, type);
    // Of layers of 1,024 and 4,096 tokens while they are trained: forward, by the input, by the weights.
    for (const auto& [tokens, n, k] :
         {std::array{4096, 512, 128}, {4096, 128, 512}, {1024, 1536, 384}, {1024, 384, 1536}}) {
      const auto shape = [&](int64_t m, int64_t columns, int64_t sums) {
        return fmt::format("{}x{}x{}", m, columns, sums);
      };
      time_activations(bench, shape(tokens, n, k), tokens, n, k, type, X86GemmPlan::Weights::activation_nk, false);
      time_activations(bench, shape(tokens, k, n), tokens, k, n, type, X86GemmPlan::Weights::activation_kn, false);
      time_activations(bench, shape(n, k, tokens), n, k, tokens, type, X86GemmPlan::Weights::activation_kn, true);
    }
    for (const char* format : {"mxint8", "mxfp4", "int4.g32"})
      for (int64_t m : {4, 16, 128}) time_gemm(bench, fmt::format("{}x1536x384", m), m, 1536, 384, type, format);
    for (const char* format : {"mxint8", "mxfp8_e4m3", "mxfp4", "int4.g32"})
      time_gemm(bench, "1x768x1024", 1, 768, 1024, type, format);
    time_attention(bench, {.head_dim = 32}, type, true);
    time_attention(bench, {}, type, true);
    time_attention(bench, {.batches = 32, .heads = 8}, type, false);
    time_attention(bench, {.length = 1024}, type, false);
    time_attention(bench, {.length = 4096}, type, false, true);
  }
  for (DType type : {DType::f32, DType::bf16}) time_resnet18(bench, type);
  time_weight_gradients(bench);
  for (DType type : {DType::bf16, DType::f32})
    for (const char* format : {"", "mxint8", "mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "int4.g32", "int8.channel"})
      time_gemv(bench, 14336, 4096, type, format);
  time_packed_formats(bench);
  time_block_products(bench);
  for (const char* format : {"", "mxint8", "mxfp4", "mxfp6_e2m3", "int4.g128"})
    time_prepacking(bench, DType::f32, format);
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::KernelBench bench;
  std::string json, isa;
  CLI::App app("Single-thread speed of generated kernels against the machine's measured peaks");
  app.add_option("--only", bench.only, "Only those in whose name this is found (repeatable)");
  app.add_option("--rounds", bench.rounds, "Alternations of kernel and peak loop")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--isa", isa, "Instruction set to generate code for, as `hone bench` takes it");
  app.add_flag("--cold", bench.cold, "Weights of products and convolutions from main memory, as in a large network");
  app.add_flag("--every-format", bench.every_format, "All example formats among the packed ones");
  app.add_option("--json", json, "Write the figures there too");
  CLI11_PARSE(app, argc, argv);
  if (!isa.empty()) hone::bench_target() = hone::parse_target(isa);
  hone::time_all(bench);
  if (!json.empty()) hone::write_file(json, bench.measured.dump(1) + "\n");
}
