#include "jobs/explain.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct ExplainVerb : ModelFlags, ShapeFlags, RunFlags, ResultFlags {
  static std::span<const OptionField<ExplainVerb>> fields();
};

std::span<const OptionField<ExplainVerb>> ExplainVerb::fields() {
  static const auto all =
      joined_fields<ExplainVerb>(ModelFlags::fields(), ShapeFlags::fields(), DeviceFlags::fields(),
                                 RunFlags::compute_fields(), RunFlags::plan_fields(), ResultFlags::fields());
  return all;
}

int run(ExplainVerb& verb) {
  ExplainOptions options{.shapes = verb.shapes(),
                         .fuse = !verb.no_fusion,
                         .no_winograd = verb.no_winograd,
                         .no_fallback = verb.no_fallback};
  options.device = verb.asked_device();
  if (!verb.compute.empty()) options.compute = parse_compute(verb.compute);
  options.pipeline.disabled = verb.no_pass;
  files_of(verb).check();
  Record record = explain(verb.load(), options);
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<ExplainVerb> kVerb{
    .name = "explain",
    .summary = "Show what would run and why: fusion groups, kernels, refused alternatives, layout changes, memory",
    .examples =
        "  hone explain resnet18.safetensors\n"
        "  hone explain model.onnx --dim H=640 --dim W=640 --compute bf16 --json",
    .run = run};

}  // namespace

extern constinit const VerbDef explain_verb_def = verb_def<kVerb>();

}  // namespace hone
