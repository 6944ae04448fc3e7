#include "jobs/doctor.h"

#include "base/cache_folder.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct DoctorVerb : ModelFlags, ShapeFlags, DeviceFlags, ResultFlags {
  std::string disk = ".";
  std::vector<std::string> formats;
  bool train = false;
  static std::span<const OptionField<DoctorVerb>> fields();
};

constexpr OptionField<DoctorVerb> kFormats[] = {
    flag("to", "Number format to check (repeatable; default: a choice from 16 bits to 4)", &DoctorVerb::formats)};
constexpr OptionField<DoctorVerb> kOwn[] = {
    flag("disk", "Folder that results would be written to", &DoctorVerb::disk, {.value = "FOLDER"}),
    flag("train", "Also list what the model lacks to be trained", &DoctorVerb::train)};

std::span<const OptionField<DoctorVerb>> DoctorVerb::fields() {
  static const auto all = joined_fields<DoctorVerb>(ModelFlags::fields().first(1), ShapeFlags::fields(), kFormats,
                                                    DeviceFlags::fields(), kOwn, ResultFlags::fields());
  return all;
}

int run(DoctorVerb& verb) {
  DoctorOptions options{.shapes = verb.shapes(),
                        .formats = verb.formats,
                        .no_fallback = verb.no_fallback,
                        .disk = verb.disk,
                        .train = verb.train};
  options.device = verb.asked_device();
  options.peaks = remembered_peaks(default_cache_folder());
  files_of(verb).check();
  Diagnosis diagnosis = doctor(verb.model, options);
  diagnosis.record.command = this_command();
  verb.print(diagnosis.record);
  return diagnosis.problems > 0 ? 1 : 0;
}

constexpr Verb<DoctorVerb> kVerb{
    .name = "doctor",
    .task = VerbTask::look,
    .summary = "Say in a second what would go wrong with a model, or be slow, and how small it would get",
    .examples =
        "  hone doctor model.onnx\n"
        "  hone doctor model.onnx --dim H=640 --dim W=640\n"
        "  hone doctor all-MiniLM-L6-v2 --to mxint8 --to int4.g32 --json\n"
        "  hone doctor all-MiniLM-L6-v2 --train",
    .run = run,
    .inspects = true};

}  // namespace

extern constinit const VerbDef doctor_verb_def = verb_def<kVerb>();

}  // namespace hone
