// The packed layouts of compressed-tensors (https://github.com/neuralmagic/compressed-tensors), which vLLM reads. Of a weight
// X.weight [N,K]:
//   pack-quantized        X.weight_packed i32[N, ceil(K * bits / 32)]: rows of codes, each increased by 2^(bits-1);
//                         X.weight_scale [N, groups]; X.weight_zero_point i32[ceil(N * bits / 32), groups], packed
//                         along N; X.weight_shape i64[2]
//   mxfp4-pack-quantized  X.weight_packed u8[N, K/2], X.weight_scale u8[N, K/32]: the planes of mxfp4
//   nvfp4-pack-quantized  the same with f8e4m3 scales [N, K/16], and X.weight_global_scale f32[1], which divides:
//                         hone's global scale is its reciprocal, so of two neighbours one may come back as the other
// Bits and groups follow from the shapes; where several would fit, those of quantization_config decide.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "io/weight_layouts/compressed_tensors_scheme.h"
#include "io/weight_layouts/stored_codes.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {
namespace {

int64_t words_for(int64_t codes, int64_t bits) { return (codes * bits + 31) / 32; }

void expect_matrix(const std::string& weight, const std::vector<int64_t>& shape) {
  if (shape.size() != 2)
    fail("tensor \"{}_packed\" stands for a weight [{}]; only matrices are read packed", weight, fmt::join(shape, ","));
}

int bits_of(const StoredWeights& stored, const std::string& name, const Tensor& packed,
            const std::vector<int64_t>& shape) {
  const std::set<int64_t> said = stated_in_groups(stored.scheme, "num_bits");
  std::vector<int64_t> fitting;
  for (int64_t bits = 2; bits <= 8; ++bits)
    if (words_for(shape[1], bits) == packed.dim(1)) fitting.push_back(bits);
  if (fitting.size() > 1) std::erase_if(fitting, [&](int64_t bits) { return !said.contains(bits); });
  if (packed.dim(0) != shape[0] || fitting.size() != 1)
    refuse_tensor(name, packed,
                  fmt::format("i32[{}, words] with the words of {} codes of 2 to 8 bits, where several widths fit that "
                              "which quantization_config states",
                              shape[0], shape[1]));
  return static_cast<int>(fitting[0]);
}

void check_shape(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const std::optional<Tensor> said = stored.find(weight + "_shape");
  if (!said) return;
  if (!is_integer(said->dtype()) || said->to_integers() != shape)
    fail("tensor \"{}_shape\" says [{}]; the configuration asks for [{}]", weight,
         is_integer(said->dtype()) ? fmt::format("{}", fmt::join(said->to_integers(), ",")) : to_string(said->type()),
         fmt::join(shape, ","));
}

// Packed along the rows: words [ceil(N * bits / 32), groups].
std::vector<uint32_t> zero_points_of(const Tensor& packed, const std::string& name, int64_t rows, int64_t groups,
                                     int bits) {
  const std::vector<int64_t> wanted{words_for(rows, bits), groups};
  if (packed.dtype() != DType::i32 || packed.shape() != wanted)
    refuse_tensor(name, packed, fmt::format("i32[{}]", fmt::join(wanted, ",")));
  const std::vector<uint32_t> words = integers_of(packed);
  std::vector<uint32_t> by_group(words.size());
  for (int64_t w = 0; w < wanted[0]; ++w)
    for (int64_t g = 0; g < groups; ++g)
      by_group[static_cast<size_t>(g * wanted[0] + w)] = words[static_cast<size_t>(w * groups + g)];
  const std::vector<uint32_t> codes =
      unpacked_rows(std::as_bytes(std::span(by_group)), wanted[0] * 4, groups, rows, bits);
  std::vector<uint32_t> by_row(codes.size());
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t r = 0; r < rows; ++r)
      by_row[static_cast<size_t>(r * groups + g)] = codes[static_cast<size_t>(g * rows + r)];
  return by_row;
}

Tensor packed_zero_points(const Tensor& weight, int64_t groups, int bits) {
  const int64_t rows = weight.dim(0), words = words_for(rows, bits);
  const auto bytes = weight.zero_points().bytes();  // one each
  std::vector<uint32_t> by_group(bytes.size());
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t r = 0; r < rows; ++r)
      by_group[static_cast<size_t>(g * rows + r)] = static_cast<uint32_t>(bytes[static_cast<size_t>(r * groups + g)]);
  const std::vector<std::byte> packed = packed_rows(by_group, groups, rows, bits, words * 4);
  Tensor tensor(DType::i32, {words, groups});
  for (int64_t w = 0; w < words; ++w)
    for (int64_t g = 0; g < groups; ++g)
      std::memcpy(tensor.mutable_data() + (w * groups + g) * 4, packed.data() + (g * words + w) * 4, 4);
  return tensor;
}

