// hone lora: low-rank adapters put into a model, fused into its weights, and exchanged with Hugging Face's PEFT.
#pragma once

#include <string>

#include "io/peft.h"
#include "jobs/load_model.h"
#include "passes/compress/lora.h"
#include "report/record.h"

namespace hone {

// Each writes a file or folder and gives its record: findings, and a table "adapters".
Record insert_adapters(const Model& model, const LoraOptions& options, const std::string& output,
                       const std::string& command);

// Of packed weights, which need options.requantize, the table says how much of what was learned the rounding keeps.
Record fuse_adapters(const Model& model, const FuseLoraOptions& options, const std::string& output,
                     const std::string& command);

struct AdapterExport {
  std::string folder;  // which must not exist
  // Stands before the names of the encoder's modules, "bert."; empty: what the class has that config.json names.
  std::string prefix;
  std::string command;
};
// Reads back what it wrote. Throws Error where PEFT would pass over a tensor, or can't have both an adapter and the
// whole module.
Record export_adapters(const Model& model, const AdapterExport& options);

// The model's graph with what PEFT trained in it. Modules are found under their name, that of the model's own files, or
// the one that ends as it does. Throws one Error that lists what does not fit. adapters_only: modules that were trained
// whole (modules_to_save) are left out.
Graph with_adapters(const Model& model, PeftAdapters peft, bool adapters_only = false);

struct AdapterImport {
  std::string folder, output;
  bool adapters_only = false;  // leave modules that were trained whole (modules_to_save) out
  std::string command;
};
Record import_adapters(const Model& model, const AdapterImport& options);

}  // namespace hone
