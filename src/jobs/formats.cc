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

namespace hone {
namespace {

constexpr int64_t kRows = 64, kColumns = 1024;

std::vector<float> normal_values(uint64_t seed) {
  Philox random(seed);
  std::vector<float> values(static_cast<size_t>(kRows * kColumns));
  for (float& v : values) v = random.normal();
  return values;
}

std::optional<ElementRange> range_of(const Format& format) {
  if (format.element.bits > 16 || is_residual(format) || is_fake_only(format)) return std::nullopt;
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (double v : code_values(format)) {
    if (!std::isfinite(v)) continue;
    largest = std::max(largest, std::abs(v));
    if (v > 0) smallest = std::min(smallest, v);
  }
  return ElementRange{largest, smallest};
}

// A tensor of unsigned integers just wide enough for `bits`.
Tensor code_tensor(const std::vector<uint32_t>& codes, std::vector<int64_t> shape, int bits) {
  const DType dtype = bits <= 8 ? DType::u8 : bits <= 16 ? DType::u16 : DType::u32;
  return Tensor::from_doubles(dtype, std::move(shape), std::vector<double>(codes.begin(), codes.end()));
}

}  // namespace

FormatList list_formats(uint64_t seed) {
  FormatList list{.formats = {}, .shape = {kRows, kColumns}, .seed = seed};
  const std::vector<float> values = normal_values(seed);
  std::vector<float> result(values.size());
  for (const FormatDef* def : formats::all()) {
    std::istringstream examples(def->examples);
    for (std::string name; examples >> name;) {
      const Format format = parse_format(name);
      fake_quantize(format, list.shape, values, result);
      list.formats.push_back({format, def->name, range_of(format), compare(values, result).sqnr_db});
    }
  }
  return list;
}

CastResult cast_through(const std::string& text, const Tensor& tensor) {
  const Format format = parse_format(text);
  if (tensor.is_packed() || !is_float(tensor.dtype()))
    fail("the array is {}; only floating-point arrays can be cast to {}", to_string(tensor.type()), text);
  const std::vector<float> values = tensor.to_floats();
  CastResult result{.format = format, .values = Tensor(DType::f32, tensor.shape())};
  const std::shared_ptr<const Packer> packer = compiled_packer();
  const std::span<float> decoded = result.values.mutable_as<float>();
  if (is_fake_only(format)) {
    packer->fake_quantize(format, tensor.shape(), values, decoded);
    for (float v : values) result.counts.nan += std::isnan(v), result.counts.inf += std::isinf(v);
    result.quality = compare(values, decoded);
    return result;
  }
  const Planes planes = packer->pack(format, tensor.shape(), values, &result.counts);
  const PlaneView view{planes.codes, planes.scales, planes.zero_points, planes.global};
  unpack(format, tensor.shape(), view, decoded);
  result.quality = compare(values, decoded);
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
