#include "formats/learned_scale.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/group_scales.h"
#include "formats/scale.h"

namespace hone {
namespace {

bool is_fixed_point(const Format& format) { return format.scale_kind == &no_scale; }
bool is_pow2(const Format& format) { return format.scale_kind == &pow2_scale; }

// The exponent of the power of two nearest to a positive f64 in the log domain, as the log codec rounds.
Expr nearest_exponent(Expr x) {
  const Expr bits = bitcast(Scalar::i64, x);
  const Expr fraction = bits & Expr::constant(Scalar::i64, (uint64_t{1} << 52) - 1);
  const Expr significand = bitcast(Scalar::f64, fraction | Expr::constant(Scalar::i64, uint64_t{1023} << 52));
  return (bits >> 52) - 1023 + cast(Scalar::i64, significand > std::numbers::sqrt2);
}

Expr power(Expr exponent) { return bitcast(Scalar::f64, (exponent + 1023) << 52); }

// Fixed point holds int<W>.f<F> for |F| up to this (formats/format_string.cc); kept well within normal f32 numbers.
constexpr int kMostFractionBits = 60;

int exponent_bias(const Format& format) { return (1 << (format.scale.bits - 1)) - 1; }

// Code of the scale that is stored for what is learned; u32.
Expr scale_code(const Format& format, Expr learned) {
  if (!is_pow2(format)) return f32_scale_code(format, max(learned, smallest_normal_scale(format)));
  const int bias = exponent_bias(format), most = std::min(bias, 127 - top_exponent(format));
  const Expr s = min(max(rint(learned), -bias), most);
  return bitcast(Scalar::u32, cast(Scalar::i32, s) + bias);
}

// Fixed point: log2 of the step; i64.
Expr step_exponent(Expr learned) {
  const Expr step = cast(Scalar::f64, max(learned, 0x1p-126));
  return min(max(nearest_exponent(step), -kMostFractionBits), kMostFractionBits);
}

// What an element is divided by, f64: of fixed point the step in units of the format's own.
Expr scale_of(const Format& format, Expr learned) {
  if (is_fixed_point(format)) return power(step_exponent(learned) + format.element.fraction_bits);
  return format.scale_kind->value(format, scale_code(format, learned));
}

Expr zero_point_of(const Format& format, Expr zero_point) {
  const double highest = std::ldexp(1.0, format.element.bits) - 1;
  return min(max(rint(cast(Scalar::f64, zero_point)), 0), highest);
}

GroupValues group_of(const Format& format, const LearnedElement& e) {
  GroupValues group;
  group.scales.push_back(scale_of(format, e.learned));
  if (format.scale_kind->zero_point) group.zero_point = zero_point_of(format, e.zero_point);
  return group;
}

// x in units of the scale, zero point added; f64 and not rounded.
Expr position(const Format& format, const LearnedElement& e, const GroupValues& group) {
  const Expr t = cast(Scalar::f64, e.x) / group.scale();
  return format.scale_kind->zero_point ? t + group.zero_point : t;
}

// The value that the element is rounded to, in units of the scale; f64.
Expr level(const Format& format, const LearnedElement& e, const GroupValues& group) {
  const Expr t = is_fixed_point(format) ? cast(Scalar::f64, e.x) / group.scale()
                                        : format.scale_kind->normalise(format, e.x, group);
  const Expr value = format.codec->decode(format.element, format.codec->encode(format.element, t));
  return format.scale_kind->zero_point ? value - group.zero_point : value;
}

Expr is_finite(Expr x) { return abs(x) < HUGE_VAL; }

Expr in_range(const Format& format, const LearnedElement& e, const GroupValues& group) {
  const Expr t = position(format, e, group);
  return is_finite(e.x) & (t >= lowest_value(format)) & (t <= format.codec->max(format.element));
}

}  // namespace

std::string no_learned_scale(const Format& format) {
  const std::string name = to_string(format);
  if (is_fake_only(format) || format.geometry.kind == Geometry::Kind::flattened)
    return fmt::format("{} reproduces another program, whose scales follow from the data", name);
  const ScaleKind* const kind = format.scale_kind;
  if (kind == &no_scale && format.codec == &int_codec)
    return format.element.round_floor ? fmt::format("{} rounds down, which is no straight-through rounding", name) : "";
  if (kind == &f32_max_scale || kind == &f32_range_scale || kind == &pow2_scale) return "";
  if (is_two_level(format) || has_minimum(format))
    return fmt::format("the scales of {} are stored beside others that they depend on", name);
  if (kind == &f32_signed_scale) return fmt::format("the scale of {} has a sign, which no gradient changes", name);
  if (kind->global) return fmt::format("the scales of {} are rounded to E4M3 beside one of the whole tensor", name);
  if (kind->code) return fmt::format("the scale of {} is a mean of magnitudes by definition", name);
  return fmt::format("{} has no scale", name);
}

Expr rounded(const Format& format, const LearnedElement& e) {
  const GroupValues group = group_of(format, e);
  return select(e.x != e.x, e.x, cast(Scalar::f32, level(format, e, group) * group.scale()));
}

Expr passes_gradient(const Format& format, const LearnedElement& e) { return in_range(format, e, group_of(format, e)); }

// y = level(x / s) s: the level stays, and where x is in range so does, straight-through, what it was rounded from.
Expr slope_by_scale(const Format& format, const LearnedElement& e) {
  const GroupValues group = group_of(format, e);
  const Expr through = select(in_range(format, e, group), cast(Scalar::f64, e.x) / group.scale(), 0);
  Expr slope = level(format, e, group) - through;
  if (is_pow2(format)) slope = slope * group.scale() * std::numbers::ln2;
  if (is_fixed_point(format)) slope = slope * std::ldexp(1.0, format.element.fraction_bits);
  return cast(Scalar::f32, select(is_finite(e.x), slope, 0));
}

Expr slope_by_zero_point(const Format& format, const LearnedElement& e) {
  const GroupValues group = group_of(format, e);
  return cast(Scalar::f32, select(is_finite(e.x) & ~in_range(format, e, group), -group.scale(), 0));
}

std::vector<float> rounded(const Format& format, std::span<const float> values, const LearnedValues& given) {
  const auto arg = [](int i) { return Expr::arg(i, Scalar::f32); };
  const Program program = flatten(rounded(format, LearnedElement{arg(0), arg(1), arg(2)}));
  CHECK(given.learned.size() == values.size());
  const ConstColumn args[] = {{values.data()}, {given.learned.data()}, {given.zero_points.data()}};
  std::vector<float> y(values.size());
  const MutableColumn result{y.data()};
  run_program(program, args, static_cast<int64_t>(values.size()), {&result, 1});
  return y;
}

LearnedValues chosen_by_format(const Format& format, std::span<const int64_t> shape, std::span<const float> values) {
  CHECK(no_learned_scale(format).empty());
  LearnedValues chosen;
  if (is_fixed_point(format)) {
    chosen.learned.assign(values.size(), std::ldexp(1.0f, -format.element.fraction_bits));
    return chosen;
  }
  const BlockTraversal blocks(format, shape);
  const GroupScales scales = choose_scales(format, blocks, values);
  chosen.learned.resize(values.size());
  if (format.scale_kind->zero_point) chosen.zero_points.resize(values.size());
  std::vector<float> batch_values(BlockTraversal::kBatch);
  const auto spread = [&](const std::vector<double>& of_groups, std::vector<float>& out, bool as_log2) {
    for (int64_t unit = 0; unit < blocks.units(); ++unit)
      blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
        for (const Run& run : batch.runs) {
          const double value = of_groups[static_cast<size_t>(run.group)];
          std::fill_n(batch_values.begin() + run.begin, run.count,
                      static_cast<float>(as_log2 ? std::log2(value) : value));
        }
        blocks.scatter(batch, batch_values.data(), std::span(out));
      });
  };
  if (values.empty()) return chosen;
  spread(scales.scales[0], chosen.learned, is_pow2(format));
  if (!chosen.zero_points.empty()) spread(scales.zeros, chosen.zero_points, false);
  return chosen;
}

