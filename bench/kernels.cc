// bench_kernels [--only substring]... [--rounds n] [--every-format] [--json file]: single-thread speed of generated
// kernels as a fraction of what the machine reaches in the same run. Each round times the peak loop and the kernel one
// after the other, so that both see the same clock and neighbours; the figures are the best of all rounds of each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/text.h"
#include "base/threads.h"
#include "codegen/attention_shape.h"
#include "codegen/compiler.h"
#include "codegen/gemm_shape.h"
#include "codegen/panel_memory.h"
#include "codegen/prepack.h"
#include "formats/registry.h"
#include "measure/peaks_kernels.h"

namespace hone {
namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double time_of(const std::function<void()>& run) {
  const double start = seconds();
  run();
  return seconds() - start;
}

// Best time of each of the runs, which take turns, after one warm-up of all.
std::vector<double> alternate(int rounds, const std::vector<std::function<void()>>& runs) {
  for (const auto& run : runs) run();
  std::vector<double> best(runs.size(), 1e300);
  for (int i = 0; i < rounds; ++i)
    for (size_t j = 0; j < runs.size(); ++j) best[j] = std::min(best[j], time_of(runs[j]));
  return best;
}

Tensor random_tensor(DType dtype, std::vector<int64_t> shape) {
  Philox rng(1);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = rng.uniform(-1, 1);
  return Tensor::from_floats(dtype, std::move(shape), values);
}

std::byte* bytes_of(const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); }

struct Compiled {
  explicit Compiled(const KernelPlan& plan) : library(CompilerOptions{.cache_folder = {}}) {
    kernel = library.compile(std::span(&plan, 1))[0];
    milliseconds = library.statistics().milliseconds;
    spilled = library.statistics().spilled;
    scratch = Buffer(static_cast<size_t>(kernel.scratch_bytes) + 64);
  }
  void run(const KernelArgs& args, int64_t items) { kernel.run(&args, 0, items, scratch.mutable_bytes().data()); }

  KernelLibrary library;
  Kernel kernel;
  double milliseconds = 0;
  int spilled = 0;
  Buffer scratch;
};

// Weights of a linear layer without bias, read by kernels for several numbers of rows. They lie in copies that together
// exceed the caches, and each run takes the next.
class Layer {
 public:
  Layer(int64_t n, int64_t k, DType type, const std::string& format) : n_(n), k_(k), type_(type), format_(format) {
    // Panels of a few rows of weights, as often as it takes: their values change nothing.
    constexpr int64_t kSomeRows = 256;
    CHECK(n % kSomeRows == 0);
    Tensor w = random_tensor(format.empty() ? type : DType::f32, {kSomeRows, k});
    if (!format.empty()) w = pack(parse_format(format), w);
    stored_bytes_ = w.bytes() * (n / kSomeRows);
    const Buffer some = prepack(plan(kSomeRows, 1), best_isa_level(), w, 1);
    size_ = some.size() * static_cast<size_t>(n / kSomeRows);
    copies_ = (size_t{256} << 20) / size_ + 1;
    panels_ = panel_memory(size_ * copies_);
    for (size_t at = 0; at < panels_.bytes.size(); at += some.size())
      std::memcpy(panels_.bytes.data() + at, some.bytes().data(), some.size());
  }

  int64_t stored_bytes() const { return stored_bytes_; }  // as the format has it
  size_t panel_bytes() const { return size_; }
  const std::byte* next() { return panels_.bytes.data() + (turn_ = (turn_ + 1) % copies_) * size_; }

  std::function<void()> product(int64_t m, int threads = 1) {
    struct Product {
      Product(const GemmPlan& plan, Tensor rows, int64_t n)
          : code(plan), a(std::move(rows)), out(DType::f32, {a.dim(0), n}) {}
      Compiled code;
      Tensor a, out;
      KernelArgs args;
      std::vector<Buffer> scratch;
      int64_t items = 0;
    };
    auto p = std::make_shared<Product>(plan(n_, m), random_tensor(type_, {m, k_}), n_);
    p->args.pointers = {bytes_of(p->a), nullptr, bytes_of(p->out)};
    p->args.dims = {m, 1, 0, 0, 0, k_, 0, 1};
    p->items = gemm_items(plan(n_, m), best_isa_level(), m, 1);
    for (int t = 0; t < threads; ++t) p->scratch.emplace_back(static_cast<size_t>(p->code.kernel.scratch_bytes) + 64);
    return [this, p, threads] {
      p->args.pointers[1] = const_cast<std::byte*>(next());
      auto chunk = [&](int64_t begin, int64_t end, int thread) {
        p->code.kernel.run(&p->args, begin, end, p->scratch[static_cast<size_t>(thread)].mutable_bytes().data());
      };
      parallel_chunks(p->items, threads == 1 ? p->items : p->code.kernel.items_per_chunk, threads, chunk);
    };
  }

