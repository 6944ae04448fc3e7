#include "jobs/doctor.h"

#include "base/cache_folder.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct {
  std::string model, device, isa, disk = ".";
  ShapeFlags shapes;
  std::vector<std::string> formats;
  bool train = false, no_fallback = false;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.model, "Hugging Face folder, .onnx file, or a file that hone wrote")->required();
  flags.shapes.add_to(app);
  app.add_option("--to", flags.formats, "Number format to check (repeatable; default: a choice from 16 bits to 4)")
      ->allow_extra_args(false);
  add_device_to(app, flags.device);
  add_no_fallback_to(app, flags.no_fallback);
  app.add_option("--isa", flags.isa,
                 "Instruction set that code would be generated for (default: all that this CPU has)");
  app.add_option("--disk", flags.disk, "Folder that results would be written to")->capture_default_str();
  app.add_flag("--train", flags.train, "Also list what the model lacks to be trained");
  flags.output.add_to(app);
}

int run() {
  DoctorOptions options{.shapes = flags.shapes.get(),
                        .formats = flags.formats,
                        .no_fallback = flags.no_fallback,
                        .disk = flags.disk,
                        .train = flags.train};
  options.device = device_of(flags.device, flags.isa);
  options.peaks = remembered_peaks(default_cache_folder());
  RunFiles().reads("MODEL", flags.model).check();
  Diagnosis diagnosis = doctor(flags.model, options);
  diagnosis.record.command = this_command();
  flags.output.print(diagnosis.record);
  return diagnosis.problems > 0 ? 1 : 0;
}

}  // namespace

extern constinit const VerbDef doctor_verb_def{
    .name = "doctor",
    .summary = "Say in a second what would go wrong with a model, or be slow, and how small it would get",
    .examples =
        "  hone doctor model.onnx\n"
        "  hone doctor model.onnx --dim H=640 --dim W=640\n"
        "  hone doctor all-MiniLM-L6-v2 --to mxint8 --to int4.g32 --json\n"
        "  hone doctor all-MiniLM-L6-v2 --train",
    .setup = setup,
    .run = run,
    .inspects = true};

}  // namespace hone
