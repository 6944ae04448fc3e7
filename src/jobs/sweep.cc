#include "jobs/sweep.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/atomic_file.h"
#include "base/threads.h"
#include "calibrate/collect.h"
#include "codegen/compiled_packer.h"
#include "jobs/calibration_data.h"
#include "jobs/format_list.h"
#include "measure/environment.h"
#include "report/svg.h"
#include "search/measurements.h"
#include "search/output_measure.h"

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
        model_(load_model(options.model, options.inputs)),
        graph_(canonicalise(model_.graph)),
        data_(read_calibration(model_, options.data.file, options.data.batch)),
        known_(options.folder + "/measurements.txt", about()) {
    if (options.formats.empty()) fail("no formats to sweep; give --formats, e.g. 'int{{4..16}}.f{{2,4,8}}'");
  }

  Record run() {
    measure_.emplace(graph_, data_.batches, data_.labels, options_.session);
    for (const std::string& format : options_.formats) {
      tell(options_.progress, fmt::format("{} ({} of {})", format, swept_.size() + 1, options_.formats.size()));
      swept_.push_back(measured(format));
    }
    write_files();
    return record();
  }

 private:
  std::string about() const {
    return fmt::format("{} {} {} {} {} {}", model_.sha256(), data_.sha256, options_.data.batch,
                       to_string(options_.session.compute.value_or(Compute::f32)), options_.activations,
                       options_toml(quantize_fields(), options_.quantize));
  }

  Swept measured(const std::string& format) {
    const std::vector<double> values = known_.get(format, [&]() -> std::vector<double> {
      QuantizeOptions quantize = options_.quantize;
      quantize.to = format;
      if (options_.activations) quantize.activations = format;
      const StatisticsSource statistics = [&](const Graph& g, bool moments) {
        return collect_statistics(g, data_.batches, {.moments = moments, .session = options_.session});
      };
      const Graph graph = quantise(graph_, quantize, statistics, {.packer = &packer_});
      const Sizes all = sizes(graph);
      const OutputDistance d = (*measure_)(graph);
      return {d.error, d.accuracy.value_or(-1), static_cast<double>(all.weight_bytes),
              static_cast<double>(all.parameters)};
    });
    return {format,
            {values[0], values[1] < 0 ? std::nullopt : std::optional(values[1])},
            8 * values[2] / std::max(values[3], 1.0),
            static_cast<int64_t>(values[2])};
  }

  // Larger is better.
  double quality(const Swept& s) const {
    if (s.distance.accuracy) return *s.distance.accuracy;
    return s.distance.error > 0 ? -10 * std::log10(s.distance.error) : kExact;
  }
  static constexpr double kExact = 200;  // dB in plots, where nothing differs
  std::string quality_name() const { return measure_->has_labels() ? "accuracy" : "output SQNR"; }
  std::string quality_unit() const { return measure_->has_labels() ? "" : "dB"; }

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
                  .y = {.title = quality_name(), .unit = quality_unit()}};
    for (auto& [family, line] : lines) {
      std::ranges::sort(line.points);
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }

  // Of each family and of all, by the number of formats measured.
  LinePlot best_so_far() const {
    std::map<std::string, Line> lines;
    LinePlot plot{.key = "best_so_far",
                  .title = "Best so far",
                  .x = {.title = "formats measured"},
                  .y = {.title = quality_name(), .unit = quality_unit()}};
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
                .title = fmt::format("On the {} samples of {}", data_.samples, options_.data.file),
                .columns = {{"format", "format"},
                            {"family", "family"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"bytes", "weights", "", {NumberFormat::bytes, 3}},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}}},
                .note = fmt::format("{} in that format. Output error: sum of squared differences to the original's "
                                    "outputs over the sum of their squares. Average bits count everything stored.",
                                    options_.activations ? "Weights and inputs of products" : "Weights")};
    if (measure_->has_labels()) table.columns.push_back({"accuracy", "accuracy", "", {NumberFormat::percent, 2}});
    for (const Swept& s : swept_) {
      const double error = s.distance.error;
      table.rows.push_back({s.format, format_family(s.format), number(s.average_bits),
                            number(static_cast<double>(s.bytes)), s.is_finite() ? number(error) : Cell("not finite"),
                            !s.is_finite() ? Cell()
                            : error > 0    ? number(-10 * std::log10(error))
                                           : Cell("exact")});
      if (measure_->has_labels()) table.rows.back().push_back(number(*s.distance.accuracy));
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

  Record record() const {
    const auto best =
        std::ranges::max_element(swept_, [&](const Swept& a, const Swept& b) { return quality(a) < quality(b); });
    return {.title = fmt::format("{} in {} formats", model_.name, swept_.size()),
            .command = options_.command,
            .findings = {fmt::format("Best: {}, {:.3f} bits, {} {:.4g}{}", best->format, best->average_bits,
                                     quality_name(), quality(*best),
                                     measure_->has_labels()
                                         ? fmt::format(" (the original {:.4g})", *measure_->of_reference().accuracy)
                                         : " dB"),
                         fmt::format("{} measured, {} remembered; tables and plots in {}", known_.measured(),
                                     known_.recalled(), options_.folder)},
            .sections = {{"Formats", {curves(), best_so_far(), table()}}},
            .machine = describe(environment()),
            .manifest = {{"input", model_.path, model_.sha256(), model_.file_bytes}}};
  }

  const SweepOptions& options_;
  LoadedModel model_;
  Graph graph_;
  CalibrationData data_;
  Measurements known_;
  CompiledPacker packer_{{.threads = hardware_threads(), .cache_folder = default_cache_folder()}};
  std::optional<OutputMeasure> measure_;
  std::vector<Swept> swept_;
};

}  // namespace

Record sweep(const SweepOptions& options) { return Sweeper(options).run(); }

}  // namespace hone
