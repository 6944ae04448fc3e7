#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "jobs/formats.h"
#include "measure/quality.h"

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

KeyValues facts(const CastVerb& verb, const Tensor& input, const CastResult& result) {
  const Quality q = compare(input.to_floats(), result.values.to_floats());
  const NumberStyle count{NumberFormat::integer, 0};
  const auto whole = [](int64_t n) { return number(static_cast<double>(n)); };
  KeyValues facts{
      .key = "cast",
      .title = "Cast",
      .items = {{"format", "format", to_string(parse_format(verb.format))},
                {"elements", "elements", whole(input.elements()), "", count},
                {"sqnr_db", "SQNR", number(q.sqnr_db), "dB", {NumberFormat::fixed, 2}},
                {"max_abs_error", "largest error", number(q.max_abs_error), "", {NumberFormat::significant, 4}}}};
  if (result.global_scale)
    facts.items.push_back(
        {"global_scale", "global scale", number(*result.global_scale), "", {NumberFormat::significant, 9}});
  if (result.codes) {
    facts.items.push_back({"saturated", "saturated", whole(result.counts.saturated), "", count});
    facts.items.push_back({"flushed_to_zero", "flushed to zero", whole(result.counts.flushed_to_zero), "", count});
  }
  facts.items.push_back({"nan", "NaN", whole(result.counts.nan), "", count});
  facts.items.push_back({"inf", "infinite", whole(result.counts.inf), "", count});
  return facts;
}

int run(CastVerb& verb) {
  files_of(verb).check();
  const Tensor input = read_npy(verb.input);
  const CastResult result = cast_through(verb.format, input);
  write_parts(verb, result);
  Record record{.title = fmt::format("{} through {}", verb.input, verb.format),
                .command = this_command(),
                .findings = {},
                .sections = {{"Cast", {facts(verb, input, result)}}},
                .machine = {},
                .manifest = {}};
  if (!result.codes)
    record.findings.push_back(fmt::format("{} changes values only: it has no codes and can't be packed", verb.format));
  if (result.lost_nan > 0)
    record.findings.push_back(
        fmt::format("{} has no NaN: {} of {} became 0", verb.format, result.lost_nan, result.counts.nan));
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
