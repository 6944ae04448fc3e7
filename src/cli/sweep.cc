#include "views/sweep.h"
#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct SweepVerb : ModelFlags, SweepOptions, ResultFlags {
  std::string folder;
  static std::span<const OptionField<SweepVerb>> fields();
};

constexpr OptionField<SweepVerb> kFolder[] = {
    required_flag("output", "Folder for sweep.csv, the plots, the report, and what was measured", &SweepVerb::folder,
                  {.value = "FOLDER", .letter = 'o'})};

std::span<const OptionField<SweepVerb>> SweepVerb::fields() {
  static const auto all = joined_fields<SweepVerb>(ModelFlags::fields(), SweepOptions::asked_fields(), kFolder,
                                                   SweepOptions::other_fields(), ResultFlags::fields());
  return all;
}

int run(SweepVerb& verb) {
  if (verb.measurements.empty()) verb.measurements = verb.folder + "/measurements.txt";
  RunFiles files = files_of(verb);
  for (const char* name : {"sweep.csv", "sweep.html", "curves.svg", "width_curves.svg", "best_so_far.svg"})
    files.writes("--output", verb.folder + "/" + name);
  files.check();
  const TypedSweepOptions options = verb.typed();
  const SweepResult result = sweep(verb.load(), options, {.progress = terminal_progress()});
  Record record = view_of(result, verb.folder);
  record.command = this_command();
  for (const auto& [name, content] : sweep_files(result, record)) write_file(verb.folder + "/" + name, content);
  verb.print(record);
  return 0;
}

constexpr Verb<SweepVerb> kVerb{
    .name = "sweep",
    .task = VerbTask::compress,
    .summary = "A model in many number formats, or pruned in many ways, one after the other: table and curves",
    .examples =
        "  hone sweep all-MiniLM-L6-v2 --formats 'int{4..32}.f{2,4,8}' --data texts.txt -o sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8},bfp{2..12},log{3..8}' --with-activations --data test.npz -o "
        "sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8}' --method gptq --calib train.npz --data test.npz -o sweep\n"
        "  hone sweep classifier --formats 'int{3..8}.g32' --data reviews.csv --metric f1 -o sweep\n"
        "  hone sweep cnn --train --formats 'int{4..32}.f{2,4,8}' --data fashion-mnist -o sweep\n"
        "  hone sweep classifier --sparsity 0.1:0.9 --methods random,l1 --data reviews.csv -o sweep\n"
        "  hone sweep classifier --sparsity 0.1:0.9 --methods random,l1 --train --data reviews.csv -o sweep",
    .run = run,
    .read_config = [](SweepVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef sweep_verb_def = verb_def<kVerb>();

}  // namespace hone
