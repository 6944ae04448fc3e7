#include <sstream>

#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "io/numpy.h"
#include "jobs/sentences.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  RunFlags run;
  std::vector<std::string> texts;
  std::string text_file, output;
  int64_t batch = 32;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.run.add_to(app);
  app.add_option("--text", flags.texts, "A text to embed (repeatable)")->allow_extra_args(false);
  app.add_option("--text-file", flags.text_file, "A file with one text per line");
  app.add_option("-o,--output", flags.output, "Embeddings, f32 .npy [texts, C]")->required();
  app.add_option("--batch", flags.batch, "Texts that run together")->capture_default_str();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream file(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int run() {
  std::vector<std::string> texts = flags.texts;
  if (!flags.text_file.empty()) {
    if (!texts.empty()) fail("--text and --text-file: give one of them");
    texts = lines_of(flags.text_file);
    if (texts.empty()) fail("{}: is empty; one text per line is expected", flags.text_file);
  }
  if (texts.empty()) fail("no text: give --text or --text-file");
  SentenceEncoder encoder(flags.model.load(), flags.run.options());
  write_npy(flags.output, encoder.embed(texts, flags.batch));
  return 0;
}

}  // namespace

extern constinit const VerbDef embed_verb_def{.name = "embed",
                                         .summary = "Embed texts with a sentence encoder",
                                         .examples = "  hone embed all-MiniLM-L6-v2 --text 'a sentence' -o e.npy\n  hone embed small.safetensors --text-file texts.txt -o e.npy --threads 2",
                                         .setup = setup,
                                         .run = run};

}  // namespace hone
