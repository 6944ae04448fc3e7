#include <hone/formats.h>

#include "api/guarded.h"
#include "api/values.h"
#include "base/text.h"
#include "jobs/format_list.h"

namespace hone::api {
namespace {

EncodeCounts wrapped(const hone::EncodeCounts& counts) {
  return {counts.nan, counts.inf, counts.saturated, counts.flushed_to_zero};
}

// Throws Error unless it can be rounded.
hone::Tensor values_of(const Tensor& tensor) {
  if (tensor.is_packed() || !hone::is_float(engine(tensor.dtype())))
    fail("a tensor {} is not rounded to a format; f32, f16, bf16 and f64 are", tensor.type());
  return engine(tensor);
}

Buffer bytes_of(const Tensor& plane, const char* name) {
  if (plane.dtype() != DType::u8 || plane.is_packed())
    fail("{} are a tensor {}; bytes, u8[n], are needed", name, plane.type());
  return engine(plane).data();
}

Tensor plane(const Buffer& bytes) {
  return api::wrapped(hone::Tensor(hone::DType::u8, {static_cast<int64_t>(bytes.size())}, bytes));
}

}  // namespace

std::vector<FormatFamily> list_formats() {
  std::vector<FormatFamily> all;
  for (const FormatDef* def : formats::all()) all.push_back({def->name, def->doc, split(def->examples, ' ')});
  return all;
}

FormatInfo parse_format(const std::string& text) {
  return guarded([&] {
    const Format format = hone::parse_format(text);
    return FormatInfo{.text = hone::to_string(format),
                      .family = format.family->name,
                      .bits = nominal_bits(format),
                      .is_plain = is_plain_float(format),
                      .changes_only = is_fake_only(format)};
  });
}

std::vector<std::string> expand_formats(const std::vector<std::string>& patterns) {
  return guarded([&] { return parse_format_list(patterns); });
}

Tensor pack(const Tensor& tensor, const std::string& format, EncodeCounts* counts) {
  return guarded([&] {
    hone::EncodeCounts found;
    hone::Tensor packed = hone::pack(hone::parse_format(format), values_of(tensor), &found);
    if (counts) *counts = wrapped(found);
    return api::wrapped(std::move(packed));
  });
}

Tensor unpack(const Tensor& tensor) {
  return guarded([&] {
    if (tensor.dtype() == DType::string) fail("a tensor {} has no numbers", tensor.type());
    if (!tensor.is_packed()) return api::wrapped(engine(tensor).converted(hone::DType::f32));
    return api::wrapped(hone::unpack(engine(tensor)));
  });
}

Tensor round_to(const Tensor& tensor, const std::string& format) {
  return guarded([&] {
    const std::vector<float> values = values_of(tensor).to_floats();
    hone::Tensor rounded(hone::DType::f32, tensor.shape());
    fake_quantize(hone::parse_format(format), tensor.shape(), values, rounded.mutable_as<float>());
    return api::wrapped(std::move(rounded));
  });
}

PackedPlanes planes(const Tensor& packed) {
  return guarded([&] {
    if (!packed.is_packed()) fail("a tensor {} is not packed", packed.type());
    const hone::Tensor tensor = engine(packed);
    return PackedPlanes{plane(tensor.data()), plane(tensor.scales()), plane(tensor.zero_points()),
                        plane(tensor.global())};
  });
}

Tensor packed_of_planes(const std::string& text, std::vector<int64_t> shape, const PackedPlanes& planes) {
  return guarded([&] {
    const Format format = hone::parse_format(text);
    if (is_plain_float(format) || is_fake_only(format)) fail("format {} has no planes", text);
    Buffer codes = bytes_of(planes.codes, "codes"), scales = bytes_of(planes.scales, "scales");
    Buffer zero_points = bytes_of(planes.zero_points, "zero points"), global = bytes_of(planes.global, "global scales");
    check_planes(format, shape, {codes.bytes(), scales.bytes(), zero_points.bytes(), global.bytes()});
    hone::Tensor tensor = hone::Tensor::packed(format, std::move(shape), std::move(codes), std::move(scales),
                                               std::move(zero_points), std::move(global));
    check_codes(format, tensor.shape(), tensor.planes());
    return api::wrapped(std::move(tensor));
  });
}

}  // namespace hone::api