 private:
  GemmPlan plan(int64_t n, int64_t m) const {
    GemmPlan plan;
    plan.n = n, plan.k = k_, plan.a = plan.w = type_, plan.w_format = format_, plan.m_hint = m, plan.a_row_stride = k_;
    plan.m_remainder = m % gemm_tile_rows(plan, best_isa_level());
    plan.results = {DType::f32};
    plan.program = flatten(Expr::arg(0, Scalar::f32));
    return plan;
  }

  int64_t n_, k_;
  DType type_;
  std::string format_;
  int64_t stored_bytes_ = 0;
  size_t size_ = 0, copies_ = 0, turn_ = 0;
  PanelMemory panels_;
};

struct Bench {
  std::vector<std::string> only;
  int rounds = 40;
  bool every_format = false;
  Json measured = Json::array();
  ArithmeticLoop f32 = f32_loop(cpu_features()), bf16 = bf16_loop(cpu_features());
  ReadLoop read = read_loop(cpu_features());

  bool skipped(const std::string& name) const {
    return !only.empty() && std::none_of(only.begin(), only.end(), [&](const std::string& wanted) {
      return name.find(wanted) != std::string::npos;
    });
  }

  void against_peak(const std::string& name, double flop, DType type, const Compiled& code,
                    const std::function<void()>& run) {
    const ArithmeticLoop& loop = type == DType::bf16 && bf16.run ? bf16 : f32;
    constexpr int64_t kSteps = 20000;
    const std::vector<double> times = alternate(rounds, {[&] { loop.run(kSteps); }, run});
    const double peak = times[0], time = times[1];
    const double peak_gflops = loop.flop_per_step * kSteps / peak * 1e-9, gflops = flop / time * 1e-9;
    measured.push_back({{"name", name}, {"gflops", gflops}, {"share", gflops / peak_gflops}});
    fmt::print("{:<34} {:8.1f} GFLOP/s  {:5.1f} % of {:.1f}   compile {:.1f} ms{}\n", name, gflops,
               100 * gflops / peak_gflops, peak_gflops, code.milliseconds, code.spilled ? " (smaller tile)" : "");
  }

  void gemm(const std::string& shape, int64_t m, int64_t n, int64_t k, DType type, const std::string& format = "") {
    const std::string name =
        fmt::format("{} {}{} {}", shape, to_string(type), format.empty() ? "" : " x " + format, "gemm");
    if (skipped(name)) return;
    GemmPlan plan;
    plan.n = n, plan.k = k, plan.a = plan.w = type, plan.m_hint = m, plan.a_row_stride = k;
    plan.w_format = format;
    plan.m_remainder = m % gemm_tile_rows(plan, best_isa_level());
    plan.results = {DType::f32};
    plan.program = flatten(Expr::arg(0, Scalar::f32));
    Tensor w = random_tensor(format.empty() ? type : DType::f32, {n, k});
    if (!format.empty()) w = pack(parse_format(format), w);
    const Tensor a = random_tensor(type, {m, k}), out(DType::f32, {m, n});
    const Buffer packed = prepack(plan, best_isa_level(), w, 1);
    Compiled code(plan);
    KernelArgs args;
    args.pointers = {bytes_of(a), const_cast<std::byte*>(packed.bytes().data()), bytes_of(out)};
    args.dims = {m, 1, 0, 0, 0, k, 0, 1};
    const int64_t items = gemm_items(plan, best_isa_level(), m, 1);
    const int repeats = static_cast<int>(std::max(1.0, 2e8 / (2.0 * static_cast<double>(m * n * k))));
    against_peak(name, 2.0 * static_cast<double>(m * n * k) * repeats, type, code, [&] {
      for (int i = 0; i < repeats; ++i) code.run(args, items);
    });
  }

