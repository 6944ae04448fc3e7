// Scales of scales: what a group stores is a small integer, relative to an fp16 that the groups of a super-block share
// (docs/FORMATS.md, section 4.4). One kind has a signed scale, the other a scale and a minimum that is subtracted.
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

ElementParams outer_element() { return minifloat_element(5, 10, ElementParams::Top::ieee); }

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::min, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, min(x, 0)); }},
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, max(x, 0)); }}};
constexpr size_t kOuter = std::size(kReductions);  // behind the results of these

double highest_code(const Format& format) { return std::ldexp(1.0, format.element.bits) - 1; }

// i6 is stored with 32 added.
Expr integer_code(ScaleType type, Expr integer) {
  const Expr code = bitcast(Scalar::u32, cast(Scalar::i32, type == ScaleType::i6 ? integer + 32 : integer));
  return type == ScaleType::i8 ? code & Expr::constant(Scalar::u32, 0xff) : code;
}

Expr integer_value(const Format& format, Expr code) {
  switch (format.scale.type) {
    case ScaleType::i6:
      return cast(Scalar::f64, code) - 32;
    case ScaleType::i8:
      return cast(Scalar::f64, (bitcast(Scalar::i32, code) << 24) >> 24);
    default:
      return cast(Scalar::f64, code);
  }
}

// The multiple of the outer scale that is nearest to what is wanted. A scale that would round to 0 becomes the
// smallest, which keeps most of its group.
Expr nearest_integer(const Format& format, Expr wanted, Expr outer, bool keeps_small) {
  const ScaleType type = format.scale.type;
  Expr integer = min(max(rint(wanted / outer), lowest_integer(type)), highest_integer(type));
  if (keeps_small)
    integer = select(integer == 0,
                     select(wanted < 0, typed(Scalar::f64, -1), select(wanted > 0, typed(Scalar::f64, 1), 0)), integer);
  return integer_code(type, select(outer == 0, 0, integer));
}

Expr wanted_scale(const Format& format, Exprs results) { return signed_scale(format, results[0], results[1]); }

// Of the range (level 0) and of what is subtracted (level 1).
Expr wanted_of_range(const Format& format, Exprs results, int level) {
  const Expr low = max(results[0], -0x1p127), high = min(results[1], 0x1p127);
  return level == 1 ? -low : (high - low) / highest_code(format);
}

Expr divided(Expr x, Expr scale) { return cast(Scalar::f64, select(scale == 0, 0, x / scale)); }

}  // namespace

int lowest_integer(ScaleType type) { return type == ScaleType::i6 ? -32 : type == ScaleType::i8 ? -127 : 0; }

int highest_integer(ScaleType type) {
  switch (type) {
    case ScaleType::u4:
      return 15;
    case ScaleType::u6:
      return 63;
    case ScaleType::i6:
      return 31;
    case ScaleType::i8:
      return 127;
    default:
      CHECK(false, "scales of one level");
  }
}

Expr outer_scale_code(Expr scale) { return minifloat_codec.encode(outer_element(), scale); }
Expr outer_scale_value(Expr code) { return minifloat_codec.decode(outer_element(), code); }

extern constinit const ScaleKind two_level_scale{
    .name = "two-level",
    .reductions = kReductions,
    .outer_term = [](const Format& format, Exprs results, int) { return abs(wanted_scale(format, results)); },
    .code = [](const Format& format, Exprs results, int,
               int) { return nearest_integer(format, wanted_scale(format, results), results[kOuter], true); },
    .value = integer_value,
    .normalise = [](const Format&, Expr x,
                    const GroupValues& group) { return divided(x, cast(Scalar::f32, group.scale())); },
    .nan_code = [](const Format& format) { return format.scale.type == ScaleType::i6 ? 32u : 0u; }};

extern constinit const ScaleKind two_level_minimum_scale{
    .name = "two-level with a minimum",
    .reductions = kReductions,
    .levels = 2,
    .minimum_sign = -1,
    .outer_term = wanted_of_range,
    .code =
        [](const Format& format, Exprs results, int, int level) {
          return nearest_integer(format, wanted_of_range(format, results, level),
                                 results[kOuter + static_cast<size_t>(level)], level == 0);
        },
    .value = integer_value,
    .normalise =
        [](const Format&, Expr x, const GroupValues& group) {
          return divided(x + cast(Scalar::f32, group.scales[1]), cast(Scalar::f32, group.scale()));
        },
    .nan_code = [](const Format&) { return 0u; }};

}  // namespace hone
