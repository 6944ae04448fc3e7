// hone quantize and hone prune --mase-config: what a configuration of MASE asks for, as options of hone's.
#pragma once

#include <string>
#include <vector>

#include "base/option_tables.h"
#include "importers/model.h"
#include "io/mase/formats.h"
#include "prune/prune_weights.h"

namespace hone {

// --mase-config and --mase-exact, of hone quantize.
struct MaseFlags {
  std::string mase_config;
  bool mase_exact = false;
  MaseBits bits() const { return mase_exact ? MaseBits::same : MaseBits::sound; }
  static std::span<const OptionField<MaseFlags>> fields();
};

// The rules come before others, which win. Throws Error where the file has no pass quantize.
struct MaseQuantization {
  std::vector<std::string> rule;
  std::vector<std::string> notes;  // what became of the file's keys, and what else it has: a sentence each
};
MaseQuantization mase_quantization(const Model& model, const std::string& path, MaseBits bits);

// The options of its pass prune. Weights that MASE has no mask for, those of convolutions of one axis, are kept. Throws
// Error where the file has no such pass.
struct MasePruning {
  PruneOptions options;
  std::vector<std::string> notes;
};
MasePruning mase_pruning(const Model& model, const std::string& path);

}  // namespace hone