  // A 3x3, 1x1 or 7x7 convolution on a square plane, half the window as padding. Products with the padding don't count.
  void conv(int64_t extent, int64_t channels, int64_t outputs, int64_t kernel, int64_t stride, DType type,
            ConvPlan::Method method) {
    const std::string name = fmt::format("{0}x{0}x{1} -> {2} {3}x{3}/{4} {5} {6}", extent, channels, outputs, kernel,
                                         stride, to_string(type),
                                         method == ConvPlan::Method::direct      ? "conv"
                                         : method == ConvPlan::Method::winograd2 ? "winograd2"
                                                                                 : "winograd4");
    if (skipped(name)) return;
    ConvPlan plan;
    plan.method = method;
    plan.channels = channels;
    const int64_t pad = kernel / 2, places = (extent + 2 * pad - kernel) / stride + 1;
    plan.window = {.height = extent,
                   .width = extent,
                   .out_height = places,
                   .out_width = places,
                   .kernel_height = kernel,
                   .kernel_width = kernel,
                   .stride_y = stride,
                   .stride_x = stride,
                   .pad_top = pad,
                   .pad_left = pad};
    plan.product.n = outputs, plan.product.k = kernel * kernel * channels, plan.product.a = plan.product.w = type;
    plan.product.results = {type};
    plan.product.operands = {{DType::f32, GemmPlan::Access::column}};
    plan.product.program = flatten(max(Expr::arg(0, Scalar::f32) + Expr::arg(1, Scalar::f32), 0.0f));
    const Tensor w = random_tensor(type, {outputs, plan.product.k}), bias = random_tensor(DType::f32, {outputs});
    const Tensor x = random_tensor(type, {extent, extent, channels}), out(type, {places, places, outputs});
    PanelPool pool;
    const Buffer packed = prepack(plan, best_isa_level(), w, 1, pool);
    Compiled code(plan);
    KernelArgs args;
    args.pointers = {bytes_of(x), const_cast<std::byte*>(packed.bytes().data()), bytes_of(bias), bytes_of(out)};
    args.dims = {places * places, 1};
    const int64_t items = work_items(plan, best_isa_level(), args);
    int64_t inside = 0;  // window rows, and as many columns
    for (int64_t place = 0; place < places; ++place)
      for (int64_t tap = 0; tap < kernel; ++tap) {
        const int64_t at = place * stride - pad + tap;
        inside += at >= 0 && at < extent;
      }
    const double flop = 2.0 * static_cast<double>(inside * inside * channels * outputs);
    against_peak(name, flop, type, code, [&] { code.run(args, items); });
  }

  // Reads as many bytes as a product with the layer does.
  std::function<void()> reader(Layer& layer) {
    return [this, &layer] {
      const auto from = (reinterpret_cast<uintptr_t>(layer.next()) + 63) / 64 * 64;
      read(reinterpret_cast<const std::byte*>(from), layer.panel_bytes() / 512 * 512 - 512);
    };
  }

  // One row: weights stream from main memory, and the yardstick reads as many bytes.
  void gemv(int64_t n, int64_t k, DType type, const std::string& format) {
    const std::string name =
        fmt::format("1x{}x{} {} x {} gemv", n, k, to_string(type), format.empty() ? to_string(type) : format);
    if (skipped(name)) return;
    Layer layer(n, k, type, format);
    const std::vector<double> times = alternate(rounds, {reader(layer), layer.product(1)});
    const double bytes = static_cast<double>(layer.panel_bytes()), share = times[0] / times[1];
    measured.push_back({{"name", name}, {"gbytes_per_second", bytes / times[1] * 1e-9}, {"share", share}});
    fmt::print("{:<34} {:8.1f} GB/s     {:5.1f} % of {:.1f}   {:.3f} ms\n", name, bytes / times[1] * 1e-9, 100 * share,
               bytes / times[0] * 1e-9, times[1] * 1e3);
  }

