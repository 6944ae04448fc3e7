#include "views/formats.h"

#include <cmath>

#include <fmt/format.h>

#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

// "E4M3 x f32", "2^k in 5 bits", "bf16 max", "3 x f32 mean of residuals".
Cell scale_text(const Format& format) {
  if (format.scale.bits == 0) return std::string("-");
  const std::string_view kind = format.scale_kind->name;
  if (kind == "pow2") return fmt::format("2^k in {} bits", format.scale.bits);
  const std::string levels = is_residual(format) ? fmt::format("{} x ", scales_per_group(format)) : "";
  if (is_two_level(format)) return fmt::format("{} x fp16", scale_type_name(format.scale.type));
  std::string text = levels + std::string(kind);
  const char* const stored = format.scale.type == ScaleType::bf16 ? "bf16" : "fp16";
  if (format.scale.type != ScaleType::f32) text.replace(text.find("f32"), 3, stored);
  return text;
}

// Where a scale reaches; the axis unless it is the usual one.
Cell geometry_text(const Format& format) {
  const Geometry& g = format.geometry;
  const auto size = [](int64_t n) { return n == 0 ? std::string("all") : std::to_string(n); };
  const auto along = [&](int usual) { return g.axis == usual ? "" : fmt::format(", axis {}", g.axis); };
  switch (g.kind) {
    case Geometry::Kind::none:
      return std::string("-");
    case Geometry::Kind::tensor:
      return std::string("tensor");
    case Geometry::Kind::channel:
      return "channel" + along(0);
    case Geometry::Kind::group:
      return size(g.columns) + along(-1);
    case Geometry::Kind::tile:
      return fmt::format("{} x {}", size(g.rows), size(g.columns));
    case Geometry::Kind::flattened:
      return size(g.columns) + ", flat";
  }
  return {};
}

KeyValues facts(const CastResult& result) {
  const NumberStyle count{NumberFormat::integer, 0};
  const auto whole = [](int64_t n) { return number(static_cast<double>(n)); };
  KeyValues facts{.key = "cast",
                  .title = "Cast",
                  .items = {{"format", "format", to_string(result.format)},
                            {"elements", "elements", whole(result.values.elements()), "", count},
                            {"sqnr_db", "SQNR", number(result.quality.sqnr_db), "dB", {NumberFormat::fixed, 2}},
                            {"max_abs_error",
                             "largest error",
                             number(result.quality.max_abs_error),
                             "",
                             {NumberFormat::significant, 4}}}};
  if (result.global_scale)
    facts.items.push_back(
        {"global_scale", "global scale", number(*result.global_scale), "", {NumberFormat::significant, 9}});
  if (result.codes) {
    facts.items.push_back({"saturated", "saturated", whole(result.counts.saturated), "", count});
    facts.items.push_back({"flushed_to_zero", "flushed to zero", whole(result.counts.flushed_to_zero), "", count});
  }
  facts.items.push_back({"nan", "NaN", whole(result.counts.nan), "", count});
  facts.items.push_back({"inf", "infinite", whole(result.counts.inf), "", count});
  return facts;
}

}  // namespace

Record view_of(const FormatList& list) {
  Table table{
      .key = "formats",
      .title = "Number formats",
      .columns = {{"format", "format"},
                  {"bits", "bits per element", "", {NumberFormat::fixed, 2}},
                  {"scale", "scale"},
                  {"group", "group"},
                  {"max", "largest", "", {NumberFormat::significant, 4}},
                  {"min", "smallest", "", {NumberFormat::significant, 3}},
                  {"sqnr_db", "SQNR on N(0,1)", "dB", {NumberFormat::fixed, 1}},
                  {"family", "family"}},
      .rows = {},
      .note = fmt::format("SQNR measured on a [{},{}] tensor of normal values, seed {}. Largest and smallest "
                          "(above 0) are of an element, before its scale. Formats with compat=mase change values only: "
                          "nothing is stored, and their bits are those of the sound format.",
                          list.shape[0], list.shape[1], list.seed)};
  for (const ListedFormat& listed : list.formats) {
    const Format& format = listed.format;
    const std::optional<ElementRange>& range = listed.range;
    table.rows.push_back({to_string(format), number(nominal_bits(format)), scale_text(format), geometry_text(format),
                          range ? number(range->largest) : Cell(), range ? number(range->smallest) : Cell(),
                          std::isfinite(listed.sqnr_db) ? number(listed.sqnr_db) : Cell("exact"), listed.family});
  }
  return {.title = "Number formats", .sections = {{"Formats", {table}}}};
}

Record view_of(const CastResult& result, const std::string& source, const std::string& format) {
  Record record{.title = fmt::format("{} through {}", source, format), .sections = {{"Cast", {facts(result)}}}};
  if (!result.codes)
    record.findings.push_back(fmt::format("{} changes values only: it has no codes and can't be packed", format));
  if (result.lost_nan > 0)
    record.findings.push_back(
        fmt::format("{} has no NaN: {} of {} became 0", format, result.lost_nan, result.counts.nan));
  return record;
}

}  // namespace hone
