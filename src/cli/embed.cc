#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "jobs/sentences.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

struct EmbedVerb : ModelFlags, RunFlags, TextFlags {
  std::string output, prompt;
  int64_t batch = 32;
  static std::span<const OptionField<EmbedVerb>> fields();
};

constexpr OptionField<EmbedVerb> kOwn[] = {
    required_flag("output", "Embeddings, f32 .npy [texts, C]", &EmbedVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'}),
    flag("prompt",
         "Name of a prompt of the model's folder, which stands before each text, e.g. query; without it the folder's "
         "default, if any",
         &EmbedVerb::prompt),
    flag("batch", "Texts that run together", &EmbedVerb::batch, {.least = 1, .most = int64_t{1} << 20})};

std::span<const OptionField<EmbedVerb>> EmbedVerb::fields() {
  static const auto all = joined_fields<EmbedVerb>(ModelFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                                   RunFlags::compute_fields(), TextFlags::fields(), kOwn);
  return all;
}

int run(EmbedVerb& verb) {
  files_of(verb).check();
  const std::vector<std::string> texts = verb.texts();
  if (texts.empty()) fail("no text: give --text or --text-file");
  Model model = verb.load();
  if (!verb.prompt.empty()) choose_prompt(model, verb.prompt);
  SentenceEncoder encoder(std::move(model), verb.session_options());
  write_npy(verb.output, encoder.embed(texts, verb.batch));
  return 0;
}

constexpr Verb<EmbedVerb> kVerb{.name = "embed",
                                .task = VerbTask::use,
                                .summary = "Embed texts with a sentence encoder",
                                .examples =
                                    "  hone embed all-MiniLM-L6-v2 --text 'a sentence' -o e.npy\n  hone "
                                    "embed small.safetensors --text-file texts.txt -o e.npy --threads 2",
                                .run = run};

}  // namespace

extern constinit const VerbDef embed_verb_def = verb_def<kVerb>();

}  // namespace hone
