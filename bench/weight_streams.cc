// Linear layers whose weights stream from main memory: products with one row, and everything that is asked of packed
// formats.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "base/text.h"
#include "base/threads.h"
#include "bench/kernel_bench.h"
#include "bench/timing.h"
#include "device/panel_memory.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/peak_loops.h"
#include "formats/registry.h"

namespace hone {
namespace {

constexpr int64_t kOutputs = 14336, kInputs = 4096;
constexpr const char* kPackedFormats[] = {"mxint8",
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

// Weights of a linear layer without bias, read by kernels for several numbers of rows. They lie in copies that together
// exceed the caches, and each run takes the next.
class Layer {
 public:
  Layer(int64_t n, int64_t k, DType type, const std::string& format) : n_(n), k_(k), type_(type), format_(format) {
    // Panels of a few rows of weights, as often as it takes: their values change nothing.
    constexpr int64_t kSomeRows = 256;
    CHECK(n % kSomeRows == 0);
    const Tensor w = random_weights(kSomeRows, k, type, format);
    stored_bytes_ = w.bytes() * (n / kSomeRows);
    const Buffer some = lay_out(plan(kSomeRows, 1), bench_target(), w, 1);
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
      Product(const X86GemmPlan& plan, Tensor rows, int64_t n)
          : code(plan), a(std::move(rows)), out(DType::f32, {a.dim(0), n}) {}
      Compiled code;
      Tensor a, out;
      KernelArgs args;
      std::vector<Buffer> scratch;
      Launch call;
    };
    auto p = std::make_shared<Product>(plan(n_, m), random_tensor(type_, {m, k_}), n_);
    p->args = to_args(GemmArgs{
        .a = bytes_of(p->a), .epilogue = {bytes_of(p->out)}, .m = m, .batches = 1, .a_row = k_, .inner_batches = 1});
    p->call = launch(plan(n_, m), bench_target(), p->args);
    for (int t = 0; t < threads; ++t) p->scratch.emplace_back(static_cast<size_t>(p->call.scratch_bytes) + 64);
    return [this, p, threads] {
      p->args.pointers[place_of<&GemmArgs::w>] = const_cast<std::byte*>(next());
      auto chunk = [&](int64_t begin, int64_t end, int thread) {
        p->code.kernel(&p->args, begin, end, p->scratch[static_cast<size_t>(thread)].mutable_bytes().data());
      };
      parallel_chunks(p->call.items, threads == 1 ? p->call.items : p->call.items_per_chunk, threads, chunk);
    };
  }

 private:
  X86GemmPlan plan(int64_t n, int64_t m) const { return linear_plan(n, k_, type_, format_, m); }

  int64_t n_, k_;
  DType type_;
  std::string format_;
  int64_t stored_bytes_ = 0;
  size_t size_ = 0, copies_ = 0, turn_ = 0;
  PanelMemory panels_;
};

// Reads as many bytes as a product with the layer does.
std::function<void()> reader(Layer& layer) {
  return [&layer, read = read_loop(cpu_features())] {
    const auto from = (reinterpret_cast<uintptr_t>(layer.next()) + 63) / 64 * 64;
    read(reinterpret_cast<const std::byte*>(from), layer.panel_bytes() / 512 * 512 - 512);
  };
}

// Everything that is asked of a packed format, in turns: one row on one and two threads beside a read of as many
// bytes and beside mxfp4, 16 and 128 rows beside dense bf16.
void time_packed(KernelBench& bench, Layer& mxfp4, const std::vector<std::function<void()>>& dense,
                 const std::string& format) {
  const std::string name = fmt::format("packed {}", format);
  if (bench.skips(name)) return;
  Layer layer(kOutputs, kInputs, DType::bf16, format);
  const std::vector<double> one = alternate(
      bench.rounds, {reader(layer), layer.product(1), mxfp4.product(1), layer.product(1, 2), mxfp4.product(1, 2)});
  const std::vector<double> few = alternate(std::max(3, bench.rounds / 4), {layer.product(16), dense[0]});
  const std::vector<double> many = alternate(std::max(2, bench.rounds / 10), {layer.product(128), dense[1]});
  const double stored = static_cast<double>(layer.stored_bytes()), panels = static_cast<double>(layer.panel_bytes());
  const double predicted = one[0] * stored / panels;
  bench.measured.push_back({{"name", name},
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

}  // namespace

// One row: weights stream from main memory, and the yardstick reads as many bytes.
void time_gemv(KernelBench& bench, int64_t n, int64_t k, DType type, const std::string& format) {
  const std::string name =
      fmt::format("1x{}x{} {} x {} gemv", n, k, to_string(type), format.empty() ? to_string(type) : format);
  if (bench.skips(name)) return;
  Layer layer(n, k, type, format);
  const std::vector<double> times = alternate(bench.rounds, {reader(layer), layer.product(1)});
  const double bytes = static_cast<double>(layer.panel_bytes()), share = times[0] / times[1];
  bench.measured.push_back({{"name", name}, {"gbytes_per_second", bytes / times[1] * 1e-9}, {"share", share}});
  fmt::print("{:<34} {:8.1f} GB/s     {:5.1f} % of {:.1f}   {:.3f} ms\n", name, bytes / times[1] * 1e-9, 100 * share,
             bytes / times[0] * 1e-9, times[1] * 1e3);
}

void time_packed_formats(KernelBench& bench) {
  std::vector<std::string> names(std::begin(kPackedFormats), std::end(kPackedFormats));
  if (bench.every_format)
    for (const FormatDef* family : formats::all())
      for (const std::string& example : split(family->examples, ' '))
        if (const Format f = parse_format(example); !is_plain_float(f) && !is_fake_only(f)) names.push_back(example);
  std::erase_if(names, [&](const std::string& format) { return bench.skips("packed " + format); });
  if (names.empty()) return;
  Layer mxfp4(kOutputs, kInputs, DType::bf16, "mxfp4"), bf16_layer(kOutputs, kInputs, DType::bf16, "");
  const std::vector<std::function<void()>> dense = {bf16_layer.product(16), bf16_layer.product(128)};
  fmt::print(
      "linear {} -> {}, bf16 activations. One row: ms, % of the read bandwidth, times what the stored bytes "
      "predict,\n"
      "over mxfp4 on one and on two threads; 16 and 128 rows: ms, over dense bf16. Best of {} rounds in turns.\n"
      "{:<32} {:>5} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6} {:>8} {:>6}\n",
      kInputs, kOutputs, bench.rounds, "format", "bits", "ms", "%", "bytes", "/mxfp4", "2 thr", "M=16", "/bf16",
      "M=128", "/bf16");
  for (const std::string& format : names) time_packed(bench, mxfp4, dense, format);
}

}  // namespace hone
