#include "cli/flags.h"
#include "cli/registry.h"
#include "io/toml.h"
#include "ir/text.h"
#include "runtime/session.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::string stage = "loaded", compute, config;
  std::vector<std::string> passes, pass_options;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--stage", flags.stage,
                 "loaded: as it was imported; canonical: what -O1 interprets; prepared: what code is generated from")
      ->check(CLI::IsMember({"loaded", "canonical", "prepared"}))
      ->capture_default_str();
  app.add_option("--compute", flags.compute, "For --stage prepared: f32 or bf16")->capture_default_str();
  app.add_option("--pass", flags.passes, "A pass to run on it (repeatable); hone passes lists them")
      ->allow_extra_args(false);
  app.add_option("--pass-option", flags.pass_options, "An option of such a pass, PASS.OPTION=VALUE (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--config", flags.config, "TOML file with such options, in a table for each pass; flags win");
}

void read_options(const std::string& path, PassOptions& options) {
  for (const auto& [name, values] : read_toml_options(path)) {
    try {
      options.set(name, values);
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
  }
}

// The file's first, then the command line's.
PassOptions pass_options() {
  PassOptions options;
  if (!flags.config.empty()) read_options(flags.config, options);
  for (const std::string& text : flags.pass_options) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) fail("--pass-option {}: expected PASS.OPTION=VALUE", text);
    options.set(text.substr(0, equals), {text.substr(equals + 1)});
  }
  return options;
}

int run() {
  const PassOptions options = pass_options();
  Graph graph = flags.model.load().graph;
  if (flags.stage == "canonical") graph = canonicalise(std::move(graph));
  if (flags.stage == "prepared") {
    const Compute compute = flags.compute.empty() ? stored_compute(graph) : parse_compute(flags.compute);
    graph = prepare_for_codegen(std::move(graph), compute);
  }
  graph = run_passes(std::move(graph), flags.passes, {options}, {.verify = true});
  print_text(print(graph));
  return 0;
}

}  // namespace

extern constinit const VerbDef print_verb_def{
    .name = "print",
    .summary = "Print a model's graph as text",
    .examples =
        "  hone print all-MiniLM-L6-v2\n"
        "  hone print small.safetensors --stage prepared --compute bf16\n"
        "  hone print net.onnx --pass recognise_linear --pass quantize --pass-option quantize.to=mxint8",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
