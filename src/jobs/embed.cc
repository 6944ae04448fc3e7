#include "jobs/embed.h"

#include "jobs/sentences.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr OptionField<EmbedOptions> kOwn[] = {
    flag("prompt",
         "Name of a prompt of the model's folder, which stands before each text, e.g. query; without it the folder's "
         "default, if any",
         &EmbedOptions::prompt),
    flag("batch", "Texts that run together", &EmbedOptions::batch, {.least = 1, .most = int64_t{1} << 20})};

}  // namespace

std::span<const OptionField<EmbedOptions>> EmbedOptions::run_fields() {
  static const auto all = joined_fields<EmbedOptions>(RunFlags::fields(), RunFlags::trust_fields(),
                                                      RunFlags::compute_fields(), TextFlags::fields());
  return all;
}

std::span<const OptionField<EmbedOptions>> EmbedOptions::own_fields() { return kOwn; }

std::span<const OptionField<EmbedOptions>> EmbedOptions::fields() {
  static const auto all = joined_fields<EmbedOptions>(run_fields(), own_fields());
  return all;
}

Tensor embed(const Model& model, const EmbedOptions& options) {
  const std::vector<std::string> texts = options.texts();
  if (texts.empty()) fail("no text: give --text or --text-file");
  Model prompted = model;
  if (!options.prompt.empty()) choose_prompt(prompted, options.prompt);
  return SentenceEncoder(std::move(prompted), options.session_options()).embed(texts, options.batch);
}

}  // namespace hone
