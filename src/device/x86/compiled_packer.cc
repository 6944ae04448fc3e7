#include "device/x86/compiled_packer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_bits.h"
#include "base/multiples.h"
#include "base/threads.h"
#include "device/x86/quantize_parts.h"
#include "formats/bits.h"
#include "formats/group_scales.h"
#include "formats/scale.h"
#include "kernels/line_order.h"
#include "kernels/quantize/spans.h"

namespace hone {
namespace {

using Task = QuantizePlan::Task;
using Dims = std::span<const int64_t>;

// What stored scales mean to elements, as f32; every NaN is the same one.
class ScaleReader {
 public:
  ScaleReader(const Format& format, const PlaneView& planes) {
    float global = 0;
    if (!planes.global.empty()) std::memcpy(&global, planes.global.data(), sizeof global);
    const Expr code = Expr::arg(0, Scalar::u32);
    program_ =
        flatten(effective_scale(format, format.scale_kind->value(format, code), Expr::number(Scalar::f64, global)));
    if (format.scale.bits > 16) return;
    std::vector<uint32_t> codes(size_t{1} << format.scale.bits);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint32_t>(i);
    std::vector<float> values(codes.size());
    read(codes, values);
    table_ = std::move(values);
  }

  void read(std::span<const uint32_t> codes, std::span<float> scales) const {
    if (!table_.empty()) {
      for (size_t i = 0; i < codes.size(); ++i) scales[i] = table_[codes[i]];
      return;
    }
    std::vector<double> values(codes.size());
    const ConstColumn in{codes.data()};
    const MutableColumn out{values.data()};
    interpret(program_, {&in, 1}, 0, std::ssize(codes), {&out, 1});
    for (size_t i = 0; i < codes.size(); ++i)
      scales[i] = std::isnan(values[i]) ? std::nanf("") : static_cast<float>(values[i]);
  }

