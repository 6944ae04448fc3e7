#include "cli/flags.h"
#include "cli/registry.h"
#include "ir/text.h"
#include "runtime/session.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::string stage = "loaded", compute;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--stage", flags.stage,
                 "loaded: as it was imported; canonical: what -O1 interprets; prepared: what code is generated from")
      ->check(CLI::IsMember({"loaded", "canonical", "prepared"}))
      ->capture_default_str();
  app.add_option("--compute", flags.compute, "For --stage prepared: f32 or bf16")->capture_default_str();
}

int run() {
  Graph graph = flags.model.load().graph;
  if (flags.stage == "canonical") graph = canonicalise(std::move(graph));
  if (flags.stage == "prepared") {
    const Compute compute = flags.compute.empty() ? stored_compute(graph) : parse_compute(flags.compute);
    graph = prepare_for_codegen(std::move(graph), compute);
  }
  print_text(print(graph));
  return 0;
}

}  // namespace

extern constinit const VerbDef print_verb_def{
    .name = "print",
    .summary = "Print a model's graph as text",
    .examples = "  hone print all-MiniLM-L6-v2\n  hone print small.safetensors --stage prepared --compute bf16",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
