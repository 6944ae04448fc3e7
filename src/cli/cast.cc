#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "views/formats.h"

namespace hone {
namespace {

struct CastVerb : ResultFlags {
  std::string format, input, output, codes, scales, outer_scales, zero_points;
  static std::span<const OptionField<CastVerb>> fields();
};

constexpr OptionTraits kWritten{.file = OptionFile::writes};
constexpr OptionField<CastVerb> kOwn[] = {
    required_flag("format", "Format string, e.g. mxint8 or int4.g128 (see hone formats)", &CastVerb::format,
                  {.is_positional = true}),
    required_flag("input", "Array to cast, .npy", &CastVerb::input, {.file = OptionFile::reads, .is_positional = true}),
    required_flag("output", "Decoded values, f32 .npy", &CastVerb::output, {.file = OptionFile::writes, .letter = 'o'}),
    flag("codes", "Also write the code of each element, .npy", &CastVerb::codes, kWritten),
    flag("scales", "Also write the scale code of each group, .npy", &CastVerb::scales, kWritten),
    flag("outer-scales", "Also write the fp16 pattern of each outer scale, .npy", &CastVerb::outer_scales, kWritten),
    flag("zero-points", "Also write the zero point of each group, .npy", &CastVerb::zero_points, kWritten)};

std::span<const OptionField<CastVerb>> CastVerb::fields() {
  static const auto all = joined_fields<CastVerb>(kOwn, ResultFlags::fields());
  return all;
}

// A part of the result that a flag asks for, and that not every format has.
struct Part {
  const std::string& path;
  const std::optional<Tensor>& tensor;
  const char *noun, *flag;
};

void write_parts(const CastVerb& verb, const CastResult& result) {
  const Part parts[] = {{verb.codes, result.codes, "codes: it changes values only", "--codes"},
                        {verb.scales, result.scales, "scales", "--scales"},
                        {verb.outer_scales, result.outer_scales, "outer scales", "--outer-scales"},
                        {verb.zero_points, result.zero_points, "zero points", "--zero-points"}};
  for (const Part& part : parts)
    if (!part.path.empty() && !part.tensor) fail("{} has no {}; leave {} out", verb.format, part.noun, part.flag);
  write_npy(verb.output, result.values);
  for (const Part& part : parts)
    if (!part.path.empty()) write_npy(part.path, *part.tensor);
}

int run(CastVerb& verb) {
  files_of(verb).check();
  const CastResult result = cast_through(verb.format, read_npy(verb.input));
  write_parts(verb, result);
  Record record = view_of(result, verb.input, verb.format);
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<CastVerb> kVerb{
    .name = "cast",
    .task = VerbTask::formats,
    .summary = "Send an array through a number format and back",
    .examples =
        "  hone cast mxint8 in.npy -o out.npy\n  hone cast int4.g128 in.npy -o out.npy --codes c.npy --scales s.npy",
    .run = run};

}  // namespace

extern constinit const VerbDef cast_verb_def = verb_def<kVerb>();

}  // namespace hone
