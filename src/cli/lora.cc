#include "views/lora.h"
#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

void print(const ResultFlags& action, Record record) {
  record.command = this_command();
  action.print(record);
}

// The graph of the result is written as the action's output.
template <class Action, class Result>
int write(const Action& action, const Model& model, const Result& result) {
  const SavedModel saved = save_model(action.output, result.graph, model);
  print(action, view_of(result, model, action.output, saved));
  return 0;
}

struct InsertAction : ModelFlags, ResultFlags, LoraOptions, OutputFlags {
  static std::span<const OptionField<InsertAction>> fields() {
    static const auto all = joined_fields<InsertAction>(ModelFlags::fields(), ResultFlags::fields(),
                                                        LoraOptions::fields(), OutputFlags::fields());
    return all;
  }
};

int insert(InsertAction& action) {
  files_of(action).check();
  const Model model = action.load();
  return write(action, model, insert_adapters(model, action));
}

struct FuseAction : ModelFlags, ResultFlags, FuseLoraOptions, OutputFlags {
  static std::span<const OptionField<FuseAction>> fields() {
    static const auto all = joined_fields<FuseAction>(ModelFlags::fields(), ResultFlags::fields(),
                                                      FuseLoraOptions::fields(), OutputFlags::fields());
    return all;
  }
};

int fuse(FuseAction& action) {
  files_of(action).check();
  const Model model = action.load();
  return write(action, model, fuse_adapters(model, action));
}

struct ExportAction : ModelFlags, ResultFlags {
  std::string folder, prefix;
  static std::span<const OptionField<ExportAction>> fields();
};

constexpr OptionField<ExportAction> kExport[] = {
    required_flag("output", "Folder to make", &ExportAction::folder, {.file = OptionFile::writes, .letter = 'o'}),
    flag("prefix", "What stands before the encoder's names, e.g. bert. (default: what config.json's architecture has)",
         &ExportAction::prefix)};

std::span<const OptionField<ExportAction>> ExportAction::fields() {
  static const auto all = joined_fields<ExportAction>(ModelFlags::fields(), ResultFlags::fields(), kExport);
  return all;
}

int give(ExportAction& action) {
  files_of(action).check();
  const Model model = action.load();
  print(action, view_of(export_adapters(model, {.folder = action.folder, .prefix = action.prefix}), model));
  return 0;
}

struct ImportAction : ModelFlags, ResultFlags, OutputFlags {
  std::string folder;
  bool adapters_only = false;
  static std::span<const OptionField<ImportAction>> fields();
};

constexpr OptionField<ImportAction> kImport[] = {
    required_flag("adapter", "Folder with adapter_config.json", &ImportAction::folder, {.file = OptionFile::reads}),
    flag("adapters-only", "Leave out the folder's whole tensors (modules_to_save)", &ImportAction::adapters_only)};

std::span<const OptionField<ImportAction>> ImportAction::fields() {
  static const auto all =
      joined_fields<ImportAction>(ModelFlags::fields(), ResultFlags::fields(), kImport, OutputFlags::fields());
  return all;
}

int take(ImportAction& action) {
  files_of(action).check();
  const Model model = action.load();
  return write(action, model, import_adapters(model, {.folder = action.folder, .adapters_only = action.adapters_only}));
}

constexpr Verb<InsertAction> kInsert{
    .name = "insert", .summary = "Put new adapters beside layers; outputs stay what they are", .run = insert};
constexpr Verb<FuseAction> kFuse{.name = "fuse", .summary = "Let the weights take up their adapters", .run = fuse};
constexpr Verb<ExportAction> kGive{.name = "export", .summary = "Write the adapters as a folder for PEFT", .run = give};
constexpr Verb<ImportAction> kTake{
    .name = "import", .summary = "Put a PEFT folder's adapters into the model that they were trained for", .run = take};
constexpr VerbDef kInsertDef = verb_def<kInsert>(), kFuseDef = verb_def<kFuse>(), kGiveDef = verb_def<kGive>(),
                  kTakeDef = verb_def<kTake>();
constexpr const VerbDef* kActions[] = {&kInsertDef, &kFuseDef, &kGiveDef, &kTakeDef};

}  // namespace

extern constinit const VerbDef lora_verb_def{
    .name = "lora",
    .task = VerbTask::train,
    .summary = "Put low-rank adapters into a model, fuse them, and exchange them with PEFT",
    .examples =
        "  hone lora insert all-MiniLM-L6-v2 --rule 'query|value' --rank 6 -o adapted.safetensors\n"
        "  hone train all-MiniLM-L6-v2 --data reviews.csv --lora op:linear --lora-rank 6 --rate 1e-3 -o "
        "adapted.safetensors\n"
        "  hone lora fuse adapted.safetensors -o reviews.safetensors\n"
        "  hone lora export adapted.safetensors -o adapter\n"
        "  hone lora import all-MiniLM-L6-v2 --adapter adapter -o adapted.safetensors",
    .actions = kActions};

}  // namespace hone
