// hone build: a known architecture as a model file, with given weights or seeded random ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jobs/load_model.h"
#include "report/record.h"

namespace hone {

struct BuildOptions {
  std::string model;                       // name of a preset, or a configuration file, .json
  std::map<std::string, std::string> set;  // keys of the configuration to change; values as JSON, or plain text
  std::string weights;                     // .safetensors file (or folder of shards); empty: random
  uint64_t seed = 1;                       // of random weights
};

// Throws Error for an unknown model or key, and one that lists every tensor that is missing, misshapen or left over.
LoadedModel build_model(const BuildOptions& options);

// build_model, written to `output` (.safetensors, or .onnx), and the record of it.
Record build_to_file(const BuildOptions& options, const std::string& output, const std::string& command);

}  // namespace hone
