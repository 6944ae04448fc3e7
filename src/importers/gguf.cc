// A GGUF file (io/gguf/gguf_file.h), of which no graph is built: what it holds is said.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "importers/importer.h"
#include "io/gguf/gguf_file.h"

namespace hone {
namespace {

// "210 Q4_1, 61 F32, 1 Q8_0"
std::string types_of(const GgufFile& file) {
  std::map<std::string_view, int> counts;
  for (const GgufEntry* entry : file.entries()) ++counts[entry->type->name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Model read(const std::string& path, const ImportOptions&) {
  const GgufFile file(path);
  fail(
      "{}: a whole GGUF file of architecture \"{}\" with {} tensors ({}), of which no graph is built; give the model's "
      "Hugging Face folder (config.json and model.safetensors)",
      path, file.architecture(), file.entries().size(), types_of(file));
}

Certainty recognises(const ImportCandidate& candidate) {
  if (candidate.is_folder) return Certainty::none;
  if (candidate.first_bytes.starts_with("GGUF")) return Certainty::certain;
  return is_gguf_path(candidate.path) ? Certainty::likely : Certainty::none;
}

}  // namespace

extern constinit const ImporterDef gguf_importer_def{.name = "gguf",
                                                     .doc = "a GGUF file, whose content is said",
                                                     .needs = "",
                                                     .endings = ".gguf",
                                                     .recognises = recognises,
                                                     .read = read};

}  // namespace hone