Format with_step(const Format& format, float learned) {
  CHECK(is_fixed_point(format));
  const uint64_t arg = std::bit_cast<uint32_t>(learned);
  const Program program = flatten(cast(Scalar::f64, step_exponent(Expr::arg(0, Scalar::f32))));
  Format stepped = format;
  stepped.element.fraction_bits = -static_cast<int>(std::bit_cast<double>(evaluate(program, {&arg, 1})[0]));
  return stepped;
}

Planes pack_learned(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                    const LearnedValues& given) {
  CHECK(no_learned_scale(format).empty() && !is_fixed_point(format));
  const BlockTraversal blocks(format, shape);
  const auto groups = static_cast<size_t>(blocks.layout().groups);
  std::vector<float> learned(groups), zero_points(groups), batch_values(BlockTraversal::kBatch);
  const auto gather = [&](const std::vector<float>& of_elements, std::vector<float>& out) {
    for (int64_t unit = 0; unit < blocks.units(); ++unit)
      blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
        blocks.gather(batch, std::span<const float>(of_elements), batch_values.data());
        for (const Run& run : batch.runs)
          if (run.logical > 0) out[static_cast<size_t>(run.group)] = batch_values[static_cast<size_t>(run.begin)];
      });
  };
  gather(given.learned, learned);
  if (format.scale_kind->zero_point) gather(given.zero_points, zero_points);
  const Expr arg = Expr::arg(0, Scalar::f32);
  const Expr code = scale_code(format, arg);
  const Program of_scale = flatten(std::vector<Expr>{code, format.scale_kind->value(format, code)}),
                of_zero = flatten(std::vector<Expr>{cast(Scalar::u32, zero_point_of(format, arg))});
  GroupScales scales;
  scales.codes.resize(groups);
  scales.scales.emplace_back(groups);
  const ConstColumn column{learned.data()};
  const MutableColumn results[] = {{scales.codes.data()}, {scales.scales[0].data()}};
  run_program(of_scale, {&column, 1}, static_cast<int64_t>(groups), results);
  if (format.scale_kind->zero_point) {
    scales.zero_points.resize(groups);
    const ConstColumn zeros{zero_points.data()};
    const MutableColumn rounded_zeros{scales.zero_points.data()};
    run_program(of_zero, {&zeros, 1}, static_cast<int64_t>(groups), {&rounded_zeros, 1});
    scales.zeros.assign(scales.zero_points.begin(), scales.zero_points.end());
  }
  scales.results.resize(format.scale_kind->reductions.size(), std::vector<double>(groups));
  scales.nonfinite.resize(groups);
  return pack(format, blocks, values, std::move(scales));
}

}  // namespace hone
