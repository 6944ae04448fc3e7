#include "cli/quantize_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/quantize_model.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  QuantizeFlags quantize;
  std::string output;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.quantize.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write, .safetensors or .onnx")->required();
  flags.result.add_to(app);
}

int run() {
  flags.quantize.read();
  RunFiles files;
  files.reads("MODEL", flags.model.model).writes("--output", flags.output);
  flags.quantize.read_by(files);
  files.check();
  Record record = quantize_to_file(flags.model.load(), flags.quantize.options, flags.quantize.compute_type(),
                                   flags.output, this_command(), flags.quantize.calibration);
  if (const auto over = over_plan(flags.quantize.plan, flags.output, record.manifest.back().bytes))
    record.findings.push_back(*over);
  flags.result.print(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef quantize_verb_def{
    .name = "quantize",
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
        "  hone quantize all-MiniLM-L6-v2 --config q.toml --compute bf16 -o small.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone
