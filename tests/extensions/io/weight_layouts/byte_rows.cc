// byte-rows: of a weight X [N,K] the codes X_codes i8[N,K] and the scales of its rows X_steps f32[N]. These are
// int8.channel.
#include <fmt/format.h>

#include "base/error.h"
#include "base/settings.h"
#include "io/weight_layouts/stored_codes.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {
namespace {

constexpr const char* kFormat = "int8.channel";
constexpr Setting kScheme[] = {{"quant_method"}};

Tensor read(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const Tensor codes = stored.get(weight + "_codes", ""),
               steps = stored.get(weight + "_steps", "codes without scales mean nothing");
  if (shape.size() != 2 || codes.dtype() != DType::i8 || codes.shape() != shape)
    refuse_tensor(weight + "_codes", codes, "i8 in the shape of the weight, a matrix");
  if (steps.dtype() != DType::f32 || steps.shape() != std::vector<int64_t>{shape[0]})
    refuse_tensor(weight + "_steps", steps, fmt::format("f32[{}]", shape[0]));
  return tensor_of(parse_format(kFormat), shape, integers_of(codes), integers_of(steps), {});
}

WrittenWeights write(const std::map<std::string, Tensor>& weights) {
  WrittenWeights written;
  std::vector<std::string> refused;
  for (const auto& [name, tensor] : weights) {
    if (!tensor.is_packed()) {
      written.tensors.push_back({name, tensor});
      continue;
    }
    if (to_string(*tensor.format()) != kFormat || tensor.shape().size() != 2) {
      refused.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
      continue;
    }
    const std::vector<uint32_t> codes = codes_of(*tensor.format(), tensor.shape(), tensor.planes());
    written.tensors.push_back({name + "_codes", of_integers(DType::i8, tensor.shape(), codes)});
    written.tensors.push_back({name + "_steps", Tensor(DType::f32, {tensor.dim(0)}, tensor.scales())});
    written.scheme = {{"quant_method", "byte-rows"}};
  }
  if (!refused.empty()) refuse_formats("byte-rows", refused, "int8.channel of matrices");
  return written;
}

}  // namespace

extern constinit const WeightLayoutDef byte_rows_layout_def{
    .name = "byte-rows",
    .doc = "A byte an element and a scale a row.",
    .method = "byte-rows",
    .check = [](const Json& scheme, const std::string& where) { check_settings(scheme, kScheme, where); },
    .recognises = [](const std::string& weight, const HasTensor& has) { return has(weight + "_codes"); },
    .read = read,
    .write = write};

}  // namespace hone