  // Everything that is asked of a packed format, in turns: one row on one and two threads beside a read of as many
  // bytes and beside mxfp4, 16 and 128 rows beside dense bf16.
  void packed(Layer& mxfp4, const std::vector<std::function<void()>>& dense, const std::string& format) {
    const std::string name = fmt::format("packed {}", format);
    if (skipped(name)) return;
    Layer layer(kOutputs, kInputs, DType::bf16, format);
    const std::vector<double> one = alternate(
        rounds, {reader(layer), layer.product(1), mxfp4.product(1), layer.product(1, 2), mxfp4.product(1, 2)});
    const std::vector<double> few = alternate(std::max(3, rounds / 4), {layer.product(16), dense[0]});
    const std::vector<double> many = alternate(std::max(2, rounds / 10), {layer.product(128), dense[1]});
    const double stored = static_cast<double>(layer.stored_bytes()), panels = static_cast<double>(layer.panel_bytes());
    const double predicted = one[0] * stored / panels;
    measured.push_back({{"name", name},
                        {"bits", stored * 8 / static_cast<double>(kOutputs * kInputs)},
                        {"ms", one[1] * 1e3},
                        {"share", one[0] / one[1]},
                        {"over_bytes", one[1] / predicted},
                        {"over_mxfp4", one[1] / one[2]},
                        {"over_mxfp4_two_threads", one[3] / one[4]},
                        {"rows16_ms", few[0] * 1e3},
                        {"rows16_over_bf16", few[0] / few[1]},
                        {"rows128_ms", many[0] * 1e3},
                        {"rows128_over_bf16", many[0] / many[1]}});
    fmt::print("{:<32} {:5.2f} {:8.3f} {:7.1f} {:7.2f} {:7.2f} {:7.2f} {:8.2f} {:6.2f} {:8.1f} {:6.2f}\n", format,
               stored * 8 / static_cast<double>(kOutputs * kInputs), one[1] * 1e3, 100 * one[0] / one[1],
               one[1] / predicted, one[1] / one[2], one[3] / one[4], few[0] * 1e3, few[0] / few[1], many[0] * 1e3,
               many[0] / many[1]);
  }

  static constexpr int64_t kOutputs = 14336, kInputs = 4096;

  void packed_formats() {
    std::vector<std::string> names = {"mxint8",
                                      "mxfp8_e4m3",
                                      "int8.channel",
                                      "int8.g32",
                                      "fp8_e4m3.channel",
                                      "mxfp6_e2m3",
                                      "mxfp6_e3m2",
                                      "mxint6",
                                      "mxint5",
                                      "int5.g32.s=bf16",
                                      "mxfp4",
                                      "mxint4",
                                      "int4.g32",
                                      "int4.g32.s=bf16",
                                      "int4.g128",
                                      "uint4.g32.asym",
                                      "uint4.g128.asym",
                                      "uint4.g32.s=bf16.asym",
                                      "nvfp4",
                                      "blog4",
                                      "mxint3",
                                      "int3.g32.s=bf16",
                                      "mxint2",
                                      "ternary.g64",
                                      "ternary.channel",
                                      "binary.g64",
                                      "binary.channel",
                                      "rsign2",
                                      "uint8.g128.asym",
                                      "bfp8.g8x8",
                                      "int8.channel.ax1"};
    if (every_format)
      for (const FormatDef* family : formats::all())
        for (const std::string& example : split(family->examples, ' '))
          if (const Format f = parse_format(example); !is_plain_float(f) && !is_fake_only(f)) names.push_back(example);
    std::erase_if(names, [&](const std::string& format) { return skipped("packed " + format); });
    if (names.empty()) return;
    Layer mxfp4(kOutputs, kInputs, DType::bf16, "mxfp4"), bf16_layer(kOutputs, kInputs, DType::bf16, "");
    const std::vector<std::function<void()>> dense = {bf16_layer.product(16), bf16_layer.product(128)};
    fmt::print(
        "linear {} -> {}, bf16 activations. One row: ms, % of the read bandwidth, times what the stored bytes "
        "predict,\n"
        "over mxfp4 on one and on two threads; 16 and 128 rows: ms, over dense bf16. Best of {} rounds in turns.\n"
        "{:<32} {:>5} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6} {:>8} {:>6}\n",
        kInputs, kOutputs, rounds, "format", "bits", "ms", "%", "bytes", "/mxfp4", "2 thr", "M=16", "/bf16", "M=128",
        "/bf16");
    for (const std::string& format : names) packed(mxfp4, dense, format);
  }

