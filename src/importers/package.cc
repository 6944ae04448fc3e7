// hone's own model file (io/artefact.h): graph, weights, and what rides along, in one safetensors file.
#include <cstring>

#include "base/error.h"
#include "importers/importer.h"
#include "io/artefact.h"

namespace hone {
namespace {

Model read(const std::string& path, const ImportOptions& options) {
  if (!is_artefact(path))
    fail("{}: holds weights but no graph; give the folder it lies in, with its config.json", path);
  if (!options.inputs.empty())
    fail("{}: was written with its inputs fixed; choose --inputs when it is made from the folder", path);
  Artefact artefact = load_artefact(path);
  Model model;
  model.graph = std::move(artefact.graph);
  for (auto& [name, content] : artefact.files)
    (name.starts_with(kObjectFiles) ? model.objects : model.files).emplace(name, std::move(content));
  model.weight_files = {path};
  return model;
}

// The length of a JSON object in 8 bytes, and the object.
bool is_safetensors(std::string_view bytes) {
  constexpr uint64_t kMostHeader = 100'000'000;  // of the format
  if (bytes.size() < 9) return false;
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length >= 2 && length <= kMostHeader && bytes[8] == '{';
}

Certainty recognises(const ImportCandidate& candidate) {
  if (candidate.is_folder) return Certainty::none;
  if (is_safetensors(candidate.first_bytes))
    return candidate.first_bytes.find("\"hone.graph\"") != std::string::npos ? Certainty::certain : Certainty::likely;
  return candidate.path.ends_with(".safetensors") ? Certainty::likely : Certainty::none;
}

}  // namespace

extern constinit const ImporterDef package_importer_def{.name = "package",
                                                        .doc = "a file that hone wrote: graph, weights and tokenizer",
                                                        .needs = "a .safetensors file that hone wrote",
                                                        .endings = ".safetensors",
                                                        .recognises = recognises,
                                                        .read = read};

}  // namespace hone
