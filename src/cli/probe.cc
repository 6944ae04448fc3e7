#include <cstdio>

#include "cli/flags.h"
#include "cli/registry.h"
#include "jobs/probe.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  RunFlags run;
  std::string text, given;
  const CLI::Option* text_option = nullptr;  // an empty text is a text too
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  app.add_option("--input-file", flags.given,
                 "Inputs: a .npz file of arrays named like the model's (default: made up)");
  flags.text_option = app.add_option("--text", flags.text, "Embed this text instead of running on made-up inputs");
}

int run() {
  ProbeOptions options{.model = flags.model.model,
                       .inputs = flags.model.inputs,
                       .text = std::nullopt,
                       .given = flags.given,
                       .shapes = flags.shapes.get(),
                       .session = flags.run.options()};
  if (flags.text_option->count() > 0) options.text = flags.text;
  const ProbeResult result = probe(options, [] {
    std::puts("first result");
    std::fflush(stdout);
  });
  print_json(to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace

extern constinit const VerbDef probe_verb_def{
    .name = "probe",
    .summary = "Measure one process: loading, compiling, first result, memory (what bench starts)",
    .examples = "  hone probe all-MiniLM-L6-v2 --seq 128\n  hone probe small.safetensors --text 'a sentence'",
    .setup = setup,
    .run = run};

}  // namespace hone
