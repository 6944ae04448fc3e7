// hone build: a known architecture as a model file, with given weights or seeded random ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/file_facts.h"
#include "jobs/load_model.h"
#include "jobs/save_model.h"
#include "measure/environment.h"

namespace hone {

struct BuildOptions {
  std::string model;                       // name of a preset, or a configuration file, .json
  std::map<std::string, std::string> set;  // keys of the configuration to change; values as JSON, or plain text
  std::string weights;                     // .safetensors file (or folder of shards); empty: random
  uint64_t seed = 1;                       // of random weights
  std::vector<std::string> keys;           // "KEY=VALUE", beside `set`
  std::vector<std::string> inputs;         // what the graph takes; empty: the family's default
  std::string tokenizer;                   // tokenizer.json, vocab.txt or their folder; empty: none
  static std::span<const OptionField<BuildOptions>> fields();
};

// Throws Error for an unknown model or key, and one that lists every tensor that is missing, misshapen or left over.
Model build_model(const BuildOptions& options);

struct BuildResult {
  std::string name, path;  // of the model, and of its file
  BuildOptions options;
  std::string config;      // JSON
  int64_t parameters = 0;  // and statistics
  SavedModel saved;
  std::optional<FileFacts> source;  // of the weights that were given
  FileFacts written;
  Environment environment;
};

// build_model, written to `path` (.safetensors, or .onnx).
BuildResult build_to_file(const BuildOptions& options, const std::string& path);

}  // namespace hone
