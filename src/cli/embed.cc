#include "jobs/embed.h"

#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"

namespace hone {
namespace {

struct EmbedVerb : ModelFlags, EmbedOptions {
  std::string output;
  static std::span<const OptionField<EmbedVerb>> fields();
};

constexpr OptionField<EmbedVerb> kOutput[] = {required_flag(
    "output", "Embeddings, f32 .npy [texts, C]", &EmbedVerb::output, {.file = OptionFile::writes, .letter = 'o'})};

std::span<const OptionField<EmbedVerb>> EmbedVerb::fields() {
  static const auto all =
      joined_fields<EmbedVerb>(ModelFlags::fields(), EmbedOptions::run_fields(), kOutput, EmbedOptions::own_fields());
  return all;
}

int run(EmbedVerb& verb) {
  files_of(verb).check();
  write_npy(verb.output, embed(verb.load(), verb));
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
