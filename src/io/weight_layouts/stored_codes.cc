#include "io/weight_layouts/stored_codes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "base/error.h"

namespace hone {
namespace {

// A format whose planes are rows of codes, each starting on a byte, without padding of groups.
Format row_format(int bits) { return parse_format(fmt::format("uint{}.channel", bits)); }

}  // namespace

void refuse_tensor(const std::string& name, const Tensor& tensor, const std::string& accepted) {
  fail("tensor \"{}\" is {}; accepted: {}", name, to_string(tensor.type()), accepted);
}

std::string stored_scale_option(const Tensor& scales, const std::string& name) {
  switch (scales.dtype()) {
    case DType::f32:
      return "";
    case DType::f16:
      return ".s=fp16";
    case DType::bf16:
      return ".s=bf16";
    default:
      refuse_tensor(name, scales, "scales of f32, f16 or bf16");
  }
}

DType stored_scale_dtype(const Format& format) {
  return format.scale.type == ScaleType::f32    ? DType::f32
         : format.scale.type == ScaleType::fp16 ? DType::f16
                                                : DType::bf16;
}

std::vector<uint32_t> unpacked_rows(std::span<const std::byte> rows, int64_t row_bytes, int64_t count, int64_t columns,
                                    int bits) {
  const int64_t bytes = (columns * bits + 7) / 8;
  std::vector<std::byte> codes(static_cast<size_t>(count * bytes));
  for (int64_t r = 0; r < count; ++r)
    std::memcpy(codes.data() + r * bytes, rows.data() + r * row_bytes, static_cast<size_t>(bytes));
  const int64_t shape[] = {count, columns};
  const std::vector<std::byte> scales(static_cast<size_t>(plane_bytes(row_format(bits), shape).scales));
  return codes_of(row_format(bits), shape, {.codes = codes, .scales = scales, .zero_points = {}, .global = {}});
}

std::vector<std::byte> packed_rows(std::span<const uint32_t> codes, int64_t count, int64_t columns, int bits,
                                   int64_t row_bytes) {
  const int64_t shape[] = {count, columns}, bytes = (columns * bits + 7) / 8;
  const std::vector<uint32_t> scales(static_cast<size_t>(count));
  const Planes planes = planes_of(row_format(bits), shape, codes, scales, {});
  std::vector<std::byte> rows(static_cast<size_t>(count * row_bytes));
  for (int64_t r = 0; r < count; ++r)
    std::memcpy(rows.data() + r * row_bytes, planes.codes.data() + r * bytes, static_cast<size_t>(bytes));
  return rows;
}

Tensor tensor_of(const Format& format, const std::vector<int64_t>& shape, std::span<const uint32_t> codes,
                 std::span<const uint32_t> scales, std::span<const uint32_t> zero_points) {
  const Planes planes = planes_of(format, shape, codes, scales, zero_points);
  return Tensor::packed(format, shape, Buffer::copy_of(planes.codes), Buffer::copy_of(planes.scales),
                        Buffer::copy_of(planes.zero_points), Buffer::copy_of(planes.global));
}

std::vector<uint32_t> integers_of(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_bytes(tensor.dtype()));
  CHECK(size <= 4, "elements of {}", to_string(tensor.dtype()));
  std::vector<uint32_t> bits(static_cast<size_t>(tensor.elements()), 0);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], tensor.data().bytes().data() + i * size, size);
  return bits;
}

Tensor of_integers(DType dtype, std::vector<int64_t> shape, std::span<const uint32_t> bits) {
  Tensor tensor(dtype, std::move(shape));
  const auto size = static_cast<size_t>(size_bytes(dtype));
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(tensor.mutable_data() + i * size, &bits[i], size);
  return tensor;
}

std::optional<IntegerRows> integer_rows(const Tensor& weight) {
  if (!weight.is_packed() || weight.shape().size() != 2) return std::nullopt;
  const Format& format = *weight.format();
  const Geometry& g = format.geometry;
  if (format.element.bits < 2 || format.element.bits > 8) return std::nullopt;
  const IntegerRows rows{.bits = format.element.bits,
                         .has_zero_points = weight.zero_points().size() > 0,
                         .group = g.kind == Geometry::Kind::group ? g.columns : 0,
                         .scale_option = format.scale.type == ScaleType::f32    ? ""
                                         : format.scale.type == ScaleType::fp16 ? ".s=fp16"
                                                                                : ".s=bf16"};
  return format == rows.format() ? std::optional(rows) : std::nullopt;
}

Format IntegerRows::format() const {
  return parse_format(fmt::format("{}{}.{}{}{}", has_zero_points ? "uint" : "int", bits,
                                  group == 0 ? "channel" : fmt::format("g{}", group), has_zero_points ? ".asym" : "",
                                  scale_option));
}

void refuse_formats(const char* layout, const std::vector<std::string>& refused, const char* accepted) {
  fail("{} has no room for\n  {}\naccepted: {}", layout, fmt::join(refused, "\n  "), accepted);
}

}  // namespace hone
