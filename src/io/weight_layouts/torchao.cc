// torchao's tensors in safetensors (torchao/prototype/safetensors, flatten_tensor_state_dict): of a weight X.weight
// [N,K] X._weight_qdata i8[N,K], one code an element, X._weight_scale [N,groups], X._weight_zero_point i8[N,groups],
// and in the file's metadata under X.weight a JSON text with the class (Int8Tensor, IntxUnpackedToInt8Tensor) and its
// attributes. Codes and zero points are signed; zero points of 0 throughout are those of a symmetric format.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/settings.h"
#include "io/weight_layouts/stored_codes.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {
namespace {

// What they say of the layout is in the file's metadata.
constexpr Setting kScheme[] = {{"quant_method"},      {"modules_to_not_convert"},          {"quant_type"},
                               {"quant_type_kwargs"}, {"include_input_output_embeddings"}, {"untie_embedding_weights"}};

// X._weight_ of X.weight.
std::string prefix_of(const std::string& weight) {
  const size_t dot = weight.rfind('.');
  return dot == std::string::npos ? "_" + weight + "_" : weight.substr(0, dot) + "._" + weight.substr(dot + 1) + "_";
}

struct TensorClass {
  int bits = 8;
  int64_t group = 0;  // 0: those of a row
};

TensorClass class_of(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const std::string where = fmt::format("metadata \"{}\" of tensor \"{}qdata\"", weight, prefix_of(weight));
  const std::optional<std::string> text = stored.metadata(weight);
  if (!text)
    fail("tensor \"{}qdata\": the file's metadata lack \"{}\", which says what it is", prefix_of(weight), weight);
  const Json facts = parse_json(*text, where);
  const auto type = json_get<std::string>(facts, "_type", where);
  const Json data = json_get<Json>(facts, "_data", where);
  TensorClass found;
  if (type == "IntxUnpackedToInt8Tensor") {
    const Json target = json_get<Json>(data, "target_dtype", where);
    const auto name = json_get<std::string>(target, "_data", where);
    constexpr std::array<const char*, 7> kTypes{"int2", "int3", "int4", "int5", "int6", "int7", "int8"};
    const auto at = std::ranges::find(kTypes, name);
    if (at == kTypes.end()) fail("{}: target_dtype is {}; accepted: int2 to int8", where, name);
    found.bits = static_cast<int>(at - kTypes.begin()) + 2;
  } else if (type != "Int8Tensor") {
    fail("{}: class {} is not supported; supported: Int8Tensor, IntxUnpackedToInt8Tensor", where, type);
  }
  const auto block = json_get<std::vector<int64_t>>(data, "block_size", where);
  if (shape.size() != 2 || block.size() != 2 || block[0] != 1 || block[1] < 1 || shape[1] % block[1] != 0)
    fail("{}: block_size is [{}] of a weight [{}]; accepted: [1, columns] with columns that divide those of the weight",
         where, fmt::join(block, ","), fmt::join(shape, ","));
  found.group = block[1] == shape[1] ? 0 : block[1];
  return found;
}

uint32_t code_of(uint32_t byte, int bits) { return byte & ((1u << bits) - 1); }
uint32_t byte_of(uint32_t code, int bits) {  // two's complement of 8 bits
  return code_of(code ^ (1u << (bits - 1)), bits) - (1u << (bits - 1));
}

// Signed codes that do not fit the width would change in silence.
void expect_width(const std::vector<uint32_t>& bytes, int bits, const std::string& name) {
  const auto signed_of = [](uint32_t byte) { return static_cast<int8_t>(static_cast<uint8_t>(byte)); };
  for (uint32_t byte : bytes)
    if (signed_of(byte) < -(1 << (bits - 1)) || signed_of(byte) >= 1 << (bits - 1))
      fail("tensor \"{}\" holds {}, which an int{} can't be", name, signed_of(byte), bits);
}

Tensor read(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const std::string prefix = prefix_of(weight);
  const TensorClass type = class_of(stored, weight, shape);
  const Tensor qdata = stored.get(prefix + "qdata", ""),
               scales = stored.get(prefix + "scale", "codes without scales mean nothing");
  const std::optional<Tensor> zero_points = stored.find(prefix + "zero_point");
  const std::vector<int64_t> groups{shape[0], type.group == 0 ? 1 : shape[1] / type.group};
  if (qdata.dtype() != DType::i8 || qdata.shape() != shape)
    refuse_tensor(prefix + "qdata", qdata, fmt::format("i8[{}]", fmt::join(shape, ",")));
  if (scales.shape() != groups)
    refuse_tensor(prefix + "scale", scales, fmt::format("scales [{}]", fmt::join(groups, ",")));
  if (zero_points && (zero_points->dtype() != DType::i8 || zero_points->shape() != groups))
    refuse_tensor(prefix + "zero_point", *zero_points, fmt::format("i8[{}]", fmt::join(groups, ",")));
  std::vector<uint32_t> codes = integers_of(qdata);
  std::vector<uint32_t> zeros = zero_points ? integers_of(*zero_points) : std::vector<uint32_t>();
  if (std::ranges::all_of(zeros, [](uint32_t z) { return z == 0; })) zeros.clear();
  expect_width(codes, type.bits, prefix + "qdata");
  expect_width(zeros, type.bits, prefix + "zero_point");
  const uint32_t sign = zeros.empty() ? 0 : 1u << (type.bits - 1);
  for (uint32_t& code : codes) code = code_of(code, type.bits) ^ sign;
  for (uint32_t& zero : zeros) zero = code_of(zero, type.bits) ^ sign;
  const IntegerRows rows{.bits = type.bits,
                         .has_zero_points = !zeros.empty(),
                         .group = type.group,
                         .scale_option = stored_scale_option(scales, prefix + "scale")};
  return tensor_of(rows.format(), shape, codes, integers_of(scales), zeros);
}

const char* torch_name(DType dtype) {
  return dtype == DType::f32 ? "float32" : dtype == DType::f16 ? "float16" : "bfloat16";
}

Json type_of(const std::string& name) { return {{"_type", "torch.dtype"}, {"_data", name}}; }

// Symmetric int8 by rows has a class of its own; the products of that class leave zero points out.
bool is_int8_rows(const IntegerRows& rows) { return rows.bits == 8 && rows.group == 0 && !rows.has_zero_points; }

std::string class_text(const IntegerRows& rows, DType scales, int64_t columns) {
  Json data{{"block_size", {1, rows.group == 0 ? columns : rows.group}}, {"dtype", type_of(torch_name(scales))}};
  const bool is_int8 = is_int8_rows(rows);
  if (is_int8) data.update({{"act_quant_kwargs", nullptr}, {"reduce_range", false}});
  else data.update({{"target_dtype", type_of(fmt::format("int{}", rows.bits))}, {"activation_quantization", nullptr}});
  return Json{{"_type", is_int8 ? "Int8Tensor" : "IntxUnpackedToInt8Tensor"},
              {"_data", data},
              {"_tensor_data_names", {"qdata", "scale", "zero_point"}}}
      .dump();
}

// How torchao's quantize_ would be asked for such weights, as its config_to_dict writes it.
Json config_of(const IntegerRows& rows, DType scales) {
  const auto object = [](const char* type, int version, Json data) {
    return Json{{"_type", type}, {"_version", version}, {"_data", std::move(data)}};
  };
  const auto choice = [](const char* type, const char* name) { return Json{{"_type", type}, {"_data", name}}; };
  if (is_int8_rows(rows))
    return object("Int8WeightOnlyConfig", 2,
                  {{"group_size", nullptr}, {"granularity", object("PerRow", 1, {{"dim", -1}})}});
  return object("IntxWeightOnlyConfig", 2,
                {{"weight_dtype", type_of(fmt::format("int{}", rows.bits))},
                 {"granularity", rows.group == 0 ? object("PerAxis", 1, {{"axis", 0}})
                                                 : object("PerGroup", 1, {{"group_size", rows.group}})},
                 {"mapping_type", choice("MappingType", rows.has_zero_points ? "ASYMMETRIC" : "SYMMETRIC")},
                 {"scale_dtype", type_of(torch_name(scales))},
                 {"intx_packing_format", choice("IntxPackingFormat", "UNPACKED_TO_INT8")}});
}

// What Hugging Face's loader wants to know: one configuration for all layers, or where they differ, one for each.
Json quant_type(const std::map<std::string, Json>& layers) {
  const Json& first = layers.begin()->second;
  if (std::ranges::all_of(layers, [&](const auto& layer) { return layer.second == first; }))
    return {{"default", first}};
  return {{"default", {{"_type", "FqnToConfig"}, {"_version", 1}, {"_data", {{"fqn_to_config", layers}}}}}};
}

void add(const std::string& weight, const Tensor& tensor, const IntegerRows& rows, WrittenWeights& out) {
  const std::string prefix = prefix_of(weight);
  const std::vector<int64_t> groups{tensor.dim(0), rows.groups(tensor.dim(1))};
  const uint32_t sign = rows.has_zero_points ? 1u << (rows.bits - 1) : 0;
  std::vector<uint32_t> codes = codes_of(*tensor.format(), tensor.shape(), tensor.planes());
  for (uint32_t& code : codes) code = byte_of(code ^ sign, rows.bits);
  std::vector<uint32_t> zeros(static_cast<size_t>(element_count(groups)), 0);
  for (size_t i = 0; i < tensor.zero_points().size(); ++i)
    zeros[i] = byte_of(static_cast<uint32_t>(tensor.zero_points().bytes()[i]) ^ sign, rows.bits);
  const DType scales = stored_scale_dtype(*tensor.format());
  out.tensors.push_back({prefix + "qdata", of_integers(DType::i8, tensor.shape(), codes)});
  out.tensors.push_back({prefix + "scale", Tensor(scales, groups, tensor.scales())});
  out.tensors.push_back({prefix + "zero_point", of_integers(DType::i8, groups, zeros)});
  out.metadata[weight] = class_text(rows, scales, tensor.dim(1));
}

WrittenWeights write(const std::map<std::string, Tensor>& weights) {
  WrittenWeights written;
  std::vector<std::string> refused, names;
  std::map<std::string, Json> layers;  // configurations by the name of the layer
  for (const auto& [name, tensor] : weights) {
    names.push_back(name);
    if (!tensor.is_packed()) {
      written.tensors.push_back({name, tensor});
      written.metadata[name] = R"({"_type":"Tensor"})";
      continue;
    }
    const std::optional<IntegerRows> rows = integer_rows(tensor);
    if (!rows || (rows->group != 0 && tensor.dim(1) % rows->group != 0)) {
      refused.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
      continue;
    }
    add(name, tensor, *rows, written);
    layers[name.substr(0, name.rfind('.'))] = config_of(*rows, stored_scale_dtype(*tensor.format()));
  }
  if (!refused.empty())
    refuse_formats("torchao", refused,
                   "int2 to int8 and uint2.asym to uint8.asym by channel or group, of matrices whose rows are whole "
                   "groups");
  written.metadata["tensor_names"] = Json(names).dump();
  if (!layers.empty()) written.scheme = {{"quant_method", "torchao"}, {"quant_type", quant_type(layers)}};
  return written;
}

}  // namespace

extern constinit const WeightLayoutDef torchao_layout_def{
    .name = "torchao",
    .doc =
        "Integers of 2 to 8 bits by channel or group, a byte an element, as torchao's unflatten_tensor_state_dict "
        "reads "
        "them.",
    .method = "torchao",
    .check = [](const Json& scheme, const std::string& where) { check_settings(scheme, kScheme, where); },
    .recognises = [](const std::string& weight, const HasTensor& has) { return has(prefix_of(weight) + "qdata"); },
    .read = read,
    .write = write};

}  // namespace hone
