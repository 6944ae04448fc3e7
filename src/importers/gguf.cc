// A GGUF file of a decoder (io/gguf/gguf_file.h), as a graph of its family: weights as they are stored, the tokenizer
// and the chat template of its metadata.
#include "importers/gguf_decoder.h"
#include "importers/importer.h"
#include "models/decoder.h"
#include "models/find_model.h"
#include "tokenizers/gguf_tokenizer.h"

namespace hone {
namespace {

constexpr const char* kTemplate = "tokenizer.chat_template";

Graph build(const GgufFile& file, GgufWeights& weights, const Json& config, const ImportOptions& options) {
  Graph graph = model_for(config, file.path())
                    .build({.config = config,
                            .source = file.path(),
                            .inputs = options.inputs,
                            .pooling = {},
                            .weights = [&](const std::string& name, const std::vector<int64_t>& shape) {
                              return weights.tensor(name, shape);
                            }});
  weights.check_complete();
  if (const std::string widened = weights.widened(); !widened.empty()) graph.metadata[kWidened] = widened;
  return graph;
}

Model read(const std::string& path, const ImportOptions& options) {
  const GgufFile file(path);
  const GgufArchitecture& architecture = gguf_architecture(file);
  const Json config = config_of_gguf(file, architecture);
  GgufWeights weights(file, architecture, config);
  Model model;
  model.graph = build(file, weights, config, options);
  model.stored_names = weights.stored_names();
  model.weight_files = file.paths();
  if (has_gguf_tokenizer(file.metadata()))
    model.files[kTokenizerJson] = write_tokenizer_json(tokenizer_of_gguf(file.metadata()));
  if (file.metadata().has(kTemplate)) model.graph.metadata[kChatTemplate] = file.metadata().text(kTemplate);
  return model;
}

Certainty recognises(const ImportCandidate& candidate) {
  if (candidate.is_folder) return Certainty::none;
  if (candidate.first_bytes.starts_with(kGgufMagic)) return Certainty::certain;
  return is_gguf_path(candidate.path) ? Certainty::likely : Certainty::none;
}

}  // namespace

extern constinit const ImporterDef gguf_importer_def{.name = "gguf",
                                                     .doc = "a GGUF file of a decoder, as llama.cpp writes it",
                                                     .needs = "a .gguf file",
                                                     .endings = ".gguf",
                                                     .recognises = recognises,
                                                     .read = read};

}  // namespace hone
