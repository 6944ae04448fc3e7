#include <cstdio>

#include "cli/flags.h"
#include "cli/verb.h"
#include "jobs/probe.h"

namespace hone {
namespace {

struct ProbeVerb : ModelFlags, ShapeFlags, RunFlags {
  std::string given;
  std::optional<std::string> text;
  static std::span<const OptionField<ProbeVerb>> fields();
};

constexpr OptionField<ProbeVerb> kOwn[] = {
    flag("input-file", "Inputs: a .npz file of arrays named like the model's (default: made up)", &ProbeVerb::given),
    flag("text", "Embed this text instead of running on made-up inputs", &ProbeVerb::text)};

std::span<const OptionField<ProbeVerb>> ProbeVerb::fields() {
  static const auto all =
      joined_fields<ProbeVerb>(ModelFlags::fields().first(2), ShapeFlags::fields(), RunFlags::fields(),
                               RunFlags::trust_fields(), RunFlags::compute_fields(), kOwn);
  return all;
}

int run(ProbeVerb& verb) {
  const ProbeOptions options{.model = verb.model,
                             .inputs = verb.inputs,
                             .text = verb.text,
                             .given = verb.given,
                             .shapes = verb.shapes(),
                             .session = verb.session_options()};
  const ProbeResult result = probe(options, [] {
    std::puts("first result");
    std::fflush(stdout);
  });
  print_json(to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

constexpr Verb<ProbeVerb> kVerb{
    .name = "probe",
    .task = VerbTask::measure,
    .summary = "Measure one process: loading, compiling, first result, memory (what bench starts)",
    .examples = "  hone probe all-MiniLM-L6-v2 --seq 128\n  hone probe small.safetensors --text 'a sentence'",
    .run = run};

}  // namespace

extern constinit const VerbDef probe_verb_def = verb_def<kVerb>();

}  // namespace hone
