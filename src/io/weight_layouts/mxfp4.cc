// MXFP4 as gpt-oss has it (https://github.com/openai/gpt-oss, gpt_oss/torch/weights.py): of a weight W [...,K] the
// codes W_blocks u8[...,K/32,16], the even element in the low half, and the scales W_scales u8[...,K/32]. These are the
// planes of mxfp4.
#include <fmt/format.h>

#include "base/error.h"
#include "base/settings.h"
#include "io/weight_layouts/stored_codes.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {
namespace {

constexpr int64_t kGroup = 32;

constexpr Setting kScheme[] = {{"quant_method"}, {"modules_to_not_convert"}, {"dequantize"}};

std::vector<int64_t> scales_shape(std::vector<int64_t> shape) {
  shape.back() /= kGroup;
  return shape;
}

Tensor read(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape) {
  const Tensor blocks = stored.get(weight + "_blocks", ""),
               scales = stored.get(weight + "_scales", "codes without scales mean nothing");
  if (shape.empty() || shape.back() % kGroup != 0)
    fail("tensor \"{}_blocks\" stands for a weight [{}]; rows of mxfp4 blocks are a multiple of {} long", weight,
         fmt::join(shape, ","), kGroup);
  std::vector<int64_t> wanted = scales_shape(shape);
  if (scales.dtype() != DType::u8 || scales.shape() != wanted)
    refuse_tensor(weight + "_scales", scales, fmt::format("u8[{}]", fmt::join(wanted, ",")));
  wanted.push_back(kGroup / 2);
  if (blocks.dtype() != DType::u8 || blocks.shape() != wanted)
    refuse_tensor(weight + "_blocks", blocks, fmt::format("u8[{}]", fmt::join(wanted, ",")));
  return Tensor::packed(parse_format("mxfp4"), shape, blocks.data(), scales.data(), {}, {});
}

WrittenWeights write(const std::map<std::string, Tensor>& weights) {
  WrittenWeights written;
  std::vector<std::string> refused;
  for (const auto& [name, tensor] : weights) {
    if (!tensor.is_packed()) {
      written.tensors.push_back({name, tensor});
      continue;
    }
    if (to_string(*tensor.format()) != "mxfp4" || tensor.dim(-1) % kGroup != 0) {
      refused.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
      continue;
    }
    std::vector<int64_t> shape = scales_shape(tensor.shape());
    written.tensors.push_back({name + "_scales", Tensor(DType::u8, shape, tensor.scales())});
    shape.push_back(kGroup / 2);
    written.tensors.push_back({name + "_blocks", Tensor(DType::u8, shape, tensor.data())});
    written.scheme = {{"quant_method", "mxfp4"}};
  }
  if (!refused.empty()) refuse_formats("mxfp4", refused, "mxfp4 with rows that are a multiple of 32 long");
  return written;
}

}  // namespace

extern constinit const WeightLayoutDef mxfp4_layout_def{
    .name = "mxfp4",
    .doc = "MXFP4 blocks and scales, as gpt-oss stores them.",
    .method = "mxfp4",
    .check = [](const Json& scheme, const std::string& where) { check_settings(scheme, kScheme, where); },
    .recognises = [](const std::string& weight, const HasTensor& has) { return has(weight + "_blocks"); },
    .read = read,
    .write = write};

}  // namespace hone