// Of int formats the codes are two's complement, which their sign bit makes of increased ones; and back.
void flip_signs(std::vector<uint32_t>& codes, int bits) {
  for (uint32_t& code : codes) code ^= uint32_t{1} << (bits - 1);
}

Tensor read_integers(const StoredWeights& stored, const std::string& weight, const Tensor& packed,
                     const std::vector<int64_t>& shape) {
  const Tensor scales = stored.get(weight + "_scale", "codes without scales mean nothing");
  if (stored.find(weight + "_g_idx"))
    fail("tensor \"{}_g_idx\": columns in another order are not supported; accepted: weights without it", weight);
  const std::optional<Tensor> zero_points = stored.find(weight + "_zero_point");
  const IntegerRows rows{.bits = bits_of(stored, weight + "_packed", packed, shape),
                         .has_zero_points = zero_points.has_value(),
                         .group = scale_group(stored, weight + "_scale", scales, shape),
                         .scale_option = stored_scale_option(scales, weight + "_scale")};
  std::vector<uint32_t> codes = unpacked_rows(packed.data().bytes(), packed.dim(1) * 4, shape[0], shape[1], rows.bits);
  std::vector<uint32_t> zeros;
  if (zero_points)
    zeros = zero_points_of(*zero_points, weight + "_zero_point", shape[0], rows.groups(shape[1]), rows.bits);
  else flip_signs(codes, rows.bits);
  return tensor_of(rows.format(), shape, codes, integers_of(scales), zeros);
}

// mxfp4 and nvfp4, whose planes are stored as they are.
Tensor read_fp4(const StoredWeights& stored, const std::string& weight, const Tensor& packed,
                const std::vector<int64_t>& shape) {
  const Tensor scales = stored.get(weight + "_scale", "codes without scales mean nothing");
  const bool is_mx = scales.dtype() == DType::u8;
  if (!is_mx && scales.dtype() != DType::f8e4m3fn)
    refuse_tensor(weight + "_scale", scales, "scales of u8 (mxfp4) or f8e4m3fn (nvfp4)");
  const int64_t group = is_mx ? 32 : 16;
  const std::vector<int64_t> codes_shape{shape[0], shape[1] / 2}, scales_shape{shape[0], shape[1] / group};
  if (shape[1] % group != 0 || packed.shape() != codes_shape)
    refuse_tensor(weight + "_packed", packed,
                  fmt::format("u8[{}] of a weight [{}] whose columns are a multiple of {}", fmt::join(codes_shape, ","),
                              fmt::join(shape, ","), group));
  if (scales.shape() != scales_shape)
    refuse_tensor(weight + "_scale", scales, fmt::format("[{}]", fmt::join(scales_shape, ",")));
  if (is_mx) return Tensor::packed(parse_format("mxfp4"), shape, packed.data(), scales.data(), {}, {});
  const Tensor divisor = stored.get(weight + "_global_scale", "scales in f8e4m3fn are relative to it");
  if (divisor.dtype() != DType::f32 || divisor.elements() != 1)
    refuse_tensor(weight + "_global_scale", divisor, "f32[1]");
  const float global = 1 / divisor.as<float>()[0];
  if (!(std::isnormal(global) && global > 0))
    fail("tensor \"{}_global_scale\" is {}; accepted: a positive number", weight, divisor.as<float>()[0]);
  return Tensor::packed(parse_format("nvfp4"), shape, packed.data(), scales.data(), {},
                        Buffer::copy_of(std::as_bytes(std::span(&global, 1))));
}

Tensor read_packed(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  expect_matrix(weight, shape);
  check_shape(stored, weight, shape);
  const Tensor packed = stored.get(weight + "_packed", "");
  if (packed.shape().size() == 2 && packed.dtype() == DType::i32) return read_integers(stored, weight, packed, shape);
  if (packed.shape().size() == 2 && packed.dtype() == DType::u8) return read_fp4(stored, weight, packed, shape);
  refuse_tensor(weight + "_packed", packed, "a matrix of i32 (integers) or u8 (mxfp4, nvfp4)");
}

// A number whose reciprocal is `global`; where there is none, the nearest, and a note.
float divisor_of(float global, const std::string& weight, std::vector<std::string>& notes) {
  const float near = 1 / global;
  for (float divisor : {near, std::nextafter(near, 0.0f), std::nextafter(near, INFINITY)})
    if (1 / divisor == global) return divisor;
  notes.push_back(
      fmt::format("{}: its global scale {} is no reciprocal of an f32; readers see {}", weight, global, 1 / near));
  return near;
}