 private:
  Program program_;
  std::vector<float> table_;
};

// fn(line, first, count): pieces of `per_line` entries of each line, on all threads.
template <class F>
void for_each_piece(int64_t lines, int64_t per_line, F&& fn) {
  constexpr int64_t kPiece = 1 << 13;
  const int64_t pieces = ceil_div(std::max<int64_t>(per_line, 1), kPiece);
  parallel_for(
      lines * pieces,
      [&](int64_t item) {
        const int64_t first = item % pieces * kPiece;
        fn(item / pieces, first, std::min(kPiece, per_line - first));
      },
      std::max<int64_t>(1, kPiece / std::max<int64_t>(1, per_line)));
}

std::vector<float> scales_of(const Format& format, const PackedLayout& p, const PlaneView& planes) {
  const int64_t per_line = p.groups_per_line * scales_per_group(format);
  std::vector<float> scales(static_cast<size_t>(p.groups * scales_per_group(format)));
  if (scales.empty()) return scales;
  const ScaleReader reader(format, planes);
  for_each_piece(p.scale_lines, per_line, [&](int64_t line, int64_t first, int64_t count) {
    std::vector<uint32_t> codes(static_cast<size_t>(count));
    read_codes(planes.scales.data() + line * p.scale_line_bytes, format.scale.bits, first, codes);
    reader.read(codes, std::span(scales).subspan(static_cast<size_t>(line * per_line + first), codes.size()));
  });
  return scales;
}

std::vector<uint32_t> zero_points_of(const Format& format, const PackedLayout& p, const PlaneView& planes) {
  const int bytes = zero_point_bytes(format);
  std::vector<uint32_t> codes(static_cast<size_t>(bytes ? p.groups : 0));
  if (!codes.empty()) read_codes(planes.zero_points.data(), 8 * bytes, 0, codes);
  return codes;
}

std::vector<std::byte> scale_plane(const Format& format, const PackedLayout& p, std::span<const uint32_t> codes) {
  if (codes.empty()) return {};
  const int64_t per_line = p.groups_per_line * scales_per_group(format);
  std::vector<std::byte> plane(static_cast<size_t>(p.scale_lines * p.scale_line_bytes));
  for_each_piece(p.scale_lines, per_line, [&](int64_t line, int64_t first, int64_t count) {
    write_codes(plane.data() + line * p.scale_line_bytes + first * format.scale.bits / 8, format.scale.bits,
                codes.subspan(static_cast<size_t>(line * per_line + first), static_cast<size_t>(count)));
  });
  return plane;
}

// The global value of all parts, as a plane.
std::vector<std::byte> global_plane(const QuantizePrograms& programs, std::span<const double> parts) {
  double reduced = parts[0];
  for (const double part : parts) {
    const bool better = programs.global_combine == QuantizePrograms::Combine::max ? part > reduced : part < reduced;
    if (better) reduced = part;
  }
  const auto arg = std::bit_cast<uint64_t>(reduced);
  const auto value = static_cast<float>(std::bit_cast<double>(evaluate(programs.global_value, {&arg, 1})[0]));
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

struct CompiledPacker::Impl {
  Impl(const X86Target& target, const CompilerOptions& o) : device(target), options(o), library(target, o) {}

  // All work items of a plan.
  void run(const QuantizePlan& plan, const QuantizeArgs& named) {
    const KernelPlan general = plan;
    KernelArgs args = to_args(named);
    const KernelFn kernel = function_of(library.compile({&general, 1})[0]);
    auto chunk = [&](int64_t begin, int64_t end, int) { kernel(&args, begin, end, nullptr); };
    const Launch call = launch(device, general, args);
    parallel_chunks(call.items, call.items_per_chunk, options.threads, chunk);
  }

  // The kernels that leave parts for `next`.
  std::vector<double> reduce(const QuantizePlan& next, QuantizeArgs& args) {
    const QuantizeParts needed = quantize_parts(next, device.target(), args);
    std::vector<double> parts(static_cast<size_t>(needed.bytes) / sizeof(double));
    args.part_count = needed.count;
    args.parts = parts.data();
    QuantizePlan plan = next;
    plan.task = Task::reduce;
    for (plan.stage = 0; plan.stage < needed.stages; ++plan.stage) run(plan, args);
    return parts;
  }

  template <class T>
  void unpack(const Format& format, Dims shape, const PlaneView& planes, DType dtype, std::span<T> values) {
    const PackedLayout p = packed_layout(format, shape);
    std::vector<float> scales = scales_of(format, p, planes);
    std::vector<uint32_t> zero_points = zero_points_of(format, p, planes);
    const LineOrder order(format, shape);
    std::vector<T> lines(order.is_row_major() ? 0 : values.size());
    QuantizeArgs args = pack_args(format, p);
    args.x = const_cast<std::byte*>(planes.codes.data());
    args.out = lines.empty() ? values.data() : lines.data();
    args.scales = scales.data(), args.zero_points = zero_points.data();
    run({.task = Task::unpack, .format = name_of_lines(format), .result = dtype}, args);
    if (!lines.empty()) order.from_lines(std::span<const T>(lines), values);
  }

  const X86Device device;
  const CompilerOptions options;
  X86Compiler library;
};

CompiledPacker::CompiledPacker(const X86Target& target, const CompilerOptions& options)
    : impl_(std::make_unique<Impl>(target, options)) {}
CompiledPacker::~CompiledPacker() = default;

Support CompiledPacker::support(const Format& format, Dims shape) { return pack_support(format, shape); }

Planes CompiledPacker::pack(const Format& format, Dims shape, std::span<const float> values,
                            EncodeCounts* counts) const {
  const PlaneBytes bytes = plane_bytes(format, shape);
  if (!support(format, shape).supported()) return Packer::pack(format, shape, values, counts);
  const PackedLayout p = packed_layout(format, shape);
  const LineOrder order(format, shape);
  std::vector<float> lines(order.is_row_major() ? 0 : values.size());
  if (!lines.empty()) order.to_lines(values, std::span(lines));
  const QuantizePrograms programs = quantize_programs(format);
  Planes planes{.codes = std::vector<std::byte>(static_cast<size_t>(bytes.codes))};
  std::vector<uint32_t> scale_codes(static_cast<size_t>(p.groups * programs.levels));
  std::vector<uint32_t> zero_points(static_cast<size_t>(bytes.zero_points ? p.groups : 0));
  QuantizeArgs args = pack_args(format, p);
  args.x = const_cast<float*>(lines.empty() ? values.data() : lines.data());
  args.out = planes.codes.data(), args.scales = scale_codes.data(), args.zero_points = zero_points.data();
  std::array<int64_t, 4> losses{};
  args.counts = losses.data();
  const QuantizePlan plan{.task = Task::pack, .format = name_of_lines(format), .counts = counts != nullptr};
  const std::vector<double> parts = impl_->reduce(plan, args);
  impl_->run(plan, args);
  if (counts) *counts = {losses[0], losses[1], losses[2], losses[3]};
  planes.scales = scale_plane(format, p, scale_codes);
  planes.zero_points.resize(static_cast<size_t>(bytes.zero_points));
  if (bytes.zero_points > 0) write_codes(planes.zero_points.data(), 8 * zero_point_bytes(format), zero_points);
  if (bytes.global > 0)
    planes.global = global_plane(programs, std::span(parts).first(static_cast<size_t>(args.part_count)));
  return planes;
}

void CompiledPacker::unpack(const Format& format, Dims shape, const PlaneView& planes, std::span<float> values) const {
  check_planes(format, shape, planes);
  check_codes(format, shape, planes);
  if (!support(format, shape).supported()) return Packer::unpack(format, shape, planes, values);
  impl_->unpack(format, shape, planes, DType::f32, values);
}

void CompiledPacker::unpack_bf16(const Format& format, Dims shape, const PlaneView& planes,
                                 std::span<uint16_t> values) const {
  check_planes(format, shape, planes);
  check_codes(format, shape, planes);
  if (support(format, shape).supported()) return impl_->unpack(format, shape, planes, DType::bf16, values);
  std::vector<float> floats(values.size());
  Packer::unpack(format, shape, planes, floats);
  std::ranges::transform(floats, values.begin(), f32_to_bf16);
}

void CompiledPacker::fake_quantize(const Format& format, Dims shape, std::span<const float> values,
                                   std::span<float> out) const {
  QuantizeArgs args;
  if (values.empty() || !quantize_args(format, shape, args).supported())
    return Packer::fake_quantize(format, shape, values, out);
  args.x = const_cast<float*>(values.data()), args.out = out.data();
  const QuantizePlan plan{.task = Task::round, .format = to_string(format)};
  const std::vector<double> parts = impl_->reduce(plan, args);
  impl_->run(plan, args);
}

}  // namespace hone
