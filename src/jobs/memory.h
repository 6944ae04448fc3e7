// hone memory: what a model takes as stored and while it runs, before and after packing its weights, each measured in a
// process of its own, and item by item where the saving that the format promises is not reached.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "jobs/file_facts.h"
#include "jobs/probe.h"
#include "jobs/run_options.h"
#include "jobs/task.h"
#include "measure/environment.h"

namespace hone {

struct MemoryOptions : ShapeFlags, RunFlags {
  std::vector<std::string> to;    // formats; each is tried on the layers alone and on layers and tables
  std::vector<std::string> skip;  // regular expressions: weights that are kept
  static std::span<const OptionField<MemoryOptions>> fields();
  static std::span<const OptionField<MemoryOptions>> own_fields();  // of these, all but those of the groups
};

// What weights are for.
enum class WeightPart : uint8_t { packed_layers, kept_layers, tables, position_tables, norms, biases, others };
constexpr size_t kWeightParts = 7;

// A model as it was written, and one run of it.
struct MemoryAccount {
  std::string key, title;                       // "mxint8_and_tables"; the first of all is "original"
  std::array<int64_t, kWeightParts> stored{};   // bytes, by WeightPart
  int64_t packed_before = 0, packed_after = 0;  // bytes of the tensors that change
  double promised = 0;                          // share of their bytes that the format saves
  std::optional<ProbeResult> run;               // none: the caller lends no processes
  int64_t stored_in(WeightPart part) const { return stored[static_cast<size_t>(part)]; }
  int64_t all_stored() const;
};

struct MemoryResult {
  std::string name;
  FileFacts file;
  std::vector<MemoryAccount>
      accounts;                    // the original, then a packed one for each format, or two where there are tables
  bool on_device = false;          // runs were on a device with memory of its own
  std::vector<std::string> notes;  // that device's
  Environment environment;
};

// Throws Error where a format changes nothing, or sizes do not fit.
MemoryResult memory(const Model& model, const MemoryOptions& options, const TaskContext& context = {});

}  // namespace hone
