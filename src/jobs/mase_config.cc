#include "jobs/mase_config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/shell.h"
#include "io/mase/config.h"
#include "io/mase/layers.h"
#include "io/mase/rules.h"
#include "ir/bodies.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

constexpr OptionField<MaseFlags> kFields[] = {
    flag("mase-config", "TOML file of MASE: the layers of its pass quantize get their formats; --rule wins",
         &MaseFlags::mase_config, {.file = OptionFile::reads}),
    flag("mase-exact", "The values that MASE computes, its defects too (compat=mase): weights are rounded f32",
         &MaseFlags::mase_exact, {.only_with = "mase-config"})};

// The other pass of the file is another command, before or after.
void note_other(const MaseConfig& config, const std::string& pass, std::vector<std::string>& notes) {
  const std::string other = pass == "quantize" ? "prune" : "quantize";
  const auto place = [&](const std::string& name) { return std::ranges::find(config.order, name); };
  if (place(other) == config.order.end()) return;
  const std::string words[] = {"hone", other, "MODEL", "--mase-config", config.path, "-o", "FILE"};
  notes.push_back(fmt::format("passes.{} is not done here: {}, {} this, as the file has it", other, shell_line(words),
                              place(other) < place(pass) ? "before" : "after"));
}

std::string escaped(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::span<const OptionField<MaseFlags>> MaseFlags::fields() { return kFields; }

MaseQuantization mase_quantization(const Model& model, const std::string& path, MaseBits bits) {
  const MaseConfig config = read_mase_config(path);
  if (!config.quantize) fail("{}: has no table [passes.quantize]; give formats by --to and --rule", path);
  MaseRules rules = mase_rules(*config.quantize, with_unique_labels(canonicalise(model.graph)), bits);
  MaseQuantization result{std::move(rules.rule), {}};
  for (const std::string& note : rules.notes) result.notes.push_back("MASE's " + note);
  note_other(config, "quantize", result.notes);
  result.notes.insert(result.notes.end(), config.skipped.begin(), config.skipped.end());
  return result;
}

MasePruning mase_pruning(const Model& model, const std::string& path) {
  const MaseConfig config = read_mase_config(path);
  if (!config.prune) fail("{}: has no table [passes.prune]; give what goes by --sparsity and --method", path);
  MasePruning result{
      .options = {.sparsity = config.prune->sparsity, .method = config.prune->method, .scope = config.prune->scope}};
  for (const MaseLayer& each : mase_layers(canonicalise(model.graph)))
    if (each.op == std::string_view("conv") && each.type != "conv2d" && each.layer.weight != kNone)
      result.options.skip.push_back(fmt::format("^{}$", escaped(each.graph->value(each.layer.weight).label)));
  if (!result.options.skip.empty())
    result.notes.push_back("MASE prunes linear and conv2d alone: other convolutions are kept");
  note_other(config, "prune", result.notes);
  result.notes.insert(result.notes.end(), config.skipped.begin(), config.skipped.end());
  return result;
}

}  // namespace hone
