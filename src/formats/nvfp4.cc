// NVIDIA's FP4: groups of 16 E2M1 elements share an E4M3 scale, and all of them one f32 that maps the largest magnitude
// of the tensor onto the largest element times the largest scale (docs/FORMATS.md, section 4.3).
#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr Geometry kDefault{.kind = Geometry::Kind::group, .columns = 16};
constexpr float kLargestElement = 6, kLargestScale = 448;

ElementParams scale_element() { return minifloat_element(4, 3, ElementParams::Top::fn); }

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, abs(x)); }}};

// Without a clean group the largest is minus infinity.
Expr global_scale(const Format&, Expr largest) {
  const Expr quotient = cast(Scalar::f32, min(largest, 0x1p127)) / (kLargestElement * kLargestScale);
  return cast(Scalar::f64, select(largest > 0, max(quotient, 0x1p-126), typed(Scalar::f32, 1)));
}

constinit const GlobalValue kGlobal{.kind = GroupReduction::Kind::max,
                                    .term = [](const Format&, Exprs results) { return results[0]; },
                                    .value = global_scale,
                                    .is_scale = true};

// A scale that would round to zero is raised to the smallest, which keeps most of its group.
Expr code(const Format&, Exprs results, int, int) {
  const Expr largest = cast(Scalar::f32, results[0]), global = cast(Scalar::f32, results[1]);
  const Expr wanted = cast(Scalar::f64, largest / kLargestElement / global);
  const Expr nearest = minifloat_codec.encode(scale_element(), wanted);
  const Expr zero = Expr::constant(Scalar::u32, 0), smallest = Expr::constant(Scalar::u32, 1);
  return select(largest == 0, zero, select(nearest == zero, smallest, nearest));
}

constinit const ScaleKind kE4m3TimesF32{
    .name = "E4M3 x f32",
    .reductions = kReductions,
    .global = &kGlobal,
    .code = code,
    .value = [](const Format&, Expr code) { return minifloat_codec.decode(scale_element(), code); },
    // A group of zeros has scale 0; its zeros keep their signs.
    .normalise =
        [](const Format&, Expr x, const GroupValues& group) {
          const Expr scale = cast(Scalar::f32, group.scale());
          return cast(Scalar::f64, select(scale == 0, x, x / scale));
        },
    .nan_code = [](const Format&) { return 0x7fu; }};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() != "nvfp4") return false;
  out.codec = &minifloat_codec;
  out.element = minifloat_element(2, 1);
  out.scale_kind = &kE4m3TimesF32;
  out.scale = {.bits = 8};
  out.geometry = resolve_geometry(text, read_options(text, {OptionKey::g, OptionKey::ax}), kDefault);
  return true;
}

}  // namespace

extern constinit const FormatDef nvfp4_def{
    .name = "nvfp4",
    .doc = "NVIDIA FP4: 16 E2M1 elements share an E4M3 scale, the tensor an f32 one.",
    .examples = "nvfp4 nvfp4.g32 nvfp4.ax0",
    .parse = parse,
    .print = [](const Format& format) { return "nvfp4" + geometry_suffix(format.geometry, kDefault); }};

}  // namespace hone
