// Residual signs: an element is ((+-a1) +- a2) +- a3, where a1 is the group's mean magnitude and every further scale
// the mean magnitude of what the levels before it leave (docs/FORMATS.md, section 5.12). A code has the sign of level l
// + 1 in bit l; as a whole it is a number without meaning, which the int codec carries.
#include <fmt/format.h>

#include <array>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr int kMaxLevels = 3;
constexpr Geometry kDefault{.kind = Geometry::Kind::channel, .axis = 0};

// Results of the reductions: the sum of magnitudes, the number of elements, the sums for levels 2, 3.
Expr mean(Exprs results, int level) {
  return cast(Scalar::f32, results[level == 0 ? 0 : static_cast<size_t>(level) + 1] / results[1]);
}

// As it is stored, f32.
Expr scale_of_level(const Format& format, Exprs results, int level) {
  return cast(Scalar::f32, f32_scale_value(format, f32_scale_code(format, mean(results, level))));
}

// What is left of x after a level.
Expr after_level(Expr x, Expr scale) { return select(x < 0, x + scale, x - scale); }

template <int kLevel>
Expr magnitude_at(const Format& format, Expr x, Exprs earlier) {
  for (int level = 0; level < kLevel; ++level) x = after_level(x, scale_of_level(format, earlier, level));
  return cast(Scalar::f64, abs(x));
}

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::sum, magnitude_at<0>},
    {GroupReduction::Kind::sum, [](const Format&, Expr, Exprs) { return Expr::number(Scalar::f64, 1); }},
    {GroupReduction::Kind::sum, magnitude_at<1>},
    {GroupReduction::Kind::sum, magnitude_at<2>}};

Expr normalise(const Format&, Expr x, const GroupValues& group) {
  Expr code = Expr::number(Scalar::f64, 0);
  double bit = 1;
  for (const Expr& scale : group.scales) {
    code = code + select(x < 0, Expr::number(Scalar::f64, bit), 0);
    x = after_level(x, cast(Scalar::f32, scale));
    bit *= 2;
  }
  return code;
}

Expr restore(const Format&, Expr value, const GroupValues& group) {
  const Expr code = cast(Scalar::u32, value);
  Expr sum;
  for (size_t level = 0; level < group.scales.size(); ++level) {
    const Expr scale = cast(Scalar::f32, group.scales[level]);
    const Expr term = select(((code >> static_cast<int>(level)) & 1) != 0, -scale, scale);
    sum = level == 0 ? term : sum + term;
  }
  return cast(Scalar::f64, sum);
}

constexpr ScaleKind residual_scale(int levels) {
  return {.name = "f32 mean of residuals",
          .reductions = std::span(kReductions).first(static_cast<size_t>(levels) + 1),
          .levels = levels,
          .code = [](const Format& format, Exprs results, int,
                     int level) { return f32_scale_code(format, mean(results, level)); },
          .value = f32_scale_value,
          .normalise = normalise,
          .restore = restore,
          .nan_code = f32_scale_nan};
}

constinit const std::array<ScaleKind, 2> kResidual{residual_scale(2), residual_scale(3)};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "rsign") text.fail_at("E_AMBIG", 0, "the number of levels is missing; write rsign2");
  const std::optional<int> levels = text.width_after("rsign");
  if (!levels) return false;
  text.check_width("the number of levels", *levels, 1, kMaxLevels);
  using enum OptionKey;
  const FormatOptions options = read_options(text, {tensor, channel, g, tile, ax, s});
  const bool is_binary = *levels == 1;
  out.codec = is_binary ? &sign_codec : &int_codec;
  out.element = is_binary ? ElementParams{.bits = 1} : uint_element(*levels, 0);
  out.scale_kind = is_binary ? &f32_mean_scale : &kResidual[static_cast<size_t>(*levels) - 2];
  out.scale = f32_scale_params(options.scale_type);
  out.geometry = resolve_geometry(text, options, kDefault);
  return true;
}

std::string print(const Format& format) {
  return fmt::format("rsign{}{}{}", format.element.bits, geometry_suffix(format.geometry, kDefault),
                     scale_type_suffix(format.scale.type));
}

}  // namespace

extern constinit const FormatDef rsign_def{
    .name = "rsign<R>",
    .doc = "Sums of R signed scales: the mean magnitude, then the means of what is left.",
    .examples = "rsign1.g16 rsign2.g16 rsign2 rsign3 rsign3.tensor rsign2.g32.s=fp16",
    .parse = parse,
    .print = print};

}  // namespace hone
