// hone with one more verb, demo: formats of a sentence encoder on a task that every Debian machine carries. A program
// of your own gets its verbs in the same way. `make demo` builds it, fetches what it reads and runs it; it says how:
//   build/release/examples/demo/hone_demo demo --help
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/program.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "examples/demo/compare_formats.h"
#include "examples/demo/debian_packages.h"
#include "jobs/probe.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

struct DemoVerb : ModelFlags, RunFlags, SecondsFlags, ResultFlags {
  std::string packages, folder = "build/demo", calib, quantized_compute = "bf16";
  std::vector<std::string> formats;
  int64_t index = 2000, queries = 500;
  uint64_t seed = 1;
  static std::span<const OptionField<DemoVerb>> fields();
};

constexpr OptionField<DemoVerb> kOwn[] = {
    required_flag("packages", "What `apt-cache dumpavail` prints", &DemoVerb::packages, {.file = OptionFile::reads}),
    flag("formats",
         "Formats of the weights, or plans (.toml files of hone allocate); the first is what the others are compared "
         "with; f32 leaves the model as it is (default: f32,bf16,mxint8,mxint4,mxfp4)",
         &DemoVerb::formats, {.has_commas = true, .takes_several = true}),
    flag("calib", "Calibration data in place of what plans name", &DemoVerb::calib, {.file = OptionFile::reads}),
    flag("quantized-compute", "What products read activations in, for every format but f32",
         &DemoVerb::quantized_compute),
    flag("index", "Packages with a known section", &DemoVerb::index, {.least = 1, .most = 10'000'000}),
    flag("queries", "Packages whose section is asked", &DemoVerb::queries, {.least = 1, .most = 10'000'000}),
    flag("seed", "Of the sample of packages", &DemoVerb::seed),
    flag("folder", "Where the written models go", &DemoVerb::folder, {.value = "FOLDER"})};

std::span<const OptionField<DemoVerb>> DemoVerb::fields() {
  static const auto all =
      joined_fields<DemoVerb>(ModelFlags::fields().first(1), kOwn, SecondsFlags::fields(), ResultFlags::report_fields(),
                              RunFlags::fields(), RunFlags::trust_fields(), ResultFlags::fields());
  return all;
}

int run(DemoVerb& verb) {
  if (verb.formats.empty()) verb.formats = {"f32", "bf16", "mxint8", "mxint4", "mxfp4"};
  RunFiles files = files_of(verb);
  for (const std::string& format : verb.formats)
    if (format.ends_with(".toml")) files.reads("--formats", format);
  files.check();
  Report report(verb);
  Calibration calibration;
  calibration.file = verb.calib;
  CompareFormatsOptions options{
      .model = verb.model,
      .runs = {},
      .task = debian_sections(read_file(verb.packages), verb.packages, static_cast<int>(verb.index),
                              static_cast<int>(verb.queries), verb.seed),
      .task_name = "Debian packages: which section does a description belong to?",
      .folder = verb.folder,
      .calibration = calibration,
      .session = verb.session_options(),
      .program = this_program(),
      .seconds = verb.seconds,
      .command = this_command(),
      .progress = terminal_progress()};
  for (const std::string& format : verb.formats) {
    const bool is_plan = format.ends_with(".toml");
    options.runs.push_back({is_plan ? std::filesystem::path(format).stem().string() : format,
                            format == "f32" ? Compute::f32 : parse_compute(verb.quantized_compute),
                            is_plan ? format : ""});
  }
  const Record record = compare_formats(options);
  options.progress = {};  // takes its line away
  report.finish(record);
  return 0;
}

constexpr Verb<DemoVerb> kDemo{
    .name = "demo",
    .summary =
        "Compare formats of a sentence encoder on a real task: sections of Debian packages (what `make demo` runs)",
    .examples =
        "  apt-cache dumpavail > packages.txt\n"
        "  hone_demo demo all-MiniLM-L6-v2 --packages packages.txt --report demo.html",
    .run = run};
constexpr VerbDef kDemoDef = verb_def<kDemo>();

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  std::vector<const hone::VerbDef*> verbs(hone::cli::all().begin(), hone::cli::all().end());
  verbs.push_back(&hone::kDemoDef);
  return hone::run_program("hone_demo", verbs, argc, argv);
}
