#include "formats/format.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/text.h"
#include "expr/program.h"
#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/registry.h"
#include "formats/scale.h"

namespace hone {
namespace {

std::vector<std::string> known_strings() {
  std::vector<std::string> strings;
  for (const FormatDef* family : formats::all())
    for (std::string& example : split(family->examples, ' ')) strings.push_back(std::move(example));
  return strings;
}

bool parse_with_families(std::string_view text, Format& format) {
  for (const FormatDef* family : formats::all()) {
    Format candidate;
    if (!family->parse(text, candidate)) continue;
    candidate.family = family;
    format = candidate;
    return true;
  }
  return false;
}

}  // namespace

Format parse_format(std::string_view string) {
  const FormatText text(string);
  Format format;
  if (parse_with_families(string, format)) return format;
  if (text.has(OptionKey::compat)) {
    const size_t at = text.position_of(OptionKey::compat);
    if (!text.asks_for("compat=mase") && !text.asks_for("compat=mase-cuda"))
      text.fail_at("E_VALUE", at, "compat must be mase or mase-cuda");
    const std::string sound = text.without(OptionKey::compat);
    parse_format(sound);  // its own errors come first
    text.fail_at("E_COMPAT", at,
                 fmt::format("there is no such variant of {}; leave the option out for the sound format", sound));
  }
  text.fail_at("E_HEAD", 0, "unknown format; 'hone formats' lists all" + did_you_mean(text.head, known_strings()));
}

std::string to_string(const Format& format) {
  CHECK(format.family != nullptr);
  return format.family->print(format);
}

int top_exponent(const Format& format) { return std::ilogb(format.codec->max(format.element)); }

double lowest_value(const Format& format) {
  const ElementParams& p = format.element;
  const double highest = format.codec->max(p);
  const Expr round_trip = format.codec->decode(p, format.codec->encode(p, Expr::arg(0, Scalar::f64)));
  const uint64_t beyond = std::bit_cast<uint64_t>(-4 * highest);
  const double lowest = std::bit_cast<double>(evaluate(flatten(round_trip), {&beyond, 1})[0]);
  return std::isfinite(lowest) ? lowest : -highest;
}

bool is_two_level(const Format& format) { return format.scale_kind->outer_term != nullptr; }

bool has_minimum(const Format& format) { return format.scale_kind->minimum_sign != 0; }

bool is_residual(const Format& format) { return format.scale_kind->levels > 1 && !has_minimum(format); }

bool is_fake_only(const Format& format) { return format.scale_kind->fake != nullptr; }

double nominal_bits(const Format& format) {
  const Geometry& g = format.geometry;
  double group_elems = 0;  // 0: grows with the tensor, so that scales cost nothing in the limit
  if (g.kind == Geometry::Kind::group || g.kind == Geometry::Kind::flattened)
    group_elems = static_cast<double>(g.columns);
  if (g.kind == Geometry::Kind::tile) group_elems = static_cast<double>(g.rows * g.columns);
  if (group_elems == 0) return format.element.bits;
  const int levels = format.scale_kind->levels, scale_bits = format.scale.bits * levels;
  const double outer = is_two_level(format) ? 16.0 * levels / kSuperBlock : 0;
  return format.element.bits + (scale_bits + 8 * zero_point_bytes(format)) / group_elems + outer;
}

}  // namespace hone
