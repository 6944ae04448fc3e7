// hone lora: low-rank adapters put into a model, fused into its weights, and exchanged with Hugging Face's PEFT.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/peft.h"
#include "jobs/load_model.h"
#include "passes/compress/lora.h"

namespace hone {

struct AdapterFacts {
  std::string layer;
  std::string weight;  // its type and what reads it: "f32[64,64] linear"
  int64_t rank = 0;
  double scaling = 1;
  std::optional<double> change;   // of a fused weight: what it changed by, as a share of it
  std::optional<double> kept_db;  // of one that was packed again: the change against what rounding loses
};

struct AdapterList {
  std::vector<AdapterFacts> adapters;
  int64_t elements = 0, beside = 0;  // of the adapters, and of the model without them
};

struct InsertedAdapters {
  Graph graph;
  AdapterList list;
  std::vector<std::string> passed_over;  // weights that get none: a sentence each
};
InsertedAdapters insert_adapters(const Model& model, const LoraOptions& options);

struct FusedAdapters {
  Graph graph;  // without adapters
  AdapterList list;
  int64_t packed = 0;  // weights that were rounded again, which needs options.requantize
  double kept_db = 0;  // of all of these: the changes against what rounding loses
};
FusedAdapters fuse_adapters(const Model& model, const FuseLoraOptions& options);

struct AdapterExport {
  std::string folder;  // which must not exist
  // Stands before the names of the encoder's modules, "bert."; empty: what the class has that config.json names.
  std::string prefix;
};
struct ExportedAdapters {
  AdapterList list;
  std::string folder, file;  // file: of the tensors, in the folder
  int64_t file_bytes = 0;
  int64_t whole_tensors = 0, biases = 0;  // that were trained beside the adapters
};
// Reads back what it wrote. Throws Error where PEFT would pass over a tensor, or can't have both an adapter and the
// whole module.
ExportedAdapters export_adapters(const Model& model, const AdapterExport& options);

// The model's graph with what PEFT trained in it. Modules are found under their name, that of the model's own files, or
// the one that ends as it does. Throws one Error that lists what does not fit. adapters_only: modules that were trained
// whole (modules_to_save) are left out.
Graph with_adapters(const Model& model, PeftAdapters peft, bool adapters_only = false);

struct AdapterImport {
  std::string folder;
  bool adapters_only = false;  // leave modules that were trained whole (modules_to_save) out
};
struct ImportedAdapters {
  Graph graph;
  AdapterList list;
  int64_t whole_tensors = 0, biases = 0;  // of the folder
  bool adapters_only = false;             // whole tensors were left out
};
ImportedAdapters import_adapters(const Model& model, const AdapterImport& options);

}  // namespace hone
