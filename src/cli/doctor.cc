#include "views/doctor.h"

#include "base/cache_folder.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct DoctorVerb : ModelFlags, DoctorFlags, ResultFlags {
  static std::span<const OptionField<DoctorVerb>> fields() {
    static const auto all = joined_fields<DoctorVerb>(ModelFlags::fields().first(1), DoctorFlags::fields(),
                                                      ModelFlags::fields().last(1), ResultFlags::fields());
    return all;
  }
};

int run(DoctorVerb& verb) {
  DoctorOptions options = verb.typed();
  options.format = verb.model_format;
  options.peaks = remembered_peaks(default_cache_folder());
  files_of(verb).check();
  const Diagnosis diagnosis = doctor(verb.model, options);
  Record record = view_of(diagnosis);
  record.command = this_command();
  verb.print(record);
  return diagnosis.problems() > 0 ? 1 : 0;
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
