#include "io/weight_layouts/compressed_tensors_scheme.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/settings.h"
#include "io/weight_layouts/stored_codes.h"

namespace hone {
namespace {

// What they say of the layout is in the tensors' names, types and shapes.
constexpr Setting kScheme[] = {
    {"quant_method"},
    {"modules_to_not_convert"},
    {"dequantize"},
    {"config_groups"},
    {"format"},
    {"ignore"},
    {"quantization_status"},
    {"global_compression_ratio"},
    {"version"},
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

void check_compressed_tensors(const Json& scheme, const std::string& where) {
  static const std::vector<std::string> formats{
      "dense",          "int-quantized",        "float-quantized",      "naive-quantized",
      "pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized", "mixed-precision"};
  check_keys(scheme, where);
  if (!scheme.contains("format")) return;
  const auto format = json_get<std::string>(scheme, "format", where);
  if (std::ranges::find(formats, format) == formats.end())
    fail("{}: format \"{}\" is not supported; supported: {}", where, format, fmt::join(formats, ", "));
}

std::set<int64_t> stated_in_groups(const Json& scheme, const char* key) {
  std::set<int64_t> values;
  const Json groups = scheme.is_object() ? scheme.value("config_groups", Json()) : Json();
  if (!groups.is_object()) return values;
  for (const auto& [name, group] : groups.items()) {
    const Json weights = group.is_object() ? group.value("weights", Json()) : Json();
    if (weights.is_object() && weights.contains(key) && weights[key].is_number_integer())
      values.insert(json_get<int64_t>(weights, key, "quantization_config"));
  }
  return values;
}

int64_t scale_group(const StoredWeights& stored, const std::string& name, const Tensor& scales,
                    const std::vector<int64_t>& shape) {
  const std::vector<int64_t>& s = scales.shape();
  if (s.size() == 2 && s[0] == shape[0] && s[1] >= 1 && s[1] <= shape[1]) {
    const auto fits = [&](int64_t group) {
      return group >= 1 && group <= shape[1] && (shape[1] + group - 1) / group == s[1];
    };
    for (int64_t group : stated_in_groups(stored.scheme, "group_size"))
      if (fits(group)) return group;
    if (s[1] == 1) return 0;
    if (shape[1] % s[1] == 0) return shape[1] / s[1];
  }
  if (s.size() == 1 && s[0] == shape[0]) return 0;
  refuse_tensor(name, scales, fmt::format("scales [{}, groups] of a weight [{}]", shape[0], fmt::join(shape, ",")));
}

}  // namespace hone
