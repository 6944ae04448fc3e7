#include "cli/flags.h"
#include "cli/registry.h"
#include "jobs/export_model.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::string output;
  std::optional<int> opset;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write, .onnx")->required();
  app.add_option("--opset", flags.opset, "Version of ONNX's operators, 17 to 23; default: the oldest that will do");
  flags.result.add_to(app);
}

int run() {
  flags.result.print(export_model(flags.model.load(), flags.output, flags.opset, this_command()));
  return 0;
}

}  // namespace

extern constinit const VerbDef export_verb_def{.name = "export",
                                               .summary = "Write a model as ONNX",
                                               .examples =
                                                   "  hone export all-MiniLM-L6-v2 -o model.onnx\n"
                                                   "  hone export small.safetensors -o small.onnx --opset 21 --json",
                                               .setup = setup,
                                               .run = run};

}  // namespace hone
