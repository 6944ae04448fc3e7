// A folder as Hugging Face's libraries write it (io/hf_directory.h), as a graph of its family (models/).
#include "importers/importer.h"
#include "importers/preprocessors.h"
#include "io/hf_directory.h"
#include "ir/row_keys.h"
#include "models/decoder.h"
#include "models/decoder_inputs.h"
#include "models/find_model.h"

namespace hone {
namespace {

Graph build(HfDirectory& folder, const ImportOptions& options) {
  const ModelDef& def = model_for(folder.config(), folder.config_path());
  Graph graph = def.build({.config = folder.config(),
                           .source = folder.config_path(),
                           .inputs = options.inputs,
                           .pooling = folder.pooling(),
                           .normalise = folder.normalise(),
                           .weights = folder.weight_source(),
                           .has_weight = [&](const std::string& name) { return folder.weights().has(name); }});
  folder.weights().check_complete();
  return graph;
}

// What generating text needs to know beside the graph. Of the ids that end a text, generation_config.json has the last
// word.
void take_text_ends(Model& model, const HfDirectory& folder) {
  if (!model.graph.metadata.contains(kDecoderVocabulary)) return;
  set_text_ends(model.graph, folder.generation(), folder.generation_path());
  if (!folder.chat_template().empty()) model.graph.metadata[kChatTemplate] = folder.chat_template();
}

void take_tokenizer(Model& model, const TokenizerFiles& tokenizer) {
  if (tokenizer.vocabulary.empty()) return;
  model.files.insert(tokenizer.vocabulary.begin(), tokenizer.vocabulary.end());
  model.files.insert(tokenizer.settings.begin(), tokenizer.settings.end());
  if (tokenizer.vocabulary.contains(kVocabTxt))  // other files say it themselves
    model.graph.metadata["tokenizer.lowercase"] = tokenizer.lowercase ? "true" : "false";
  if (tokenizer.max_length > 0) model.graph.metadata["tokenizer.max_length"] = std::to_string(tokenizer.max_length);
}

Model read(const std::string& path, const ImportOptions& options) {
  HfDirectory folder(path);
  Model model;
  model.graph = build(folder, options);
  model.stored_names = folder.weights().stored_names();
  model.unused = folder.weights().unused();
  model.weight_files = folder.weights().paths();
  model.files[kConfigFile] = folder.config().dump();
  if (!folder.prompts().empty()) model.graph.metadata[kTextPrompts] = folder.prompts().dump();
  if (!folder.default_prompt().empty()) model.graph.metadata[kTextPrompt] = folder.default_prompt();
  take_text_ends(model, folder);
  read_preprocessors(model, path);
  take_tokenizer(model, folder.tokenizer());
  return model;
}

// Any folder may be meant as one: what it lacks is then said.
Certainty recognises(const ImportCandidate& candidate) {
  if (!candidate.is_folder) return Certainty::none;
  return candidate.has(kConfigFile) ? Certainty::certain : Certainty::possible;
}

}  // namespace

extern constinit const ImporterDef huggingface_importer_def{
    .name = "huggingface",
    .doc = "a folder of a known family, as Hugging Face's libraries write it",
    .needs = "a Hugging Face folder (config.json and model.safetensors)",
    .recognises = recognises,
    .read = read};

}  // namespace hone
