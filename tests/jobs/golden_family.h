// Folders of tests/data/families: a small model, and what transformers computed on it (bench/peers/families.py).
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "tests/support/paths.h"

namespace hone::test {

inline std::string family_folder(const std::string& name) {
  return (std::filesystem::path(kTestData) / "families" / name).string();
}

// Their names.
inline std::vector<std::string> family_folders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kTestData) / "families"))
    if (std::filesystem::exists(entry.path() / "golden.safetensors")) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// in.NAME, out.NAME and bound.NAME of the folder's golden file.
struct Golden {
  std::map<std::string, Tensor> inputs, outputs, bounds;

  explicit Golden(const std::string& folder) {
    const SafetensorsFile file(folder + "/golden.safetensors");
    for (const SafetensorsEntry& entry : file.entries()) {
      const size_t dot = entry.name.find('.');
      const std::string kind = entry.name.substr(0, dot);
      auto& tensors = kind == "in" ? inputs : kind == "out" ? outputs : bounds;
      tensors[entry.name.substr(dot + 1)] = file.tensor(entry.name);
    }
  }

  // What a model says of padding is nobody's: elements of [B,S,...] count where the mask [B,S] does.
  bool counts(const std::string& name, const std::vector<int64_t>& shape, size_t element) const {
    if (name == "pooler_output") return true;  // [B,C], and C may be S
    const auto mask = inputs.find("attention_mask");
    if (mask == inputs.end() || shape.size() < 2 || shape[1] != mask->second.dim(1)) return true;
    const size_t of_token = static_cast<size_t>(element_count(shape) / mask->second.elements());
    return mask->second.to_integers()[element / of_token] != 0;
  }
};

}  // namespace hone::test
