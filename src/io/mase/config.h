// A configuration of MASE's `ch`, in TOML: [passes.quantize] and [passes.prune], which hone follows, and what else such
// files hold. A key that may change a model and that hone does not follow is an Error, by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace hone {

// [passes.quantize.<key>.config].
struct MaseLayerConfig {
  std::string key;             // a type of op, a name, a regular expression, or "default"
  std::string quantizer;       // "" where `name` is "NA", or `bypass` is set: kept as it is
  Json keys = Json::object();  // the others
  std::string where;           // begins errors
};

struct MaseQuantize {
  enum class By : uint8_t { type, name, regex_name } by = By::type;
  std::vector<MaseLayerConfig> layers;  // in the order of the file
  std::optional<MaseLayerConfig> otherwise;
};

struct MasePrune {
  double sparsity = 0;
  std::string method;  // hone's name of it
  std::string scope;
};

struct MaseConfig {
  std::string path;  // of the file
  std::optional<MaseQuantize> quantize;
  std::optional<MasePrune> prune;
  std::vector<std::string> order;    // of the two
  std::vector<std::string> skipped;  // keys and passes that change no weight, a sentence each
};

// What becomes of a pass of MASE.
struct MasePass {
  enum class Fate : uint8_t { followed, skipped, refused } fate;
  const char* name;  // as [passes.<name>] has it
  const char* says;  // what hone has in its place, or why it has nothing
};
std::span<const MasePass> mase_passes();
std::span<const char* const> mase_settings();  // keys outside of [passes] that are about no pass

MaseConfig read_mase_config(const std::string& path);
MaseConfig parse_mase_config(const Json& tree, const std::string& source);

}  // namespace hone
