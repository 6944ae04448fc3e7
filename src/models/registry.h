// Builders of known architectures from a configuration.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "ir/graph.h"

namespace hone {

// Gives the tensor called `name`; the builder states the shape it needs. Throws Error on a missing tensor or another
// shape.
using WeightSource = std::function<Tensor(const std::string& name, const std::vector<int64_t>& shape)>;

struct ModelRequest {
  const Json& config;               // of config.json
  std::string source;               // its file name, for errors
  std::vector<std::string> inputs;  // what the graph takes (--inputs); empty: the architecture's default
  Json pooling;                     // sentence encoders: 1_Pooling/config.json, null otherwise
  bool normalise = false;           // sentence encoders: L2-normalise the embedding
  WeightSource weights;
  std::function<bool(const std::string& name)> has_weight =
      {};  // for optional parts, which are left out where it is empty
};

// A well-known member of a family, which `hone build` knows by name.
struct ModelPreset {
  const char* name;
  const char* config;  // JSON: every key that the family reads, but for "architectures"
};

struct ModelDef {
  const char* name;
  const char* doc;
  const char* architectures;  // space-separated names of config.json that it builds; the first is that of the presets
  std::span<const ModelPreset> presets = {};
  Graph (*build)(const ModelRequest&);
};

namespace models {
std::span<const ModelDef* const> all();
}

}  // namespace hone