  void attention(int64_t length, int heads, int head_dim, DType type) {
    const std::string name = fmt::format("{}x{}x{} {} attention", length, heads, head_dim, to_string(type));
    if (skipped(name)) return;
    AttentionPlan plan{.heads = heads,
                       .kv_heads = heads,
                       .head_dim = head_dim,
                       .dtype = type,
                       .result = type,
                       .has_mask = true,
                       .causal = false,
                       .scale = 0.125f,
                       .max_length = length};
    const int64_t width = int64_t{heads} * head_dim;
    const Tensor q = random_tensor(type, {length, width}), mask(DType::f32, {length}), out(type, {length, width});
    Compiled code(plan);
    KernelArgs args;
    args.pointers = {bytes_of(q), bytes_of(q), bytes_of(q), bytes_of(mask), bytes_of(out)};
    args.dims = {1, length, length, width, width, width, width};
    const int64_t items = attention_items(plan, 1, length);
    const double flop = 4.0 * static_cast<double>(length * length * width);
    against_peak(name, flop, DType::f32, code, [&] { code.run(args, items); });
  }

  void prepacking(DType type, const std::string& format) {
    const std::string name = fmt::format("prepack {}", format.empty() ? to_string(type) : format);
    if (skipped(name)) return;
    GemmPlan plan;
    plan.n = 3072, plan.k = 1024, plan.a = plan.w = type, plan.w_format = format;
    plan.results = {DType::f32};
    plan.program = flatten(Expr::arg(0, Scalar::f32));
    Tensor w = random_tensor(format.empty() ? type : DType::f32, {plan.n, plan.k});
    if (!format.empty()) w = pack(parse_format(format), w);
    double best = 1e300;
    for (int i = 0; i < 10; ++i) best = std::min(best, time_of([&] { prepack(plan, best_isa_level(), w, 1); }));
    const double gbytes = static_cast<double>(w.bytes()) / best * 1e-9;
    measured.push_back({{"name", name}, {"gbytes_per_second", gbytes}});
    fmt::print("{:<34} {:8.2f} GB/s of source\n", name, gbytes);
  }

  // The convolutions of ResNet-18 at 224 x 224, each shape once.
  void resnet18(DType type) {
    const auto direct = ConvPlan::Method::direct, piece2 = ConvPlan::Method::winograd2,
               piece4 = ConvPlan::Method::winograd4;
    conv(224, 3, 64, 7, 2, type, direct);
    for (int64_t extent = 56, channels = 64; channels <= 512; extent /= 2, channels *= 2) {
      conv(extent, channels, channels, 3, 1, type, direct);
      conv(extent, channels, channels, 3, 1, type, piece2);
      if (type == DType::f32) conv(extent, channels, channels, 3, 1, type, piece4);
      if (channels == 512) break;
      conv(extent, channels, 2 * channels, 3, 2, type, direct);
      conv(extent, channels, 2 * channels, 1, 2, type, direct);
    }
  }

  void all() {
    for (DType type : {DType::f32, DType::bf16}) {
      gemm("128x3072x768", 128, 3072, 768, type);
      gemm("49x512x4608", 49, 512, 4608, type);
      gemm("128x384x384", 128, 384, 384, type);
      gemm("128x1536x384", 128, 1536, 384, type);
      gemm("128x384x1536", 128, 384, 1536, type);
      gemm("16x3072x768", 16, 3072, 768, type);
      for (const char* format : {"mxint8", "mxfp4", "int4.g32"})
        for (int64_t m : {4, 16, 128}) gemm(fmt::format("{}x1536x384", m), m, 1536, 384, type, format);
      for (const char* format : {"mxint8", "mxfp8_e4m3", "mxfp4", "int4.g32"})
        gemm("1x768x1024", 1, 768, 1024, type, format);
      attention(128, 12, 32, type);
      attention(128, 12, 64, type);
    }
    for (DType type : {DType::f32, DType::bf16}) resnet18(type);
    for (DType type : {DType::bf16, DType::f32})
      for (const char* format : {"", "mxint8", "mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "int4.g32", "int8.channel"})
        gemv(14336, 4096, type, format);
    packed_formats();
    for (const char* format : {"", "mxint8", "mxfp4", "mxfp6_e2m3", "int4.g128"}) prepacking(DType::f32, format);
  }
};

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Bench bench;
  std::string json;
  CLI::App app("Single-thread speed of generated kernels against the machine's measured peaks");
  app.add_option("--only", bench.only, "Only those in whose name this is found (repeatable)");
  app.add_option("--rounds", bench.rounds, "Alternations of kernel and peak loop")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--every-format", bench.every_format, "All example formats among the packed ones");
  app.add_option("--json", json, "Write the figures there too");
  CLI11_PARSE(app, argc, argv);
  bench.all();
  if (!json.empty()) hone::write_file(json, bench.measured.dump(1) + "\n");
}
