#include "io/weight_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"

namespace hone {

extern constinit const WeightLayoutDef compressed_tensors_layout, naive_quantized_layout, mxfp4_layout, torchao_layout;

namespace {

constexpr std::array<const WeightLayoutDef*, 4> kLayouts{&compressed_tensors_layout, &naive_quantized_layout,
                                                         &mxfp4_layout, &torchao_layout};

// A format whose planes are rows of codes, each starting on a byte, without padding of groups.
Format row_format(int bits) { return parse_format(fmt::format("uint{}.channel", bits)); }

}  // namespace

std::span<const WeightLayoutDef* const> weight_layouts() { return kLayouts; }

const WeightLayoutDef& writable_layout(std::string_view name) {
  std::vector<std::string> known;
  for (const WeightLayoutDef* layout : kLayouts) {
    if (!layout->write) continue;
    if (name == layout->name) return *layout;
    known.emplace_back(layout->name);
  }
  fail("layout \"{}\" is not known; known: {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

namespace {

// Keys of quantization_config. What they say of the layout is in the tensors' names, types and shapes.
constexpr Setting kScheme[] = {
    {"quant_method"},
    {"modules_to_not_convert"},
    {"config_groups"},
    {"format"},
    {"ignore"},
    {"quantization_status"},
    {"global_compression_ratio"},
    {"version"},
    {"quant_type"},
    {"quant_type_kwargs"},
    {"include_input_output_embeddings"},
    {"untie_embedding_weights"},
    {"dequantize"},
    {"run_compressed"},
    {"sparsity_config"},  // looked at by itself
};
constexpr Setting kGroup[] = {{"targets"}, {"weights"}, {"format"}};
constexpr Setting kWeights[] = {{"num_bits"},         {"type", R"("int" | "float")"},
                                {"symmetric"},        {"group_size"},
                                {"strategy"},         {"block_structure"},
                                {"dynamic", "false"}, {"actorder", R"("weight" | "static")"},
                                {"observer"},         {"observer_kwargs"},
                                {"scale_dtype"},      {"zp_dtype"}};
constexpr Setting kSparsity[] = {{"format", R"("dense")"},
                                 {"registry_requires_subclass"},
                                 {"sparsity_structure"},
                                 {"global_sparsity"},
                                 {"targets"},
                                 {"ignore"}};

// Such as activations that are rounded, a cache of keys in few bits, rotations.
void check_keys(const Json& scheme, const std::string& where) {
  check_settings(scheme, kScheme, where);
  check_settings(scheme.value("sparsity_config", Json()), kSparsity, where + ": sparsity_config");
  const Json groups = scheme.value("config_groups", Json());
  if (!groups.is_object()) return;
  for (const auto& [name, group] : groups.items()) {
    const std::string place = fmt::format("{}: config_groups: {}", where, name);
    check_settings(group, kGroup, place);
    if (group.is_object()) check_settings(group.value("weights", Json()), kWeights, place + ": weights");
  }
}

}  // namespace

void check_scheme(const Json& scheme, const std::string& source) {
  if (scheme.is_null()) return;
  static const std::vector<std::string> methods{"compressed-tensors", "mxfp4", "torchao"},
      formats{"dense",          "int-quantized",        "float-quantized",      "naive-quantized",
              "pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized", "mixed-precision"};
  const std::string where = source + ": quantization_config";
  const auto method = json_get<std::string>(scheme, "quant_method", where);
  if (std::ranges::find(methods, method) == methods.end())
    fail("{}: quant_method \"{}\" is not supported; supported: {}", where, method, fmt::join(methods, ", "));
  check_keys(scheme, where);
  if (method != "compressed-tensors" || !scheme.contains("format")) return;
  const auto format = json_get<std::string>(scheme, "format", where);
  if (std::ranges::find(formats, format) == formats.end())
    fail("{}: format \"{}\" is not supported; supported: {}", where, format, fmt::join(formats, ", "));
}

Tensor StoredWeights::get(const std::string& name, const std::string& why) const {
  std::optional<Tensor> found = find(name);
  if (!found) fail("tensor \"{}\" is missing: {}", name, why);
  return *std::move(found);
}

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
