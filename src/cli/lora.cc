#include "cli/flags.h"
#include "cli/option_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/adapters.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  CLI::App *insert, *fuse, *give, *take;
  GivenOptions adapters, fusing;
  AdapterExport exported;
  AdapterImport imported;
  std::string output;
  OutputFlags result;
} flags;

CLI::App* add_action(CLI::App& app, const char* name, const char* summary) {
  CLI::App* action = app.add_subcommand(name, summary);
  flags.model.add_to(*action);
  flags.result.add_to(*action);
  return action;
}

void add_output(CLI::App* action) {
  action->add_option("-o,--output", flags.output, "File to write, .safetensors or .onnx")->required();
}

void setup(CLI::App& app) {
  app.require_subcommand(1);
  flags.insert = add_action(app, "insert", "Put new adapters beside layers; outputs stay what they are");
  add_fields(*flags.insert, LoraOptions::fields(), flags.adapters);
  add_output(flags.insert);
  flags.fuse = add_action(app, "fuse", "Let the weights take up their adapters");
  add_fields(*flags.fuse, FuseLoraOptions::fields(), flags.fusing);
  add_output(flags.fuse);
  flags.give = add_action(app, "export", "Write the adapters as a folder for PEFT");
  flags.give->add_option("-o,--output", flags.exported.folder, "Folder to make")->required();
  flags.give->add_option(
      "--prefix", flags.exported.prefix,
      "What stands before the encoder's names, e.g. bert. (default: what config.json's architecture has)");
  flags.take = add_action(app, "import", "Put a PEFT folder's adapters into the model that they were trained for");
  flags.take->add_option("--adapter", flags.imported.folder, "Folder with adapter_config.json")->required();
  flags.take->add_flag("--adapters-only", flags.imported.adapters_only,
                       "Leave out the folder's whole tensors (modules_to_save)");
  add_output(flags.take);
}

Record insert() {
  LoraOptions options;
  set_fields(LoraOptions::fields(), options, flags.adapters);
  RunFiles().reads("MODEL", flags.model.model).writes("--output", flags.output).check();
  return insert_adapters(flags.model.load(), options, flags.output, this_command());
}

Record fuse() {
  FuseLoraOptions options;
  set_fields(FuseLoraOptions::fields(), options, flags.fusing);
  RunFiles().reads("MODEL", flags.model.model).writes("--output", flags.output).check();
  return fuse_adapters(flags.model.load(), options, flags.output, this_command());
}

Record give() {
  RunFiles().reads("MODEL", flags.model.model).writes("--output", flags.exported.folder).check();
  flags.exported.command = this_command();
  return export_adapters(flags.model.load(), flags.exported);
}

Record take() {
  RunFiles()
      .reads("MODEL", flags.model.model)
      .reads("--adapter", flags.imported.folder)
      .writes("--output", flags.output)
      .check();
  flags.imported.output = flags.output;
  flags.imported.command = this_command();
  return import_adapters(flags.model.load(), flags.imported);
}

int run() {
  flags.result.print(*flags.insert ? insert() : *flags.fuse ? fuse() : *flags.give ? give() : take());
  return 0;
}

}  // namespace

extern constinit const VerbDef lora_verb_def{
    .name = "lora",
    .summary = "Put low-rank adapters into a model, fuse them, and exchange them with PEFT",
    .examples =
        "  hone lora insert all-MiniLM-L6-v2 --rule 'query|value' --rank 6 -o adapted.safetensors\n"
        "  hone train all-MiniLM-L6-v2 --data reviews.csv --lora op:linear --lora-rank 6 --rate 1e-3 -o "
        "adapted.safetensors\n"
        "  hone lora fuse adapted.safetensors -o reviews.safetensors\n"
        "  hone lora export adapted.safetensors -o adapter\n"
        "  hone lora import all-MiniLM-L6-v2 --adapter adapter -o adapted.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone
