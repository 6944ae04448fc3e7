#include "jobs/sweep.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/atomic_file.h"
#include "calibrate/collect.h"
#include "jobs/format_list.h"
#include "jobs/format_study.h"
#include "measure/environment.h"
#include "report/svg.h"

namespace hone {
namespace {

struct Swept {
  std::string format;
  OutputDistance distance;
  double average_bits = 0;
  int64_t bytes = 0;
  bool is_finite() const { return std::isfinite(distance.error); }
};

class Sweeper {
 public:
  explicit Sweeper(const SweepOptions& options)
      : options_(options),
        study_({.model = options.model,
                .inputs = options.inputs,
                .data = options.data,
                .calibration = options.calibration,
                .quantize = options.quantize,
                .session = options.session,
                .memory = options.folder + "/measurements.txt",
                .settings = options.activations ? "activations " : ""}) {
    if (options.formats.empty()) fail("no formats to sweep; give --formats, e.g. 'int{{4..16}}.f{{2,4,8}}'");
  }

  Record run() {
    for (const std::string& format : options_.formats) {
      tell(options_.progress, fmt::format("{} ({} of {})", format, swept_.size() + 1, options_.formats.size()));
      swept_.push_back(measured(format));
    }
    write_files();
    return record();
  }

 private:
  Swept measured(const std::string& format) {
    const std::vector<double> values = study_.known.get(format, 4, [&] {
      QuantizeOptions quantize = options_.quantize;
      quantize.to = format;
      if (options_.activations) quantize.activations = format;
      const StatisticsSource statistics = [&](const Graph& g, bool moments) {
        return collect_statistics(g, study_.data.for_methods().batches,
                                  {.moments = moments, .session = study_.session});
      };
      const Graph graph = quantise(study_.graph, quantize, statistics, {.packer = &study_.packer});
      const Sizes all = sizes(graph);
      std::vector<double> found = values_of(study_.measure()(graph));
      found.push_back(static_cast<double>(all.weight_bytes));
      found.push_back(static_cast<double>(all.parameters));
      return found;
    });
    return {format, distance_of(values), 8 * values[2] / std::max(values[3], 1.0), static_cast<int64_t>(values[2])};
  }

  // Larger is better.
  double quality(const Swept& s) const {
    if (s.distance.accuracy) return *s.distance.accuracy;
    return s.distance.error > 0 ? decibels(s.distance.error) : kExact;
  }
  static constexpr double kExact = 200;  // dB in plots, where nothing differs

  LinePlot curves() const {
    std::map<std::string, Line> lines;
    for (const Swept& s : swept_) {
      if (!s.is_finite()) continue;
      Line& line = lines[format_family(s.format)];
      line.label = format_family(s.format);
      line.points.emplace_back(s.average_bits, quality(s));
    }
    LinePlot plot{.key = "curves",
                  .title = "Quality against size, by family",
                  .x = {.title = "average bits"},
                  .y = study_.quality()};
    for (auto& [family, line] : lines) {
      std::ranges::sort(line.points);
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }

  // Of each family and of all, by the number of formats measured.
  LinePlot best_so_far() const {
    std::map<std::string, Line> lines;
    LinePlot plot{
        .key = "best_so_far", .title = "Best so far", .x = {.title = "formats measured"}, .y = study_.quality()};
    const auto extend = [&](Line& line, const std::string& label, const Swept& s, double x) {
      line.label = label;
      line.points.emplace_back(x, std::max(quality(s), line.points.empty() ? -INFINITY : line.points.back().second));
    };
    Line all;
    for (size_t i = 0; i < swept_.size(); ++i) {
      if (!swept_[i].is_finite()) continue;
      const std::string family = format_family(swept_[i].format);
      Line& line = lines[family];
      extend(line, family, swept_[i], static_cast<double>(line.points.size() + 1));
      extend(all, "all", swept_[i], static_cast<double>(all.points.size() + 1));
    }
    for (auto& [family, line] : lines) plot.lines.push_back(std::move(line));
    if (plot.lines.size() > 1) plot.lines.push_back(std::move(all));
    return plot;
  }

  Table table() const {
    Table table{.key = "sweep",
                .title = study_.data.title,
                .columns = study_.distance_columns({{"format", "format"}, {"family", "family"}}),
                .note = fmt::format("{} in that format. Output error: sum of squared differences to the original's "
                                    "outputs over the sum of their squares. Average bits count everything stored.",
                                    options_.activations ? "Weights and inputs of products" : "Weights")};
    for (const Swept& s : swept_) {
      const double error = s.distance.error;
      table.rows.push_back({s.format, format_family(s.format), number(s.average_bits),
                            number(static_cast<double>(s.bytes)), s.is_finite() ? number(error) : Cell("not finite"),
                            s.is_finite() ? decibel_cell(error) : Cell()});
      if (study_.has_labels()) table.rows.back().push_back(number(*s.distance.accuracy));
    }
    return table;
  }

  std::string csv() const {
    std::string text = "format,family,average_bits,bytes,output_error,accuracy\n";
    for (const Swept& s : swept_)
      text +=
          fmt::format("{},{},{:.6f},{},{},{}\n", s.format, format_family(s.format), s.average_bits, s.bytes,
                      s.distance.error, s.distance.accuracy ? fmt::format("{}", *s.distance.accuracy) : std::string());
    return text;
  }

  void write_files() const {
    write_file(options_.folder + "/sweep.csv", csv());
    write_file(options_.folder + "/curves.svg", svg(curves()));
    write_file(options_.folder + "/best_so_far.svg", svg(best_so_far()));
  }

  Record record() {
    const auto best =
        std::ranges::max_element(swept_, [&](const Swept& a, const Swept& b) { return quality(a) < quality(b); });
    return {.title = fmt::format("{} in {} formats", study_.model.name, swept_.size()),
            .command = options_.command,
            .findings = {fmt::format("Best: {}, {:.3f} bits, {} {:.4g}{}", best->format, best->average_bits,
                                     study_.quality().title, quality(*best),
                                     study_.has_labels() ? fmt::format(" (the original {:.4g})",
                                                                       *study_.measure().of_reference().accuracy)
                                                         : " dB"),
                         fmt::format("{} measured, {} remembered; tables and plots in {}", study_.known.measured(),
                                     study_.known.recalled(), options_.folder)},
            .sections = {{"Formats", {curves(), best_so_far(), table()}}},
            .machine = describe(environment()),
            .manifest = {{"input", study_.model.path, study_.model.sha256(), study_.model.file_bytes}}};
  }

  const SweepOptions& options_;
  FormatStudy study_;
  std::vector<Swept> swept_;
};

}  // namespace

Record sweep(const SweepOptions& options) { return Sweeper(options).run(); }

}  // namespace hone
