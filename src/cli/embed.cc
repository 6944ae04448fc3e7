#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "io/numpy.h"
#include "jobs/sentences.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  RunFlags run;
  TextFlags texts;
  std::string output, prompt;
  int64_t batch = 32;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.texts.add_to(app);
  app.add_option("-o,--output", flags.output, "Embeddings, f32 .npy [texts, C]")->required();
  app.add_option("--prompt", flags.prompt,
                 "Name of a prompt of the model's folder, which stands before each text, e.g. query; without it the "
                 "folder's default, if any");
  app.add_option("--batch", flags.batch, "Texts that run together")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
}

int run() {
  RunFiles()
      .reads("MODEL", flags.model.model)
      .reads("--text-file", flags.texts.file)
      .writes("--output", flags.output)
      .check();
  const std::vector<std::string> texts = flags.texts.get();
  if (texts.empty()) fail("no text: give --text or --text-file");
  LoadedModel model = flags.model.load();
  if (!flags.prompt.empty()) choose_prompt(model, flags.prompt);
  SentenceEncoder encoder(std::move(model), flags.run.options());
  write_npy(flags.output, encoder.embed(texts, flags.batch));
  return 0;
}

}  // namespace

extern constinit const VerbDef embed_verb_def{.name = "embed",
                                              .summary = "Embed texts with a sentence encoder",
                                              .examples =
                                                  "  hone embed all-MiniLM-L6-v2 --text 'a sentence' -o e.npy\n  hone "
                                                  "embed small.safetensors --text-file texts.txt -o e.npy --threads 2",
                                              .setup = setup,
                                              .run = run};

}  // namespace hone
