#include "labs/run_lab.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/registry.h"
#include "base/shell.h"
#include "base/text.h"
#include "labs/lab_step.h"
#include "labs/quick_reviews.h"
#include "labs/table_csv.h"
#include "measure/environment.h"
#include "report/html.h"
#include "report/svg.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const LabDef& find_lab(std::span<const LabDef* const> labs, const std::string& name) {
  if (const LabDef* found = find_def(labs, name)) return *found;
  fail("no lab \"{}\"; there are {}", name, fmt::join(names_of(labs), ", "));
}

void check_places(const LabDef& lab, const LabPlaces& places) {
  if (!fs::is_directory(places.file("")))
    fail("{}: no such folder; --files names the folder examples/labs of hone's sources", places.file(""));
  for (const std::string& path : lab.reads(places))
    if (!fs::exists(path)) fail("{}: no such file; scripts/deps.sh labs fetches it, --data says where it lies", path);
}

// What a quick lab reads instead of all reviews.
void put_quick_reviews(const LabDef& lab, const LabPlaces& places) {
  constexpr size_t kRows = 4000, kJudged = 200;
  if (!places.quick || !std::ranges::count(lab.reads(places), places.all_reviews())) return;
  fs::create_directories(fs::path(places.reviews()).parent_path());
  write_file(places.reviews(),
             first_of_each_split(read_file(places.all_reviews()), places.all_reviews(), kRows, kJudged));
}

// A figure or table as a file of its own beside the report.
struct WriteBeside {
  const std::string& folder;
  void picture(const std::string& key, const std::string& svg) const {
    write_file(fmt::format("{}/{}.svg", folder, key), svg + "\n");
  }
  void operator()(const Text&) const {}
  void operator()(const KeyValues&) const {}
  void operator()(const Table& table) const { write_file(fmt::format("{}/{}.csv", folder, table.key), csv_of(table)); }
  void operator()(const ScatterPlot& plot) const { picture(plot.key, svg(plot)); }
  void operator()(const LinePlot& plot) const { picture(plot.key, svg(plot)); }
  void operator()(const BarChart& chart) const { picture(chart.key, svg(chart)); }
  void operator()(const Drawing& drawing) const { picture(drawing.key, drawing.svg); }
};

// The commands in their order, and what they took.
Section runs_section(const std::vector<LabStep>& steps, const std::map<std::string, StepRecord>& records) {
  Table runs{.key = "runs",
             .title = "Runs",
             .columns = {{"name", "run"},
                         {.key = "what", .title = "what", .prose = true},
                         {.key = "seconds", .title = "time", .unit = "s", .style = {NumberFormat::fixed, 1}},
                         {.key = "command", .title = "command", .prose = true}},
             .note = "Times are those of the run itself, also where its result was kept from before."};
  for (const LabStep& step : steps)
    runs.rows.push_back(
        {step.name, step.what, number(records.at(step.name).seconds), "hone " + shell_line(step.words)});
  return {"How it was made", {runs}};
}

std::vector<ManifestEntry> manifest_of(const LabDef& lab, const LabPlaces& places, FileHashes& hashes) {
  std::vector<ManifestEntry> files;
  const auto add = [&](const std::string& path) {
    const auto bytes = fs::is_directory(path) ? 0 : static_cast<int64_t>(fs::file_size(path));
    files.push_back({"input", path, hashes.of(path), bytes});
  };
  for (const std::string& path : lab.reads(places)) add(path);
  add(places.labs);
  return files;
}

}  // namespace

Record run_lab(std::span<const LabDef* const> labs, const LabOptions& options, const LabContext& context) {
  const LabDef& lab = find_lab(labs, options.lab);
  const LabPlaces places{options.files, lab.files, options.data, options.output, options.quick};
  check_places(lab, places);
  put_quick_reviews(lab, places);
  const std::vector<LabStep> steps = lab.steps(places);
  FileHashes hashes;
  std::map<std::string, StepRecord> records;
  std::map<std::string, Json> results;
  for (const LabStep& step : steps) {
    if (context.progress) context.progress(fmt::format("{} ({} of {})", step.what, records.size() + 1, steps.size()));
    const StepRecord& record = records[step.name] = run_step(step, places, hashes, context);
    results[step.name] = record.result;
  }
  LabShown shown = lab.show(LabResults(std::move(results)), places);
  Record report{.title = fmt::format("Lab {}: {}{}", lab.name, lab.title, places.quick ? " (quick)" : ""),
                .command = options.command,
                .findings = std::move(shown.sentences),
                .sections = std::move(shown.sections),
                .machine = describe(environment()),
                .manifest = manifest_of(lab, places, hashes)};
  for (const Section& section : report.sections)
    for (const Block& block : section.blocks) std::visit(WriteBeside{places.output}, block);
  report.sections.push_back(runs_section(steps, records));
  write_file(places.output + "/report.html", html(report));
  return report;
}

Record screen_of(const Record& report, const std::string& output) {
  Record screen{.title = report.title, .findings = report.findings};
  screen.findings.push_back(fmt::format("the report, its figures and tables: {}/report.html", output));
  for (const Section& section : report.sections)
    for (const Block& block : section.blocks)
      if (std::holds_alternative<Table>(block)) {
        screen.sections = {{section.title, {block}}};
        return screen;
      }
  return screen;
}

}  // namespace hone
