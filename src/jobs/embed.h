// hone embed: texts as vectors, by a sentence encoder.
#pragma once

#include <span>
#include <string>

#include "jobs/load_model.h"
#include "jobs/run_options.h"

namespace hone {

struct EmbedOptions : RunFlags, TextFlags {
  std::string prompt;
  int64_t batch = 32;
  static std::span<const OptionField<EmbedOptions>> run_fields();  // how the model is run
  static std::span<const OptionField<EmbedOptions>> own_fields();  // prompt, batch
  static std::span<const OptionField<EmbedOptions>> fields();
};

// f32[texts, C]. Throws Error where there are no texts, and where the model is no sentence encoder (sentences.h).
Tensor embed(const Model& model, const EmbedOptions& options);

}  // namespace hone
