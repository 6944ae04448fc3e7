#include "jobs/prune_sweep.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "jobs/format_study.h"
#include "jobs/prune_model.h"
#include "measure/environment.h"
#include "report/svg.h"

namespace hone {
namespace {

constexpr size_t kMostSparsities = 1000;

double number_of(const std::string& text, const std::string& all) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1))
    fail("sparsity \"{}\": \"{}\" is no share from 0 to below 1; expected e.g. 0.5, 0.1,0.5 or 0.1:0.9", all, text);
  return value;
}

struct Swept {
  std::string method;
  double sparsity = 0;
  OutputDistance selecting, held_out;
  int64_t parameters = 0, compact = 0;  // bytes of the zeros as a bitmap
};

class PruneSweeper {
 public:
  explicit PruneSweeper(const PruneSweepOptions& options)
      : options_(options),
        study_({.model = options.model,
                .inputs = options.inputs,
                .data = options.data,
                .judged = options.judged,
                .calibration = options.calibration,
                .quantize = {},
                .session = options.session,
                .memory = options.folder + "/measurements.txt",
                .settings = fmt::format("prune {} {}", options.prune.structure, options.prune.scope)}) {}

  Record run() {
    for (const std::string& method : options_.methods) {
      PruneOptions prune = options_.prune;
      prune.method = method;
      for (double sparsity : options_.sparsities) {
        prune.sparsity = sparsity;
        tell(options_.progress, fmt::format("{} {} ({} of {})", method, sparsity, swept_.size() + 1,
                                            options_.methods.size() * options_.sparsities.size()));
        swept_.push_back(measured(prune));
      }
    }
    const LinePlot plot = curves();
    write_file(options_.folder + "/sweep.csv", csv());
    write_file(options_.folder + "/curves.svg", svg(plot));
    return {.title = fmt::format("{} pruned by {}", study_.model.name, fmt::join(options_.methods, ", ")),
            .command = options_.command,
            .findings = {fmt::format("tables and plots in {}; nothing was trained after pruning", options_.folder)},
            .sections = {{"Pruning", {plot, table()}}},
            .machine = describe(environment()),
            .manifest = {{"input", study_.model.path, study_.model.sha256(), study_.model.file_bytes}}};
  }

 private:
  Swept measured(const PruneOptions& prune) {
    const std::string key = fmt::format("{} {}", prune.method, prune.sparsity);
    const auto [selecting, held_out, figures] = study_.measured(key, [&]() -> FormatStudy::Changed {
      if (!sources_.contains(prune.method))  // the scores of a method are the same at every sparsity
        sources_[prune.method] =
            score_sources(study_.model, study_.graph, prune, options_.calibration, PruneSchedule().score_rate);
      const Graph graph = prune_weights(study_.graph, prune, sources_.at(prune.method)).graph;
      return {graph, {static_cast<double>(sizes(graph).parameters), static_cast<double>(stored_bytes(graph).sparse)}};
    });
    return {prune.method,
            prune.sparsity,
            selecting,
            held_out,
            static_cast<int64_t>(std::clamp(figures[0], 0.0, 0x1p62)),
            static_cast<int64_t>(std::clamp(figures[1], 0.0, 0x1p62))};
  }

  LinePlot curves() const {
    LinePlot plot{
        .key = "curves", .title = "Quality against sparsity", .x = {.title = "sparsity"}, .y = study_.quality()};
    for (const std::string& method : options_.methods) {
      Line line{.label = method, .points = {}};
      for (const Swept& s : swept_)
        if (s.method == method && std::isfinite(s.held_out.error))
          line.points.emplace_back(s.sparsity, study_.quality(s.held_out));
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }

  Table table() {
    const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
    Table table{.key = "sweep",
                .title = study_.data.title,
                .columns = {{"method", "method"},
                            {"sparsity", "sparsity", "", {NumberFormat::significant, 3}},
                            {"parameters", "weights", "", count},
                            {"compact", "bytes with bitmaps", "", bytes},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"quality", study_.quality().title, "", {NumberFormat::significant, 4}}},
                .rows = {},
                .note =
                    "Output error: sum of squared differences to the original's outputs over the sum of their "
                    "squares. Kernels multiply by zeros, too; bitmaps are what it could be stored in."};
    for (const Swept& s : swept_)
      table.rows.push_back({s.method, number(s.sparsity), number(static_cast<double>(s.parameters)),
                            number(static_cast<double>(s.compact)), number(s.held_out.error),
                            number(study_.quality(s.held_out))});
    return table;
  }

  std::string csv() const {
    std::string text = fmt::format("method,sparsity,parameters,compact_bytes,output_error,{}\n", study_.metric_key());
    for (const Swept& s : swept_)
      text += fmt::format("{},{},{},{},{},{}\n", s.method, s.sparsity, s.parameters, s.compact, s.held_out.error,
                          study_.quality(s.held_out));
    return text;
  }

  const PruneSweepOptions& options_;
  FormatStudy study_;
  std::map<std::string, ScoreSources> sources_;
  std::vector<Swept> swept_;
};

}  // namespace

std::vector<double> parse_sparsities(const std::string& text) {
  std::vector<double> found;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> range = split(part, ':');
    if (range.size() == 1) {
      found.push_back(number_of(part, text));
      continue;
    }
    if (range.size() > 3) fail("sparsity \"{}\": expected FIRST:LAST or FIRST:LAST:STEP, found \"{}\"", text, part);
    const double first = number_of(range[0], text), last = number_of(range[1], text),
                 step = range.size() == 3 ? number_of(range[2], text) : 0.1;
    if (!(step > 0) || last < first)
      fail("sparsity \"{}\": \"{}\" goes nowhere; expected FIRST:LAST:STEP with a step above 0", text, part);
    const auto count = static_cast<size_t>(std::floor((last - first) / step + 1e-9)) + 1;
    if (found.size() + count > kMostSparsities) fail("sparsity \"{}\": more than {} numbers", text, kMostSparsities);
    // Thousandths of a step apart are the same number: 0.1 + 2 * 0.1 is 0.3.
    for (size_t i = 0; i < count; ++i) found.push_back(std::round((first + static_cast<double>(i) * step) * 1e9) / 1e9);
  }
  return found;
}

Record prune_sweep(const PruneSweepOptions& options) {
  if (options.sparsities.empty() || options.methods.empty()) fail("a sweep of pruning needs sparsities and methods");
  for (const std::string& method : options.methods) {
    PruneOptions prune = options.prune;
    prune.method = method;
    prune.sparsity = options.sparsities[0];
    check_options(prune);
    if (find_score(prune).needs != ScoreDef::Needs::nothing && options.calibration.file.empty())
      fail("method {} scores weights by data, which should not be those it is judged on; give --calib FILE", method);
  }
  return PruneSweeper(options).run();
}

}  // namespace hone
