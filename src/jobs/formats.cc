#include "jobs/formats.h"

#include <cmath>
#include <sstream>

#include "base/philox.h"
#include "formats/packed.h"
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

Cell scale_text(const Format& format) {
  if (format.scale.bits == 0) return std::string("-");
  return format.scale.bits == 32 ? std::string("f32") : fmt::format("2^k, {} bits", format.scale.bits);
}

Cell geometry_text(const Format& format) {
  switch (format.geometry.kind) {
    case Geometry::Kind::none:
      return std::string("-");
    case Geometry::Kind::tensor:
      return std::string("tensor");
    case Geometry::Kind::channel:
      return fmt::format("channel, axis {}", format.geometry.axis);
    case Geometry::Kind::group:
      return fmt::format("{} along axis {}", format.geometry.columns, format.geometry.axis);
    case Geometry::Kind::tile:
      return fmt::format("{} x {}", format.geometry.rows, format.geometry.columns);
    case Geometry::Kind::flat:
      return fmt::format("{} in flat order", format.geometry.columns);
  }
  return {};
}

// A tensor of unsigned integers just wide enough for `bits`.
Tensor code_tensor(const std::vector<uint32_t>& codes, std::vector<int64_t> shape, int bits) {
  const DType dtype = bits <= 8 ? DType::u8 : bits <= 16 ? DType::u16 : DType::u32;
  return Tensor::from_doubles(dtype, std::move(shape), std::vector<double>(codes.begin(), codes.end()));
}

}  // namespace

Record list_formats(uint64_t seed) {
  Table table{.key = "formats",
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
                                  "(above 0) are of an element, before its scale.",
                                  kRows, kColumns, seed)};
  const std::vector<float> values = normal_values(seed);
  const std::vector<int64_t> shape{kRows, kColumns};
  std::vector<float> result(values.size());
  for (const FormatDef* def : formats::all()) {
    std::istringstream examples(def->examples);
    for (std::string name; examples >> name;) {
      const Format format = parse_format(name);
      fake_quantise(format, shape, values, result);
      Cell most, least;
      if (format.element.bits <= 16) {
        double largest = 0, smallest = std::numeric_limits<double>::infinity();
        for (double v : code_values(format)) {
          if (!std::isfinite(v)) continue;
          largest = std::max(largest, std::abs(v));
          if (v > 0) smallest = std::min(smallest, v);
        }
        most = number(largest), least = number(smallest);
      }
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
  CastResult result{
      .values = Tensor(DType::f32, tensor.shape()), .codes = std::nullopt, .scales = std::nullopt, .counts = {}};
  fake_quantise(format, tensor.shape(), values, result.values.mutable_as<float>());
  const Planes planes = pack(format, tensor.shape(), values, &result.counts);
  const PlaneView view{planes.codes, planes.scales, planes.zero_points, planes.global};
  result.codes = code_tensor(codes_of(format, tensor.shape(), view), tensor.shape(), format.element.bits);
  if (format.scale.bits > 0) {
    const std::vector<uint32_t> scales = scale_codes_of(format, tensor.shape(), view);
    result.scales = code_tensor(scales, {static_cast<int64_t>(scales.size())}, format.scale.bits);
  }
  return result;
}

}  // namespace hone