// The tensors of one weight; what the scheme says of it.
Json add_integers(const std::string& weight, const Tensor& tensor, const IntegerRows& rows,
                  std::vector<NamedTensor>& out) {
  const int64_t n = tensor.dim(0), k = tensor.dim(1), words = words_for(k, rows.bits), groups = rows.groups(k);
  std::vector<uint32_t> codes = codes_of(*tensor.format(), tensor.shape(), tensor.planes());
  if (!rows.has_zero_points) flip_signs(codes, rows.bits);
  const std::vector<std::byte> packed = packed_rows(codes, n, k, rows.bits, words * 4);
  out.push_back({weight + "_packed", Tensor(DType::i32, {n, words}, Buffer::copy_of(packed))});
  out.push_back({weight + "_scale", Tensor(stored_scale_dtype(*tensor.format()), {n, groups}, tensor.scales())});
  out.push_back({weight + "_shape", Tensor::of<int64_t>({2}, {n, k})});
  if (rows.has_zero_points) out.push_back({weight + "_zero_point", packed_zero_points(tensor, groups, rows.bits)});
  return {{"format", "pack-quantized"},
          {"weights",
           {{"num_bits", rows.bits},
            {"type", "int"},
            {"symmetric", !rows.has_zero_points},
            {"strategy", rows.group == 0 ? "channel" : "group"},
            {"group_size", rows.group == 0 ? Json() : Json(rows.group)},
            {"dynamic", false}}}};
}

Json add_fp4(const std::string& weight, const Tensor& tensor, WrittenWeights& written) {
  std::vector<NamedTensor>& out = written.tensors;
  const int64_t n = tensor.dim(0), k = tensor.dim(1);
  const bool is_mx = tensor.global().size() == 0;
  const int64_t group = is_mx ? 32 : 16;
  out.push_back({weight + "_packed", Tensor(DType::u8, {n, k / 2}, tensor.data())});
  out.push_back({weight + "_scale", Tensor(is_mx ? DType::u8 : DType::f8e4m3fn, {n, k / group}, tensor.scales())});
  if (!is_mx) {
    float global = 0;
    std::memcpy(&global, tensor.global().bytes().data(), sizeof global);
    out.push_back({weight + "_global_scale", Tensor::of<float>({1}, {divisor_of(global, weight, written.notes)})});
  }
  return {{"format", is_mx ? "mxfp4-pack-quantized" : "nvfp4-pack-quantized"},
          {"weights",
           {{"num_bits", 4},
            {"type", "float"},
            {"symmetric", true},
            {"strategy", is_mx ? "group" : "tensor_group"},
            {"group_size", group},
            {"dynamic", false},
            {"scale_dtype", is_mx ? "torch.uint8" : "torch.float8_e4m3fn"}}}};
}

bool is_fp4(const Tensor& tensor) {
  const std::string format = to_string(*tensor.format());
  const int64_t group = format == "mxfp4" ? 32 : 16;
  return (format == "mxfp4" || format == "nvfp4") && tensor.shape().size() == 2 && tensor.dim(1) % group == 0;
}

// X of X.weight, by which the scheme knows a layer.
std::string layer_of(const std::string& weight) { return weight.substr(0, weight.rfind('.')); }

WrittenWeights write(const std::map<std::string, Tensor>& weights) {
  WrittenWeights written;
  std::map<std::string, Json> groups;  // by what they say of their weights
  std::vector<std::string> refused;
  for (const auto& [name, tensor] : weights) {
    if (!tensor.is_packed()) {
      written.tensors.push_back({name, tensor});
      continue;
    }
    const std::optional<IntegerRows> rows = integer_rows(tensor);
    if (!name.ends_with(".weight") || (!rows && !is_fp4(tensor))) {
      refused.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
      continue;
    }
    const Json said = rows ? add_integers(name, tensor, *rows, written.tensors) : add_fp4(name, tensor, written);
    Json& group = groups.try_emplace(said.dump(), said).first->second;
    group["targets"].push_back(layer_of(name));
  }
  if (!refused.empty())
    refuse_formats("compressed-tensors", refused,
                   "int2 to int8 and uint2.asym to uint8.asym by channel or group, mxfp4 and nvfp4, of matrices called "
                   "X.weight whose rows are whole groups");
  if (groups.empty()) return written;
  std::set<std::string> formats;
  Json config_groups;
  for (const auto& [key, group] : groups) {
    config_groups[fmt::format("group_{}", config_groups.size())] = group;
    formats.insert(group["format"].get<std::string>());
  }
  written.scheme = {{"quant_method", kCompressedTensors},
                    {"format", formats.size() == 1 ? *formats.begin() : "mixed-precision"},
                    {"quantization_status", "compressed"},
                    {"config_groups", config_groups},
                    {"ignore", Json::array()}};
  return written;
}

}  // namespace

extern constinit const WeightLayoutDef compressed_tensors_layout_def{
    .name = "compressed-tensors",
    .doc = "Integers of 2 to 8 bits by channel or group, mxfp4 and nvfp4, as vLLM reads them.",
    .method = kCompressedTensors,
    .check = check_compressed_tensors,
    .recognises = [](const std::string& weight, const HasTensor& has) { return has(weight + "_packed"); },
    .read = read_packed,
    .write = write};

}  // namespace hone
