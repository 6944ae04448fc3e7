#include "jobs/print_model.h"

#include "io/toml.h"
#include "passes/pipelines.h"
#include "runtime/session.h"

namespace hone {
namespace {

std::vector<std::string> stages() { return {"loaded", "canonical", "prepared"}; }

constexpr OptionField<PrintModelOptions> kFields[] = {
    flag("stage", "loaded: as it was imported; canonical: what -O1 interprets; prepared: what code is generated from",
         &PrintModelOptions::stage, {.choices = stages}),
    flag("compute", "For --stage prepared: type that products read activations in, f32 or bf16",
         &PrintModelOptions::compute),
    flag("pass", "A pass to run on it (repeatable); hone passes lists them", &PrintModelOptions::pass),
    flag("pass-option", "An option of such a pass, PASS.OPTION=VALUE (repeatable)", &PrintModelOptions::pass_option),
    flag("config", "TOML file with such options, in a table for each pass; flags win", &PrintModelOptions::config,
         {.file = OptionFile::reads})};

void read_options(const std::string& path, PassOptions& options) {
  for (const auto& [name, values] : read_toml_options(path)) {
    try {
      options.set(name, values);
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
  }
}

// The file's first, then those that were given.
PassOptions options_of(const PrintModelOptions& asked) {
  PassOptions options;
  if (!asked.config.empty()) read_options(asked.config, options);
  for (const std::string& text : asked.pass_option) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) fail("--pass-option {}: expected PASS.OPTION=VALUE", text);
    options.set(text.substr(0, equals), {text.substr(equals + 1)});
  }
  return options;
}

}  // namespace

std::span<const OptionField<PrintModelOptions>> PrintModelOptions::fields() { return kFields; }

Graph graph_at_stage(const Model& model, const PrintModelOptions& asked) {
  const PassOptions options = options_of(asked);
  Graph graph = model.graph;
  if (asked.stage == "canonical") graph = canonicalise(std::move(graph));
  if (asked.stage == "prepared") {
    const Compute compute = asked.compute.empty() ? stored_compute(graph) : parse_compute(asked.compute);
    graph = prepare_for_codegen(std::move(graph), compute);
  }
  return run_passes(std::move(graph), asked.pass, {options}, {.verify = true});
}

}  // namespace hone
