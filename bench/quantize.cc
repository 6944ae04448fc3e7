// bench_quantize [--only format]... [--rounds n]: single-thread speed of generated quantizing kernels, in elements a
// second: of batches that stay in the second-level cache, and of a large tensor through the packer, beside the
// reference and beside what the machine reads from memory in the same run. Best of all rounds of each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "bench/timing.h"
#include "device/x86/compiled_packer.h"
#include "device/x86/peak_loops.h"
#include "kernels/quantize/plan.h"

namespace hone {
namespace {

constexpr int64_t kBatch = 1 << 16, kRows = 1024, kColumns = 4096;
constexpr const char* kFormats[] = {"mxint8",   "mxint4",   "mxfp8_e4m3", "mxfp6_e3m2",  "mxfp4",
                                    "int8.g32", "int4.g32", "int8.g128",  "int4.g128",   "uint4.g32.asym",
                                    "int6.g32", "bfp12",    "nvfp4",      "fp8_e4m3.g32"};

double best_of(int rounds, const std::function<void()>& run) { return alternate(rounds, {run})[0]; }

std::vector<float> normal_values(int64_t n) {
  Philox random(1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = random.normal();
  return values;
}

// One kernel over one batch of whole groups, without what surrounds it; elements a nanosecond.
double batch_speed(const QuantizePlan& plan, const Format& format, void* in, void* out, int rounds) {
  const KernelPlan general = plan;
  X86Compiler library(host_target(), {.cache_folder = {}});
  const KernelFn kernel = function_of(library.compile({&general, 1})[0]);
  const int64_t groups = kBatch / format.geometry.columns;
  std::vector<uint32_t> scales(static_cast<size_t>(groups), 0x3f800000), zero_points(static_cast<size_t>(groups));
  double part = 1;
  KernelArgs args = to_args(QuantizeArgs{.x = in,
                                         .out = out,
                                         .scales = scales.data(),
                                         .zero_points = zero_points.data(),
                                         .parts = &part,
                                         .length = kBatch,
                                         .line_stride = kBatch,
                                         .groups_per_line = groups,
                                         .line_bytes = kBatch * format.element.bits / 8,
                                         .part_count = 1});
  const int64_t items = launch(general, host_target(), args).items;
  constexpr int kRepeats = 20;
  const double time = best_of(rounds, [&] {
    for (int i = 0; i < kRepeats; ++i) kernel(&args, 0, items, nullptr);
  });
  return static_cast<double>(kBatch * kRepeats) / time * 1e-9;
}

void measure(const std::string& name, const CompiledPacker& packer, const std::vector<float>& values, int rounds) {
  using Task = QuantizePlan::Task;
  const Format format = parse_format(name);
  std::vector<float> x(values.begin(), values.begin() + kBatch), y(x.size());
  std::vector<std::byte> codes(x.size() * 4);
  const auto batch = [&](Task task, void* in, void* out, DType result = DType::f32) {
    return batch_speed({.task = task, .format = name, .result = result}, format, in, out, rounds);
  };
  const double pack = batch(Task::pack, x.data(), codes.data()), round = batch(Task::round, x.data(), y.data());
  const double f32 = batch(Task::unpack, codes.data(), y.data());
  const double bf16 = batch(Task::unpack, codes.data(), y.data(), DType::bf16);
  const std::vector<int64_t> shape{kRows, kColumns};
  const auto elements = static_cast<double>(values.size()) * 1e-9;
  Planes planes;
  const double whole = best_of(3, [&] { planes = packer.pack(format, shape, values); });
  const double slow = seconds_of([&] { planes = Packer().pack(format, shape, values); });
  std::vector<uint16_t> halves(values.size());
  const double decoded = best_of(3, [&] {
    packer.unpack_bf16(format, shape, {planes.codes, planes.scales, planes.zero_points, planes.global}, halves);
  });
  fmt::print("{:<16} {:8.2f} {:8.2f} {:8.2f} {:8.2f}   {:8.2f} {:8.2f} {:10.4f}\n", name, pack, f32, bf16, round,
             elements / whole, elements / decoded, elements / slow);
}

int run(int argc, char** argv) {
  CLI::App app{"speed of quantizing kernels"};
  std::vector<std::string> only;
  int rounds = 20;
  app.add_option("--only", only, "formats to measure instead of the usual ones");
  app.add_option("--rounds", rounds, "rounds of each measurement");
  CLI11_PARSE(app, argc, argv);
  if (only.empty()) only.assign(std::begin(kFormats), std::end(kFormats));
  const std::vector<float> values = normal_values(kRows * kColumns);
  const Buffer memory(values.size() * sizeof(float));
  const ReadLoop read = read_loop(cpu_features());
  const double seconds = best_of(rounds, [&] { read(memory.bytes().data(), memory.size()); });
  fmt::print("reading {} MiB of f32: {:.2f} G elements/s\n", memory.size() >> 20,
             static_cast<double>(values.size()) / seconds * 1e-9);
  fmt::print("G elements/s     batches of {} in cache               [{},{}] through the packer\n", kBatch, kRows,
             kColumns);
  fmt::print("                     pack  to f32  to bf16    round       pack  to bf16  reference\n");
  const CompiledPacker packer(host_target(), {.threads = 1, .cache_folder = {}});
  for (const std::string& name : only) measure(name, packer, values, rounds);
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }
