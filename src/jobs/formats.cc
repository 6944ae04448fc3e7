#include "jobs/formats.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "base/philox.h"
#include "base/threads.h"
#include "formats/format_string.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "formats/zero_points.h"
#include "jobs/compiled_packer.h"
#include "measure/quality.h"

namespace hone {
namespace {

constexpr int64_t kRows = 64, kColumns = 1024;

std::vector<float> normal_values(uint64_t seed) {
  Philox random(seed);
  std::vector<float> values(static_cast<size_t>(kRows * kColumns));
  for (float& v : values) v = random.normal();
  return values;
}

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

// The largest magnitude and the smallest above 0 that codes stand for; empty where codes have no value of their own.
std::pair<Cell, Cell> range_of(const Format& format) {
  if (format.element.bits > 16 || is_residual(format) || is_fake_only(format)) return {};
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (double v : code_values(format)) {
    if (!std::isfinite(v)) continue;
    largest = std::max(largest, std::abs(v));
    if (v > 0) smallest = std::min(smallest, v);
  }
  return {number(largest), number(smallest)};
}

// A tensor of unsigned integers just wide enough for `bits`.
Tensor code_tensor(const std::vector<uint32_t>& codes, std::vector<int64_t> shape, int bits) {
  const DType dtype = bits <= 8 ? DType::u8 : bits <= 16 ? DType::u16 : DType::u32;
  return Tensor::from_doubles(dtype, std::move(shape), std::vector<double>(codes.begin(), codes.end()));
}

}  // namespace

Record list_formats(uint64_t seed) {
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
                          kRows, kColumns, seed)};
  const std::vector<float> values = normal_values(seed);
  const std::vector<int64_t> shape{kRows, kColumns};
  std::vector<float> result(values.size());
  for (const FormatDef* def : formats::all()) {
    std::istringstream examples(def->examples);
    for (std::string name; examples >> name;) {
      const Format format = parse_format(name);
      fake_quantize(format, shape, values, result);
      const auto [most, least] = range_of(format);
      const double sqnr = compare(values, result).sqnr_db;
      table.rows.push_back({to_string(format), number(nominal_bits(format)), scale_text(format), geometry_text(format),
                            most, least, std::isfinite(sqnr) ? number(sqnr) : Cell("exact"), std::string(def->name)});
    }
  }
  return Record{.title = "Number formats",
                .command = "",
                .findings = {},
                .sections = {{"Formats", {table}}},
                .machine = {},
                .manifest = {}};
}

CastResult cast_through(const std::string& text, const Tensor& tensor) {
  const Format format = parse_format(text);
  if (tensor.is_packed() || !is_float(tensor.dtype()))
    fail("the array is {}; only floating-point arrays can be cast to {}", to_string(tensor.type()), text);
  const std::vector<float> values = tensor.to_floats();
  CastResult result{.values = Tensor(DType::f32, tensor.shape()),
                    .codes = {},
                    .scales = {},
                    .zero_points = {},
                    .outer_scales = {},
                    .global_scale = {},
                    .counts = {}};
  const std::shared_ptr<const Packer> packer = compiled_packer();
  const std::span<float> decoded = result.values.mutable_as<float>();
  if (is_fake_only(format)) {
    packer->fake_quantize(format, tensor.shape(), values, decoded);
    for (float v : values) result.counts.nan += std::isnan(v), result.counts.inf += std::isinf(v);
    return result;
  }
  const Planes planes = packer->pack(format, tensor.shape(), values, &result.counts);
  const PlaneView view{planes.codes, planes.scales, planes.zero_points, planes.global};
  unpack(format, tensor.shape(), view, decoded);
  for (size_t i = 0; i < values.size(); ++i) result.lost_nan += std::isnan(values[i]) && !std::isnan(decoded[i]);
  const auto list = [](const std::vector<uint32_t>& codes, int bits) {
    return code_tensor(codes, {static_cast<int64_t>(codes.size())}, bits);
  };
  result.codes = code_tensor(codes_of(format, tensor.shape(), view), tensor.shape(), format.element.bits);
  if (format.scale.bits > 0) result.scales = list(scale_codes_of(format, tensor.shape(), view), format.scale.bits);
  const std::vector<uint32_t> zeros = zero_points_of(format, view);
  if (!zeros.empty()) result.zero_points = list(zeros, format.element.bits);
  if (is_two_level(format)) result.outer_scales = list(outer_codes_of(format, tensor.shape(), view), 16);
  if (format.scale_kind->global && !planes.global.empty())
    std::memcpy(&result.global_scale.emplace(), planes.global.data(), sizeof(float));
  return result;
}

}  // namespace hone
