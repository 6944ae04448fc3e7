// hone with one more verb, demo: formats of a sentence encoder on a task that every Debian machine carries. A program
// of your own gets its verbs in the same way. `make demo` builds it, fetches what it reads and runs it; it says how:
//   build/release/examples/demo/hone_demo demo --help
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/program.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "examples/demo/compare_formats.h"
#include "examples/demo/debian_packages.h"
#include "jobs/probe.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

struct {
  std::string model, packages, folder = "build/demo";
  std::vector<std::string> formats{"f32", "bf16", "mxint8", "mxint4", "mxfp4"};
  std::string compute = "bf16";
  int index = 2000, queries = 500;
  uint64_t seed = 1;
  double seconds = 20;
  Calibration calibration;
  RunFlags run;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.model, "Folder of a sentence encoder")->required();
  app.add_option("--packages", flags.packages, "What `apt-cache dumpavail` prints")->required();
  app.add_option(
         "--formats", flags.formats,
         "Formats of the weights, or plans (.toml files of hone allocate); the first is what the others are compared "
         "with; f32 leaves the model as it is")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--calib", flags.calibration.file, "Calibration data in place of what plans name");
  app.add_option("--quantized-compute", flags.compute, "What products read activations in, for every format but f32")
      ->capture_default_str();
  app.add_option("--index", flags.index, "Packages with a known section")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--queries", flags.queries, "Packages whose section is asked")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the sample of packages")->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Longest measured part of latency and of throughput")
      ->check(seconds_range())
      ->capture_default_str();
  app.add_option("--folder", flags.folder, "Where the written models go")->capture_default_str();
  flags.output.add_report_to(app);
  flags.run.add_to(app);
  flags.output.add_to(app);
}

int run() {
  RunFiles files;
  files.reads("MODEL", flags.model).reads("--packages", flags.packages).reads("--calib", flags.calibration.file);
  for (const std::string& format : flags.formats)
    if (format.ends_with(".toml")) files.reads("--formats", format);
  files.writes("--report", flags.output.report).check();
  Report report(flags.output);
  CompareFormatsOptions options{
      .model = flags.model,
      .runs = {},
      .task = debian_sections(read_file(flags.packages), flags.packages, flags.index, flags.queries, flags.seed),
      .task_name = "Debian packages: which section does a description belong to?",
      .folder = flags.folder,
      .calibration = flags.calibration,
      .session = flags.run.options(),
      .program = this_program(),
      .seconds = flags.seconds,
      .command = this_command(),
      .progress = terminal_progress()};
  for (const std::string& format : flags.formats) {
    const bool is_plan = format.ends_with(".toml");
    options.runs.push_back({is_plan ? std::filesystem::path(format).stem().string() : format,
                            format == "f32" ? Compute::f32 : parse_compute(flags.compute), is_plan ? format : ""});
  }
  const Record record = compare_formats(options);
  options.progress = {};  // takes its line away
  report.finish(record);
  return 0;
}

constexpr VerbDef kDemo{
    .name = "demo",
    .summary =
        "Compare formats of a sentence encoder on a real task: sections of Debian packages (what `make demo` runs)",
    .examples =
        "  apt-cache dumpavail > packages.txt\n"
        "  hone_demo demo all-MiniLM-L6-v2 --packages packages.txt --report demo.html",
    .setup = setup,
    .run = run};

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  std::vector<const hone::VerbDef*> verbs(hone::cli::all().begin(), hone::cli::all().end());
  verbs.push_back(&hone::kDemo);
  return hone::run_program("hone_demo", verbs, argc, argv);
}
