#include "cli/flags.h"
#include "cli/verb.h"
#include "io/toml.h"
#include "ir/text.h"
#include "runtime/session.h"

namespace hone {
namespace {

struct PrintVerb : ModelFlags {
  std::string stage = "loaded", compute, config;
  std::vector<std::string> passes, pass_options;
  static std::span<const OptionField<PrintVerb>> fields();
};

std::vector<std::string> stages() { return {"loaded", "canonical", "prepared"}; }

constexpr OptionField<PrintVerb> kOwn[] = {
    flag("stage", "loaded: as it was imported; canonical: what -O1 interprets; prepared: what code is generated from",
         &PrintVerb::stage, {.choices = stages}),
    flag("compute", "For --stage prepared: f32 or bf16", &PrintVerb::compute),
    flag("pass", "A pass to run on it (repeatable); hone passes lists them", &PrintVerb::passes),
    flag("pass-option", "An option of such a pass, PASS.OPTION=VALUE (repeatable)", &PrintVerb::pass_options),
    flag("config", "TOML file with such options, in a table for each pass; flags win", &PrintVerb::config,
         {.file = OptionFile::reads})};

std::span<const OptionField<PrintVerb>> PrintVerb::fields() {
  static const auto all = joined_fields<PrintVerb>(ModelFlags::fields(), kOwn);
  return all;
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
PassOptions options_of(const PrintVerb& verb) {
  PassOptions options;
  if (!verb.config.empty()) read_options(verb.config, options);
  for (const std::string& text : verb.pass_options) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) fail("--pass-option {}: expected PASS.OPTION=VALUE", text);
    options.set(text.substr(0, equals), {text.substr(equals + 1)});
  }
  return options;
}

int run(PrintVerb& verb) {
  const PassOptions options = options_of(verb);
  Graph graph = verb.load().graph;
  if (verb.stage == "canonical") graph = canonicalise(std::move(graph));
  if (verb.stage == "prepared") {
    const Compute compute = verb.compute.empty() ? stored_compute(graph) : parse_compute(verb.compute);
    graph = prepare_for_codegen(std::move(graph), compute);
  }
  graph = run_passes(std::move(graph), verb.passes, {options}, {.verify = true});
  print_text(print(graph));
  return 0;
}

constexpr Verb<PrintVerb> kVerb{
    .name = "print",
    .task = VerbTask::look,
    .summary = "Print a model's graph as text",
    .examples =
        "  hone print all-MiniLM-L6-v2\n"
        "  hone print small.safetensors --stage prepared --compute bf16\n"
        "  hone print net.onnx --pass recognise_linear --pass quantize --pass-option quantize.to=mxint8",
    .run = run,
    .inspects = true};

}  // namespace

extern constinit const VerbDef print_verb_def = verb_def<kVerb>();

}  // namespace hone
