#include "cli/flags.h"
#include "cli/registry.h"
#include "io/numpy.h"
#include "jobs/formats.h"
#include "measure/quality.h"

namespace hone {
namespace {

struct {
  std::string format, input, output, codes, scales;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  app.add_option("FORMAT", flags.format, "Format string, e.g. mxint8 or int4.g128 (see hone formats)")->required();
  app.add_option("INPUT", flags.input, "Array to cast, .npy")->required();
  app.add_option("-o,--output", flags.output, "Decoded values, f32 .npy")->required();
  app.add_option("--codes", flags.codes, "Also write the code of each element, .npy");
  app.add_option("--scales", flags.scales, "Also write the scale code of each group, .npy");
  flags.result.add_to(app);
}

int run() {
  const Tensor input = read_npy(flags.input);
  const CastResult result = cast_through(flags.format, input);
  if (!flags.scales.empty() && !result.scales) fail("{} has no scales; leave --scales out", flags.format);
  write_npy(flags.output, result.values);
  if (!flags.codes.empty()) write_npy(flags.codes, *result.codes);
  if (!flags.scales.empty()) write_npy(flags.scales, *result.scales);
  const Quality q = compare(input.to_floats(), result.values.to_floats());
  const NumberStyle count{NumberFormat::integer, 0};
  const auto whole = [](int64_t n) { return number(static_cast<double>(n)); };
  flags.result.print(
      {.title = fmt::format("{} through {}", flags.input, flags.format),
       .command = this_command(),
       .findings = {},
       .sections =
           {{"Cast",
             {KeyValues{
                 .key = "cast",
                 .title = "Cast",
                 .items =
                     {{"format", "format", to_string(parse_format(flags.format))},
                      {"elements", "elements", whole(input.elements()), "", count},
                      {"sqnr_db", "SQNR", number(q.sqnr_db), "dB", {NumberFormat::fixed, 2}},
                      {"max_abs_error", "largest error", number(q.max_abs_error), "", {NumberFormat::significant, 4}},
                      {"saturated", "saturated", whole(result.counts.saturated), "", count},
                      {"flushed_to_zero", "flushed to zero", whole(result.counts.flushed_to_zero), "", count},
                      {"nan", "NaN", whole(result.counts.nan), "", count},
                      {"inf", "infinite", whole(result.counts.inf), "", count}}}}}},
       .machine = {},
       .manifest = {}});
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
