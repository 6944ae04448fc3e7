#include "views/quantize.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "jobs/mase_config.h"
#include "jobs/quantize_flags.h"
#include "jobs/save_model.h"

namespace hone {
namespace {

struct QuantizeVerb : ModelFlags, QuantizeFlags, MaseFlags, OutputFlags, ResultFlags {
  static std::span<const OptionField<QuantizeVerb>> fields() {
    static const auto all =
        joined_fields<QuantizeVerb>(ModelFlags::fields(), QuantizeFlags::fields(), MaseFlags::fields(),
                                    OutputFlags::fields(), ResultFlags::fields());
    return all;
  }
};

// The file's rules are the first, so that those of the command line win.
std::vector<std::string> take_mase_config(QuantizeVerb& verb, const Model& model) {
  if (verb.mase_config.empty()) return {};
  MaseQuantization given = mase_quantization(model, verb.mase_config, verb.bits());
  verb.rule.insert(verb.rule.begin(), given.rule.begin(), given.rule.end());
  return std::move(given.notes);
}

int run(QuantizeVerb& verb) {
  verb.check();
  files_of(verb).check();
  const Model model = verb.load();
  const std::vector<std::string> notes = take_mase_config(verb, model);
  const QuantizedModel quantized = quantize_model(model, verb.quantize(), verb.compute_type(), verb.calibration());
  const SavedModel saved = save_model(verb.output, quantized.graph, model);
  Record record = view_of(quantized, verb, model, verb.output, saved);
  record.findings.insert(record.findings.end(), notes.begin(), notes.end());
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<QuantizeVerb> kVerb{
    .name = "quantize",
    .task = VerbTask::compress,
    .summary = "Write a model with its weights in other number formats",
    .examples =
        "  hone quantize all-MiniLM-L6-v2 --to mxint8 -o small.safetensors\n"
        "  hone quantize all-MiniLM-L6-v2 --to mxint8 --rule 'layer\\.0\\.=keep' --rule op:gather=mxint4 -o "
        "mixed.safetensors\n"
        "  hone quantize all-MiniLM-L6-v2 --to int4.g32 -o small.onnx\n"
        "  hone quantize all-MiniLM-L6-v2 --to int4.g32 --method gptq --bias-correction --calib texts.txt -o "
        "small.safetensors\n"
        "  hone quantize all-MiniLM-L6-v2 --to mxint8 --rule 'output\\.dense\\.in=mxint8' --rule op:linear.bias=bf16 "
        "-o "
        "both.safetensors\n"
        "  hone quantize all-MiniLM-L6-v2 --config q.toml --compute bf16 -o small.safetensors\n"
        "  hone quantize all-MiniLM-L6-v2 --mase-config mase.toml -o small.safetensors",
    .run = run,
    .read_config = [](QuantizeVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef quantize_verb_def = verb_def<kVerb>();

}  // namespace hone
