#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "io/numpy.h"
#include "jobs/formats.h"
#include "measure/quality.h"

namespace hone {
namespace {

struct {
  std::string format, input, output, codes, scales, outer_scales, zero_points;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  app.add_option("FORMAT", flags.format, "Format string, e.g. mxint8 or int4.g128 (see hone formats)")->required();
  app.add_option("INPUT", flags.input, "Array to cast, .npy")->required();
  app.add_option("-o,--output", flags.output, "Decoded values, f32 .npy")->required();
  app.add_option("--codes", flags.codes, "Also write the code of each element, .npy");
  app.add_option("--scales", flags.scales, "Also write the scale code of each group, .npy");
  app.add_option("--outer-scales", flags.outer_scales, "Also write the fp16 pattern of each outer scale, .npy");
  app.add_option("--zero-points", flags.zero_points, "Also write the zero point of each group, .npy");
  flags.result.add_to(app);
}

// A part of the result that a flag asks for, and that not every format has.
struct Part {
  const std::string& path;
  const std::optional<Tensor>& tensor;
  const char *noun, *flag;
};

void write_parts(const CastResult& result) {
  const Part parts[] = {{flags.codes, result.codes, "codes: it changes values only", "--codes"},
                        {flags.scales, result.scales, "scales", "--scales"},
                        {flags.outer_scales, result.outer_scales, "outer scales", "--outer-scales"},
                        {flags.zero_points, result.zero_points, "zero points", "--zero-points"}};
  for (const Part& part : parts)
    if (!part.path.empty() && !part.tensor) fail("{} has no {}; leave {} out", flags.format, part.noun, part.flag);
  write_npy(flags.output, result.values);
  for (const Part& part : parts)
    if (!part.path.empty()) write_npy(part.path, *part.tensor);
}

KeyValues facts(const Tensor& input, const CastResult& result) {
  const Quality q = compare(input.to_floats(), result.values.to_floats());
  const NumberStyle count{NumberFormat::integer, 0};
  const auto whole = [](int64_t n) { return number(static_cast<double>(n)); };
  KeyValues facts{
      .key = "cast",
      .title = "Cast",
      .items = {{"format", "format", to_string(parse_format(flags.format))},
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

int run() {
  RunFiles()
      .reads("INPUT", flags.input)
      .writes("--output", flags.output)
      .writes("--codes", flags.codes)
      .writes("--scales", flags.scales)
      .writes("--outer-scales", flags.outer_scales)
      .writes("--zero-points", flags.zero_points)
      .check();
  const Tensor input = read_npy(flags.input);
  const CastResult result = cast_through(flags.format, input);
  write_parts(result);
  Record record{.title = fmt::format("{} through {}", flags.input, flags.format),
                .command = this_command(),
                .findings = {},
                .sections = {{"Cast", {facts(input, result)}}},
                .machine = {},
                .manifest = {}};
  if (!result.codes)
    record.findings.push_back(fmt::format("{} changes values only: it has no codes and can't be packed", flags.format));
  if (result.lost_nan > 0)
    record.findings.push_back(
        fmt::format("{} has no NaN: {} of {} became 0", flags.format, result.lost_nan, result.counts.nan));
  flags.result.print(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef cast_verb_def{
    .name = "cast",
    .summary = "Send an array through a number format and back",
    .examples =
        "  hone cast mxint8 in.npy -o out.npy\n  hone cast int4.g128 in.npy -o out.npy --codes c.npy --scales s.npy",
    .setup = setup,
    .run = run};

}  // namespace hone
